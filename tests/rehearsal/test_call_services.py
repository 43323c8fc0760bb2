"""Whole calls in virtual time whose frontend, ears or harness leave, lag or send nonsense."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from itertools import repeat
from typing import Any

import pytest

from agent.errors import Capacity, Gone, Refused, VenusError
from agent.frontends.base import Brief, PastTurn, Unit
from agent.frontends.script import Script
from agent.frontends.scripted import ScriptedEars, ScriptedFrontend, ScriptedSession
from agent.parts import CallParts
from agent.settings import CallSettings
from agent.timeline.events import (
    EpochChanged,
    FaultReported,
    FrontendLag,
    FrontendLost,
    FrontendOpened,
    SpeechRefused,
    Transcript,
    TurnProbability,
    UtteranceStarted,
    WorkEnded,
)
from agent.timeline.kinds import EndReason, Phase, Span, WorkStatus
from tests.measure.plain import steady
from tests.rehearsal.stages import RATE_HZ, scripted, spoken, staged, with_lines

pytestmark = pytest.mark.rehearsal

SORRY = "i am sorry"
DIES = {"on": "turn_end", "nth": 1, "after_ms": 1_500, "die": True}
ANSWERS = {"on": "turn_end", "nth": 1, "after_ms": 100, "say": "one moment"}


def script(*turns: dict[str, Any]) -> Script:
    """A script with these turns."""
    return Script.model_validate({"name": "services", "agent": {"turns": list(turns)}})


# --- the frontend -----------------------------------------------------------------------------------------------------------


class FailingFrontend(ScriptedFrontend):
    """Keeps what its sessions are opened with; `failures` happen to the openings after the first, None being none."""

    def __init__(self, script: Script, failures: Iterable[VenusError | float | None] = ()) -> None:
        super().__init__(script)
        self.briefs: list[Brief] = []
        self._failures = iter(failures)

    async def open(self, brief: Brief) -> ScriptedSession:
        self.briefs.append(brief)
        failure = next(self._failures, None) if len(self.briefs) > 1 else None
        if isinstance(failure, float):
            await asyncio.sleep(failure)
        elif failure is not None:
            raise failure
        return await super().open(brief)


def _understood(parts: CallParts) -> CallParts:
    """A caller who is understood."""
    return replace(
        parts,
        ears=ScriptedEars(Script.model_validate({"name": "ears", "caller": {"says": [{"at_ms": 500, "say": "are you open"}]}})),
    )


COMING_BACK: dict[str, tuple[VenusError | float | None, ...]] = {
    "at once": (),
    "slowly": (1.2,),
    "when its worker is back": (Gone("no worker"),) * 10,
    "when others have left": (Capacity("all slots are taken"),) * 10,
    "when an attempt hung": (60.0,),
}


@pytest.mark.parametrize("how", COMING_BACK)
async def test_a_lost_session_is_rebuilt_and_told_what_was_said_so_far(how: str) -> None:
    back = {"on": "open", "nth": 2, "after_ms": 100, "say": "i am back"}
    frontend = FailingFrontend(script(ANSWERS, DIES, back), COMING_BACK[how])

    def parts(parts: CallParts) -> CallParts:
        return _understood(with_lines(apology=spoken(SORRY))(parts))

    async with staged(frontend, parts=parts) as stage:
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: len(stage.texts) == 3)
        assert stage.texts == ["one moment", SORRY, "i am back"]
        (lost,) = stage.events(FrontendLost)
        assert lost.event == FrontendLost(1, "the session was lost, as the script says", False)
        assert [one.attempt for one in stage.told(FrontendOpened)] == [1, 2]
        assert stage.events(FrontendOpened)[1].t - lost.t <= CallSettings().reopen_within_us
        assert frontend.briefs[0].history == ()
        assert frontend.briefs[-1].history[:2] == (PastTurn("caller", "are you open"), PastTurn("agent", "one moment"))
        ids = [one.utterance_id for one in stage.told(UtteranceStarted)]
        assert ids[0].endswith("@1")
        assert ids[2].endswith("@2")


async def test_a_session_rebuilt_after_an_interruption_speaks_in_the_present_epoch() -> None:
    long = {"on": "turn_end", "nth": 1, "say": "we are open from monday to friday between eight and six"}
    dies = {"on": "yield", "nth": 1, "after_ms": 300, "die": True}
    back = {"on": "open", "nth": 2, "after_ms": 100, "say": "i am back"}
    frontend = FailingFrontend(script(long, dies, back))
    async with staged(frontend) as stage:
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: bool(stage.events(UtteranceStarted)))
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: "i am back" in stage.texts)
        assert len(stage.events(EpochChanged)) == 1
        assert [brief.epoch for brief in frontend.briefs] == [0, 1]


async def test_what_happens_while_a_session_is_rebuilt_is_told_to_it() -> None:
    long = {"on": "turn_end", "nth": 1, "say": "we are open from monday to friday between eight and six, on saturday until noon"}
    dies = {"on": "turn_end", "nth": 1, "after_ms": 1_500, "die": True}
    back = {"on": "open", "nth": 2, "after_ms": 1_000, "say": "i am back"}
    frontend = FailingFrontend(script(long, dies, back), [2.5])
    async with staged(frontend) as stage:
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: bool(stage.events(FrontendLost)))
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: bool(stage.events(EpochChanged)))
        assert len(stage.events(FrontendOpened)) == 1, "the caller takes the floor while it opens"
        await stage.until(lambda: "i am back" in stage.texts)
        assert frontend.briefs[-1].epoch == 0
        (opened,) = stage.events(FrontendOpened)[1:]
        assert opened.t - stage.events(FrontendLost)[0].t > 2_000_000
        assert stage.events(SpeechRefused) == []


@pytest.mark.parametrize("failure", [Gone("no worker"), Capacity("all slots are taken"), 60.0], ids=["gone", "full", "hangs"])
async def test_a_frontend_that_does_not_come_back_is_apologised_for_once_and_the_call_ends(failure: VenusError | float) -> None:
    frontend = FailingFrontend(script(ANSWERS, DIES), repeat(failure))
    async with staged(frontend, parts=with_lines(apology=spoken(SORRY))) as stage:
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: bool(stage.events(FrontendLost)))
        lost_us = stage.clock.now_us()
        await stage.over(10_000)
        reason = "it did not open in time" if isinstance(failure, float) else str(failure)
        assert [(one.attempt, one.final) for one in stage.told(FrontendLost)] == [(1, False), (2, True)]
        assert stage.texts == ["one moment", SORRY]
        assert (stage.end.reason, stage.end.detail) == (EndReason.FRONTEND_LOST, reason)
        assert stage.clock.now_us() - lost_us <= CallSettings().reopen_within_us + spoken(SORRY).duration_us + 500_000
        assert frontend.sessions == []


async def test_each_loss_has_its_apology() -> None:
    again = {"on": "open", "nth": 2, "after_ms": 3_000, "die": True}
    frontend = FailingFrontend(script(DIES, again))
    async with staged(frontend, parts=with_lines(apology=spoken(SORRY))) as stage:
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: len(stage.events(FrontendOpened)) == 3)
        await stage.wait(2_000)
        assert stage.texts == [SORRY, SORRY]
        assert stage.call.phase is Phase.ANSWERED


async def test_a_frontend_that_stands_still_is_told_of_and_the_conversation_goes_on_when_it_has_caught_up() -> None:
    turns = ({"on": "turn_end", "nth": 1, "lag_ms": 4_000}, {"on": "turn_end", "nth": 1, "after_ms": 300, "say": "here i am"})
    async with staged(scripted(*turns)) as stage:
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: stage.texts == ["here i am"])
        lags = [one.lag_us for one in stage.told(FrontendLag)]
        assert max(lags) >= 2_000_000
        assert lags[-1] == 0
        assert stage.events(FrontendLost) == []


# --- the ears ---------------------------------------------------------------------------------------------------------------


class BrokenEars:
    """Ears, and their own session: they do what `does` says."""

    def __init__(self, does: str) -> None:
        self._does = does

    async def open(self, brief: Brief) -> "BrokenEars":
        match self._does:
            case "do not open":
                raise Capacity("all recognisers are taken")
            case "open never":
                await asyncio.Event().wait()
        return self

    async def feed(self, unit: Unit) -> None:
        match self._does:
            case "fail":
                raise Gone("the recogniser left")
            case "take nothing":
                await asyncio.Event().wait()

    async def evidence(self) -> AsyncIterator[Transcript | TurnProbability]:
        match self._does:
            case "end":
                return
            case "break the rules":
                yield TurnProbability(Span(0, 0), float("nan"))
        await asyncio.Event().wait()

    async def close(self) -> None:
        if self._does == "fail":
            await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("does", "faults"),
    [("do not open", 1), ("open never", 1), ("fail", 6), ("take nothing", 2), ("end", 3), ("break the rules", 1)],
)
async def test_lost_ears_are_a_counted_fault_and_the_call_goes_on(does: str, faults: int) -> None:
    frontend = scripted({"on": "turn_end", "after_ms": 100, "say": "hello to you too"})
    async with staged(frontend, parts=lambda parts: replace(parts, ears=BrokenEars(does))) as stage:
        await stage.wait(8_000)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: stage.texts == ["hello to you too"])
        codes = [one.code for one in stage.told(FaultReported)]
        assert codes == ["ears"] * faults
        assert stage.call.phase is Phase.ANSWERED
        stage.far_end.hang_up()
        await stage.over()


class MortalEars:
    """Ears whose first session dies with its fifth unit, and which open again after `failures` attempts."""

    def __init__(self, failures: int, final: bool = True) -> None:
        self._failures, self._final = failures, final
        self.sessions: list[MortalEarsSession] = []

    async def open(self, brief: Brief) -> "MortalEarsSession":
        if self.sessions and self._failures:
            self._failures -= 1
            raise Gone("no worker")
        self.sessions.append(MortalEarsSession(5 if not self.sessions else 1_000, self._final))
        return self.sessions[-1]


class MortalEarsSession:
    def __init__(self, lives: int, final: bool) -> None:
        self.units: list[Unit] = []
        self._lives, self._final = lives, final
        self._fed = asyncio.Event()

    async def feed(self, unit: Unit) -> None:
        if len(self.units) == self._lives:
            raise Gone("the worker was killed")
        self.units.append(unit)
        self._fed.set()

    async def evidence(self) -> AsyncIterator[Transcript | TurnProbability]:
        await self._fed.wait()
        yield Transcript(self.units[0].covers, f"words of {self._lives}", self._final, 0.9)
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Nothing to give back."""


async def test_lost_ears_are_opened_again_and_given_what_was_said_meanwhile() -> None:
    ears = MortalEars(failures=8)
    async with staged(scripted(), parts=lambda parts: replace(parts, ears=ears)) as stage:
        await stage.wait(5_000)
        first, second = ears.sessions
        assert [one.text for one in stage.told(Transcript)] == ["words of 5", "words of 1000"]
        # Its first transcript was final: what lay behind it is not read again, and the units after it are.
        assert second.units[0].covers.from_us == first.units[0].covers.to_us
        assert [unit.covers.from_us for unit in second.units[1:]] == [unit.covers.to_us for unit in second.units[:-1]]
        assert stage.call.t - second.units[-1].covers.to_us < 300_000
        assert [one.detail for one in stage.told(FaultReported)] == ["ears are lost: the worker was killed"]


async def test_a_turn_under_way_is_given_to_the_new_ears_from_its_beginning() -> None:
    ears = MortalEars(failures=8, final=False)
    async with staged(scripted(), parts=lambda parts: replace(parts, ears=ears)) as stage:
        await stage.wait(5_000)
        first, second = ears.sessions
        assert len(first.units) == 5
        assert second.units[0].covers.from_us == first.units[0].covers.from_us
        assert [unit.covers.from_us for unit in second.units[1:]] == [unit.covers.to_us for unit in second.units[:-1]]


async def test_ears_that_do_not_come_back_in_time_are_given_up() -> None:
    ears = MortalEars(failures=1_000)
    async with staged(scripted(), parts=lambda parts: replace(parts, ears=ears)) as stage:
        await stage.wait(20_000)
        faults = ["ears are lost: the worker was killed", "ears did not open: no worker"]
        assert [one.detail for one in stage.told(FaultReported)] == faults
        assert stage.call.phase is Phase.ANSWERED


# --- the harness ------------------------------------------------------------------------------------------------------------


async def test_without_a_harness_every_request_fails_and_that_is_told() -> None:
    turns = ({"on": "turn_end", "delegate": "look it up"}, {"on": "inject", "say": "i cannot look it up"})
    async with staged(scripted(*turns)) as stage:
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: stage.texts == ["i cannot look it up"])
        (ended,) = stage.events(WorkEnded)
        assert isinstance(ended.event, WorkEnded)
        assert ended.event.status is WorkStatus.FAILED


class FullHarness:
    """Takes nothing; or takes one work and is lost."""

    def __init__(self, error: VenusError, takes: bool) -> None:
        self._error, self._takes = error, takes
        self._taken = asyncio.Event()

    async def submit(self, request: object) -> None:
        self._taken.set()
        if not self._takes:
            raise self._error

    async def reports(self) -> AsyncIterator[Any]:
        await self._taken.wait()
        if self._takes:
            raise self._error
        await asyncio.Event().wait()
        yield

    async def close(self) -> None:
        """Nothing to give back."""


@pytest.mark.parametrize(
    ("harness", "status"),
    [
        (lambda: FullHarness(Capacity("64 works are pending"), takes=False), WorkStatus.FAILED),
        (lambda: FullHarness(Refused("not allowed"), takes=False), WorkStatus.FAILED),
        (lambda: FullHarness(Gone("the harness left"), takes=True), WorkStatus.UNKNOWN),
    ],
    ids=["full", "refuses", "leaves"],
)
async def test_what_a_harness_does_not_do_has_an_outcome_and_is_told(
    harness: Callable[[], FullHarness], status: WorkStatus
) -> None:
    turns = ({"on": "turn_end", "delegate": "look it up"}, {"on": "inject", "say": "that did not work"})
    async with staged(scripted(*turns), parts=lambda parts: replace(parts, harness=harness())) as stage:
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: stage.texts == ["that did not work"])
        assert [one.status for one in stage.told(WorkEnded)] == [status]
        faults = stage.told(FaultReported)
        assert faults == ([FaultReported("harness", "the harness is lost (Gone)")] if status is WorkStatus.UNKNOWN else [])
