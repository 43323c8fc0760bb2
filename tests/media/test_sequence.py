"""Wrapping counters against plain arithmetic on numbers that do not wrap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from media.sequence import SequenceWindow, signed

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("difference", "bits", "expected"),
    [(5, 16, 5), (-5, 16, -5), (0xFFFF, 16, -1), (0x8000, 16, -0x8000), (0x7FFF, 16, 0x7FFF), (2**32 - 160, 32, -160)],
)
def test_signed_takes_the_shorter_way_round(difference: int, bits: int, expected: int) -> None:
    assert signed(difference, bits) == expected


@given(st.integers(0, 0xFFFF), st.lists(st.integers(-90, 250), min_size=1, max_size=60))
def test_numbers_unwrap_duplicates_show_and_gaps_are_counted(start: int, steps: list[int]) -> None:
    window, came = SequenceWindow(), [start]
    assert window.mark(start, window.distance(start)) == start
    for step in steps:
        number = max(came) + step
        if number < start:
            continue
        distance = window.distance(number & 0xFFFF)
        assert distance == step
        assert window.mark(number & 0xFFFF, distance) == (None if number in came else number)
        came.append(number)
        if number == max(came):
            before = max((other for other in came if other < number), default=number)
            assert window.missing(before, number) == max(number - before - 1, 0)
    first = max(start, max(came) - 200)
    assert window.missing(first, max(came)) == len(set(range(first + 1, max(came))) - set(came))


def test_numbers_long_gone_count_as_missing() -> None:
    window = SequenceWindow()
    window.mark(0, 1)
    window.mark(1, 1)
    window.mark(1000, 999)
    assert window.missing(1, 1000) == 998
    assert window.mark(700, -300) is None
