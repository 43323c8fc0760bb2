from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agent.line import Pcm
from agent.playout import SILENCE, Ended, Playout, Pulled
from agent.timeline.kinds import Outcome, Role

pytestmark = pytest.mark.unit

FRAME = 8
"""Small, so that pieces, holds and ends fall everywhere in a frame."""


def ramp(start: int, samples: int) -> Pcm:
    """Samples that say where they come from: 1001 + index."""
    return np.arange(1001 + start, 1001 + start + samples).astype(np.int16)


def offered(
    playout: Playout, utterance_id: str, samples: int, *, role: Role = Role.ANSWER, must_hear: bool = False, final: bool = True
) -> None:
    assert playout.offer(utterance_id, playout.epoch, role, must_hear, ramp(0, samples), final) is None


@dataclass
class Told:
    """What the model knows of an utterance that was accepted."""

    must_hear: bool
    epoch: int
    offered: int = 0
    sent: int = 0
    complete: bool = False
    sealed: bool = False
    hold_at: int | None = None
    outcomes: list[Outcome] = field(default_factory=list)


class PlayoutMachine(RuleBasedStateMachine):
    """Any sequence of acts against a model that only counts."""

    def __init__(self) -> None:
        super().__init__()
        self.playout = Playout(FRAME)
        self.all: dict[str, Told] = {}
        self.queue: list[str] = []
        self.fading: str | None = None
        self.ducked = False
        self.draining = False

    def _end(self, ended: Ended) -> Told:
        told = self.all[ended.utterance_id]
        told.outcomes.append(ended.outcome)
        assert len(told.outcomes) == 1, "an utterance ends once"
        assert ended.sent == told.sent
        assert (ended.outcome is Outcome.DROPPED) == (told.sent == 0), "dropped means that nothing of it was heard"
        self.queue.remove(ended.utterance_id)
        if self.fading == ended.utterance_id:
            self.fading = None
        return told

    @rule(
        back=st.integers(0, 1),
        role=st.sampled_from([Role.ANSWER, Role.BACKCHANNEL]),
        must_hear=st.booleans(),
        samples=st.integers(0, 3 * FRAME),
        final=st.booleans(),
    )
    def offer_new(self, back: int, role: Role, must_hear: bool, samples: int, final: bool) -> None:
        utterance_id, epoch = f"u{len(self.all)}", self.playout.epoch - back
        refusal = self.playout.offer(utterance_id, epoch, role, must_hear, ramp(0, samples), final)
        if back:
            assert refusal == "stale_epoch"
        elif self.draining:
            assert refusal == "ending"
        elif role is Role.BACKCHANNEL and self.queue:
            assert refusal == "speaking"
        else:
            assert refusal is None
            self.all[utterance_id] = Told(must_hear, epoch, samples, complete=final)
            self.queue.append(utterance_id)

    @precondition(lambda self: self.all)
    @rule(data=st.data(), samples=st.integers(0, 3 * FRAME), final=st.booleans())
    def offer_more(self, data: st.DataObject, samples: int, final: bool) -> None:
        utterance_id = data.draw(st.sampled_from(sorted(self.all)))
        told = self.all[utterance_id]
        pcm = ramp(told.offered, samples)
        refusal = self.playout.offer(utterance_id, told.epoch, Role.ANSWER, told.must_hear, pcm, final)
        if told.outcomes or told.complete or told.sealed:
            assert refusal == "ended"
        elif utterance_id == self.fading:
            assert refusal == "stale_epoch"
        else:
            assert refusal is None
            told.offered += samples
            told.complete = final

    @rule(gain_db=st.sampled_from([0.0, -12.0]))
    def duck(self, gain_db: float) -> None:
        self.playout.duck(gain_db)
        self.ducked = gain_db != 0.0

    @rule(ahead=st.integers(-FRAME, 3 * FRAME))
    def hold(self, ahead: int) -> None:
        if not self.queue:
            self.playout.hold(ahead)
            assert not self.playout.held
            return
        told = self.all[self.queue[0]]
        self.playout.hold(told.sent + ahead)
        assert self.playout.held is not told.must_hear
        if not told.must_hear:
            told.hold_at = told.sent + max(0, ahead)

    @rule()
    def resume(self) -> None:
        self.playout.resume()
        for told in self.all.values():
            told.hold_at = None

    @rule()
    def flush(self) -> None:
        epoch, before = self.playout.epoch, self.playout.pending
        head = self.all[self.queue[0]] if self.queue else None
        paused = head is not None and head.hold_at is not None and head.sent >= head.hold_at
        dropped, ended = self.playout.flush()
        assert self.playout.epoch == epoch + 1
        assert before - dropped == self.playout.pending, "what is dropped is not waiting any more"
        for one in ended:
            told = self._end(one)
            assert not told.must_hear
            assert one.outcome is (Outcome.CUT if told.sent else Outcome.DROPPED)
        if head and head.sent and not head.must_hear and not paused:
            self.fading = self.queue[0]
        assert all(self.all[one].must_hear or one == self.fading for one in self.queue)
        self.ducked = False
        self.resume()

    @precondition(lambda self: len(self.all) > 4)
    @rule()
    def drain(self) -> None:
        self.playout.drain()
        self.draining = True

    @rule()
    def seal(self) -> None:
        self.playout.seal()
        for one in self.queue:
            self.all[one].sealed = True

    @rule()
    def stop(self) -> None:
        for one in self.playout.stop(Outcome.CUT):
            told = self._end(one)
            assert one.outcome is (Outcome.CUT if told.sent else Outcome.DROPPED)
        assert self.playout.drained
        assert not self.queue

    @rule()
    def end_current(self) -> None:
        ended = self.playout.end_current(Outcome.STARVED)
        assert (ended is None) == (not self.queue)
        if ended:
            assert ended.utterance_id == self.queue[0]
            self._end(ended)

    @rule()
    def pull(self) -> None:
        fading, pulled = self.fading, self.playout.pull()
        if fading is not None:
            assert pulled.utterance_id == fading, "the fading frame comes first"
            assert pulled.ended is not None
            assert pulled.ended.outcome is Outcome.CUT
        if pulled.utterance_id is None:
            assert pulled == SILENCE
            return
        assert pulled.utterance_id == self.queue[0], "first come, first sent"
        told = self.all[pulled.utterance_id]
        assert told.must_hear or pulled.epoch == self.playout.epoch or fading, "an old epoch left the line"
        self._account(told, pulled, fading is not None)

    def _account(self, told: Told, pulled: Pulled, fading: bool) -> None:
        if pulled.count:
            assert pulled.start == told.sent, "not contiguous"
            assert pulled.first == (told.sent == 0)
            told.sent += pulled.count
            assert pulled.count <= FRAME
            assert told.sent <= told.offered, "a sample was sent that never came"
            assert told.hold_at is None or told.sent <= told.hold_at, "a hold was overrun"
            assert pulled.pcm is not None
            assert len(pulled.pcm) == FRAME
            self._check_sound(told, pulled, fading)
        elif not pulled.ended:
            assert pulled.pcm is None
            held = told.hold_at is not None and told.sent >= told.hold_at
            assert pulled.underrun == (told.sent > 0 and not held)
        if pulled.ended:
            self._end(pulled.ended)
            if pulled.ended.outcome is Outcome.FINISHED:
                assert told.complete
                assert told.sent == told.offered
            elif pulled.ended.outcome is Outcome.STARVED:
                assert told.sealed
                assert not told.complete

    def _check_sound(self, told: Told, pulled: Pulled, fading: bool) -> None:
        assert pulled.pcm is not None
        expected = np.zeros(FRAME, np.int64)
        expected[: pulled.count] = ramp(pulled.start, pulled.count)
        if told.must_hear:
            assert pulled.gain_db == 0.0
            np.testing.assert_array_equal(pulled.pcm, expected)
        else:
            assert (np.abs(pulled.pcm) <= expected).all(), "never louder than it came, silence where nothing came"
        if fading:
            assert pulled.pcm[-1] == 0
        elif not told.must_hear:
            assert pulled.gain_db == (-12.0 if self.ducked else 0.0)

    @invariant()
    def pending_is_what_waits(self) -> None:
        waiting = {one: self.all[one].offered - self.all[one].sent for one in self.queue}
        if self.fading is not None:
            waiting[self.fading] = min(waiting[self.fading], FRAME)
        assert self.playout.pending == sum(waiting.values())
        assert self.playout.drained == (not self.queue)

    def teardown(self) -> None:
        self.stop()
        assert all(len(told.outcomes) == 1 for told in self.all.values())


TestPlayoutMachine = PlayoutMachine.TestCase


def test_a_duck_glides_within_one_frame_and_back() -> None:
    playout = Playout(160)
    assert playout.offer("a", 0, Role.ANSWER, False, np.full(800, 10_000, np.int16), True) is None
    playout.pull()
    playout.duck(-20.0)
    glide, low = playout.pull().pcm, playout.pull().pcm
    playout.duck(0.0)
    back, full = playout.pull().pcm, playout.pull().pcm
    assert glide is not None
    assert low is not None
    assert back is not None
    assert full is not None
    assert (glide[0], glide[-1]) == (10_000, 1_000)
    assert (np.diff(glide) <= 0).all()
    assert set(low) == {1_000}
    assert (back[0], back[-1]) == (1_000, 10_000)
    assert set(full) == {10_000}


def test_a_must_hear_line_after_a_ducked_utterance_is_loud_from_its_first_sample() -> None:
    playout = Playout(FRAME)
    offered(playout, "a", FRAME)
    offered(playout, "law", FRAME, must_hear=True)
    playout.duck(-12.0)
    playout.pull()
    pulled = playout.pull()
    assert pulled.utterance_id == "law"
    np.testing.assert_array_equal(pulled.pcm, ramp(0, FRAME))


def test_flush_fades_one_frame_and_says_what_it_dropped() -> None:
    playout = Playout(FRAME)
    offered(playout, "a", 10 * FRAME)
    offered(playout, "b", 2 * FRAME)
    playout.pull()
    dropped, ended = playout.flush()
    assert dropped == 8 * FRAME + 2 * FRAME
    assert ended == [Ended("b", Outcome.DROPPED, 0)]
    assert playout.speaking is None
    fade = playout.pull()
    assert (fade.start, fade.count, fade.ended) == (FRAME, FRAME, Ended("a", Outcome.CUT, 2 * FRAME))
    assert playout.pull() == SILENCE


def test_must_hear_lines_outlive_a_flush() -> None:
    playout = Playout(FRAME)
    offered(playout, "law", 2 * FRAME, must_hear=True)
    offered(playout, "a", FRAME)
    offered(playout, "more law", FRAME, must_hear=True)
    playout.pull()
    assert playout.flush() == (FRAME, [Ended("a", Outcome.DROPPED, 0)])
    assert playout.pull().ended == Ended("law", Outcome.FINISHED, 2 * FRAME)
    assert playout.pull().ended == Ended("more law", Outcome.FINISHED, FRAME)
    assert playout.drained


def test_a_second_flush_before_the_fading_frame_drops_nothing_twice() -> None:
    playout = Playout(FRAME)
    offered(playout, "a", 10 * FRAME)
    playout.pull()
    assert playout.flush() == (8 * FRAME, [])
    assert playout.flush() == (0, [])
    assert playout.pull().ended == Ended("a", Outcome.CUT, 2 * FRAME)


def test_a_hold_pauses_at_its_sample_and_resumes_with_the_next_one() -> None:
    playout = Playout(FRAME)
    offered(playout, "a", 4 * FRAME)
    playout.pull()
    playout.hold(FRAME + 3)
    last, paused = playout.pull(), playout.pull()
    assert (last.start, last.count) == (FRAME, 3)
    assert paused == Pulled(utterance_id="a", epoch=0)
    playout.resume()
    assert playout.pull().start == FRAME + 3


def test_flush_of_a_paused_utterance_ends_it_at_once() -> None:
    playout = Playout(FRAME)
    offered(playout, "a", 4 * FRAME)
    playout.pull()
    playout.hold(0)
    playout.pull()
    assert playout.flush() == (3 * FRAME, [Ended("a", Outcome.CUT, FRAME)])
    assert playout.pull() == SILENCE


def test_an_empty_utterance_is_no_speech() -> None:
    playout = Playout(FRAME)
    offered(playout, "a", 0)
    pulled = playout.pull()
    assert not pulled.first
    assert pulled.ended == Ended("a", Outcome.DROPPED, 0)


def test_an_utterance_whose_frontend_left_did_not_finish() -> None:
    playout = Playout(FRAME)
    offered(playout, "whole", FRAME)
    offered(playout, "torn", FRAME, final=False)
    playout.seal()
    assert playout.pull().ended == Ended("whole", Outcome.FINISHED, FRAME)
    assert playout.pull().ended == Ended("torn", Outcome.STARVED, FRAME)


def test_underruns_are_counted_from_the_last_audio() -> None:
    playout = Playout(FRAME)
    offered(playout, "a", FRAME, final=False)
    assert not playout.pull().underrun
    assert [playout.pull().underrun for _ in range(3)] == [True] * 3
    assert playout.current is not None
    assert playout.current.starved == 3
    assert playout.offer("a", 0, Role.ANSWER, False, ramp(FRAME, FRAME), False) is None
    playout.pull()
    assert playout.current.starved == 0


def test_what_waits_for_its_first_frame_is_silence_not_underrun() -> None:
    playout = Playout(FRAME)
    offered(playout, "a", FRAME - 1, final=False)
    assert playout.pull() == SILENCE
    assert playout.speaking is None


def test_speech_after_a_flush_of_a_paused_utterance_is_no_part_of_its_fading() -> None:
    playout = Playout(FRAME)
    assert playout.offer("u0", 0, Role.ANSWER, False, ramp(0, FRAME), False) is None
    playout.pull()
    playout.flush()  # nothing of it is left to fade
    playout.hold(0)
    playout.flush()
    assert playout.offer("u1", 2, Role.ANSWER, False, ramp(0, FRAME), False) is None
    assert playout.offer("u1", 2, Role.ANSWER, False, ramp(FRAME, FRAME), True) is None
    pulled = playout.pull()
    assert (pulled.utterance_id, pulled.first, pulled.count) == ("u1", True, FRAME)
