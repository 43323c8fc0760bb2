"""Opening again what was lost: within the bound, and so often in a row."""

from collections.abc import Callable

import pytest

from agent.clock import LoopClock
from agent.errors import Capacity, Gone
from agent.reopening import AGAIN_US, LONGEST_ATTEMPT_US, SETTLED_US, Rebuilding, reopened

pytestmark = pytest.mark.unit

WITHIN_US = 6_000_000


def failing(times: int, error: Callable[[int], Exception], bounds: list[int]) -> Callable[[int], object]:
    async def attempt(within_us: int) -> None:
        bounds.append(within_us)
        if len(bounds) <= times:
            raise error(len(bounds))

    return attempt


async def test_it_is_tried_until_it_opens() -> None:
    clock, bounds = LoopClock(), []
    assert await reopened(failing(5, lambda n: Gone(f"no {n}"), bounds), WITHIN_US, clock) is None
    assert clock.now_us() == 5 * AGAIN_US
    assert bounds == [LONGEST_ATTEMPT_US] * 6


async def test_it_is_given_up_within_the_bound_with_the_last_reason() -> None:
    clock, bounds = LoopClock(), []
    assert await reopened(failing(1_000, lambda n: Capacity(f"full {n}"), bounds), WITHIN_US, clock) == f"full {len(bounds)}"
    assert WITHIN_US - AGAIN_US <= clock.now_us() <= WITHIN_US
    assert bounds[-1] < LONGEST_ATTEMPT_US


async def test_attempts_that_hang_are_cut_and_the_next_is_made() -> None:
    clock, bounds = LoopClock(), []

    async def attempt(within_us: int) -> None:
        bounds.append(within_us)
        await clock.sleep_until(clock.now_us() + within_us)
        raise TimeoutError

    assert await reopened(attempt, WITHIN_US, clock) == "it did not open in time"
    assert bounds == [LONGEST_ATTEMPT_US, WITHIN_US - LONGEST_ATTEMPT_US - AGAIN_US]
    assert clock.now_us() == WITHIN_US


async def test_what_is_no_failure_of_opening_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await reopened(failing(1, lambda _: ZeroDivisionError(), []), WITHIN_US, LoopClock())


def test_it_is_rebuilt_so_often_in_a_row_and_a_good_session_ends_the_row() -> None:
    rebuilding = Rebuilding(2)
    assert [rebuilding.lost(0) for _ in range(3)] == [True, True, False]
    rebuilding = Rebuilding(2)
    assert [rebuilding.lost(lasted) for lasted in (0, SETTLED_US, SETTLED_US + 1, 0, 0)] == [True, True, True, True, False]
    assert not Rebuilding(0).lost(SETTLED_US + 1)
