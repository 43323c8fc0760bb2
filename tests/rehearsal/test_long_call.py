"""Pain 14: one call of two hours in one process. What it holds does not grow with its length."""

import asyncio
import gc
import tracemalloc
from collections.abc import Callable

import pytest

from agent.app.rehearse import stage
from agent.clock import LoopClock
from agent.ticker import Ticker
from tests.measure.many_calls import talk

pytestmark = pytest.mark.rehearsal


async def test_pain_14_a_call_of_two_hours_holds_no_more_at_its_end_than_at_its_beginning(loops: Callable[[int], int]) -> None:
    minutes = loops(120)
    clock = LoopClock()
    ticker = Ticker(clock)
    ticking = asyncio.ensure_future(ticker.run())
    call = stage(talk(minutes * 60), ticker).call
    running = asyncio.ensure_future(call.run())
    held = []
    tracemalloc.start()
    for minute in (2, 4, minutes - 1):
        await clock.sleep_until(minute * 60_000_000)
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0] // 1024)
    tracemalloc.stop()
    await running
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)
    # The newest entries, turns and positions are kept up to fixed numbers, which two minutes do not fill.
    assert held[2] - held[1] <= 512, f"kB held after 2, 4 and {minutes - 1} minutes: {held}"
