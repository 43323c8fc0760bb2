"""The event catalogue: everything a call can learn, decide or do, as frozen dataclasses.

An *input* event comes from outside the pure cores (media, evidence, frontend steps, outcomes of works, commands). A *derived*
event is computed from the inputs before it: strict replay feeds the inputs and compares the derived ones byte for byte.

Times are integer microseconds of the call's own clock (see `agent.clock`), counts of audio are samples at the line's rate.
`Personal` marks text that can identify a person: redaction and retention go by that mark alone. Private text (what is said
between the delegate and backend tags) never enters an event: only its length does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar, dataclass_transform

from agent.settings import CallSettings
from agent.timeline.kinds import (
    Alignment,
    Cause,
    DeliveryState,
    EndReason,
    Outcome,
    Personal,
    Phase,
    Role,
    Span,
    TransferState,
    Verdict,
    Word,
    WorkPhase,
    WorkStatus,
)

Origin = Literal["input", "derived"]


class Event:
    """Base of the catalogue. `kind` names the event in a stored timeline; `origin` says who made it (see above)."""

    __slots__ = ()
    kind: ClassVar[str]
    origin: ClassVar[Origin]


CATALOGUE: dict[str, type[Event]] = {}
"""Every event by its `kind`."""


E = TypeVar("E", bound=Event)


@dataclass_transform(frozen_default=True)
def _event(kind: str, origin: Origin) -> Callable[[type[E]], type[E]]:
    """Make the class a frozen dataclass of the catalogue."""

    def register(cls: type[E]) -> type[E]:
        cls.kind, cls.origin = kind, origin
        made = dataclass(frozen=True, slots=True)(cls)
        CATALOGUE[kind] = made
        return made

    return register


# --- the call ---------------------------------------------------------------------------------------------------------------


@_event("call.started", "input")
class CallStarted(Event):
    """The Call object was made: `t` is 0. `wall_anchor` (ISO 8601, UTC) is the wall time of `t` = 0."""

    call_id: str
    node_id: str
    direction: Literal["inbound", "outbound"]
    line: str
    sample_rate_hz: int
    remote: Personal
    wall_anchor: str
    seed: int
    record: Literal["off", "on"]
    far_end_delay_us: int
    owns_floor: bool
    settings: CallSettings
    versions: dict[str, str]


@_event("call.phase", "derived")
class PhaseChanged(Event):
    """The call entered `phase`."""

    phase: Phase
    reason: str


@_event("call.ended", "derived")
class CallEnded(Event):
    """The last thing a call decides. `lasted_us`: from answer to end, 0 if never answered."""

    reason: EndReason
    detail: str
    lasted_us: int


@_event("call.gap", "input")
class Gap(Event):
    """The ticker stood still for `lost_us` and jumped: no tick ran in that stretch."""

    covers: Span
    lost_us: int


# --- media ------------------------------------------------------------------------------------------------------------------


@_event("media.received", "input")
class MediaReceived(Event):
    """What the line gave over `covers`, in samples: decoded, concealed (lost on the way), silent (nothing was due)."""

    covers: Span
    received: int
    concealed: int
    silent: int
    level_dbov: float


@_event("media.sent", "derived")
class Sent(Event):
    """Samples `start .. start + samples` of an utterance left towards the far end over `covers` at `gain_db`."""

    covers: Span
    utterance_id: str
    epoch: int
    start: int
    samples: int
    gain_db: float


@_event("media.underrun", "derived")
class Underrun(Event):
    """An utterance had begun, had not ended, and no audio was there: silence went out over `covers`."""

    covers: Span
    utterance_id: str


@_event("line.quality", "input")
class LineQuality(Event):
    """A report about the line. `far_end_delay_us`: from our sending to the far end's ear."""

    far_end_delay_us: int
    jitter_us: int
    lost: int
    expected: int


# --- evidence ---------------------------------------------------------------------------------------------------------------


@_event("evidence.voice_started", "input")
class VoiceStarted(Event):
    """The caller's voice was detected; `covers.from_us` is its onset."""

    covers: Span
    level_dbov: float


@_event("evidence.voice_continued", "input")
class VoiceContinued(Event):
    """The caller's voice goes on; `covers` runs from its onset to its last voiced sample. Told every 100 ms of voice."""

    covers: Span
    level_dbov: float


@_event("evidence.voice_paused", "input")
class VoicePaused(Event):
    """The caller's voice fell silent some 100 ms ago: the end, or a breath. Told once a pause.

    `covers` runs from its onset to its last voiced sample. It goes on with `evidence.voice_continued`, or ends with
    `evidence.voice_stopped`.
    """

    covers: Span


@_event("evidence.voice_stopped", "input")
class VoiceStopped(Event):
    """The caller's voice ended; `covers` runs from its onset to its last voiced sample."""

    covers: Span


@_event("evidence.transcript", "input")
class Transcript(Event):
    """What the recogniser read in `covers`. A partial is replaced by the next one of the same onset."""

    covers: Span
    text: Personal
    final: bool
    confidence: float


@_event("evidence.turn", "input")
class TurnProbability(Event):
    """How likely the caller's turn is over at `covers.to_us`, 0 to 1."""

    covers: Span
    probability: float


@_event("evidence.speaker", "input")
class SpeakerScore(Event):
    """Similarity of the voice in `covers` to the call's first caller, −1 to 1. The vector itself is never stored."""

    covers: Span
    score: float


# --- frontend ---------------------------------------------------------------------------------------------------------------


@_event("frontend.opened", "input")
class FrontendOpened(Event):
    """A frontend session is open; `attempt` counts from 1."""

    name: str
    attempt: int
    unit_us: int
    output_rate_hz: int


@_event("frontend.lost", "input")
class FrontendLost(Event):
    """The frontend session is gone. `final`: it will not be rebuilt."""

    attempt: int
    reason: str
    final: bool


@_event("frontend.lag", "input")
class FrontendLag(Event):
    """The frontend is behind by `lag_us` of unread audio. 0: it has caught up."""

    lag_us: int


@_event("step.speech", "input")
class SpeechArrived(Event):
    """A step with speech: `samples` more of the utterance, its `text` and `words`. `covers` is the input it was based on."""

    covers: Span
    utterance_id: str
    epoch: int
    role: Role
    cause: Cause
    text: Personal
    words: tuple[Word, ...]
    alignment: Alignment
    samples: int
    final: bool


@_event("step.delegate_opened", "input")
class DelegateOpened(Event):
    """The frontend began a delegation: evidence up to `covers.to_us` is what it may rest on."""

    covers: Span
    delegation_id: str


@_event("step.delegate_closed", "input")
class DelegateClosed(Event):
    """The request is complete: `request_chars` of private text."""

    covers: Span
    delegation_id: str
    request_chars: int


# --- speech and floor -------------------------------------------------------------------------------------------------------


@_event("command.say", "input")
class SayRequested(Event):
    """`Call.say`: a line rendered beforehand is to be spoken."""

    utterance_id: str
    role: Role
    must_hear: bool
    text: Personal
    words: tuple[Word, ...]
    alignment: Alignment
    samples: int


@_event("utterance.started", "derived")
class UtteranceStarted(Event):
    """The first sample of the utterance goes out in this tick."""

    utterance_id: str
    epoch: int
    role: Role
    must_hear: bool


@_event("utterance.words", "derived")
class WordsSent(Event):
    """`text` is what was sent of the utterance since the last such event; `words` and `samples` are totals."""

    utterance_id: str
    words: int
    samples: int
    text: Personal


@_event("utterance.ended", "derived")
class UtteranceEnded(Event):
    """The heard ledger's account of an utterance.

    `samples_sent` is exact; history is cut there. `samples_heard_at_onset` is what had reached the far end's ear when the
    caller's voice set in (equal to `samples_sent` where nobody interrupted). Words count when their last sample counts.
    """

    utterance_id: str
    outcome: Outcome
    samples_sent: int
    samples_heard_at_onset: int
    words_sent: int
    words_heard_at_onset: int
    text_sent: Personal
    text_unsent: Personal


@_event("utterance.refused", "derived")
class SpeechRefused(Event):
    """Speech that came too late or too much never reached the line.

    `reason`: stale_epoch | ending | ended | speaking | full | too_long.
    """

    utterance_id: str
    epoch: int
    samples: int
    reason: str


@_event("floor.verdict", "derived")
class FloorChanged(Event):
    """A verdict of the floor arbiter about the utterance being spoken; `onset_us` is when the caller's voice set in."""

    verdict: Verdict
    utterance_id: str
    onset_us: int
    reason: str


@_event("floor.epoch", "derived")
class EpochChanged(Event):
    """The caller took the floor: speech of earlier epochs is void. The frontend is told to yield at `at_us`."""

    epoch: int
    at_us: int
    dropped_samples: int


# --- works and deliveries ---------------------------------------------------------------------------------------------------


@_event("delegation.created", "derived")
class DelegationCreated(Event):
    """A delegation became a work: it will have exactly one outcome, and every outcome exactly one delivery end."""

    work_id: str
    delegation_id: str
    evidence_until_us: int
    request_chars: int


@_event("work.changed", "input")
class WorkChanged(Event):
    """The harness says where a work stands. `headline` is public and short ("looking up Tuesday")."""

    work_id: str
    phase: WorkPhase
    headline: Personal


@_event("work.ended", "input")
class WorkEnded(Event):
    """The one outcome of a work: `text_chars` of private text to be told."""

    work_id: str
    status: WorkStatus
    text_chars: int


@_event("delivery.changed", "derived")
class DeliveryChanged(Event):
    """The telling of one thing about a work moved on. `heard` is what of it was sent to the caller."""

    delivery_id: str
    work_id: str
    of: Literal["question", "progress", "outcome"]
    state: DeliveryState
    reason: str
    heard: Personal


# --- the line ---------------------------------------------------------------------------------------------------------------


@_event("line.answered", "input")
class LineAnswered(Event):
    """Media may flow."""


@_event("line.held", "input")
class LineHeld(Event):
    """One side put the other on hold: we neither listen nor speak, and no media is missed."""

    by: Literal["far", "near"]


@_event("line.resumed", "input")
class LineResumed(Event):
    """The hold is over."""

    by: Literal["far", "near"]


@_event("line.closed", "input")
class LineClosed(Event):
    """The line is gone: the far end hung up, or it failed."""

    reason: EndReason
    detail: str


@_event("dtmf.received", "input")
class DigitReceived(Event):
    """One keypad digit (0–9 * # A–D). `via`: rfc4733 | info | inband | memory | page."""

    digit: Personal
    via: str


@_event("dtmf.sent", "input")
class DigitsSent(Event):
    """Digits we sent to the far end."""

    digits: Personal


@_event("line.transfer", "input")
class TransferProgressed(Event):
    """How the transfer to `target` stands; all but `ringing` are ends."""

    target: Personal
    state: TransferState
    detail: str


# --- commands, faults, record -----------------------------------------------------------------------------------------------


@_event("command.end", "input")
class EndRequested(Event):
    """Somebody wants the call to end: what is queued is spoken first (drain), then the line is hung up."""

    reason: EndReason
    detail: str
    at_once: bool


@_event("fault.reported", "input")
class FaultReported(Event):
    """Something outside the pure cores went wrong and the call goes on. `code` is counted in the metrics."""

    code: str
    detail: str


@_event("fault.detected", "derived")
class FaultDetected(Event):
    """The watchdog found that something which should happen does not, and recovered. `code` is counted in the metrics."""

    code: str
    detail: str


@_event("record.changed", "input")
class RecordChanged(Event):
    """The state of the record: `on`, or `failed` with the reason (a full disk); the call goes on either way."""

    state: Literal["on", "failed"]
    detail: str
