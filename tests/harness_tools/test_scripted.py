"""The scripted harness on virtual time."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.clock import LoopClock
from agent.errors import Capacity, Gone
from agent.harness import WorkRequest, WorkResult, WorkUpdate
from agent.timeline.kinds import WorkPhase, WorkStatus
from harness_tools.scripted import MOST_PENDING, NOT_SCRIPTED, ScriptedHarness, ScriptedUpdate, ScriptedWork

pytestmark = pytest.mark.unit

SUCCEEDED, CANCELLED = WorkStatus.SUCCEEDED, WorkStatus.CANCELLED


def request(work_id: str) -> WorkRequest:
    return WorkRequest("c", work_id, "look it up", 0)


async def told(harness: ScriptedHarness) -> list[tuple[int, Any]]:
    clock = LoopClock()
    return [(clock.now_us() // 1000, report) async for report in harness.reports()]


async def test_updates_and_the_outcome_come_at_their_times() -> None:
    updates = (ScriptedUpdate(400, WorkPhase.NEEDS_INPUT, "which day?"), ScriptedUpdate(100, WorkPhase.RUNNING, "looking"))
    harness = ScriptedHarness(
        [ScriptedWork(1_000, SUCCEEDED, "found", updates), ScriptedWork(50, SUCCEEDED, "fast")], LoopClock()
    )
    reader = asyncio.create_task(told(harness))
    await asyncio.sleep(2)
    await harness.submit(request("w1"))
    await harness.submit(request("w2"))
    await asyncio.sleep(5)
    await harness.close()
    assert await reader == [
        (2_050, WorkResult("w2", SUCCEEDED, "fast")),
        (2_100, WorkUpdate("w1", WorkPhase.RUNNING, "looking")),
        (2_400, WorkUpdate("w1", WorkPhase.NEEDS_INPUT, "which day?")),
        (3_000, WorkResult("w1", SUCCEEDED, "found")),
    ]


async def test_the_same_work_twice_is_one_and_an_unscripted_one_fails() -> None:
    harness = ScriptedHarness([ScriptedWork(10, SUCCEEDED, "a")], LoopClock())
    for work_id in ("w1", "w1", "w2"):
        await harness.submit(request(work_id))
    reader = asyncio.create_task(told(harness))
    await asyncio.sleep(1)
    await harness.submit(request("w1"))
    await asyncio.sleep(1)
    await harness.close()
    assert [report for _, report in await reader] == [
        WorkResult("w2", WorkStatus.FAILED, NOT_SCRIPTED),
        WorkResult("w1", SUCCEEDED, "a"),
    ]


async def test_close_cancels_what_is_pending_and_is_safe_to_repeat() -> None:
    harness = ScriptedHarness([ScriptedWork(60_000, SUCCEEDED, "late")], LoopClock())
    await harness.submit(request("w1"))
    await asyncio.sleep(1)
    await harness.close()
    await harness.close()
    assert [(report.work_id, report.status) for _, report in await told(harness)] == [("w1", CANCELLED)]
    with pytest.raises(Gone):
        await harness.submit(request("w2"))


async def test_there_is_a_bound_on_pending_works() -> None:
    harness = ScriptedHarness([ScriptedWork(1_000, SUCCEEDED, "x")] * 100, LoopClock())
    for number in range(MOST_PENDING):
        await harness.submit(request(f"w{number}"))
    with pytest.raises(Capacity):
        await harness.submit(request("one more"))
    await asyncio.sleep(2)
    with pytest.raises(Capacity, match="reports unread"):
        await harness.submit(request("one more"))
    await harness.close()
    assert len(await told(harness)) == MOST_PENDING


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 900), st.integers(0, 900)), max_size=12), st.integers(0, 1_500))
async def test_every_accepted_work_has_one_outcome_and_nothing_follows_it(
    works: list[tuple[int, int, int]], close_ms: int
) -> None:
    scripted = [
        ScriptedWork(after_ms, SUCCEEDED, "", (ScriptedUpdate(min(update_ms, after_ms), WorkPhase.RUNNING, ""),))
        for _, after_ms, update_ms in works
    ]
    harness = ScriptedHarness(scripted, LoopClock())
    reader = asyncio.create_task(told(harness))
    accepted = 0
    for submit_ms, _, _ in sorted(works):
        await asyncio.sleep(max(0.0, submit_ms / 1000 - asyncio.get_running_loop().time()))
        await harness.submit(request(f"w{accepted}"))
        accepted += 1
    await asyncio.sleep(max(0.0, close_ms / 1000 - asyncio.get_running_loop().time()))
    await harness.close()
    over: list[str] = []
    for _, report in await reader:
        assert report.work_id not in over
        if isinstance(report, WorkResult):
            over.append(report.work_id)
    assert sorted(over) == sorted(f"w{number}" for number in range(accepted))
