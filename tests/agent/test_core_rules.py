"""Whole runs of the core under random inputs: what must hold whatever happens."""

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.replay import replay
from agent.settings import TICK_US, CallSettings
from agent.timeline.codec import decode, encode
from agent.timeline.events import (
    CallEnded,
    DelegateClosed,
    DelegateOpened,
    DelegationCreated,
    DeliveryChanged,
    EpochChanged,
    FloorChanged,
    FrontendLost,
    LineClosed,
    LineHeld,
    LineQuality,
    LineResumed,
    PhaseChanged,
    Sent,
    Underrun,
    UtteranceEnded,
    UtteranceStarted,
    WordsSent,
    WorkEnded,
)
from agent.timeline.kinds import Alignment, DeliveryState, EndReason, Outcome, Phase, Role, Span, Verdict, Word, WorkStatus
from tests.agent.core_driver import FRAME, RATE_HZ, CallDriver, call_started, sample_call, spoken

pytestmark = pytest.mark.unit

ENDS = {DeliveryState.DELIVERED, DeliveryState.PARTIAL, DeliveryState.DROPPED}
CLOSERS = ("command.end", "line.closed")
BOUNDS = {EndReason.NOT_ANSWERED, EndReason.MEDIA_LOST, EndReason.TOO_LONG}


class RandomCall:
    """A call to which anything may happen, in any order, with what arrives kept consistent in itself."""

    def __init__(self, seed: int) -> None:
        self.luck = random.Random(seed)
        short = CallSettings(ending_us=2_000_000, media_lost_us=4_000_000, answer_within_us=1_000_000)
        self.call = CallDriver(call_started(short, owns_floor=self.luck.random() < 0.2))
        self.given: Counter[str] = Counter()
        self.utterances = self.says = 0
        self.media = True

    def run(self, acts: int) -> CallDriver:
        """So many acts, the first of them mostly the answer; three at most after the end."""
        self.luck.choice([self.call.answer] * 19 + [self.say])()
        after_the_end = 0
        for act in self.luck.choices(list(ACTS), list(ACTS.values()), k=acts):
            after_the_end += self.call.core.phase is Phase.ENDED
            if after_the_end < 4:
                getattr(self, act)()
                self.wait(self.luck.choice([0, 0, 1, 2, 5, 12, 40]))
        self.call.end()
        self.call.give(WorkEnded("w1", WorkStatus.UNKNOWN, 0))
        self.call.tick(3)
        return self.call

    def wait(self, ticks: int) -> None:
        for _ in range(ticks):
            if self.media and self.call.t % (50 * TICK_US) == 0 and not self.call.core.on_hold:
                self.call.media()
            self.call.tick()

    def voice(self) -> None:
        self.call.voice_starts(late_us=self.luck.randint(0, 80_000))
        self.wait(self.luck.randint(1, 45))
        if self.luck.random() < 0.8:
            self.call.voice_stops(late_us=self.luck.randint(0, 200_000))

    def speech(self) -> None:
        """A piece of a new or an old utterance, of this epoch or the one before, with word times, text alone or nothing."""
        self.utterances += self.luck.random() < 0.5
        one = f"u{max(0, self.utterances - (self.luck.random() < 0.1))}"
        samples, first_us = self.luck.choice([0, 1, 159, 1_600, 4_001, 12_000]), self.given[one] * 1_000_000 // RATE_HZ
        count = self.luck.randint(0, 4)
        step_us = samples * 1_000_000 // RATE_HZ // max(1, count)
        words = tuple(Word(f"{one}-{first_us}-{i}", first_us + i * step_us, first_us + (i + 1) * step_us) for i in range(count))
        timed = self.luck.random() < 0.7
        self.call.speak(
            one,
            samples,
            words=words if timed else (),
            text=" ".join(word.text for word in words),
            epoch=max(0, self.call.core.playout.epoch - (self.luck.random() < 0.1)),
            final=self.luck.random() < 0.6,
            role=self.luck.choice([Role.ANSWER, Role.ANSWER, Role.BACKCHANNEL, Role.FILLER]),
            attempt_id=self.luck.choice([None, self._attempt()]),
            alignment=Alignment.EXACT if timed else Alignment.CHUNK,
        )
        self.given[one] += samples

    def _attempt(self) -> str | None:
        """What the frontend was last asked to tell."""
        changes = [event for event in self.call.events(DeliveryChanged) if isinstance(event, DeliveryChanged)]
        return changes[-1].delivery_id if changes else None

    def tell(self) -> None:
        """The frontend tells what it was given."""
        self.utterances += 1
        words, samples = spoken(self.luck.randint(1, 6), 150_000)
        self.call.speak(f"u{self.utterances}", samples, words=words, attempt_id=self._attempt())
        self.utterances += 1

    def say(self) -> None:
        self.says += 1
        words, samples = spoken(self.luck.randint(1, 8), 130_000)
        self.call.say(f"s{self.says}", samples, words=words, must_hear=self.luck.random() < 0.3)

    def hold(self) -> None:
        self.call.give(LineHeld("far"))
        self.wait(self.luck.randint(0, 50))
        if self.luck.random() < 0.9:
            self.resume()

    def resume(self) -> None:
        self.call.give(LineResumed("far"))

    def delegate(self) -> None:
        name = f"g{self.luck.randint(0, 3)}"
        if self.luck.random() < 0.7:
            self.call.give(DelegateOpened(Span(0, self.call.t), name))
        self.call.give(DelegateClosed(Span(0, self.call.t), name, 10))

    def work_ends(self) -> None:
        self.call.give(WorkEnded(f"w{self.luck.randint(1, 6)}", WorkStatus.SUCCEEDED, 10))

    def frontend_lost(self) -> None:
        self.call.give(FrontendLost(1, "gone", False))

    def media_stops(self) -> None:
        self.media = False

    def quality(self) -> None:
        self.call.give(LineQuality(self.luck.randint(0, 400_000), 0, 0, 0))

    def gap(self) -> None:
        self.call.gap(self.luck.randint(26, 400))

    def quiet(self) -> None:
        self.wait(80)

    def farewell(self) -> None:
        self.call.end(at_once=False)

    def line_closes(self) -> None:
        self.call.give(LineClosed(EndReason.CALLER_HUNG_UP, "hung up"))


ACTS = {
    "speech": 30,
    "voice": 16,
    "say": 8,
    "delegate": 6,
    "work_ends": 8,
    "tell": 8,
    "quiet": 10,
    "hold": 4,
    "resume": 1,
    "quality": 2,
    "gap": 2,
    "frontend_lost": 2,
    "media_stops": 0.5,
    "farewell": 0.7,
    "line_closes": 0.5,
}
"""How often each happens, against the others."""


def check_speech(call: CallDriver) -> None:
    """Every utterance that began ends once, and its spans are its samples, in order, while it lasts."""
    sent: Counter[str] = Counter()
    words: dict[str, list[str]] = {}
    started: set[str] = set()
    over: set[str] = set()
    for entry in call.entries:
        match entry.event:
            case UtteranceStarted(utterance_id=one):
                assert one not in started | over
                started.add(one)
            case Sent(utterance_id=one, start=start, samples=samples, covers=covers):
                assert one in started - over
                assert start == sent[one], "not contiguous"
                assert 0 < samples <= (covers.to_us - covers.from_us) * RATE_HZ // 1_000_000
                sent[one] += samples
            case Underrun(utterance_id=one):
                assert one in started - over
            case WordsSent(utterance_id=one, words=count, text=text):
                assert one in started - over
                words.setdefault(one, []).extend(text.split())
                assert len(words[one]) == count
            case UtteranceEnded(utterance_id=one) as end:
                assert one not in over
                assert (end.outcome is Outcome.DROPPED) == (one not in started)
                assert end.samples_sent == sent[one]
                assert end.samples_heard_at_onset <= end.samples_sent
                assert end.words_heard_at_onset <= end.words_sent
                assert end.text_sent.split()[: len(words.get(one, []))] == words.get(one, [])
                assert end.outcome is not Outcome.FINISHED or end.text_unsent == ""
                over.add(one)
    assert started <= over, "the call is over and so is every utterance"


def check_line(call: CallDriver) -> None:
    """Nothing is sent before the answer, on hold or after the end."""
    answered_us = end_us = None
    held_us: int | None = None
    silent: list[tuple[int, float]] = []
    for entry in call.entries:
        match entry.event:
            case PhaseChanged(phase=Phase.ANSWERED):
                answered_us = entry.t
            case LineHeld():
                held_us = entry.t if held_us is None else held_us
            case LineResumed() if held_us is not None:
                silent += [(held_us, entry.t)] if held_us < entry.t else []
                held_us = None
            case CallEnded():
                end_us = entry.t
    if held_us is not None:
        silent.append((held_us, float("inf")))
    assert end_us is not None
    silent += [(0, float("inf") if answered_us is None else answered_us), (end_us, float("inf"))]
    for sent in call.events(Sent):
        assert isinstance(sent, Sent)
        assert not any(sent.covers.from_us < to_us and from_us < sent.covers.to_us for from_us, to_us in silent)
    for t, frame in call.frames.items():
        assert frame is None or len(frame) == FRAME
        assert frame is None or not any(from_us <= t < to_us for from_us, to_us in silent)


def check_floor(call: CallDriver) -> None:
    """Each duck is lifted once, each yield begins an epoch, and must-hear lines stay out of it."""
    must_hear = {
        event.utterance_id for event in call.events(UtteranceStarted) if isinstance(event, UtteranceStarted) and event.must_hear
    }
    ducked = False
    for entry, following in pairwise(call.entries):
        match entry.event:
            case FloorChanged(verdict=Verdict.DUCK, utterance_id=one):
                assert not ducked
                assert one not in must_hear
                ducked = True
            case FloorChanged(verdict=Verdict.RESTORE):
                assert ducked
                ducked = False
            case FloorChanged(verdict=Verdict.YIELD, utterance_id=one):
                assert one not in must_hear
                assert isinstance(following.event, EpochChanged)
                assert following.cause == entry.seq
                ducked = False
    for sent in call.events(Sent):
        assert isinstance(sent, Sent)
        assert sent.gain_db == 0.0 or sent.utterance_id not in must_hear


def check_works(call: CallDriver) -> None:
    """Every delegation whose outcome came in time has exactly one delivery end, and no delivery two states at once."""
    created, outcomes = set[str](), set[str]()
    states: dict[str, list[DeliveryState]] = {}
    for entry in call.entries:
        match entry.event:
            case DelegationCreated(work_id=work_id):
                assert work_id not in created
                created.add(work_id)
            case WorkEnded(work_id=work_id) if work_id in created:
                outcomes.add(work_id)
            case DeliveryChanged(work_id=work_id, state=state):
                states.setdefault(work_id, []).append(state)
    assert set(states) == outcomes
    for told in states.values():
        assert told[0] is DeliveryState.READY
        assert sum(state in ENDS for state in told) == 1
        assert told[-1] in ENDS
        # READY and DELIVERING take turns: what a lost frontend had not begun to tell is given to the next one
        assert all(one is not other for one, other in pairwise(told))


def check_end(call: CallDriver) -> None:
    """One end, after what caused it."""
    (end,) = [entry for entry in call.entries if isinstance(entry.event, CallEnded)]
    assert isinstance(end.event, CallEnded)
    if end.event.reason not in BOUNDS:
        assert end.cause is not None
        assert call.entries[end.cause].event.kind in CLOSERS
    phases = [event.phase for event in call.events(PhaseChanged) if isinstance(event, PhaseChanged)]
    order = list(Phase)
    assert all(order.index(one) < order.index(two) for one, two in pairwise(phases)), "phases only move downwards"
    assert phases[-1] is Phase.ENDED


@given(seed=st.integers(0, 2**32 - 1))
def test_whatever_happens_a_call_keeps_its_rules(seed: int) -> None:
    """The timeline itself raises when an event knows the future or comes before its cause."""
    call = RandomCall(seed).run(acts=50)
    for check in (check_speech, check_line, check_floor, check_works, check_end):
        check(call)
    result = replay(call.entries)
    assert result.difference is None
    assert result.complete
    assert replay([decode(encode(entry)) for entry in call.entries]).difference is None


def test_the_sample_call_has_everything_a_replay_should_see() -> None:
    call = sample_call()
    for check in (check_speech, check_line, check_floor, check_end):
        check(call)
    outcomes = [event.outcome for event in call.events(UtteranceEnded) if isinstance(event, UtteranceEnded)]
    assert outcomes == [Outcome.FINISHED, Outcome.CUT, Outcome.FINISHED, Outcome.FINISHED]
