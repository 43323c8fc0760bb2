"""What a frontend and ears may declare, send and say, whoever made them.

A step beyond these limits is no step but a fault of the frontend, and its session is lost; evidence beyond them is dropped and
counted. What is let through can be put on a timeline, read back from it and replayed, and costs the media loop little.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from agent.errors import Refused
from agent.frontends.base import DelegationClosed, DelegationOpened, FrontendInfo, Heard, Listening, Speech, Step
from agent.settings import TICK_US
from agent.timeline.events import SpeakerScore, Transcript, TurnProbability
from agent.timeline.kinds import Alignment, Cause, Role, Span, Word

LONGEST_TEXT = 20_000
"""Characters in one step: of its text, and of its words together."""
MOST_WORDS = 4_000
"""Words in one step."""
LONGEST_ID = 64
"""Characters of an id that a frontend gives."""
LONGEST_NAME = 200
"""Characters of a frontend's name."""
LONGEST_PIECE_S = 60
"""Sound in one step, seconds."""
LONGEST_UNIT_US = 10_000_000
LATEST_US = 2**53
"""Word times lie between 0 and this, µs."""
MOST_TURNS = 2**31
"""Turns and epochs are counted below this."""


def check_info(info: FrontendInfo) -> None:
    """Raises `Refused` when no call could be run with what a frontend declares."""
    if not 0 < info.unit_us <= LONGEST_UNIT_US or info.unit_us % TICK_US:
        raise Refused(f"the frontend declares units of {info.unit_us} µs: a unit is a whole number of ticks ({TICK_US} µs)")
    if not 8_000 <= info.output_rate_hz <= 48_000:
        raise Refused(f"the frontend declares speech at {info.output_rate_hz} Hz: it must be 8,000 to 48,000")
    _check_text("the frontend's name", info.name, LONGEST_NAME)


def check_step(step: Step, epoch: int, given_us: int, rate_hz: int) -> None:
    """Raises `Refused` for a step that cannot be put on a timeline.

    `epoch` is the call's current one, `given_us` the end of the input that the session was given, `rate_hz` that of its speech.
    """
    if not isinstance(step, Listening | Speech | DelegationOpened | DelegationClosed):
        raise Refused(f"the frontend sent a {type(step).__name__}, which is no step")
    _check_covers(step.covers, given_us)
    if isinstance(step, Speech):
        _check_speech(step, epoch, rate_hz)
    elif not isinstance(step, Listening):
        _check_id(step.delegation_id)
    if isinstance(step, DelegationClosed):
        _check_text("a request", step.request)


def weight(step: Step) -> int:
    """How many steps of a few words this one is worth in work, less one: some 2 ms of the media loop make fifty."""
    return len(step.words) // 80 + len(step.text) // 2_000 if isinstance(step, Speech) else 0


def check_evidence(evidence: Heard, given_us: int) -> None:
    """Raises `Refused` for evidence that cannot be put on a timeline; `given_us` is the end of the input that the ears got."""
    match evidence:
        case Transcript():
            number = evidence.confidence
        case TurnProbability():
            number = evidence.probability
        case SpeakerScore():
            number = evidence.score
        case _:
            raise Refused(f"the ears sent a {type(evidence).__name__}, which is no evidence of theirs")
    _check_covers(evidence.covers, given_us)
    if not isinstance(number, int | float) or not math.isfinite(number):
        raise Refused("the ears sent a probability that is no number")
    if isinstance(evidence, Transcript):
        _check_text("a transcript", evidence.text)
        _check_kind("final", evidence.final, bool)


def _check_speech(step: Speech, epoch: int, rate_hz: int) -> None:
    _check_id(step.utterance_id)
    _check_number("an epoch", step.epoch, MOST_TURNS)
    if step.epoch > epoch:
        raise Refused(f"the frontend speaks in epoch {step.epoch}; the call is in epoch {epoch}")
    _check_text("a step", step.text)
    _check_words(step.words)
    _check_kind("an alignment", step.alignment, Alignment)
    _check_kind("a role", step.role, Role)
    _check_kind("final", step.final, bool)
    _check_cause(step.cause)
    pcm = step.pcm
    if not isinstance(pcm, np.ndarray) or pcm.ndim != 1 or pcm.dtype != np.int16:
        raise Refused("the frontend sent sound that is no single row of 16 bit samples")
    if len(pcm) > LONGEST_PIECE_S * rate_hz:
        raise Refused(f"the frontend sent {len(pcm)} samples in one step; it may be {LONGEST_PIECE_S} s")


def _check_words(words: tuple[Word, ...]) -> None:
    _check_kind("words", words, tuple)
    if len(words) > MOST_WORDS:
        raise Refused(f"the frontend sent {len(words)} words in one step; it may be {MOST_WORDS}")
    for word in words:
        _check_kind("a word", word, Word)
        _check_number("the start of a word", word.start_us, LATEST_US)
        _check_number("the end of a word", word.end_us, LATEST_US)
        if word.end_us < word.start_us:
            raise Refused(f"a word from {word.start_us} to {word.end_us} µs: it must not end before it starts")
    _check_texts("words", [word.text for word in words])


def _check_cause(cause: Cause) -> None:
    _check_kind("a cause", cause, Cause)
    _check_kind("proactive", cause.proactive, bool)
    if cause.turn is not None:
        _check_number("a turn", cause.turn, MOST_TURNS)
    if cause.attempt_id is not None:
        _check_text("an attempt's id", cause.attempt_id, LONGEST_ID)


def _check_covers(covers: Span, given_us: int) -> None:
    """Nobody knows more than they were given."""
    _check_kind("a span", covers, Span)
    _check_number("a span's start", covers.from_us, LATEST_US)
    _check_number("a span's end", covers.to_us, LATEST_US)
    if not covers.from_us <= covers.to_us <= given_us:
        raise Refused(f"a span of {covers.from_us}..{covers.to_us} µs, with input given up to {given_us} µs")


def _check_number(what: str, value: Any, below: int) -> None:
    if type(value) is not int or not 0 <= value < below:  # True is an int, too
        raise Refused(f"{what} is no whole number from 0 to below {below}")


def _check_kind(what: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise Refused(f"{what} is a {type(value).__name__}, not a {kind.__name__}")


def _check_text(what: str, text: str, longest: int = LONGEST_TEXT) -> None:
    _check_texts(what, [text], longest)


def _check_texts(what: str, texts: Iterable[str], longest: int = LONGEST_TEXT) -> None:
    length = 0
    for text in texts:
        _check_kind(what, text, str)
        length += len(text)
        if length > longest:
            raise Refused(f"{what} of more than {longest} characters")
        if not text.isascii() and any(0xD800 <= ord(character) <= 0xDFFF for character in text):
            raise Refused(f"{what} with half a character (a lone surrogate): it cannot be stored as UTF-8")


def _check_id(name: str) -> None:
    _check_text("an id", name, LONGEST_ID)
    if not name or "@" in name:
        raise Refused(f"an id has 1 to {LONGEST_ID} characters and no @")
