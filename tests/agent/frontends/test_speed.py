"""From the speed of one turn to slots."""

import itertools
import math

import pytest

from agent.errors import Fault
from agent.frontends.speed import MOST_SLOTS, TOGETHER_S, Speed, measure, usable_cores

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("turn_s", "cores", "slots"),
    [
        (0.25, 2, 9),
        (0.3, 2, 8),
        (0.6, 2, 4),
        (1.46, 2, 1),
        (0.25, 16, 64),
        (0.25, 0.5, 2),
        (30.0, 1, 1),
        (1e-9, 1, 64),
        (0.4, 1, 3),
    ],
)
def test_slots_are_as_many_as_can_be_answered_when_all_turns_end_together(turn_s: float, cores: float, slots: int) -> None:
    assert Speed(turn_s, cores).slots == slots


def test_one_more_would_be_too_late_and_so_many_are_not() -> None:
    for turn_ms, cores in itertools.product(range(20, 2_000, 7), (1, 2, 3.5, 8)):
        slots = Speed(turn_ms / 1000, cores).slots
        assert slots == 1 or slots * turn_ms / 1000 / cores <= TOGETHER_S + 1e-6
        assert slots == MOST_SLOTS or (slots + 1) * turn_ms / 1000 / cores > TOGETHER_S


def test_the_median_of_the_rounds_counts() -> None:
    rounds = iter([0.2, 5.0, 0.3])
    speed = measure(lambda: next(rounds), 2)
    assert (speed.turn_s, speed.cores) == (0.3, 2)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_a_speed_test_that_gives_no_time_is_a_fault_of_ours(wrong: float) -> None:
    with pytest.raises(Fault, match="--slots"):
        measure(lambda: wrong, 2)


@pytest.mark.parametrize(
    ("cpu_max", "cores"),
    [("", 4.0), ("max 100000", 4.0), ("150000 100000\n", 1.5), ("800000 100000", 4.0), ("garbage", 4.0), ("100000 0", 4.0)],
)
def test_a_quota_makes_cores_fewer(cpu_max: str, cores: float) -> None:
    assert usable_cores(4, cpu_max) == cores
