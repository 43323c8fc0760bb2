"""Both sides placed by their own media time."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.record.placement import BLOCK_S, WINDOW_S, Placement

pytestmark = pytest.mark.unit

RATE_HZ = 1_000
WINDOW = round(RATE_HZ * WINDOW_S)
BLOCK = round(RATE_HZ * BLOCK_S)

pieces = st.lists(st.tuples(st.integers(0, 1), st.integers(-300, 1_500), st.integers(0, 40), st.integers(1, 1_000)), max_size=80)


@given(pieces)
def test_every_sample_stands_where_it_was_put_and_the_last_one_put_counts(steps: list[tuple[int, int, int, int]]) -> None:
    placement, model, newest, finished = Placement(RATE_HZ), {}, 0, 0
    out: list[tuple[int, np.ndarray]] = []
    for channel, ahead, length, value in steps:
        index = max(0, newest + ahead)
        for place in range(index, index + length):
            if place >= finished:  # what was handed on cannot be changed any more
                model[place, channel] = value
        out += placement.put(channel, index, np.full(length, value, np.int16))
        newest = max(newest, index + length)
        finished = out[-1][0] + len(out[-1][1]) if out else 0
    out += placement.flush()
    got = {}
    end = 0
    for first, block in out:
        assert first >= end, "blocks follow one another"
        end = first + len(block)
        got |= {(first + n, channel): int(block[n, channel]) for n in range(len(block)) for channel in (0, 1)}
    wanted = {key: value for key, value in model.items() if key in got}
    assert {key: value for key, value in got.items() if value} == {key: value for key, value in wanted.items() if value}
    jumped = any(first > before + len(block) for (before, block), (first, _) in itertools.pairwise(out))
    if not jumped and out and out[0][0] == 0:
        assert end == newest


def test_a_side_may_be_behind_by_less_than_the_window() -> None:
    placement = Placement(RATE_HZ)
    out = list(placement.put(1, 0, np.full(2 * BLOCK, 7, np.int16)))
    late = WINDOW - 1
    out += placement.put(1, 2 * BLOCK, np.full(late, 7, np.int16))
    out += placement.put(0, 2 * BLOCK, np.full(3, 5, np.int16))
    out += placement.flush()
    stereo = np.concatenate([block for _, block in out])
    assert stereo[:, 1].tolist() == [7] * (2 * BLOCK + late)
    assert np.flatnonzero(stereo[:, 0]).tolist() == [2 * BLOCK, 2 * BLOCK + 1, 2 * BLOCK + 2]


def test_silence_is_handed_on_as_it_passes() -> None:
    placement = Placement(RATE_HZ)
    blocks = [block for index in range(0, 10_000, 20) for block in placement.reach(index)]
    assert sum(len(block) for _, block in blocks) >= 10_000 - 20 - WINDOW - BLOCK
