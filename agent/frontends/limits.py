"""What a step may hold, whoever made it: beyond that it is no step but a fault of the frontend, and its session is lost."""

import math

from agent.errors import Refused
from agent.frontends.base import DelegationClosed, Speech, Step
from agent.timeline.events import Transcript, TurnProbability

LONGEST_TEXT = 20_000
"""Characters in one step."""
MOST_WORDS = 4_000
"""Words in one step."""
LONGEST_ID = 64
"""Characters of an id that a frontend gives."""


def check_step(step: Step, epoch: int) -> None:
    """Raises `Refused` for a step that cannot be put on a timeline; `epoch` is the call's current one."""
    if isinstance(step, Speech):
        _check_text(step.text, *(word.text for word in step.words))
        _check_id(step.utterance_id)
        if len(step.words) > MOST_WORDS:
            raise Refused(f"the frontend sent {len(step.words)} words in one step; it may be {MOST_WORDS}")
        if not 0 <= step.epoch <= epoch:
            raise Refused(f"the frontend speaks in epoch {step.epoch}; the call is in epoch {epoch}")
    elif isinstance(step, DelegationClosed):
        _check_text(step.request)
        _check_id(step.delegation_id)


def check_evidence(evidence: Transcript | TurnProbability) -> None:
    """Raises `Refused` for evidence that cannot be put on a timeline."""
    number = evidence.confidence if isinstance(evidence, Transcript) else evidence.probability
    if not math.isfinite(number):
        raise Refused("the ears sent a probability that is no number")
    if isinstance(evidence, Transcript):
        _check_text(evidence.text)


def _check_text(*texts: str) -> None:
    for text in texts:
        if len(text) > LONGEST_TEXT:
            raise Refused(f"{len(text)} characters of text in one step; it may be {LONGEST_TEXT}")
        if not text.isascii() and any(0xD800 <= ord(character) <= 0xDFFF for character in text):
            raise Refused("text with half a character (a lone surrogate): it cannot be stored as UTF-8")


def _check_id(name: str) -> None:
    if not 0 < len(name) <= LONGEST_ID or "@" in name:
        raise Refused(f"an id has 1 to {LONGEST_ID} characters and no @")
