"""The vocabulary of the events: stretches of time, words, and the states that things can be in.

`Personal` marks text that can identify a person: redaction and retention go by that mark alone.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated


class PersonalMark:
    """The type of `PERSONAL`, the marker of fields that may identify a person."""

    def __repr__(self) -> str:
        return "PERSONAL"


PERSONAL = PersonalMark()
Personal = Annotated[str, PERSONAL]
"""Text that can identify a person."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the call's clock, µs, half open: `from_us <= x < to_us`."""

    from_us: int
    to_us: int


@dataclass(frozen=True, slots=True)
class Word:
    """A word of an utterance: its sound runs from `start_us` to `end_us`, µs after the utterance's first sample."""

    text: Personal
    start_us: int
    end_us: int


class Alignment(StrEnum):
    """How well word times are known."""

    EXACT = "exact"
    ESTIMATED = "estimated"
    CHUNK = "chunk"


class Role(StrEnum):
    """What an utterance is for; a backchannel neither takes nor loses the floor."""

    ANSWER = "answer"
    GREETING = "greeting"
    NOTICE = "notice"
    FILLER = "filler"
    BACKCHANNEL = "backchannel"
    APOLOGY = "apology"
    FAREWELL = "farewell"


class Phase(StrEnum):
    """Where a call is; it only moves downwards."""

    RINGING = "ringing"
    ANSWERED = "answered"
    ENDING = "ending"
    ENDED = "ended"


class EndReason(StrEnum):
    """Why a call ended. Exactly one per call."""

    CALLER_HUNG_UP = "caller_hung_up"
    AGENT_ENDED = "agent_ended"
    OPERATOR = "operator"
    TRANSFERRED = "transferred"
    REFUSED = "refused"
    NOT_ANSWERED = "not_answered"
    MEDIA_LOST = "media_lost"
    LINE_FAILED = "line_failed"
    FRONTEND_LOST = "frontend_lost"
    TOO_LONG = "too_long"
    SHUTDOWN = "shutdown"
    FAULT = "fault"


class Verdict(StrEnum):
    """What the floor arbiter says about our speech."""

    DUCK = "duck"
    RESTORE = "restore"
    HOLD = "hold"
    RESUME = "resume"
    YIELD = "yield"


class Outcome(StrEnum):
    """How an utterance ended."""

    FINISHED = "finished"
    CUT = "cut"
    STARVED = "starved"
    DROPPED = "dropped"


class WorkStatus(StrEnum):
    """The one outcome of a work."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


class WorkPhase(StrEnum):
    """Where a work without an outcome stands."""

    QUEUED = "queued"
    RUNNING = "running"
    NEEDS_INPUT = "needs_input"
    CANCELLING = "cancelling"


class DeliveryState(StrEnum):
    """Where the telling of one thing stands; the last three are ends."""

    READY = "ready"
    DELIVERING = "delivering"
    DELIVERED = "delivered"
    PARTIAL = "partial"
    DROPPED = "dropped"


class TransferState(StrEnum):
    """Where a transfer is; all but `ringing` are ends."""

    RINGING = "ringing"
    ANSWERED = "answered"
    BUSY = "busy"
    DECLINED = "declined"
    TIMEOUT = "timeout"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Cause:
    """What a frontend speaks about: a turn of the caller, a backend message (`attempt_id`), or nothing but its own initiative."""

    turn: int | None = None
    attempt_id: str | None = None
    proactive: bool = False
