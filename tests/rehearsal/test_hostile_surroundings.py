"""Ears, harness, line and far end at their worst: counted faults, bounded ticks, and a call that goes on."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from agent.clock import LoopClock
from agent.frontends.base import DelegationClosed, Unit
from agent.harness import WorkRequest, WorkResult, WorkUpdate
from agent.line import LineEvent
from agent.settings import CallSettings
from agent.timeline.events import (
    DeliveryChanged,
    DigitReceived,
    FaultReported,
    FrontendLost,
    LineClosed,
    LineHeld,
    LineQuality,
    LineResumed,
    Transcript,
    TransferProgressed,
    TurnProbability,
    UtteranceEnded,
    VoiceStarted,
    WorkChanged,
    WorkEnded,
)
from agent.timeline.kinds import Cause, DeliveryState, EndReason, Span, TransferState, WorkPhase, WorkStatus
from tests.rehearsal.hostile import Rogue, breaking, ended, hang, hang_on, hung_up, once, sound, speech
from tests.rehearsal.stages import Stage, spoken, staged, with_lines

pytestmark = pytest.mark.rehearsal

HALF = "\ud800"


def faults(stage: Stage, code: str) -> list[str]:
    return [entry.event.detail for entry in stage.events(FaultReported) if entry.event.code == code]


# --- ears -------------------------------------------------------------------------------------------------------------------


class Ears:
    """Ears that say `said` after the third unit, and whose methods can be replaced."""

    def __init__(self, said: Callable[[Unit], list[Any]] = lambda unit: [], **acts: Callable[..., Any]) -> None:
        self.said, self.acts = said, acts

    async def open(self, brief: Any) -> "Ears":
        await self._act("open")
        self.units: asyncio.Queue[Unit | None] = asyncio.Queue()
        return self

    async def _act(self, name: str) -> None:
        if act := self.acts.get(name):
            await act()

    async def feed(self, unit: Unit) -> None:
        await self._act("feed")
        self.units.put_nowait(unit)

    async def evidence(self) -> AsyncIterator[Any]:
        await self._act("evidence")
        for number in range(1_000_000):
            if (unit := await self.units.get()) is None:
                return
            for one in self.said(unit) if number >= 3 else []:
                yield one

    async def close(self) -> None:
        await self._act("close")
        self.units.put_nowait(None)


def with_ears(ears: Ears) -> Callable[..., Any]:
    return lambda parts: replace(with_lines(apology=spoken("we are sorry"))(parts), ears=ears)


BAD_EVIDENCE: dict[str, Callable[[Unit], Any]] = {
    "the future": lambda unit: Transcript(Span(0, 10**12), "hello", True, 0.9),
    "before the call": lambda unit: TurnProbability(Span(-5, 10), 0.5),
    "backwards": lambda unit: TurnProbability(Span(10, 5), 0.5),
    "half a text": lambda unit: Transcript(unit.covers, HALF, True, 0.9),
    "a long text": lambda unit: Transcript(unit.covers, "x" * 100_000, True, 0.9),
    "no number": lambda unit: TurnProbability(unit.covers, float("nan")),
    "a word for a number": lambda unit: TurnProbability(unit.covers, "sure"),  # type: ignore[arg-type]
    "voice": lambda unit: VoiceStarted(unit.covers, -20.0),
    "an end": lambda unit: LineClosed(EndReason.CALLER_HUNG_UP, "lie"),
    "nothing": lambda unit: None,
}


@pytest.mark.parametrize("bad", list(BAD_EVIDENCE))
async def test_evidence_that_makes_no_sense_is_dropped_and_counted(bad: str) -> None:
    ears = Ears(lambda unit: [BAD_EVIDENCE[bad](unit), Transcript(unit.covers, "good", True, 0.9)])
    async with staged(Rogue(once()), parts=with_ears(ears)) as stage:
        await stage.until(lambda: len(stage.events(Transcript)) >= 3)
        assert len(faults(stage, "ears")) >= 3
        await stage.wait(5_000)
        assert len(faults(stage, "ears")) == 21, "ears that go on like that are given up"
        assert not stage.events(FrontendLost)
        await hung_up(stage)


async def test_a_flood_of_evidence_is_taken_a_little_at_a_time() -> None:
    ears = Ears(lambda unit: [Transcript(unit.covers, "\x1b[31m" + "x" * 19_000, True, 0.9)] * 100_000)
    rogue = Rogue(once())
    async with staged(rogue, parts=with_ears(ears)) as stage:
        await stage.wait(3_000)
        assert stage.call._ears is not None
        assert len(stage.call._ears.arrivals) <= 60
        assert sum(len(turn.text) for turn in stage.call.history.turns) <= 200_000
        await hung_up(stage)


ACTS = {"breaks": breaking(RuntimeError("secret")), "is cancelled": breaking(asyncio.CancelledError()), "hangs": hang}


@pytest.mark.parametrize("act", [*ACTS, "hangs on"])
@pytest.mark.parametrize("method", ["open", "feed", "evidence", "close"])
async def test_ears_that_break_cost_no_call(method: str, act: str) -> None:
    ears = Ears(**{method: {**ACTS, "hangs on": hang_on}[act]})
    async with staged(Rogue(once()), parts=with_ears(ears)) as stage:
        await stage.wait(8_000)
        assert not any("secret" in detail for detail in faults(stage, "ears"))
        end = await hung_up(stage, act == "hangs on")
        assert end.reason is EndReason.CALLER_HUNG_UP


# --- the harness ------------------------------------------------------------------------------------------------------------


class Harness:
    """A harness that reports `told(work)` for each work, at once and before `submit` returns."""

    def __init__(self, told: Callable[[WorkRequest], list[Any]] = lambda work: [], **acts: Callable[..., Any]) -> None:
        self._told, self.acts = told, acts
        self.queue: asyncio.Queue[Any] = asyncio.Queue()

    async def submit(self, request: WorkRequest) -> None:
        for report in self._told(request):
            self.queue.put_nowait(report)
        if act := self.acts.get("submit"):
            await act()

    async def reports(self) -> AsyncIterator[Any]:
        if act := self.acts.get("reports"):
            await act()
        while (report := await self.queue.get()) is not None:
            yield report

    async def close(self) -> None:
        if act := self.acts.get("close"):
            await act()
        for _ in range(2):  # `reports` is asked a second time at the end
            self.queue.put_nowait(None)


def with_harness(harness: Any) -> Callable[..., Any]:
    return lambda parts: replace(with_lines(apology=spoken("we are sorry"))(parts), harness=harness)


class Teller(Rogue):
    """Delegates once and tells what it is given."""

    def __init__(self) -> None:
        super().__init__(self._tell)

    def _tell(self, unit: Unit, number: int) -> list[object]:
        told = [speech(unit, f"t{one.attempt_id}", cause=Cause(attempt_id=one.attempt_id)) for one in self.injected[self._told :]]
        self._told += len(told)
        return [*told, *([DelegationClosed(unit.covers, "d", "look it up")] if number == 3 and self.opened == 1 else [])]

    _told = 0


def done(work: WorkRequest, text: str = "ready", status: WorkStatus = WorkStatus.SUCCEEDED) -> WorkResult:
    return WorkResult(work.work_id, status, text)


REPORTS: dict[str, Callable[[WorkRequest], list[Any]]] = {
    "unknown works": lambda work: [
        WorkResult("w99", WorkStatus.SUCCEEDED, "lie"),
        WorkUpdate("w98", WorkPhase.RUNNING, "lie"),
        done(work),
    ],
    "two outcomes": lambda work: [done(work), done(work, "lie", WorkStatus.FAILED)],
    "an update after the outcome": lambda work: [done(work), WorkUpdate(work.work_id, WorkPhase.RUNNING, "lie")],
    "foreign objects": lambda work: [3, object(), WorkUpdate(work.work_id, "running", "lie"), done(work)],  # type: ignore[arg-type]
    "numbers": lambda work: [WorkResult(work.work_id, WorkStatus.FAILED, 7), WorkResult([], WorkStatus.FAILED, ""), done(work)],  # type: ignore[arg-type]
}


@pytest.mark.parametrize("kind", list(REPORTS))
async def test_reports_that_make_no_sense_are_dropped_and_counted(kind: str) -> None:
    teller = Teller()
    async with staged(teller, parts=with_harness(Harness(REPORTS[kind]))) as stage:
        await stage.until(lambda: DeliveryState.DELIVERED in [entry.event.state for entry in stage.events(DeliveryChanged)])
        assert [entry.event.work_id for entry in stage.events(WorkEnded)] == ["w1"]
        assert stage.events(WorkChanged) == []
        assert [message.text for message in teller.injected] == ["ready"]
        assert faults(stage, "harness")
        assert stage.call._effects._results == {}
        await hung_up(stage)


async def test_texts_of_the_harness_are_cut_and_made_whole() -> None:
    teller = Teller()
    headline = f"looking\n\x1b[2J{HALF}" + "x" * 1_000_000

    def reports(work: WorkRequest) -> list[Any]:
        return [WorkUpdate(work.work_id, WorkPhase.RUNNING, headline), done(work, HALF + "x" * 5_000_000)]

    async with staged(teller, parts=with_harness(Harness(reports))) as stage:
        await stage.until(lambda: bool(teller.injected))
        assert len(teller.injected[0].text) == 20_000
        assert teller.injected[0].text.isprintable()
        (changed,) = stage.events(WorkChanged)
        assert len(changed.event.headline) == 300
        await hung_up(stage)


@pytest.mark.parametrize("act", [*ACTS, "hangs on"])
@pytest.mark.parametrize("method", ["submit", "reports", "close"])
async def test_a_harness_that_breaks_costs_no_call(method: str, act: str) -> None:
    harness = Harness(**{method: {**ACTS, "hangs on": hang_on}[act]})
    async with staged(Teller(), parts=with_harness(harness)) as stage:
        await stage.wait(12_000)
        assert not any("secret" in detail for detail in faults(stage, "harness"))
        if method == "submit" or (method == "reports" and "hangs" not in act):
            assert stage.events(WorkEnded)
            assert DeliveryState.DELIVERED in [entry.event.state for entry in stage.events(DeliveryChanged)]
        assert (await hung_up(stage, act == "hangs on")).reason is EndReason.CALLER_HUNG_UP


@pytest.mark.parametrize("when", ["during the call", "after its end"])
async def test_a_flood_of_reports_is_taken_a_little_at_a_time(when: str) -> None:
    class Flooding(Harness):
        async def reports(self) -> AsyncIterator[Any]:
            if when == "after its end":
                while await self.queue.get() is not None:
                    pass
            while True:
                yield WorkUpdate("w99", WorkPhase.RUNNING, "lie")

    async with staged(Teller(), parts=with_harness(Flooding())) as stage:
        await stage.wait(3_000)
        assert len(stage.call._effects.arrivals) <= 60
        await hung_up(stage)


async def test_a_result_waits_for_the_session_that_can_tell_it() -> None:
    """The frontend dies before it was told, and its successor takes a second to open."""

    async def slowly(attempt: int) -> None:
        if attempt > 1:
            clock = LoopClock()
            await clock.sleep_until(clock.now_us() + 1_000_000)

    teller = Teller()
    teller.acts["open"] = slowly
    teller.answer = lambda unit, number: [*teller._tell(unit, number), *([None] if number == 5 and teller.opened == 1 else [])]
    async with staged(teller, parts=with_harness(Harness(lambda work: [done(work)]))) as stage:
        await stage.until(lambda: DeliveryState.DELIVERED in [entry.event.state for entry in stage.events(DeliveryChanged)])
        await hung_up(stage)


# --- the line ---------------------------------------------------------------------------------------------------------------


def storm(stage: Stage, *events: LineEvent) -> None:
    """The line says all this in one tick."""
    stage.line._events.extend(events)


STORMS: dict[str, list[LineEvent]] = {
    "digits": [DigitReceived(str(n % 10), "memory") for n in range(10_000)],
    "quality": [LineQuality(n, 0, 0, 0) for n in range(100_000)],
    "holds": [LineHeld("far"), LineResumed("far")] * 50_000,
    "faults": [FaultReported("line_" + "x" * 5_000, HALF + "\x1b[2J" + "x" * 500_000)] * 1_000,
}


@pytest.mark.parametrize("kind", list(STORMS))
async def test_a_storm_of_line_events_makes_no_tick_long(kind: str) -> None:
    async with staged(Rogue(lambda unit, number: [speech(unit, f"u{number}")] if number % 10 == 5 else [])) as stage:
        await stage.wait(500)
        per_tick: dict[int, int] = {}
        stage.call.timeline.subscribe(lambda entry: per_tick.update({entry.t: per_tick.get(entry.t, 0) + 1}))
        storm(stage, *STORMS[kind])
        await stage.wait(3_000)
        assert max(per_tick.values()) <= 80
        (dropped,) = faults(stage, "line_events")
        assert int(dropped.split()[0]) + sum(per_tick.values()) >= len(STORMS[kind])
        assert not stage.call.core.on_hold
        spoke = len(stage.events(UtteranceEnded))
        await stage.wait(3_000)
        assert len(stage.events(UtteranceEnded)) > spoke
        await hung_up(stage)


async def test_a_hang_up_behind_a_storm_is_heard_at_once() -> None:
    async with staged(Rogue(once())) as stage:
        await stage.wait(500)
        storm(stage, *STORMS["digits"], LineClosed(EndReason.CALLER_HUNG_UP, "hung up"))
        assert (await ended(stage, 100)).reason is EndReason.CALLER_HUNG_UP


async def test_a_hold_of_both_ends_lasts_until_both_have_ended_it() -> None:
    async with staged(Rogue(once()), CallSettings(media_lost_us=3_000_000)) as stage:
        await stage.wait(500)
        stage.call.hold()
        stage.far_end.hold()
        await stage.wait(500)
        stage.far_end.resume()
        await stage.wait(5_000)
        assert stage.call.core.on_hold
        stage.call.resume()
        await stage.wait(5_000)
        assert not stage.call.core.on_hold
        await hung_up(stage)


async def test_a_transfer_that_rings_without_end_starves_nobody() -> None:
    async with staged(Rogue(once())) as stage:
        await stage.wait(500)

        async def ringing(target: str) -> AsyncIterator[TransferProgressed]:
            while True:
                yield TransferProgressed(target, TransferState.RINGING, HALF + "x" * 100_000)

        stage.line.transfer = ringing  # type: ignore[method-assign, assignment]
        stage.call.transfer("front desk")
        await stage.wait(2_000)
        assert len(stage.call._commands) <= 60
        await hung_up(stage)


@pytest.mark.parametrize("act", [*ACTS, "hangs on"])
@pytest.mark.parametrize("method", ["accept", "hang_up", "close", "hold"])
async def test_a_line_that_breaks_or_hangs_is_left(method: str, act: str) -> None:
    closed: list[str] = []
    async with staged(Rogue(once())) as stage:
        close = stage.line.close

        async def closing() -> None:
            closed.append("closed")
            await close()

        stage.line.close = closing  # type: ignore[method-assign]
        setattr(stage.line, method, {**ACTS, "hangs on": hang_on}[act])
        await stage.wait(500)
        stage.call.hold()
        await stage.wait(500)
        stage.call.end(EndReason.OPERATOR, "enough")
        await ended(stage, 12_000, act == "hangs on")
        assert closed or method == "close"


@pytest.mark.parametrize("after_ms", [0, 20, 40, 60, 80, 300, 1_000])
async def test_a_hang_up_races_the_answer(after_ms: int) -> None:
    async with staged(Rogue(once(speech)), parts=with_lines(greeting=spoken("hello"))) as stage:
        await stage.wait(after_ms)
        stage.far_end.hang_up()
        assert (await ended(stage, 2_000)).reason is EndReason.CALLER_HUNG_UP


async def test_garbage_and_restarts_of_the_stream_are_survived() -> None:
    rogue = Rogue(lambda unit, number: [speech(unit, f"u{number}", pcm=sound(50))])
    async with staged(rogue) as stage:
        for _ in range(20):
            stage.far_end.flood(2_048)
            stage.far_end.restart_stream()
            stage.far_end.say(sound(200, 12_000))
            await stage.wait(200)
        assert not stage.events(FrontendLost)
        await hung_up(stage)
