"""The queues between tasks and tick, and what a line says, are bounded."""

import asyncio

import pytest

from agent.arrivals import ARRIVALS_A_TICK, Arrival, Arrivals
from agent.line_events import MOST_WAITING, LineEvents
from agent.timeline.events import DigitReceived, FaultReported, LineAnswered, LineClosed, LineHeld, LineResumed
from agent.timeline.kinds import EndReason

pytestmark = pytest.mark.unit

DIGIT = DigitReceived("1", "memory")


async def test_whoever_asks_for_room_gets_as_much_as_a_tick_takes() -> None:
    arrivals = Arrivals()

    async def flood() -> None:
        while True:
            await arrivals.room()
            arrivals.put(Arrival(DIGIT))

    flooding = asyncio.ensure_future(flood())
    for _ in range(5):
        await asyncio.sleep(0.02)
        assert len(arrivals) == ARRIVALS_A_TICK
        assert len(arrivals.take()) == ARRIVALS_A_TICK
    flooding.cancel()
    await asyncio.gather(flooding, return_exceptions=True)


async def test_heavy_input_takes_the_room_of_many() -> None:
    arrivals = Arrivals()
    await arrivals.room()
    arrivals.count(ARRIVALS_A_TICK)
    waiting = asyncio.ensure_future(arrivals.room())
    await asyncio.sleep(1)
    assert not waiting.done()
    arrivals.take()
    await waiting


def test_a_few_events_of_a_line_are_taken_in_order() -> None:
    events = LineEvents()
    happened = [LineAnswered(), DIGIT, LineClosed(EndReason.CALLER_HUNG_UP, "hung up")]
    events.put(happened)
    assert events.take(20_000) == happened
    assert events.take(40_000) == []


def test_a_storm_of_line_events_is_cut_and_counted_and_the_last_hold_counts() -> None:
    events = LineEvents()
    events.put([DIGIT] * (MOST_WAITING + 1_000) + [LineHeld("far"), LineResumed("far")] * 50)
    taken = [one for t in range(1, 20) for one in events.take(20_000 * t)]
    assert taken.count(DIGIT) == MOST_WAITING
    assert taken[-1] == LineResumed("far")
    assert [one.detail.split()[0] for one in taken if isinstance(one, FaultReported)] == ["1099"]


def test_the_end_overtakes_a_storm() -> None:
    events = LineEvents()
    end = LineClosed(EndReason.LINE_FAILED, "broken")
    events.put([DIGIT] * 5_000 + [end])
    assert events.take(20_000)[0] == end
