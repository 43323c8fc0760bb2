"""The call's core: input events in, one frame a tick out, and everything that is derived in between. Pure.

The same object runs a live call and its strict replay: nothing in here knows a clock, a task, a socket or a file. `apply` takes
an input event that is on the timeline already, `tick` moves 20 ms on; both append derived events to the timeline.
Whatever a derived event asks of the world (a frontend to yield, a line to hang up) is done by whoever listens to the timeline.

A tick at `t` first settles what was sent in the 20 ms before it, so that no event knows the future, then decides, then pulls
the frame for the 20 ms after it.
"""

from collections.abc import Callable

from agent.errors import Fault
from agent.floor.arbiter import Decision, FloorArbiter, Speaking, SustainedSpeechArbiter
from agent.heard import HeardLedger
from agent.line import Pcm
from agent.playout import Ended, Playout, Pulled
from agent.sending import SentSpans
from agent.settings import TICK_US
from agent.timeline.events import (
    CallEnded,
    CallStarted,
    DelegateClosed,
    DelegateOpened,
    EndRequested,
    EpochChanged,
    Event,
    FaultDetected,
    FloorChanged,
    FrontendLost,
    FrontendOpened,
    Gap,
    LineAnswered,
    LineClosed,
    LineHeld,
    LineQuality,
    LineResumed,
    MediaReceived,
    PhaseChanged,
    SayRequested,
    SpeechArrived,
    SpeechRefused,
    UtteranceEnded,
    UtteranceStarted,
    VoiceContinued,
    VoiceStarted,
    VoiceStopped,
    WordsSent,
    WorkEnded,
)
from agent.timeline.kinds import EndReason, Outcome, Phase, Role, Verdict
from agent.timeline.log import Entry, Timeline
from agent.watchdog import Alarm, Sending, Watchdog
from agent.works import Works

CONTINUOUS_US = 300_000
"""A shorter pause between two utterances of ours does not interrupt our speech."""


class CallCore:
    """State of one call. Create it with the call's first event, then `apply` and `tick`."""

    def __init__(self, started: CallStarted, timeline: Timeline, arbiter: FloorArbiter | None = None) -> None:
        self.phase = Phase.RINGING
        self.playout = Playout(started.sample_rate_hz * TICK_US // 1_000_000)
        self.works = Works()
        self._held_by: set[str] = set()
        self._timeline = timeline
        self._settings = started.settings
        self._rate = started.sample_rate_hz
        self._ledger = HeardLedger(started.sample_rate_hz, started.far_end_delay_us)
        self._spans = SentSpans()
        self._arbiter = arbiter or SustainedSpeechArbiter(started.settings.floor, started.owns_floor)
        self._watchdog = Watchdog(started.settings.watchdog)
        self._pulled: Pulled | None = None
        self._pulled_us = self._t = 0
        self._since_us = self._busy_us = 0
        self._sent_us = -CONTINUOUS_US
        self._answered_us: int | None = None
        self._media_us = self._held_us = self._expected = 0
        self._ending: tuple[EndRequested, int, int | None] | None = None
        self._voice = False
        self._cut_onset_us: int | None = None

    @property
    def on_hold(self) -> bool:
        """One end or both put the other on hold."""
        return bool(self._held_by)

    # --- inputs ---

    def apply(self, entry: Entry, pcm: Pcm | None = None) -> None:
        """Take an input event. Speech comes with its audio, `samples` long; in a replay silence of that length will do."""
        self._t = entry.t
        event = entry.event
        if isinstance(event, SpeechArrived | SayRequested):
            if pcm is None or len(pcm) != event.samples:
                raise Fault(f"{event.kind} says {event.samples} samples and came with {0 if pcm is None else len(pcm)}")
            self._on_speech(entry, event, pcm)
            return
        handler = _HANDLERS.get(type(event))
        if handler and (self.phase is not Phase.ENDED or isinstance(event, WorkEnded)):
            handler(self, entry)

    def _on_speech(self, entry: Entry, event: SpeechArrived | SayRequested, pcm: Pcm) -> None:
        if isinstance(event, SayRequested):
            epoch, must_hear, final = self.playout.epoch, event.must_hear, True
        else:
            epoch, must_hear, final = event.epoch, False, event.final
        takes = self._ledger.takes(event.utterance_id, event.text, event.words)
        refusal = "ended" if self.phase is Phase.ENDED else None if takes else "too_long"
        refusal = refusal or self.playout.offer(event.utterance_id, epoch, event.role, must_hear, pcm, final)
        if refusal:
            self._emit(SpeechRefused(event.utterance_id, epoch, event.samples, refusal), entry.seq)
            return
        self._ledger.script(event.utterance_id, event.text, event.words, event.alignment, event.samples)
        if isinstance(event, SpeechArrived):
            self.works.speech(event.cause.attempt_id, event.utterance_id)

    def _on_answered(self, entry: Entry) -> None:
        if self.phase is Phase.RINGING:
            self._answered_us = self._media_us = entry.t
            self._enter(Phase.ANSWERED, "the line was answered", entry.seq)

    def _on_held(self, entry: Entry) -> None:
        assert isinstance(entry.event, LineHeld)
        if not self.on_hold:
            self._held_us = entry.t
        self._held_by.add(entry.event.by)

    def _on_resumed(self, entry: Entry) -> None:
        assert isinstance(entry.event, LineResumed)
        if entry.event.by in self._held_by:
            self._held_by.remove(entry.event.by)
            if not self.on_hold:
                self._nothing_for(entry.t - self._held_us)

    def _nothing_for(self, lost_us: int) -> None:
        """Time in which nothing could be said or heard counts against no bound."""
        self._media_us = self._t
        self._watchdog.lost(lost_us)
        self.works.lost(lost_us)

    def _on_closed(self, entry: Entry) -> None:
        assert isinstance(entry.event, LineClosed)
        self._end(entry.event.reason, entry.event.detail, entry.seq)

    def _on_quality(self, entry: Entry) -> None:
        assert isinstance(entry.event, LineQuality)
        self._ledger.far_end_delay_us = entry.event.far_end_delay_us
        if entry.event.expected > self._expected:  # packets come, if only comfort noise or a report: the far end is there
            self._expected, self._media_us = entry.event.expected, entry.t

    def _on_media(self, entry: Entry) -> None:
        assert isinstance(entry.event, MediaReceived)
        if entry.event.received:
            self._media_us = entry.t

    def _on_gap(self, entry: Entry) -> None:
        assert isinstance(entry.event, Gap)
        if not self.on_hold:
            self._nothing_for(entry.event.lost_us)

    def _on_voice(self, entry: Entry) -> None:
        assert isinstance(entry.event, VoiceStarted | VoiceContinued | VoiceStopped)
        self._voice = not isinstance(entry.event, VoiceStopped)
        self._arbiter.voice(entry.event, entry.seq)
        self._watchdog.voice(entry.event)

    def _on_delegate_opened(self, entry: Entry) -> None:
        assert isinstance(entry.event, DelegateOpened)
        self.works.opened(entry.event)

    def _on_delegate_closed(self, entry: Entry) -> None:
        assert isinstance(entry.event, DelegateClosed)
        self._emit(self.works.closed(entry.event), entry.seq)

    def _on_work_ended(self, entry: Entry) -> None:
        assert isinstance(entry.event, WorkEnded)
        ready = self.works.ended(entry.event)
        if ready:
            self._emit(ready, entry.seq)
        if self.phase is Phase.ENDED:
            self._abandon(entry.seq)

    def _on_frontend_lost(self, entry: Entry) -> None:
        """Nothing more comes for what its session had begun."""
        self.playout.seal()
        again = self.works.frontend_lost()
        if again:
            self._emit(again, entry.seq)

    def _on_frontend_opened(self, entry: Entry) -> None:
        self.works.frontend_opened()

    def _on_end(self, entry: Entry) -> None:
        assert isinstance(entry.event, EndRequested)
        if entry.event.at_once or self.phase is Phase.RINGING:
            self._end(entry.event.reason, entry.event.detail, entry.seq)
        elif self.phase is Phase.ANSWERED:
            self._start_ending(entry.event, entry.seq)

    # --- the tick ---

    def tick(self, t: int) -> Pcm | None:
        """Move on to `t`; returns the frame to send now, None for silence."""
        self._t = t
        self._settle()
        if self.phase is Phase.ENDED:
            return None
        self._bounds()
        if self.phase not in (Phase.ANSWERED, Phase.ENDING) or self.on_hold:
            return None
        self._floor()
        self._watch()
        self._deliver()
        pulled = self.playout.pull()
        self._pulled, self._pulled_us = pulled, t
        if pulled.first:
            self._begin(pulled)
        return pulled.pcm

    def _settle(self) -> None:
        """Account for the frame pulled a tick ago: it is out now."""
        pulled, self._pulled = self._pulled, None
        if pulled is None or (pulled.count == 0 and not pulled.underrun and pulled.ended is None):
            self._emit_all(self._spans.close())
            return
        self._emit_all(self._spans.add(self._pulled_us + TICK_US, pulled))
        whole = pulled.ended is not None and pulled.ended.outcome is Outcome.FINISHED
        if (pulled.count or whole) and pulled.utterance_id:
            told = self._ledger.sent(self._pulled_us, pulled.utterance_id, pulled.start, pulled.count, whole)
            if told:
                words, text = told
                self._emit(WordsSent(pulled.utterance_id, words, pulled.start + pulled.count, text))
        if pulled.count:
            self._sent_us = self._pulled_us + TICK_US
        if pulled.ended:
            self._emit_all(self._spans.close())
            self._account(pulled.ended)

    def _emit(self, event: Event, cause: int | None = None) -> Entry:
        return self._timeline.append(self._t, event, cause)

    def _emit_all(self, events: list[Event]) -> None:
        for event in events:
            self._emit(event)

    def _begin(self, pulled: Pulled) -> None:
        if self._t - self._sent_us > CONTINUOUS_US:
            self._since_us = self._t
        self._cut_onset_us = None
        if pulled.role is not Role.BACKCHANNEL:
            self._watchdog.spoke()
        self._emit(UtteranceStarted(pulled.utterance_id or "", pulled.epoch, pulled.role, pulled.must_hear))

    def _account(self, ended: Ended, cause: int | None = None) -> None:
        onset_us = self._cut_onset_us if ended.outcome is Outcome.CUT else None
        account = self._ledger.close(ended.utterance_id, onset_us)
        self._emit(
            UtteranceEnded(
                ended.utterance_id,
                ended.outcome,
                account.samples_sent,
                account.samples_heard_at_onset,
                account.words_sent,
                account.words_heard_at_onset,
                account.text_sent,
                account.text_unsent,
            ),
            cause,
        )
        change = self.works.utterance_ended(ended.utterance_id, ended.outcome, account.text_sent)
        if change:
            self._emit(change)

    def _bounds(self) -> None:
        """The limits of a call: ringing, media, length, farewell."""
        settings = self._settings
        if self.phase is Phase.RINGING and self._t > settings.answer_within_us:
            self._end(EndReason.NOT_ANSWERED, f"not answered within {settings.answer_within_us // 1_000_000} s")
        elif self.phase is Phase.ANSWERED and self._answered_us is not None:
            if not self.on_hold and self._t - self._media_us > settings.media_lost_us:
                self._end(EndReason.MEDIA_LOST, f"no media for {settings.media_lost_us // 1_000_000} s")
            elif self._t - self._answered_us > settings.longest_us:
                limit = EndRequested(EndReason.TOO_LONG, f"longer than {settings.longest_us // 60_000_000} min", False)
                self._start_ending(limit, None)
        elif self.phase is Phase.ENDING and self._ending:
            request, since_us, cause = self._ending
            # A tick later at the soonest: a farewell may be said when the ending begins.
            arrived = self.playout.drained and self._t - max(self._sent_us, since_us) >= self._ledger.far_end_delay_us
            if arrived or self._t - since_us > settings.ending_us:
                self._end(request.reason, request.detail, cause)

    def _floor(self) -> None:
        current, view = self.playout.current, None
        # From one utterance to the next without a pause is one stretch of speech.
        if self.playout.speaking or (current and current.queued and self._sent_us == self._t):
            assert current is not None
            view = Speaking(current.utterance_id, current.role, current.must_hear, self._since_us)
        decision = self._arbiter.step(self._t, view)
        if decision:
            self._obey(decision)

    def _obey(self, decision: Decision) -> None:
        current = self.playout.current
        utterance_id = current.utterance_id if current else ""
        entry = self._emit(FloorChanged(decision.verdict, utterance_id, decision.onset_us, decision.reason), decision.cause)
        match decision.verdict:
            case Verdict.DUCK:
                self.playout.duck(self._settings.floor.duck_db)
            case Verdict.RESTORE:
                self.playout.duck(0.0)
            case Verdict.HOLD:
                boundary = self._ledger.next_word_end(utterance_id)
                self.playout.hold(0 if boundary is None else boundary)
            case Verdict.RESUME:
                self.playout.resume()
            case Verdict.YIELD:
                self._yield(decision.onset_us, entry.seq)

    def _yield(self, onset_us: int, cause: int) -> None:
        self._cut_onset_us = onset_us
        dropped, ended = self.playout.flush()
        self._emit(EpochChanged(self.playout.epoch, self._t, dropped), cause)
        for one in ended:
            self._account(one, cause)

    def _watch(self) -> None:
        current = self.playout.current
        sending = None
        if current:
            murmur = current.role is Role.BACKCHANNEL
            sending = Sending(current.sent > 0, current.starved, self.playout.held, murmur)
        alarm = self._watchdog.step(self._t, sending)
        if alarm and (self.phase is Phase.ANSWERED or alarm.code != "unanswered"):
            self._recover(alarm)

    def _recover(self, alarm: Alarm) -> None:
        entry = self._emit(FaultDetected(alarm.code, alarm.detail))
        if alarm.code == "held":
            self.playout.resume()
        elif alarm.code == "starved" and (ended := self.playout.end_current(Outcome.STARVED)):
            self._emit_all(self._spans.close())
            self._account(ended, entry.seq)

    def _deliver(self) -> None:
        if self._voice or not self.playout.drained:
            self._busy_us = self._t
        quiet = self.phase is Phase.ANSWERED and self._t - self._busy_us >= self._settings.telling_after_us
        change = self.works.step(self._t, quiet)
        if change:
            self._emit(change)

    # --- phases ---

    def _enter(self, phase: Phase, reason: str, cause: int | None = None) -> None:
        self.phase = phase
        self._emit(PhaseChanged(phase, reason), cause)

    def _start_ending(self, request: EndRequested, cause: int | None) -> None:
        self._ending = (request, self._t, cause)
        self.playout.drain()
        self._enter(Phase.ENDING, request.detail, cause)

    def _end(self, reason: EndReason, detail: str, cause: int | None = None) -> None:
        """The one end of a call, whatever ends it."""
        self._settle()
        self._emit_all(self._spans.close())
        for ended in self.playout.stop(Outcome.CUT):
            self._account(ended)
        self._abandon(cause)
        self._enter(Phase.ENDED, detail, cause)
        lasted_us = self._t - self._answered_us if self._answered_us is not None else 0
        self._emit(CallEnded(reason, detail, lasted_us), cause)

    def _abandon(self, cause: int | None) -> None:
        for change in self.works.abandon("the call has ended"):
            self._emit(change, cause)


_HANDLERS: dict[type[Event], Callable[[CallCore, Entry], None]] = {
    LineAnswered: CallCore._on_answered,
    LineHeld: CallCore._on_held,
    LineResumed: CallCore._on_resumed,
    LineClosed: CallCore._on_closed,
    LineQuality: CallCore._on_quality,
    MediaReceived: CallCore._on_media,
    Gap: CallCore._on_gap,
    VoiceStarted: CallCore._on_voice,
    VoiceContinued: CallCore._on_voice,
    VoiceStopped: CallCore._on_voice,
    DelegateOpened: CallCore._on_delegate_opened,
    DelegateClosed: CallCore._on_delegate_closed,
    WorkEnded: CallCore._on_work_ended,
    EndRequested: CallCore._on_end,
    FrontendLost: CallCore._on_frontend_lost,
    FrontendOpened: CallCore._on_frontend_opened,
}
