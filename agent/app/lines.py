"""Timeline entries as lines for a terminal: one short sentence in one of five lanes."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from agent.timeline import events as ev
from agent.timeline import kinds
from agent.timeline.log import Entry

LANES = {"caller": "cyan", "agent": "green", "floor": "yellow", "work": "magenta", "line": "blue", "fault": "red"}
"""Colour of each lane."""


_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Text of others without what a terminal obeys: control characters, line ends, changes of the writing direction."""
    return _OBEYED.sub("\ufffd", text)


@dataclass(frozen=True, slots=True)
class TerminalLine:
    """`text` is what happened; it may hold words of the caller and is never markup."""

    t: int
    lane: str
    text: str
    faint: bool = False


def clock_text(t: int) -> str:
    """`t` µs as m:ss.cc."""
    minutes, rest = divmod(t // 10_000, 6_000)
    return f"{minutes}:{rest // 100:02d}.{rest % 100:02d}"


def line_of(entry: Entry) -> TerminalLine | None:
    """The line of an entry, or None where it says nothing to a person (samples sent, partial words)."""
    told = _TELL.get(type(entry.event))
    lane_text = told(entry.event) if told else None
    if not lane_text:
        return None
    lane, text, *faint = lane_text
    return TerminalLine(entry.t, lane, plain(text), *faint)


Told = tuple[str, str] | tuple[str, str, bool] | None


def _started(event: ev.CallStarted) -> Told:
    return "line", f"{event.direction} call {event.call_id} on the {event.line} line, {event.sample_rate_hz // 1000} kHz"


def _phase(event: ev.PhaseChanged) -> Told:
    if event.phase is kinds.Phase.ENDED:
        return None  # call.ended says it better
    return "line", f"{event.phase.value}: {event.reason}"


def _transcript(event: ev.Transcript) -> Told:
    return ("caller", f"“{event.text}”") if event.final else None


def _utterance(event: ev.UtteranceStarted) -> Told:
    must = ", must be heard" if event.must_hear else ""
    return "agent", f"begins to speak ({event.role.value}{must})", True


def _utterance_ended(event: ev.UtteranceEnded) -> Told:
    unsent = f" ‹never said: {event.text_unsent}›" if event.text_unsent else ""
    return "agent", f"“{event.text_sent}”{unsent} [{event.outcome.value}]"


def _floor(event: ev.FloorChanged) -> Told:
    return "floor", f"{event.verdict.value} ({event.reason})"


def _delivery(event: ev.DeliveryChanged) -> Told:
    return "work", f"telling {event.work_id}: {event.state.value}" + (f" ({event.reason})" if event.reason else "")


def _work(event: ev.WorkChanged) -> Told:
    return "work", f"{event.work_id} {event.phase.value}" + (f": {event.headline}" if event.headline else "")


def _ended(event: ev.CallEnded) -> Told:
    return "line", f"ended, {event.reason.value.replace('_', ' ')}: {event.detail}"


_TELL: dict[type[ev.Event], Callable[..., Told]] = {
    ev.CallStarted: _started,
    ev.PhaseChanged: _phase,
    ev.CallEnded: _ended,
    ev.Gap: lambda event: ("fault", f"the ticker stood still for {event.lost_us // 1000} ms"),
    ev.Underrun: lambda event: ("fault", f"no audio for {(event.covers.to_us - event.covers.from_us) // 1000} ms"),
    ev.VoiceStarted: lambda event: ("caller", "voice", True),
    ev.Transcript: _transcript,
    ev.FrontendOpened: lambda event: ("agent", f"frontend {event.name} is open (attempt {event.attempt})", True),
    ev.FrontendLost: lambda event: ("fault", f"the frontend is lost: {event.reason}"),
    ev.FrontendLag: lambda event: ("fault", f"the frontend is {event.lag_us / 1e6:.0f} s behind"),
    ev.UtteranceStarted: _utterance,
    ev.UtteranceEnded: _utterance_ended,
    ev.SpeechRefused: lambda event: ("agent", f"speech refused: {event.reason}", True),
    ev.FloorChanged: _floor,
    ev.DelegationCreated: lambda event: ("work", f"{event.work_id} delegated ({event.request_chars} characters, private)"),
    ev.WorkChanged: _work,
    ev.WorkEnded: lambda event: ("work", f"{event.work_id} {event.status.value}"),
    ev.DeliveryChanged: _delivery,
    ev.LineHeld: lambda event: ("line", f"on hold by the {event.by} end"),
    ev.LineResumed: lambda event: ("line", f"resumed by the {event.by} end"),
    ev.DigitReceived: lambda event: ("caller", f"pressed {event.digit}"),
    ev.DigitsSent: lambda event: ("line", f"sent digits {event.digits}"),
    ev.TransferProgressed: lambda event: ("line", f"transfer to {event.target}: {event.state.value} {event.detail}".rstrip()),
    ev.FaultReported: lambda event: ("fault", f"{event.code}: {event.detail}"),
    ev.FaultDetected: lambda event: ("fault", f"{event.code}: {event.detail}"),
    ev.RecordChanged: lambda event: ("fault" if event.state == "failed" else "line", f"record {event.state}: {event.detail}"),
}
