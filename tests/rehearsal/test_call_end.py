"""Whole calls in virtual time: how they end when something does not answer, and what is left of them afterwards."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent.admission import Slots
from agent.clock import LoopClock
from agent.errors import Gone
from agent.parts import CallParts
from agent.record.inline import InlineRecorder
from agent.tasks import tasks_of
from agent.timeline.codec import read
from agent.timeline.events import (
    CallEnded,
    CallStarted,
)
from agent.timeline.kinds import EndReason, Phase, WorkStatus
from harness_tools.scripted import ScriptedHarness, ScriptedWork
from tests.measure.plain import steady
from tests.rehearsal.stages import RATE_HZ, Stage, scripted, spoken, staged
from transports.memory import TransferScript

pytestmark = pytest.mark.rehearsal


# --- the end, and what does not answer then -----------------------------------------------------------------------------------


async def _never(*_: object) -> None:
    await asyncio.Event().wait()


async def _gone(*_: object) -> None:
    raise Gone("broken on purpose")


@pytest.mark.parametrize("hang_up", [_never, _gone], ids=["never answers", "fails"])
async def test_a_line_that_cannot_be_hung_up_is_closed_all_the_same(hang_up: Callable[..., Awaitable[None]]) -> None:
    slots = Slots(1)
    async with staged(scripted(), parts=lambda parts: replace(parts, slots=slots)) as stage:
        await stage.answered()
        stage.line.hang_up = hang_up  # type: ignore[method-assign, assignment]
        closed: list[int] = []

        async def close() -> None:
            closed.append(stage.clock.now_us())

        stage.line.close = close  # type: ignore[method-assign]
        stage.call.end(EndReason.OPERATOR, "the operator ended it", at_once=True)
        await stage.over()
        assert (len(closed), slots.taken, tasks_of(stage.call.call_id)) == (1, 0, [])


class StuckHarness(ScriptedHarness):
    """Accepts works and never comes to an end."""

    async def close(self) -> None:
        await asyncio.Event().wait()


async def test_a_second_cancellation_while_it_gives_everything_back_loses_neither_slot_nor_record(tmp_path: Path) -> None:
    slots = Slots(1)
    recorder = InlineRecorder(tmp_path)

    def parts(parts: CallParts) -> CallParts:
        return replace(parts, slots=slots, recorder=recorder, harness=StuckHarness((), LoopClock()))

    async with staged(scripted(), parts=parts) as stage:
        await stage.answered()
        stage.far_end.hang_up()
        await stage.until(lambda: stage.call.phase is Phase.ENDED)
        await stage.wait(100)
        stage.running.cancel()
        await stage.over(1_000)
        assert slots.taken == 0
        await stage.call.recorded()
        await stage.wait(2_000)
        assert tasks_of(stage.call.call_id) == []
    await recorder.close()
    assert (tmp_path / stage.call.call_id / "summary.json").stat().st_size


async def test_a_core_that_breaks_ends_its_call_alone_and_gives_everything_back() -> None:
    slots = Slots(1)
    frontend = scripted({"on": "turn_end", "delegate": "look it up"})

    def broken(*_: object) -> None:
        raise RuntimeError("broken on purpose")

    def parts(parts: CallParts) -> CallParts:
        return replace(parts, slots=slots, harness=ScriptedHarness([ScriptedWork(60_000, WorkStatus.FAILED, "")], LoopClock()))

    async with staged(frontend, parts=parts, replays=False) as stage:
        await stage.answered()
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: stage.call.core.works.open == ("w1",))
        stage.call.core.apply = broken  # type: ignore[method-assign, assignment]
        stage.far_end.press("1")
        await stage.over()
        assert stage.running.exception() is None
        (end,) = stage.events(CallEnded)
        assert end.event == CallEnded(EndReason.FAULT, "tick failed: RuntimeError", 0)
        assert (slots.taken, frontend.sessions, tasks_of(stage.call.call_id)) == (0, [], [])


async def test_what_is_asked_of_a_call_that_is_over_does_nothing() -> None:
    async with staged(scripted(), line_options={"targets": {"reception": TransferScript()}}) as stage:
        await stage.answered()
        stage.far_end.hang_up()
        await stage.over()
        before = list(stage.entries)
        stage.call.say(spoken("hello"))
        stage.call.end(EndReason.OPERATOR, "again")
        stage.call.hold()
        stage.call.send_digits("1")
        stage.call.transfer("reception")
        await stage.wait(500)
        assert stage.entries == before
        assert tasks_of(stage.call.call_id) == []


# --- the record -------------------------------------------------------------------------------------------------------------


async def _two_seconds(recorder: InlineRecorder | None) -> tuple[Stage, Path | None]:
    async with staged(scripted(), parts=lambda parts: replace(parts, recorder=recorder)) as stage:
        await stage.wait(1_000)
        stage.far_end.hang_up()
        await stage.over()
        return stage, await stage.call.recorded()


async def test_without_a_recorder_there_is_no_record_and_the_timeline_says_so() -> None:
    stage, folder = await _two_seconds(None)
    started = stage.entries[0].event
    assert isinstance(started, CallStarted)
    assert (started.record, folder) == ("off", None)


async def test_with_a_recorder_the_whole_timeline_is_on_disk_when_the_call_says_so(tmp_path: Path) -> None:
    recorder = InlineRecorder(tmp_path)
    stage, folder = await _two_seconds(recorder)
    await recorder.close()
    started = stage.entries[0].event
    assert isinstance(started, CallStarted)
    assert (started.record, folder) == ("on", tmp_path / stage.call.call_id)
    assert list(read(tmp_path / stage.call.call_id / "timeline.jsonl")) == stage.entries
