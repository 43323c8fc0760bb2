import asyncio
from datetime import UTC, timedelta

import pytest

from agent.clock import VIRTUAL_EPOCH, LoopClock, cpu_us, pause, stopwatch_us, wall_now

pytestmark = pytest.mark.unit


async def test_virtual_time_starts_at_zero_and_the_epoch() -> None:
    clock = LoopClock()
    assert clock.now_us() == 0
    assert clock.wall() == VIRTUAL_EPOCH


async def test_sleep_until_returns_at_the_deadline_to_the_microsecond() -> None:
    clock = LoopClock()
    for at_us in (1, 20_000, 20_001, 3_600_000_000, 3_600_000_001, 86_400_020_000):
        await clock.sleep_until(at_us)
        assert clock.now_us() == at_us
        assert clock.wall() == VIRTUAL_EPOCH + timedelta(microseconds=at_us)


async def test_a_deadline_in_the_past_costs_one_pass_and_no_time() -> None:
    clock = LoopClock()
    await clock.sleep_until(50_000)
    passes: list[str] = []
    other = asyncio.create_task(clock.sleep_until(0))
    asyncio.get_running_loop().call_soon(passes.append, "another callback ran")
    await clock.sleep_until(10_000)
    assert passes == ["another callback ran"]
    assert clock.now_us() == 50_000
    await other


async def test_absolute_deadlines_do_not_drift() -> None:
    clock = LoopClock()
    for tick in range(1, 5_001):
        await clock.sleep_until(tick * 20_000)
    assert clock.now_us() == 100_000_000


def test_on_a_real_loop_the_date_is_the_real_one_and_time_never_falls() -> None:
    async def main() -> None:
        clock = LoopClock()
        before = clock.now_us()
        earliest = wall_now()
        await clock.sleep_until(before + 1_000)
        assert clock.now_us() >= before + 1_000
        assert earliest <= clock.wall() <= wall_now()
        assert clock.wall().tzinfo is UTC

    asyncio.run(main())


def test_a_clock_of_a_loop_that_is_not_running() -> None:
    loop = asyncio.new_event_loop()
    try:
        clock = LoopClock(loop)
        assert clock.now_us() <= round(loop.time() * 1e6)
    finally:
        loop.close()


def test_outside_any_loop_a_clock_must_be_given_one() -> None:
    with pytest.raises(RuntimeError):
        LoopClock()


def test_the_stopwatch_counts_a_pause_and_the_processor_clock_counts_work() -> None:
    started_us, used_us = stopwatch_us(), cpu_us()
    pause(0.002)
    assert stopwatch_us() - started_us >= 2_000
    for _ in range(10_000):
        sum(range(1_000))
        if cpu_us() > used_us:
            break
    assert cpu_us() > used_us
