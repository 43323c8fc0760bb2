import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from agent.clock import LoopClock
from agent.settings import TICK_US
from agent.ticker import RESYNC_US, Histogram, Ticker
from agent.virtual import VirtualLoop

pytestmark = pytest.mark.unit


def stall(us: int) -> None:
    """The process does something else for so long."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.advance(us / 1e6)


class Sub:
    """Writes down when it ticked and what it was told; `during(n)` runs in its n-th tick, from 1."""

    def __init__(self, during: Callable[[int], None] = lambda tick: None) -> None:
        self.at_us: list[int] = []
        self.skipped: list[tuple[int, int]] = []
        self.errors: list[Exception] = []
        self._clock = LoopClock()
        self._during = during

    @property
    def ticks(self) -> int:
        return len(self.at_us)

    def tick(self, skipped: int) -> None:
        self.at_us.append(self._clock.now_us())
        if skipped:
            self.skipped.append((self.ticks, skipped))
        self._during(self.ticks)

    def crashed(self, error: Exception) -> None:
        self.errors.append(error)


@contextmanager
def running(*subscribers: Sub, slots: int = 1) -> Iterator[Ticker]:
    ticker = Ticker(LoopClock(), slots)
    for subscriber in subscribers:
        ticker.attach(subscriber)
    task = asyncio.ensure_future(ticker.run())
    try:
        yield ticker
    finally:
        task.cancel()


def stalls(at: dict[int, int]) -> Callable[[int], None]:
    """A stall of so many µs in these ticks."""
    return lambda tick: stall(at[tick]) if tick in at else None


async def test_it_ticks_at_absolute_deadlines() -> None:
    sub = Sub(lambda tick: stall(3_000))
    with running(sub) as ticker:
        await asyncio.sleep(1.01)
    assert sub.at_us == [n * TICK_US for n in range(1, 51)], "3 ms of work a tick delay no other tick"
    assert (ticker.stats.ticks, ticker.stats.resyncs, ticker.stats.skipped) == (50, 0, 0)


@pytest.mark.parametrize("stall_us", [150_000, 480_000, 520_000])
async def test_a_stall_up_to_the_bound_is_caught_up_tick_by_tick(stall_us: int) -> None:
    sub = Sub(stalls({10: stall_us}))
    with running(sub) as ticker:
        await asyncio.sleep(2.01)
    assert stall_us - TICK_US <= RESYNC_US
    assert sub.skipped == []
    assert sub.ticks == 100, "the average rate is exact"
    resumed_us = 10 * TICK_US + stall_us
    assert sub.at_us == [n * TICK_US if n <= 10 else max(n * TICK_US, resumed_us) for n in range(1, 101)]
    assert ticker.stats.resyncs == 0


@pytest.mark.parametrize("stall_us", [520_001, 530_000, 600_000, 7_777_000])
async def test_a_longer_stall_jumps_and_says_by_how_much(stall_us: int) -> None:
    sub = Sub(stalls({10: stall_us}))
    with running(sub) as ticker:
        await asyncio.sleep(20.01)
    ((tick, skipped),) = sub.skipped
    assert tick == 11
    assert skipped == (stall_us - TICK_US) // TICK_US
    assert sub.ticks + skipped == 1000, "ticks and jumped ticks are the time that passed"
    assert sub.at_us[-1] == 1000 * TICK_US, "back on the old grid"
    assert max(Counter(sub.at_us).values()) <= 2, "no burst"
    assert (ticker.stats.resyncs, ticker.stats.skipped) == (1, skipped)


async def test_every_subscriber_is_told_of_the_jump() -> None:
    one, two = Sub(stalls({5: 1_000_000})), Sub()
    with running(one, two):
        await asyncio.sleep(3)
    assert one.skipped == two.skipped == [(6, 49)]


async def test_a_subscriber_that_raises_is_taken_off_and_the_others_go_on() -> None:
    def fails(tick: int) -> None:
        if tick == 3:
            raise RuntimeError("broken")

    before, broken, after = Sub(), Sub(fails), Sub()
    with running(before, broken, after):
        await asyncio.sleep(0.21)
    assert (before.ticks, broken.ticks, after.ticks) == (10, 3, 10)
    assert [str(error) for error in broken.errors] == ["broken"]
    assert before.errors == after.errors == []


async def test_subscribers_come_and_go() -> None:
    first, late = Sub(), Sub()
    with running(first) as ticker:
        await asyncio.sleep(0.05)
        ticker.attach(late)
        await asyncio.sleep(0.05)
        ticker.detach(first)
        ticker.detach(first)
        await asyncio.sleep(0.05)
    assert first.at_us == [20_000, 40_000, 60_000, 80_000, 100_000][: first.ticks]
    assert first.ticks in (4, 5)
    assert late.at_us == [60_000, 80_000, 100_000, 120_000, 140_000]


async def test_who_is_taken_off_by_one_before_it_does_not_tick_any_more() -> None:
    ticker = Ticker(LoopClock())
    second = Sub()
    first = Sub(lambda tick: ticker.detach(second) if tick == 3 else None)
    ticker.attach(first)
    ticker.attach(second)
    task = asyncio.ensure_future(ticker.run())
    await asyncio.sleep(0.11)
    task.cancel()
    assert (first.ticks, second.ticks) == (5, 2)


async def test_lateness_is_measured_for_each_subscriber() -> None:
    slow, victim = Sub(lambda tick: stall(4_000)), Sub()
    with running(slow, victim) as ticker:
        await asyncio.sleep(1.01)
    assert ticker.lateness.count == 100
    assert ticker.lateness.max_us == 4_000
    assert ticker.lateness.quantile_ms(0.5) == pytest.approx(0.1), "the first of the two is on time"
    assert ticker.lateness.quantile_ms(0.51) == pytest.approx(4.1)


async def test_pain_12_stalls_of_150_ms_change_neither_rate_nor_pace(loops: Callable[[int], int]) -> None:
    """Ten simulated minutes: absolute deadlines, so no drift; what was missed is caught up in a burst that is bounded."""
    ticks = loops(30_000)
    luck = random.Random(12)
    stalled = {tick: 150_000 for tick in range(20, ticks - 20) if luck.random() < 0.03}
    sub = Sub(stalls(stalled))
    with running(sub) as ticker:
        await asyncio.sleep((ticks * TICK_US + 1_000) / 1e6)
    assert len(stalled) > ticks // 50
    assert sub.ticks == ticks, "the average rate is exact"
    assert sub.at_us[-1] == ticks * TICK_US, "no drift"
    assert sub.skipped == []
    assert ticker.stats.skipped == 0
    near = {tick + after for tick in stalled for after in range(1, 100)}
    assert all(at == n * TICK_US for n, at in enumerate(sub.at_us, start=1) if n not in near), "on time but for the stalls"
    assert all(at >= n * TICK_US for n, at in enumerate(sub.at_us, start=1)), "never early"
    alone = [tick for tick in stalled if not any(tick + away in stalled for away in range(-100, 9) if away)]
    assert alone
    at_once = Counter(sub.at_us)
    assert {at_once[tick * TICK_US + 150_000] for tick in alone} == {7}, "150 ms are seven ticks, sent at once"


async def test_calls_are_spread_over_the_tick_and_each_keeps_its_own_pace() -> None:
    subs = [Sub() for _ in range(6)]
    with running(*subs, slots=4):
        await asyncio.sleep(0.099)
    assert [sub.at_us[0] for sub in subs] == [20_000, 25_000, 30_000, 35_000, 20_000, 25_000]
    assert all(later - sooner == TICK_US for sub in subs for sooner, later in pairwise(sub.at_us))
    assert all(sub.ticks == 4 for sub in subs)


async def test_work_in_one_slot_makes_no_other_slot_late() -> None:
    slow, victim = Sub(lambda tick: stall(4_000)), Sub()
    with running(slow, victim, slots=4) as ticker:
        await asyncio.sleep(1.01)
    assert victim.ticks >= 50
    assert ticker.lateness.max_us == 0


@pytest.mark.parametrize("stalled", [0, 1, 2, 3])
async def test_a_jump_in_any_slot_is_told_once_to_every_slot(stalled: int) -> None:
    subs = [Sub(stalls({3: 700_000}) if number == stalled else (lambda tick: None)) for number in range(4)]
    with running(*subs, slots=4) as ticker:
        await asyncio.sleep(2)
    assert ticker.stats.resyncs == 1
    told = [sum(skipped for _, skipped in sub.skipped) for sub in subs]
    assert told == [ticker.stats.skipped] * 4
    for number, sub in enumerate(subs):
        assert sub.ticks + told[number] in (98, 99, 100)
        assert (sub.at_us[-1] - number * 5_000) % TICK_US == 0


def test_quantiles_are_rounded_up_to_a_tenth_of_a_millisecond() -> None:
    histogram = Histogram()
    assert histogram.quantile_ms(0.99) == 0.0
    for value in (-50, 0, 99, 100, 5_000):
        histogram.add(value)
    assert (histogram.count, histogram.max_us) == (5, 5_000)
    assert histogram.quantile_ms(0.6) == pytest.approx(0.1)
    assert histogram.quantile_ms(0.8) == pytest.approx(0.2)
    assert histogram.quantile_ms(1.0) == pytest.approx(5.1)


def test_a_duration_beyond_the_scale_counts_as_the_last_step() -> None:
    histogram = Histogram()
    histogram.add(10_000_000)
    assert histogram.quantile_ms(0.5) == pytest.approx(200.1)
    assert histogram.max_us == 10_000_000
