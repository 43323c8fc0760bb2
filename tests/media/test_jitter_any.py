"""The jitter buffer under any stream: one frame for every pull, samples in their order, every packet accounted for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from media.frames import Pcm
from media.jitter import FrameState, G711Decoder, JitterBuffer, JitterStats, Pulled
from tests.media.streams import FRAME_US, CountingDecoder, counted

pytestmark = pytest.mark.unit

RATE, FRAME = 8000, 160
MOST_US = 200_000


def check_counts(stats: JitterStats, put: int) -> None:
    assert stats.received == put
    assert stats.received == stats.played + stats.late + stats.duplicate + stats.dropped + stats.held
    assert stats.held <= 65


def check_frame(frame: Pulled) -> None:
    assert frame.pcm.shape == (FRAME,)
    assert frame.pcm.dtype == np.int16
    if frame.state is FrameState.SILENT:
        assert not frame.pcm.any()


class Order:
    """Samples that were received must come in their order; only a splice may repeat, and no more than 5 ms and its fade."""

    def __init__(self) -> None:
        self._last, self._blended = 0, True

    def check(self, frame: Pulled, spliced: bool) -> None:
        if frame.state is not FrameState.RECEIVED:
            self._blended = True
            return
        values: Pcm = frame.pcm[60:] if self._blended else frame.pcm
        self._blended = False
        places = values[values > 0].astype(int)
        if not len(places):
            return
        assert places[0] > self._last - (60 if spliced else 0)
        assert places[-1] > self._last
        if not spliced:
            assert (np.diff(places) > 0).all()
        self._last = int(places[-1])


ticks = st.lists(st.lists(st.integers(-25, 10), max_size=4), min_size=1, max_size=150)
"""For each tick the packets that arrive, as how many frames they are ahead of (behind) the newest on time."""


@given(
    ticks,
    st.integers(0, 0xFFFF),
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.integers(0, 149), st.integers(0, 4000)), max_size=2),
)
@settings(max_examples=150)
def test_any_order_loss_and_repetition(
    arrivals: list[list[int]], sequence: int, timestamp: int, skips: list[tuple[int, int]]
) -> None:
    jitter, order, put, jumps = JitterBuffer(CountingDecoder(), RATE), Order(), 0, dict(skips)
    spliced = 0
    for tick, offsets in enumerate(arrivals):
        for offset in offsets:
            index = tick + offset
            if index >= 0:
                put += 1
                place = (timestamp + index * FRAME) & 0xFFFFFFFF
                jitter.put(
                    (sequence + index) & 0xFFFF, place, counted(index * FRAME, FRAME), tick * FRAME_US + 1000 * len(offsets)
                )
        if tick in jumps:
            jitter.skip(jumps[tick])
        frame = jitter.pull(tick * FRAME_US + 10_000)
        stats = jitter.stats
        check_frame(frame)
        order.check(frame, stats.skew_adjustments > spliced)
        spliced = stats.skew_adjustments
        check_counts(stats, put)
        assert jitter.delay_us <= MOST_US + FRAME_US


@given(st.permutations(range(12)), st.integers(0, 0xFFFF), st.integers(0, 2**32 - 1))
def test_what_comes_in_time_is_played_whole_in_any_order(arrival: list[int], sequence: int, timestamp: int) -> None:
    """Twelve packets in any order and all before their turn, then a regular stream: nothing is missing."""
    jitter, heard = JitterBuffer(CountingDecoder(), RATE, min_delay_ms=300, max_delay_ms=400), []
    for tick in range(60):
        for index in (arrival if tick == 0 else []) + ([tick] if tick >= 12 else []):
            place = (timestamp + index * FRAME) & 0xFFFFFFFF
            jitter.put((sequence + index) & 0xFFFF, place, counted(index * FRAME, FRAME), tick * FRAME_US)
        heard += [value - 1 for value in jitter.pull(tick * FRAME_US).pcm.tolist() if value > 0]
    first = arrival[0] * FRAME
    assert heard == list(range(heard[0], heard[0] + len(heard)))
    assert heard[0] <= first
    assert jitter.stats.lost == jitter.stats.concealed_samples == 0


anything = st.tuples(
    st.integers(0, 0xFFFF),
    st.integers(0, 2**32 - 1),
    st.binary(max_size=600),
    st.integers(-1_000_000, 10_000_000),
    st.booleans(),
)


@given(st.lists(st.one_of(anything, st.none(), st.integers(0, 100_000)), max_size=200))
@settings(max_examples=150)
def test_any_packets_at_all(events: list[tuple[int, int, bytes, int, bool] | int | None]) -> None:
    """A packet, None for a pull, a number for a jump of our clock."""
    jitter, put, now_us = JitterBuffer(G711Decoder("ulaw"), RATE), 0, 0
    for event in events:
        if event is None:
            now_us += FRAME_US
            check_frame(jitter.pull(now_us))
        elif isinstance(event, int):
            jitter.skip(event)
        else:
            jitter.put(*event)
            put += bool(event[2])
        check_counts(jitter.stats, put)
    check_frame(jitter.pull(now_us))


@given(st.lists(st.sampled_from([10, 20, 30, 40, 60]), min_size=1, max_size=60), st.sampled_from([8000, 16_000]))
def test_packet_times_may_change_in_mid_stream(lengths_ms: list[int], rate: int) -> None:
    jitter, heard, place, at_us = JitterBuffer(CountingDecoder(), rate, min_delay_ms=80), [], 0, 0
    pending = []
    for index, length in enumerate(lengths_ms):
        samples = rate * length // 1000
        pending.append((at_us, index, place, samples))
        place, at_us = place + samples, at_us + length * 1000
    for now_us in range(0, at_us + 200_000, FRAME_US):
        while pending and pending[0][0] <= now_us:
            arrival_us, index, start, samples = pending.pop(0)
            jitter.put(index, start, counted(start, samples), arrival_us)
        heard += [int(value) for value in jitter.pull(now_us).pcm if value > 0]
    assert heard == [k % 30_000 + 1 for k in range(place)]
    assert jitter.stats.lost == 0
