"""The queue in front of a pull, and what a splice does to the sound in it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from media.frames import Pcm
from media.splice import SampleQueue, Splicer, faded_into

pytestmark = pytest.mark.unit

RATE, FRAME, BY = 8000, 160, 40


def queue_of(sound: Pcm, *lengths: int) -> SampleQueue:
    queue = SampleQueue()
    for part in np.split(sound, np.cumsum(lengths)):
        queue.append(part)
    return queue


def tone(hz: float, samples: int, amplitude: float = 8000) -> Pcm:
    return np.round(amplitude * np.sin(2 * np.pi * hz * np.arange(samples) / RATE)).astype(np.int16)


@given(st.lists(st.integers(0, 50), max_size=20), st.lists(st.tuples(st.sampled_from("tdp"), st.integers(1, 60)), max_size=40))
def test_the_queue_is_a_list_of_samples(lengths: list[int], steps: list[tuple[str, int]]) -> None:
    expected = np.arange(sum(lengths), dtype=np.int16)
    queue = queue_of(expected, *lengths)
    for action, samples in steps:
        if samples > len(expected):
            break
        if action == "d":
            queue.discard(samples)
        else:
            assert np.array_equal((queue.take if action == "t" else queue.peek)(samples), expected[:samples])
        expected = expected[0 if action == "p" else samples :]
        assert len(queue) == len(expected)


@pytest.mark.parametrize("excess", [0, BY - 1, 1 - BY])
def test_within_the_deadband_nothing_is_touched(excess: int) -> None:
    splicer, queue = Splicer(RATE), queue_of(tone(300, 10 * FRAME, 50))
    for _ in range(8):
        assert splicer.take(queue, excess)[1] == 0


def test_quiet_frames_shrink_and_grow_by_five_milliseconds() -> None:
    for excess, moved in ((BY, BY), (-BY, -BY)):
        splicer, queue = Splicer(RATE), queue_of(tone(300, 20 * FRAME, 50))
        moves = [splicer.take(queue, excess)[1] for _ in range(10)]
        assert moves == [0, 0, 0, 0, moved, 0, 0, 0, 0, moved]
        assert len(queue) == 10 * FRAME - 2 * moved


@pytest.mark.parametrize(("samples", "moved"), [(5 * FRAME + BY, BY), (5 * FRAME + BY - 1, 0)])
def test_shrinking_needs_five_milliseconds_more_than_a_frame(samples: int, moved: int) -> None:
    splicer, queue = Splicer(RATE), queue_of(tone(300, samples, 50))
    assert [splicer.take(queue, BY)[1] for _ in range(5)] == [0, 0, 0, 0, moved]


@pytest.mark.parametrize("sign", [1, -1])
def test_loud_frames_wait_their_turn(sign: int) -> None:
    splicer, queue, pulls = Splicer(RATE), queue_of(tone(300, 400 * FRAME)), 0
    while splicer.take(queue, sign * BY)[1] == 0:
        pulls += 1
    assert 100 < pulls < 180  # 8000 is reached by doubling 300 five times, half a second each


def test_a_delay_far_too_short_waits_for_nothing() -> None:
    splicer, queue = Splicer(RATE), queue_of(tone(300, 20 * FRAME))
    moves = [splicer.take(queue, -2 * BY)[1] for _ in range(5)]
    assert all(-BY <= moved <= -BY // 2 for moved in moves)


@pytest.mark.parametrize("hz", [210, 265, 320, 1000])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_splice_in_a_tone_goes_on_with_the_tone(hz: float, sign: int) -> None:
    splicer, queue = Splicer(RATE), queue_of(tone(hz, 400 * FRAME))
    moved = 0
    while not moved:
        frame, moved = splicer.take(queue, sign * BY)
    joined = np.concatenate((frame, queue.peek(FRAME))).astype(float)
    spectrum = np.abs(np.fft.rfft(joined * np.hanning(len(joined)), 8192))
    peak = round(hz * 8192 / RATE)
    assert spectrum[peak - 120 : peak + 121].max() > 0.85 * 8000 * np.hanning(len(joined)).sum() / 2
    assert np.abs(np.diff(joined)).max() < 1.1 * 8000 * 2 * np.pi * hz / RATE


def test_fading_over_keeps_the_length_and_ends_in_the_second() -> None:
    blended = faded_into(np.full(40, 1000, np.int16), np.full(160, -1000, np.int16))
    assert len(blended) == 160
    assert blended[0] > 900
    assert blended[39] < -900
    assert (blended[40:] == -1000).all()
    assert len(faded_into(np.full(40, 1000, np.int16), np.full(10, -1000, np.int16))) == 10
