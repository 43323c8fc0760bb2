"""Whole calls in virtual time against what hurts users of the field: pains 2, 4, 8, 11, 13, 15 on the in-memory line."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent.admission import Slots
from agent.clock import LoopClock
from agent.errors import Gone
from agent.frontends.base import Brief, Speech
from agent.frontends.script import Script
from agent.frontends.scripted import ScriptedFrontend, ScriptedSession
from agent.parts import CallParts
from agent.settings import TICK_US, CallSettings
from agent.tasks import tasks_of
from agent.timeline.events import (
    CallEnded,
    EpochChanged,
    LineClosed,
    Sent,
    SpeechRefused,
    TransferProgressed,
    UtteranceEnded,
    UtteranceStarted,
)
from agent.timeline.kinds import EndReason, Outcome, Phase, Role, WorkStatus
from harness_tools.scripted import ScriptedHarness, ScriptedWork
from tests.measure import ledger_cuts, record_drift
from tests.measure.plain import Plain, PlainFrontend, even_words, steady
from tests.rehearsal.accounts import accounts_are_closed
from tests.rehearsal.stages import RATE_HZ, Stage, spoken, staged, with_lines
from transports.memory import Options, TransferScript

pytestmark = pytest.mark.rehearsal


# --- pain 2: "stop!" does not stop it ---------------------------------------------------------------------------------------


class StubbornFrontend(PlainFrontend):
    """Speaks ten seconds at five times real time, in pieces, and does not care who has the floor."""

    def __init__(self) -> None:
        super().__init__(Plain(steady(RATE_HZ * 10), even_words(40, 250), RATE_HZ))

    async def open(self, brief: Brief) -> "_Stubborn":
        return _Stubborn(await super().open(brief))


class _Stubborn:
    def __init__(self, session: object) -> None:
        self._session = session

    def __getattr__(self, name: str) -> object:
        return getattr(self._session, name)

    async def yield_floor(self, at_us: int, epoch: int) -> None:
        """Not heeded."""

    async def steps(self) -> AsyncIterator[object]:
        async for step in self._session.steps():  # type: ignore[attr-defined]
            if not isinstance(step, Speech):
                yield step
                continue
            size = RATE_HZ // 2
            for n in range(0, len(step.pcm), size):
                words = step.words if n == 0 else ()
                yield replace(step, pcm=step.pcm[n : n + size], words=words, text=step.text if n == 0 else "", final=False)
                await asyncio.sleep(0.1)


@pytest.mark.parametrize("barge_in_ms", [100, 700, 2_000, 4_500])
async def test_pain_02_speech_stops_within_the_budget_and_nothing_of_the_old_epoch_follows(barge_in_ms: int) -> None:
    async with staged(StubbornFrontend()) as stage:
        await stage.until(lambda: bool(stage.events(UtteranceStarted)))
        await stage.wait(barge_in_ms)
        began_us = stage.clock.now_us()
        stage.far_end.say(steady(RATE_HZ * 2))
        await stage.until(lambda: bool(stage.events(EpochChanged)))
        yielded = stage.events(EpochChanged)[0]
        await stage.wait(3_000)
        sent = [entry.event for entry in stage.events(Sent)]
        last_us = max(span.covers.to_us for span in sent if isinstance(span, Sent))
        # 600 ms of voice, its way to us (30 ms, jitter buffer 40 ms), one tick to decide and one to fade.
        assert last_us - began_us <= 750_000
        assert last_us <= yielded.t + TICK_US
        ended = stage.events(UtteranceEnded)[0].event
        assert isinstance(ended, UtteranceEnded)
        assert ended.outcome is Outcome.CUT
        if barge_in_ms == 100:  # at five times real time ten seconds are there after two
            assert stage.events(SpeechRefused), "pieces of the old epoch arrived and must have been refused"


# --- pain 8: it believes it said what was never heard ----------------------------------------------------------------------


def test_pain_08_the_ledger_says_what_the_far_end_received(loops: Callable[[int], int]) -> None:
    cuts = ledger_cuts.cut_everywhere(every=10 // loops(10))
    assert len(cuts) >= 14
    worst = max(cuts, key=lambda cut: cut.worst_ms)
    assert worst.worst_ms <= 20, worst


# --- pain 11: the notice is talked over ------------------------------------------------------------------------------------


async def test_pain_11_a_must_hear_line_is_said_whole_and_what_was_said_meanwhile_is_answered() -> None:
    notice = spoken("this is an automated assistant and the call is recorded", Role.GREETING, must_hear=True)
    answers = ScriptedFrontend(
        Script.model_validate(
            {"name": "answers", "agent": {"turns": [{"on": "turn_end", "after_ms": 100, "say": "hello to you too"}]}}
        )
    )
    for at_ms in range(0, notice.duration_us // 1000, 100):
        async with staged(answers, parts=with_lines(greeting=notice)) as stage:
            await stage.until(lambda stage=stage: bool(stage.events(UtteranceStarted)))  # type: ignore[misc]
            await stage.wait(at_ms)
            stage.far_end.say(steady(RATE_HZ * 9 // 10))
            await stage.until(lambda stage=stage: len(stage.events(UtteranceEnded)) == 2)  # type: ignore[misc]
            first, second = (entry.event for entry in stage.events(UtteranceEnded))
            assert isinstance(first, UtteranceEnded)
            assert isinstance(second, UtteranceEnded)
            assert (first.outcome, first.text_sent) == (Outcome.FINISHED, notice.text)
            assert all(span.event.gain_db == 0 for span in stage.events(Sent) if span.event.utterance_id == first.utterance_id)
            assert second.text_sent == "hello to you too"


# --- pain 13: the record drifts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("skew_ppm", [-200.0, 200.0])
def test_pain_13_clicks_stay_where_they_belong(skew_ppm: float, tmp_path: Path, loops: Callable[[int], int]) -> None:
    drift = record_drift.measure(tmp_path, loops(60), skew_ppm)
    assert drift.clicks >= 0.9 * drift.expected, drift
    assert drift.worst_ms <= 20, drift
    assert abs(drift.length_error_ms) <= 20, drift


# --- pain 15: zombies ------------------------------------------------------------------------------------------------------

Kill = Callable[[Stage], Awaitable[None]]


async def _hang_up(stage: Stage) -> None:
    stage.far_end.hang_up()


async def _vanish(stage: Stage) -> None:
    stage.far_end.vanish()


async def _cancel(stage: Stage) -> None:
    stage.running.cancel()


async def _end_politely(stage: Stage) -> None:
    stage.call.end(EndReason.AGENT_ENDED, "all is said")


async def _end_at_once(stage: Stage) -> None:
    stage.call.end(EndReason.OPERATOR, "the operator ended it", at_once=True)


async def _break_the_line(stage: Stage) -> None:
    stage.call.learn(LineClosed(EndReason.LINE_FAILED, "transport error"))


async def _break_the_tick(stage: Stage) -> None:
    def receive() -> object:
        raise RuntimeError("broken on purpose")

    stage.line.receive = receive  # type: ignore[method-assign, assignment]


KILLS: dict[str, tuple[Kill, EndReason]] = {
    "hang_up": (_hang_up, EndReason.CALLER_HUNG_UP),
    "vanish": (_vanish, EndReason.MEDIA_LOST),
    "cancel": (_cancel, EndReason.SHUTDOWN),
    "end_politely": (_end_politely, EndReason.AGENT_ENDED),
    "end_at_once": (_end_at_once, EndReason.OPERATOR),
    "line_fails": (_break_the_line, EndReason.LINE_FAILED),
    "tick_breaks": (_break_the_tick, EndReason.FAULT),
}

PHASES: dict[str, Callable[[Stage], Awaitable[None]]] = {}


def _phase(wait: Callable[[Stage], Awaitable[None]]) -> Callable[[Stage], Awaitable[None]]:
    PHASES[wait.__name__.removeprefix("_")] = wait
    return wait


@_phase
async def _ringing(stage: Stage) -> None:
    await stage.wait(100)
    assert stage.call.phase is Phase.RINGING


@_phase
async def _greeting(stage: Stage) -> None:
    await stage.until(lambda: bool(stage.events(UtteranceStarted)))
    await stage.wait(300)


@_phase
async def _listening(stage: Stage) -> None:
    await stage.until(lambda: bool(stage.events(UtteranceEnded)))
    stage.far_end.say(steady(RATE_HZ))
    await stage.wait(500)


@_phase
async def _speaking(stage: Stage) -> None:
    await _listening(stage)
    await stage.until(lambda: len(stage.events(UtteranceStarted)) == 2)
    await stage.wait(400)


@_phase
async def _working(stage: Stage) -> None:
    await _speaking(stage)
    assert stage.call.core.works.open == ("w1",)


@_phase
async def _transferring(stage: Stage) -> None:
    await _speaking(stage)
    stage.call.transfer("reception")
    await stage.until(lambda: bool(stage.events(TransferProgressed)))


@_phase
async def _ending(stage: Stage) -> None:
    await _speaking(stage)
    stage.call.end(EndReason.AGENT_ENDED, "all is said")
    await stage.wait(100)


class RingingFrontend(ScriptedFrontend):
    """Opens after 200 ms, so that there is something to be killed while it rings."""

    async def open(self, brief: Brief) -> ScriptedSession:
        await asyncio.sleep(0.2)
        return await super().open(brief)


def _busy_script() -> Script:
    return Script.model_validate(
        {
            "name": "busy",
            "agent": {
                "turns": [
                    {"on": "turn_end", "after_ms": 100, "delegate": "look it up"},
                    {"on": "turn_end", "after_ms": 200, "say": "one moment please while i look that up for you in the book"},
                ]
            },
        }
    )


@pytest.mark.parametrize("phase", list(PHASES))
@pytest.mark.parametrize("kill", list(KILLS))
async def test_pain_15_nothing_of_a_call_remains_two_seconds_after_its_end(kill: str, phase: str) -> None:
    strike, reason = KILLS[kill]
    slots = Slots(1)
    frontend = RingingFrontend(_busy_script())
    settings = CallSettings(media_lost_us=3_000_000)
    targets: Options = {"targets": {"reception": TransferScript(60_000)}}

    def parts(parts: CallParts) -> CallParts:
        harness = ScriptedHarness([ScriptedWork(60_000, WorkStatus.SUCCEEDED, "too late")], LoopClock())
        return replace(with_lines(greeting=spoken("hello there"))(parts), slots=slots, harness=harness)

    async with staged(frontend, settings, parts=parts, line_options=targets) as stage:
        await PHASES[phase](stage)
        await strike(stage)
        await stage.until(lambda: stage.call.phase.value == "ended" or stage.running.done(), 15_000)
        await stage.over(2_000)
        ends = [entry.event for entry in stage.events(CallEnded)]
        assert len(ends) == 1
        assert isinstance(ends[0], CallEnded)
        if phase != "ending":
            assert ends[0].reason is reason
        assert tasks_of(stage.call.call_id) == []
        assert slots.taken == 0
        assert frontend.sessions == []
        with pytest.raises(Gone):
            _ = stage.line.far_end
        accounts_are_closed(tuple(stage.entries))
