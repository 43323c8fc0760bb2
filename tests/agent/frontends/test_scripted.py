"""What the scripted session does beyond the contract: stalls, on virtual time."""

import asyncio

import numpy as np
import pytest

from agent.clock import LoopClock
from agent.errors import Gone
from agent.frontends.base import Brief, Listening, Unit
from agent.frontends.script import load_script
from agent.frontends.scripted import REMEMBERED, WAITING_STEPS, ScriptedFrontend, ScriptedSession

pytestmark = pytest.mark.unit

UNIT_US = 100_000


def unit(number: int) -> "Unit":
    from agent.timeline.kinds import Span

    return Unit(Span(number * UNIT_US, (number + 1) * UNIT_US), np.zeros(1600, np.float32))


async def opened(turns: str) -> ScriptedSession:
    return await ScriptedFrontend(load_script(f"name: x\nagent: {{turns: [{turns}]}}")).open(Brief("c"))


async def arrivals_ms(session: ScriptedSession) -> list[int]:
    """When each unit was seen to be read."""
    clock, found = LoopClock(), []
    async for step in session.steps():
        if isinstance(step, Listening):
            found.append(clock.now_us() // 1000)
    return found


async def feed_in_time(session: ScriptedSession, units: int) -> None:
    clock = LoopClock()
    for number in range(units):
        await clock.sleep_until((number + 1) * UNIT_US)
        await session.feed(unit(number))


async def test_a_stall_holds_everything_back_for_its_time_and_then_lets_it_all_out() -> None:
    session = await opened("{at_ms: 300, lag_ms: 450}")
    reader = asyncio.create_task(arrivals_ms(session))
    await feed_in_time(session, 9)
    await asyncio.sleep(0.01)
    await session.close()
    assert await reader == [100, 200, 750, 750, 750, 750, 750, 800, 900]


async def test_closing_ends_a_stall() -> None:
    session = await opened("{at_ms: 50, lag_ms: 3600000}")
    reader = asyncio.create_task(arrivals_ms(session))
    await session.feed(unit(0))
    await asyncio.sleep(1)
    await session.close()
    assert await reader == []
    assert LoopClock().now_us() == 1_000_000


async def test_feeding_waits_for_a_reader_that_does_not_read_and_closing_wakes_it() -> None:
    session = await opened("")
    for number in range(WAITING_STEPS):
        await session.feed(unit(number))
    feeding = asyncio.create_task(session.feed(unit(WAITING_STEPS)))
    await asyncio.sleep(10)
    assert not feeding.done()
    first = await anext(session.steps())
    assert first == Listening(unit(0).covers)
    await asyncio.wait_for(feeding, 1)
    feeding = asyncio.create_task(session.feed(unit(WAITING_STEPS + 1)))
    await asyncio.sleep(1)
    await session.close()
    with pytest.raises(Gone):
        await feeding


async def test_what_is_remembered_of_lost_calls_and_utterances_is_bounded() -> None:
    frontend = ScriptedFrontend(load_script("name: x\nagent: {turns: [{at_ms: 0, die: true}]}"))
    for number in range(REMEMBERED + 10):
        session = await frontend.open(Brief(f"c{number}"))
        for utterance in range(REMEMBERED + 10):
            await session.acknowledge(f"u{utterance}", 1)
        assert len(session.acknowledged) == REMEMBERED
        await session.feed(unit(0))
        await session.close()
    assert len(frontend._lost) == REMEMBERED
    assert frontend.sessions == []
