"""A call that is over is freed at once, without the garbage collector: a full collection would stop the ticks of all others."""

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from agent.app.rehearse import stage
from agent.clock import LoopClock
from agent.ticker import Ticker
from tests.measure.short_calls import short

pytestmark = pytest.mark.rehearsal


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def test_a_call_that_is_over_is_freed_without_the_collector(no_collector: None) -> None:
    ticker = Ticker(LoopClock())
    ticking = asyncio.ensure_future(ticker.run())
    watched: dict[str, weakref.ref[object]] = {}

    async def call_and_forget() -> None:
        staged = stage(short(1), ticker)
        parts = {"call": staged.call, "core": staged.call.core, "timeline": staged.call.timeline, "far end": staged.far_end}
        watched.update({name: weakref.ref(part) for name, part in parts.items()})
        await staged.call.run()

    await call_and_forget()
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)
    assert [name for name, part in watched.items() if part() is not None] == []
