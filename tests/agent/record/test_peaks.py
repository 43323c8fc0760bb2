"""The envelope for drawing."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.record.peaks import Peaks

pytestmark = pytest.mark.unit


def test_each_step_has_its_greatest_sample() -> None:
    stereo = np.zeros((1200, 2), np.int16)  # at 8 kHz a step has 400 samples
    stereo[399, 0], stereo[400, 0] = 16384, -32768
    stereo[1199, 1] = 3277
    peaks = Peaks(8000)
    peaks.add(0, stereo)
    stored = json.loads(peaks.encode())
    assert stored == {
        "venus_peaks": 1,
        "step_us": 50_000,
        "full_scale": 1000,
        "caller": [500, 1000, 0],
        "agent": [0, 0, 100],
    }


def test_placement_and_length() -> None:
    peaks = Peaks(8000)
    peaks.add(1000, np.full((1, 2), 32767, np.int16))
    peaks.extend_to(1601)
    assert json.loads(peaks.encode())["caller"] == [0, 0, 999, 0, 0]


@given(st.lists(st.integers(1, 900), min_size=1, max_size=20), st.sampled_from([8000, 16000, 24000, 48000]))
def test_the_pieces_do_not_matter(pieces: list[int], rate_hz: int) -> None:
    stereo = np.random.default_rng(sum(pieces)).integers(-32768, 32767, (sum(pieces), 2), np.int16, endpoint=True)
    whole, cut = Peaks(rate_hz), Peaks(rate_hz)
    whole.add(123, stereo)
    at = 0
    for size in pieces:
        cut.add(123 + at, stereo[at : at + size])
        at += size
    assert cut.encode() == whole.encode()
