"""What a frontend is: something that hears units of audio and answers with steps (arXiv 2609.13814, duplex timeline).

A frontend runs in a worker process or in ours; the same contract tests hold for both. Nothing in the tick awaits it: a feeder
task gives it units, a reader task takes its steps.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from agent.line import Pcm
from agent.speech import SpokenLine
from agent.timeline.events import (
    SpeakerScore,
    Transcript,
    TurnProbability,
    VoiceContinued,
    VoicePaused,
    VoiceStarted,
    VoiceStopped,
)
from agent.timeline.kinds import Alignment, Cause, Role, Span, Word

UNIT_RATE_HZ = 16_000
"""Rate of all units, mono float32 in −1..1."""

Heard = Transcript | TurnProbability | SpeakerScore
"""What ears learn."""
Evidence = VoiceStarted | VoicePaused | VoiceContinued | VoiceStopped | Heard
"""What ears and voice activity learn."""


@dataclass(frozen=True, slots=True)
class FrontendInfo:
    """What a frontend declares. `owns_floor`: it decides about interruptions itself and our arbiter is only a guard."""

    name: str
    unit_us: int
    output_rate_hz: int
    owns_floor: bool = False
    takes_video: bool = False
    languages: tuple[str, ...] = ("en",)
    voice: str = ""


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A line of the conversation so far; the agent's are cut where the sending was cut."""

    who: str
    text: str


@dataclass(frozen=True, slots=True)
class Brief:
    """What a session is opened with."""

    call_id: str
    persona: str = ""
    language: str = "en"
    instructions: str = ""
    facts: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    history: tuple[PastTurn, ...] = ()
    unanswered: str = ""
    """The caller's last turn, when no answer to it was spoken to its end."""
    pending: tuple[str, ...] = ()
    """Works under way, in public words, oldest first."""
    epoch: int = 0
    scores_speaker: bool = False
    """Ears are asked to compare each turn's voice with that of the call's first turns."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Exactly one unit of continuous input: `len(pcm) == covers / 1 s * 16,000`, silence included, no gap to the one before.

    `evidence` is what Ears and voice activity learned since the last unit. `speaking`: speech of ours was being sent at its end.
    `said`: as much as was sent of the utterances of ours that ended in it, which tells what the caller was asked.
    """

    covers: Span
    pcm: npt.NDArray[np.float32]
    evidence: tuple[Evidence, ...] = ()
    speaking: bool = False
    said: str = ""


@dataclass(frozen=True, slots=True)
class Listening:
    """The frontend has read its input up to `covers.to_us` and says nothing."""

    covers: Span


@dataclass(frozen=True, slots=True)
class Speech:
    """More of an utterance. `pcm` is mono at the frontend's output rate; `words` are timed from the utterance's first sample.

    `final`: the utterance is complete with this piece (which may be empty).
    """

    covers: Span
    utterance_id: str
    epoch: int
    text: str
    pcm: Pcm
    words: tuple[Word, ...] = ()
    alignment: Alignment = Alignment.EXACT
    role: Role = Role.ANSWER
    cause: Cause = field(default_factory=Cause)
    final: bool = False


@dataclass(frozen=True, slots=True)
class DelegationOpened:
    """The opening tag: evidence is frozen at `covers.to_us`."""

    covers: Span
    delegation_id: str


@dataclass(frozen=True, slots=True)
class DelegationClosed:
    """The closing tag; `request` is private text."""

    covers: Span
    delegation_id: str
    request: str


Step = Listening | Speech | DelegationOpened | DelegationClosed


class MessageKind(StrEnum):
    """What a backend message is: something to be told, or a line that was said without the frontend."""

    RESULT = "result"
    SAID = "said"


@dataclass(frozen=True, slots=True)
class BackendMessage:
    """A private message to the frontend at a boundary; the same `attempt_id` twice is one message.

    A result is to be told, in the frontend's own words. What was said (a greeting, an apology: `text` is as much of it as was
    sent) is only to be known: nobody answers it.
    """

    attempt_id: str
    text: str
    kind: MessageKind = MessageKind.RESULT


class Session(Protocol):
    """One call's stream. Any method raises `Gone` once the session is lost."""

    async def feed(self, unit: Unit) -> None:
        """Give the next unit."""

    def steps(self) -> AsyncIterator[Step]:
        """The frontend's steps, in order; ends when the session is closed, raises `Gone` when it is lost."""

    async def inject(self, message: BackendMessage) -> None:
        """Put a private message into the frontend's context; idempotent by `attempt_id`."""

    async def yield_floor(self, at_us: int, epoch: int) -> None:
        """The caller has the floor since `at_us`: stop speaking; speech of an epoch before `epoch` will be refused."""

    async def acknowledge(self, utterance_id: str, samples: int) -> None:
        """So many samples of the utterance (at the frontend's output rate) were sent; cumulative, never falling."""

    async def close(self) -> None:
        """Give the slot back. Always safe, any number of times."""


class Frontend(Protocol):
    """Opens sessions. The open session is the lease on a slot."""

    @property
    def info(self) -> FrontendInfo: ...

    async def open(self, brief: Brief) -> Session:
        """Raises `Capacity` when no slot is free, `Gone` when the worker cannot be reached."""


class LineVoice(Protocol):
    """The voice in which the lines of a call are rendered before they are needed."""

    async def line(self, text: str, role: Role = Role.NOTICE, must_hear: bool = False) -> SpokenLine:
        """The text as sound. Raises `Refused` for a text that is empty or too long, `Gone` when there is nobody to say it."""


class EarsSession(Protocol):
    """One call's recogniser stream; evidence comes back in the order it was learned."""

    async def feed(self, unit: Unit) -> None:
        """Give the next unit."""

    def evidence(self) -> AsyncIterator[Heard]:
        """Ends when the session is closed, raises `Gone` when it is lost."""

    async def close(self) -> None:
        """Give the slot back. Always safe, any number of times."""


class Ears(Protocol):
    """Recogniser and turn model, beside whatever frontend a call has."""

    async def open(self, brief: Brief) -> EarsSession:
        """Raises `Capacity` or `Gone` as `Frontend.open`."""
