"""A far clock that is 200 ppm fast or slow, for an hour: the delay stays where it is and nothing adds up."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from media.jitter import FrameState, JitterBuffer
from tests.media.streams import CountingDecoder, Wire, random_delay

pytestmark = pytest.mark.unit

RATE = 8000
WRAP_US = 30_000 * 1_000_000 / RATE


@pytest.mark.parametrize("loss", [0.0, 0.005])
@pytest.mark.parametrize("ppm", [200, -200])
def test_an_hour_of_skew(ppm: int, loss: float, loops: Callable[[int], int]) -> None:
    """The true delay, from the moment a sample is spoken to the pull that plays it, read from the samples themselves.

    In a stream with gaps most of the skew is removed by their length, without a splice.
    """
    pulls = loops(3600 * 50)
    wire = Wire(JitterBuffer(CountingDecoder(), RATE), ppm=ppm, delay_s=random_delay(11, 0.03, 0.045, loss))
    delays = []
    for now_us, frame in wire.run(pulls):
        if frame.state is FrameState.RECEIVED and frame.pcm[0] > 0:
            spoken_us = (int(frame.pcm[0]) - 1) * 1_000_000 / RATE * (1 - ppm * 1e-6)
            # Samples carry their place modulo 3.75 s of the sender's clock.
            delays.append((now_us - spoken_us) % (WRAP_US * (1 - ppm * 1e-6)) / 1000)
    settled = np.array(delays[250:])
    minute = 50 * 60
    assert settled.min() > 62
    assert settled.max() < 82
    assert abs(settled[:minute].mean() - settled[-minute:].mean()) < 4

    stats, drift_ms = wire.buffer.stats, pulls * 20 * 200e-6
    assert stats.skew_adjustments <= drift_ms / 2.5 + 3
    if not loss:
        assert stats.skew_adjustments >= drift_ms / 5 - 3
    assert stats.late == 0
    assert stats.concealed_samples == pytest.approx(stats.lost * RATE // 50, rel=0.05, abs=RATE // 10)
    assert stats.held <= 4


def test_memory_stands_still(loops: Callable[[int], int]) -> None:
    wire = Wire(JitterBuffer(CountingDecoder(), RATE), ppm=150, delay_s=random_delay(5, 0.03, 0.1, loss=0.03))
    for _ in wire.run(2000):
        pass
    tracemalloc.start()
    try:
        for _ in wire.run(500):
            pass
        before = tracemalloc.get_traced_memory()[0]
        for _ in wire.run(loops(50_000)):
            pass
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()
