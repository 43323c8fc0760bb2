"""What a reader of a call is shown, gathered from its timeline in one pass: speech with its fate, turns, floor, works, marks.

Pure: entries in, a `Story` out. All times are µs of the call's clock.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from agent.errors import Refused
from agent.record.floor_story import FloorStretch, FloorTrace, YieldMark
from agent.timeline import events as ev
from agent.timeline import kinds
from agent.timeline.log import Entry

Stretch = tuple[int, int]
"""From and to, µs."""


@dataclass(slots=True)
class Utterance:
    """Something the agent said, meant to say, or both.

    `parts`: (from, to, gain in dB) of what went out. `words`: (text, from, to); the first `words_sent` of them went out, the
    rest lie where they would have been. `sent` and `unsent` are the text on either side of the cut. `fate` is what became of
    it, for a person; `cut_us` the onset of the voice that took the floor.
    """

    id: str
    role: str
    seq: int
    at_us: int
    text: str = ""
    raw_words: list[kinds.Word] = field(default_factory=list)
    segments: list[tuple[int, int, int, float]] = field(default_factory=list)
    parts: list[tuple[int, int, float]] = field(default_factory=list)
    words: list[tuple[str, int, int]] = field(default_factory=list)
    words_sent: int = 0
    words_heard: int = 0
    sent: str = ""
    unsent: str = ""
    outcome: str = ""
    fate: str = ""
    must_hear: bool = False
    started: bool = False
    from_us: int = 0
    to_us: int = 0
    cut_us: int | None = None


@dataclass(slots=True)
class Heard:
    """What the caller said in a stretch. `final` is false where the recogniser never came to an end."""

    from_us: int
    to_us: int
    text: str
    final: bool
    seq: int


@dataclass(slots=True)
class Telling:
    """The delivery of one thing about a work: its states as (t, state, reason, seq)."""

    id: str
    of: str
    states: list[tuple[int, str, str, int]] = field(default_factory=list)
    heard: str = ""


@dataclass(slots=True)
class WorkStory:
    """A delegation and what came of it. `phases`: (t, phase, headline, seq)."""

    id: str
    seq: int
    from_us: int
    opened_us: int
    phases: list[tuple[int, str, str, int]] = field(default_factory=list)
    ended_us: int | None = None
    ended_seq: int | None = None
    status: str = ""
    tellings: list[Telling] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened to the line or to us, at a point or over a stretch. `weight` orders what is drawn first."""

    from_us: int
    to_us: int
    kind: str
    text: str
    seq: int
    weight: Literal["note", "warn", "fault"] = "note"


@dataclass(slots=True)
class Story:
    """The whole of it."""

    started: ev.CallStarted
    voices: list[tuple[int, int, int]] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    utterances: list[Utterance] = field(default_factory=list)
    floor: list[FloorStretch] = field(default_factory=list)
    yields: list[YieldMark] = field(default_factory=list)
    works: list[WorkStory] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    held: list[Stretch] = field(default_factory=list)
    answered_us: int | None = None
    ended: ev.CallEnded | None = None
    length_us: int = 0
    ducks: int = 0


_MISSED = {"loss": "lost on the way and concealed", "underrun": "without the audio that was due"}


def tell(entries: Iterable[Entry]) -> Story:
    """Read a whole timeline. Raises `Refused` when it does not begin with `call.started`."""
    teller: _Teller | None = None
    for entry in entries:
        if teller is None:
            if not isinstance(entry.event, ev.CallStarted):
                raise Refused(f"the timeline begins with {entry.event.kind}, not with call.started: its beginning is missing")
            teller = _Teller(entry.event)
        teller.take(entry)
    if teller is None:
        raise Refused("the timeline holds no events: the call wrote none, or the file was cut after its first line")
    return teller.close()


class _Teller:
    """Gathers a story entry by entry."""

    def __init__(self, started: ev.CallStarted) -> None:
        self.story = Story(started)
        self.rate = max(1, started.sample_rate_hz)
        self.floor = FloorTrace()
        self.utterances: dict[str, Utterance] = {}
        self.readings: dict[int, Heard] = {}
        self.open_voice: tuple[int, int, int] | None = None
        self.opened: dict[str, int] = {}
        self.works: dict[str, WorkStory] = {}
        self.held_since: int | None = None
        self.missed: dict[str, list[tuple[int, int, int, int]]] = {}

    def take(self, entry: Entry) -> None:
        self.story.length_us = max(self.story.length_us, entry.t)
        self._speech(entry)
        self._evidence(entry)
        self._work(entry)
        self._line(entry)
        self._trouble(entry)

    def close(self) -> Story:
        """Finish what the end of the timeline left open."""
        story = self.story
        if self.open_voice:
            story.voices.append(self.open_voice)
        if self.held_since is not None:
            story.held.append((self.held_since, story.length_us))
        story.heard = sorted(self.readings.values(), key=lambda heard: heard.from_us)
        story.utterances = [finish(utterance, self.rate) for utterance in self.utterances.values()]
        story.utterances.sort(key=lambda utterance: utterance.from_us)
        story.works = sorted(self.works.values(), key=lambda work: work.opened_us)
        speaking = [part[:2] for u in story.utterances if u.role != kinds.Role.BACKCHANNEL for part in u.parts]
        story.floor = self.floor.stretches(speaking, [voice[:2] for voice in story.voices], story.length_us)
        story.yields = self.floor.yields
        for kind, runs in self.missed.items():
            for from_us, to_us, missed_us, seq in runs:
                self._mark(from_us, to_us, kind, f"{missed_us // 1000} ms {_MISSED[kind]}", seq, "warn")
        story.marks.sort(key=lambda mark: mark.from_us)
        return story

    # --- what the agent says ------------------------------------------------------------------------------------------------

    def _utterance(self, id: str, entry: Entry, role: str = kinds.Role.ANSWER) -> Utterance:
        return self.utterances.setdefault(id, Utterance(id, role, entry.seq, entry.t))

    def _speech(self, entry: Entry) -> None:
        match entry.event:
            case ev.SpeechArrived(utterance_id=id, role=role, text=text, words=words):
                said = self._utterance(id, entry, role)
                said.text = f"{said.text} {text}".strip() if text else said.text
                said.raw_words += words
            case ev.SayRequested(utterance_id=id, role=role, text=text, words=words, must_hear=must_hear):
                said = self._utterance(id, entry, role)
                said.text, said.must_hear = text, must_hear
                said.raw_words += words
            case ev.UtteranceStarted(utterance_id=id, role=role):
                said = self._utterance(id, entry, role)
                said.started, said.at_us, said.seq = True, entry.t, entry.seq
            case ev.Sent(utterance_id=id, covers=covers, start=start, gain_db=gain):
                self._utterance(id, entry).segments.append((covers.from_us, covers.to_us, start, gain))
            case ev.UtteranceEnded(utterance_id=id):
                self._ended(self._utterance(id, entry), entry.event, entry.t)
            case ev.SpeechRefused(utterance_id=id, reason=reason):
                said = self._utterance(id, entry)
                if not said.started and not said.outcome:
                    said.outcome, said.fate = "refused", f"never sent: {reason.replace('_', ' ')}"
            case ev.FloorChanged(verdict=verdict, utterance_id=id, onset_us=onset, reason=reason):
                self.floor.verdict(entry.t, entry.seq, verdict, id, onset, reason)
                self.story.ducks += verdict == kinds.Verdict.DUCK
                if verdict == kinds.Verdict.YIELD:
                    self._utterance(id, entry).cut_us = onset
            case _:
                pass

    def _ended(self, said: Utterance, end: ev.UtteranceEnded, t: int) -> None:
        self.floor.ended(t, said.id)
        said.outcome, said.sent, said.unsent = end.outcome, end.text_sent, end.text_unsent
        said.words_sent, said.words_heard = end.words_sent, end.words_heard_at_onset
        match end.outcome:
            case kinds.Outcome.CUT:
                said.fate = "interrupted" if said.cut_us is not None else "cut off"
            case kinds.Outcome.STARVED:
                said.fate = "its sound stopped arriving"
            case kinds.Outcome.DROPPED:
                said.fate = "cut off" if end.samples_sent else "never sent: the floor was taken before it began"
            case kinds.Outcome.FINISHED:
                pass

    # --- what the caller does -----------------------------------------------------------------------------------------------

    def _evidence(self, entry: Entry) -> None:
        match entry.event:
            case ev.VoiceStarted(covers=covers):
                self.open_voice = (covers.from_us, covers.to_us, entry.seq)
            case ev.VoiceContinued(covers=covers) if self.open_voice:
                self.open_voice = (covers.from_us, covers.to_us, self.open_voice[2])
            case ev.VoiceStopped(covers=covers):
                seq = self.open_voice[2] if self.open_voice else entry.seq
                self.story.voices.append((covers.from_us, covers.to_us, seq))
                self.open_voice = None
            case ev.Transcript(covers=covers, text=text, final=final):
                previous = self.readings.get(covers.from_us)
                if final or previous is None or not previous.final:
                    self.readings[covers.from_us] = Heard(covers.from_us, covers.to_us, text, final, entry.seq)
            case ev.MediaReceived(covers=covers, concealed=concealed) if concealed:
                self._missed("loss", covers, concealed * 1_000_000 // self.rate, entry.seq)
            case ev.DigitReceived(digit=digit):
                self._mark(entry.t, entry.t, "dtmf", digit, entry.seq)
            case _:
                pass

    # --- works --------------------------------------------------------------------------------------------------------------

    def _work(self, entry: Entry) -> None:
        match entry.event:
            case ev.DelegateOpened(delegation_id=id):
                self.opened[id] = entry.t
            case ev.DelegationCreated(work_id=id, delegation_id=delegation):
                self.works[id] = WorkStory(id, entry.seq, entry.t, self.opened.get(delegation, entry.t))
            case ev.WorkChanged(work_id=id, phase=phase, headline=headline):
                self._known_work(id, entry).phases.append((entry.t, phase, headline, entry.seq))
            case ev.WorkEnded(work_id=id, status=status):
                work = self._known_work(id, entry)
                work.ended_us, work.ended_seq, work.status = entry.t, entry.seq, status
            case ev.DeliveryChanged(work_id=id, delivery_id=delivery, of=of, state=state, reason=reason, heard=heard):
                tellings = self._known_work(id, entry).tellings
                telling = next((known for known in tellings if known.id == delivery), None)
                if telling is None:
                    tellings.append(telling := Telling(delivery, of))
                telling.states.append((entry.t, state, reason, entry.seq))
                telling.heard = heard or telling.heard
            case _:
                pass

    def _known_work(self, id: str, entry: Entry) -> WorkStory:
        return self.works.setdefault(id, WorkStory(id, entry.seq, entry.t, entry.t))

    # --- the line and what went wrong ---------------------------------------------------------------------------------------

    def _mark(
        self, from_us: int, to_us: int, kind: str, text: str, seq: int, weight: Literal["note", "warn", "fault"] = "note"
    ) -> None:
        self.story.marks.append(Mark(from_us, to_us, kind, text, seq, weight))

    def _missed(self, kind: str, covers: kinds.Span, missed_us: int, seq: int) -> None:
        """Sound that was not there; a stretch that goes on from the last one of its kind is one with it."""
        runs = self.missed.setdefault(kind, [])
        if runs and runs[-1][1] >= covers.from_us:
            from_us, _, before_us, first = runs.pop()
            runs.append((from_us, covers.to_us, before_us + missed_us, first))
        else:
            runs.append((covers.from_us, covers.to_us, missed_us, seq))

    def _line(self, entry: Entry) -> None:
        t, seq = entry.t, entry.seq
        match entry.event:
            case ev.LineAnswered():
                self.story.answered_us = t
                self._mark(t, t, "answered", "answered", seq)
            case ev.PhaseChanged(phase=kinds.Phase.ANSWERED) if self.story.answered_us is None:
                self.story.answered_us = t
            case ev.LineHeld():
                self.held_since = t if self.held_since is None else self.held_since
            case ev.LineResumed(by=by) if self.held_since is not None:
                who = "the far end" if by == "far" else "us"
                self.story.held.append((self.held_since, t))
                self._mark(self.held_since, t, "hold", f"on hold, by {who}", seq)
                self.held_since = None
            case ev.DigitsSent(digits=digits):
                self._mark(t, t, "dtmf_sent", digits, seq)
            case ev.TransferProgressed(target=target, state=state, detail=detail):
                text = f"transfer to {target}: {state}" + (f" ({detail})" if detail else "")
                self._mark(t, t, "transfer", text, seq)
            case ev.CallEnded():
                self.story.ended = entry.event
                self._mark(t, t, "ended", "ended", seq)
            case _:
                pass

    def _trouble(self, entry: Entry) -> None:
        t, seq = entry.t, entry.seq
        match entry.event:
            case ev.Gap(covers=covers, lost_us=lost):
                self._mark(covers.from_us, covers.to_us, "gap", f"no tick ran for {lost // 1000} ms", seq, "warn")
            case ev.Underrun(covers=covers):
                self._missed("underrun", covers, covers.to_us - covers.from_us, seq)
            case ev.FrontendLost(reason=reason, final=final):
                text = f"the frontend was lost{' for good' if final else ''}: {reason}"
                self._mark(t, t, "frontend", text, seq, "fault")
            case ev.FrontendOpened(attempt=attempt) if attempt > 1:
                self._mark(t, t, "frontend", f"the frontend was rebuilt (attempt {attempt})", seq)
            case ev.FrontendLag(lag_us=lag) if lag:
                self._mark(t, t, "lag", f"the frontend is {lag // 1000} ms behind", seq, "warn")
            case ev.FaultReported(code=code, detail=detail) | ev.FaultDetected(code=code, detail=detail):
                self._mark(t, t, "fault", f"{code}: {detail}" if detail else code, seq, "fault")
            case ev.RecordChanged(state="failed", detail=detail):
                self._mark(t, t, "record", f"the record failed: {detail}", seq, "fault")
            case _:
                pass


def finish(said: Utterance, rate: int) -> Utterance:
    """Place an utterance and its words on the call's clock. `rate`: samples a second of the line."""
    if not said.outcome and not said.sent:
        said.sent = said.text
        said.words_sent = len(said.raw_words)
    if said.outcome == "refused":
        said.unsent = said.text
    said.segments.sort()
    said.parts = _parts(said.segments)
    said.from_us = said.parts[0][0] if said.parts else said.at_us
    said.to_us = said.parts[-1][1] if said.parts else said.at_us
    clock = [(start * 1_000_000 // rate, from_us, to_us) for from_us, to_us, start, _ in said.segments]
    said.words = [
        (word.text, _place(word.start_us, clock, said.to_us), _place(word.end_us, clock, said.to_us)) for word in said.raw_words
    ]
    return said


def _parts(segments: list[tuple[int, int, int, float]]) -> list[tuple[int, int, float]]:
    """What went out, neighbours of the same gain joined."""
    parts: list[tuple[int, int, float]] = []
    for from_us, to_us, _, gain in segments:
        if parts and parts[-1][1] == from_us and parts[-1][2] == gain:
            parts[-1] = (parts[-1][0], to_us, gain)
        else:
            parts.append((from_us, to_us, gain))
    return parts


def _place(offset_us: int, clock: list[tuple[int, int, int]], end_us: int) -> int:
    """Where on the call's clock the utterance's own `offset_us` was sent, or would have been after its end."""
    for start_us, from_us, to_us in reversed(clock):
        if start_us <= offset_us:
            at_us = from_us + offset_us - start_us
            return at_us if at_us <= to_us or (start_us, from_us, to_us) == clock[-1] else to_us
    return end_us + offset_us
