"""Drives a `CallCore` as a call does: inputs go on the timeline and into the core, then the tick; entries and frames are kept."""

import numpy as np

from agent.core import CallCore
from agent.floor.arbiter import FloorArbiter
from agent.line import Pcm
from agent.settings import TICK_US, CallSettings
from agent.timeline.events import (
    CallStarted,
    EndRequested,
    Event,
    Gap,
    LineAnswered,
    MediaReceived,
    SayRequested,
    SpeechArrived,
    VoiceContinued,
    VoiceStarted,
    VoiceStopped,
)
from agent.timeline.kinds import Alignment, Cause, EndReason, Role, Span, Word
from agent.timeline.log import Entry, Timeline

RATE_HZ = 8_000
FRAME = 160
TOLD_EVERY_US = 100_000


def call_started(settings: CallSettings | None = None, owns_floor: bool = False, far_end_delay_us: int = 100_000) -> CallStarted:
    """The first event of a call at 8 kHz."""
    return CallStarted(
        call_id="test-1",
        node_id="test",
        direction="inbound",
        line="memory",
        sample_rate_hz=RATE_HZ,
        remote="+15550100",
        wall_anchor="2026-01-01T00:00:00.000+00:00",
        seed=0,
        record="off",
        far_end_delay_us=far_end_delay_us,
        owns_floor=owns_floor,
        settings=settings or CallSettings(),
        versions={"venus-line": "0"},
    )


def spoken(count: int, word_us: int, rate_hz: int = RATE_HZ) -> tuple[tuple[Word, ...], int]:
    """`count` words of `word_us` each, one after another, and the samples they fill."""
    words = tuple(Word(f"w{i}", i * word_us, (i + 1) * word_us) for i in range(count))
    return words, count * word_us * rate_hz // 1_000_000


class CallDriver:
    """`t` is the tick whose inputs are being given; `tick()` runs it and moves on to the next."""

    def __init__(self, started: CallStarted | None = None, arbiter: FloorArbiter | None = None) -> None:
        self.entries: list[Entry] = []
        self.frames: dict[int, Pcm | None] = {}
        self.t = 0
        self._onset_us: int | None = None
        self._told_us = 0
        timeline = Timeline()
        timeline.subscribe(self.entries.append)
        self._timeline = timeline
        first = started or call_started()
        self.core = CallCore(first, timeline, arbiter)
        timeline.append(0, first)
        self.t = TICK_US

    def events(self, kind: type[Event]) -> list[Event]:
        return [entry.event for entry in self.entries if isinstance(entry.event, kind)]

    def give(self, event: Event, pcm: Pcm | None = None) -> Entry:
        """An input event; speech gets audio of constant level."""
        if isinstance(event, SpeechArrived | SayRequested) and pcm is None:
            pcm = np.full(event.samples, 1000, np.int16)
        entry = self._timeline.append(self.t, event)
        self.core.apply(entry, pcm)
        return entry

    def tick(self, ticks: int = 1) -> None:
        """Run so many ticks, with the voice evidence and the media reports that belong to them."""
        for _ in range(ticks):
            if self._onset_us is not None and self.t - self._told_us >= TOLD_EVERY_US:
                self._told_us += TOLD_EVERY_US
                self.give(VoiceContinued(Span(self._onset_us, self.t), -20.0))
            self.frames[self.t] = self.core.tick(self.t)
            self.t += TICK_US

    def gap(self, ticks: int) -> None:
        """The ticker jumps over so many ticks."""
        from_us = self.t - TICK_US
        self.t += (ticks - 1) * TICK_US
        self.give(Gap(Span(from_us, self.t), self.t - from_us))
        self.t += TICK_US

    def answer(self) -> None:
        self.give(LineAnswered())
        self.tick()

    def media(self) -> None:
        """The far end was heard in the last tick."""
        self.give(MediaReceived(Span(self.t - TICK_US, self.t), FRAME, 0, 0, -30.0))

    def voice_starts(self, late_us: int = 0) -> None:
        """The caller's voice set in `late_us` ago."""
        if self._onset_us is None:
            self._onset_us = self._told_us = max(0, self.t - late_us)
            self.give(VoiceStarted(Span(self._onset_us, self.t), -20.0))

    def voice_stops(self, late_us: int = 0) -> None:
        """The caller's last voiced sample was `late_us` ago."""
        if self._onset_us is not None:
            self.give(VoiceStopped(Span(self._onset_us, max(self._onset_us, self.t - late_us))))
            self._onset_us = None

    def speak(
        self,
        utterance_id: str,
        samples: int,
        *,
        words: tuple[Word, ...] = (),
        text: str = "",
        epoch: int | None = None,
        final: bool = True,
        role: Role = Role.ANSWER,
        attempt_id: str | None = None,
        alignment: Alignment = Alignment.EXACT,
    ) -> None:
        """A step with speech arrives."""
        self.give(
            SpeechArrived(
                Span(0, self.t),
                utterance_id,
                self.core.playout.epoch if epoch is None else epoch,
                role,
                Cause(attempt_id=attempt_id),
                text or " ".join(word.text for word in words),
                words,
                alignment,
                samples,
                final,
            )
        )

    def say(
        self,
        utterance_id: str,
        samples: int,
        *,
        words: tuple[Word, ...] = (),
        text: str = "",
        must_hear: bool = False,
        role: Role = Role.NOTICE,
    ) -> None:
        """A line rendered beforehand is asked for."""
        text = text or " ".join(word.text for word in words)
        self.give(SayRequested(utterance_id, role, must_hear, text, words, Alignment.EXACT, samples))

    def end(self, at_once: bool = True) -> None:
        self.give(EndRequested(EndReason.AGENT_ENDED, "the test is over", at_once))
        self.tick()


def sample_call(settings: CallSettings | None = None) -> CallDriver:
    """A greeting that is talked over briefly, an answer that is interrupted, a second answer, a farewell: a whole call."""
    call = CallDriver(call_started(settings))
    call.tick(5)
    call.answer()
    words, samples = spoken(6, 300_000)
    call.say("hello", samples, words=words, role=Role.GREETING)
    call.tick(20)
    call.voice_starts()
    call.tick(10)
    call.voice_stops()
    call.tick(70)
    call.speak("a1", samples, words=words)
    call.tick(30)
    call.voice_starts()
    call.tick(45)
    call.voice_stops()
    call.media()
    call.tick(5)
    call.speak("a2", samples, words=words)
    call.tick(10)
    call.say("bye", samples, words=words, role=Role.FAREWELL)
    call.end(at_once=False)
    call.tick(200)
    return call
