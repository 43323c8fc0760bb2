"""Whole calls in virtual time: what the tick carries between line, frontend, ears and harness, also through a stall."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from agent.clock import LoopClock
from agent.frontends.base import BackendMessage, Brief, MessageKind, Unit
from agent.frontends.script import Script
from agent.frontends.scripted import ScriptedEars, ScriptedFrontend, ScriptedSession
from agent.harness import WorkRequest
from agent.settings import TICK_US
from agent.timeline.events import (
    DelegateOpened,
    DelegationCreated,
    DeliveryChanged,
    FrontendLag,
    FrontendLost,
    Gap,
    LineAnswered,
    LineHeld,
    MediaReceived,
    Sent,
    UtteranceEnded,
    UtteranceStarted,
    VoiceStarted,
    VoiceStopped,
    WorkChanged,
    WorkEnded,
)
from agent.timeline.kinds import DeliveryState, Role, WorkPhase, WorkStatus
from agent.virtual import VirtualLoop
from harness_tools.scripted import ScriptedHarness, ScriptedUpdate, ScriptedWork
from tests.measure.plain import steady
from tests.rehearsal.stages import RATE_HZ, spoken, staged, with_lines

pytestmark = pytest.mark.rehearsal


class AttentiveFrontend(ScriptedFrontend):
    """The scripted frontend that keeps whatever the call gives to its sessions."""

    def __init__(self, *turns: dict[str, object]) -> None:
        super().__init__(Script.model_validate({"name": "attentive", "agent": {"turns": list(turns)}}))
        self.units: list[Unit] = []
        self.messages: list[BackendMessage] = []
        self.yields: list[tuple[int, int]] = []
        self.acknowledged: dict[str, int] = {}

    async def open(self, brief: Brief) -> ScriptedSession:
        session = await super().open(brief)
        feed, inject, yield_floor, acknowledge = session.feed, session.inject, session.yield_floor, session.acknowledge

        async def keeping_feed(unit: Unit) -> None:
            self.units.append(unit)
            await feed(unit)

        async def keeping_inject(message: BackendMessage) -> None:
            self.messages.append(message)
            await inject(message)

        async def keeping_yield(at_us: int, epoch: int) -> None:
            self.yields.append((at_us, epoch))
            await yield_floor(at_us, epoch)

        async def keeping_acknowledge(utterance_id: str, samples: int) -> None:
            assert samples >= self.acknowledged.get(utterance_id, 0), "never falling"
            self.acknowledged[utterance_id] = samples
            await acknowledge(utterance_id, samples)

        session.feed, session.inject = keeping_feed, keeping_inject  # type: ignore[method-assign]
        session.yield_floor, session.acknowledge = keeping_yield, keeping_acknowledge  # type: ignore[method-assign]
        return session


def stand_still(seconds: float) -> None:
    """The whole process stands still for so long."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.advance(seconds)


@pytest.mark.parametrize("stall_s", [0.1, 0.45, 0.7, 3.0, 9.0])
async def test_input_goes_on_without_a_hole_when_everything_stood_still(stall_s: float) -> None:
    frontend = AttentiveFrontend({"on": "turn_end", "after_ms": 100, "say": "hello to you"})
    async with staged(frontend) as stage:
        await stage.answered()
        await stage.wait(1_010)
        stand_still(stall_s)
        await stage.wait(1_000)
        said_us = stage.clock.now_us()
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: stage.texts == ["hello to you"])
        assert frontend.units[0].covers.from_us == stage.events(LineAnswered)[0].t - TICK_US
        assert all(one.covers.to_us == other.covers.from_us for one, other in pairwise(frontend.units))
        assert {len(unit.pcm) for unit in frontend.units} == {1_600}
        assert stage.call.t == pytest.approx(stage.clock.now_us(), abs=2 * TICK_US)
        lost = sum(gap.lost_us for gap in stage.told(Gap))
        assert lost == pytest.approx(stall_s * 1_000_000 if stall_s > 0.5 else 0, abs=3 * TICK_US)
        (voice,) = stage.told(VoiceStarted)
        assert voice.covers.from_us == pytest.approx(said_us + 70_000, abs=2 * TICK_US)  # 30 ms of wire, 40 of packets and buffer
        loud = [unit.covers.from_us for unit in frontend.units if np.abs(unit.pcm).max() > 0.1]
        assert min(loud) == pytest.approx(voice.covers.from_us, abs=100_000), "the sound is where the evidence says"
        assert stage.told(FrontendLost) == []


async def test_a_session_that_reads_nothing_is_given_a_second_and_the_next_one_nothing_of_what_was_left() -> None:
    stalls = {"on": "turn_end", "nth": 1, "lag_ms": 60_000}
    answers = {"on": "open", "nth": 1, "after_ms": 12_500, "say": "here i am"}
    frontend = AttentiveFrontend(stalls, answers)
    async with staged(frontend) as stage:
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: bool(stage.told(FrontendLost)), 40_000)
        given = len(frontend.units)
        lost_us, stood_us = stage.events(FrontendLost)[0].t, stage.told(VoiceStopped)[0].covers.to_us
        assert frontend.units[-1].covers.to_us <= stood_us + 1_500_000
        await stage.until(lambda: stage.texts == ["here i am"])
        assert frontend.units[given].covers.from_us >= lost_us - 100_000
        assert stage.told(FrontendLag)[-1] == FrontendLag(0)
        assert len(stage.told(FrontendLost)) == len(frontend.sessions) == 1, "the slot of the lost one was given back"


async def test_what_ears_and_voice_activity_learn_goes_with_the_next_unit_in_its_order() -> None:
    frontend = AttentiveFrontend()
    ears = ScriptedEars(Script.model_validate({"name": "ears", "caller": {"says": [{"at_ms": 500, "say": "are you open"}]}}))
    async with staged(frontend, parts=lambda parts: replace(parts, ears=ears)) as stage:
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.wait(3_000)
        given = [type(one).__name__ for unit in frontend.units for one in unit.evidence]
        assert [given[0], given.count("VoiceStopped"), "Transcript" in given] == ["VoiceStarted", 1, True]
        for unit in frontend.units:
            assert all(one.covers.to_us <= unit.covers.to_us for one in unit.evidence), "no unit knows the future"
        (stopped,) = stage.told(VoiceStopped)
        assert stopped.covers.to_us - stopped.covers.from_us == pytest.approx(1_000_000, abs=30_000)


async def test_a_far_end_that_sends_music_while_it_holds_is_not_listened_to() -> None:
    frontend = AttentiveFrontend()
    async with staged(frontend) as stage:
        await stage.answered()
        await stage.wait(500)
        stage.call.learn(LineHeld("far"))  # the line itself knows nothing of it and brings everything that comes
        await stage.wait(200)
        stage.far_end.say(steady(RATE_HZ * 2))
        await stage.wait(3_000)
        assert stage.told(VoiceStarted) == []
        assert max(float(np.abs(unit.pcm).max()) for unit in frontend.units) < 0.01


async def test_media_is_told_of_once_a_second_and_adds_up() -> None:
    async with staged(AttentiveFrontend()) as stage:
        await stage.answered()
        stage.far_end.say(steady(RATE_HZ // 2))
        await stage.wait(5_500)
        spans = stage.told(MediaReceived)
        assert [span.covers.to_us - span.covers.from_us for span in spans] == [1_000_000] * 5
        assert spans[0].covers.from_us == stage.events(LineAnswered)[0].t - TICK_US
        assert all(one.covers.to_us == other.covers.from_us for one, other in pairwise(spans))
        assert all(span.received + span.concealed + span.silent == RATE_HZ for span in spans)
        assert spans[0].silent > 0, "nothing was there before the first packet"
        assert all(span.received == RATE_HZ for span in spans[1:])
        assert spans[0].level_dbov > -20 > -100 > spans[3].level_dbov


async def test_the_frontend_is_told_exactly_what_was_sent_and_when_it_lost_the_floor() -> None:
    frontend = AttentiveFrontend({"on": "turn_end", "nth": 1, "say": "we are open from monday to friday between eight and six"})
    async with staged(frontend) as stage:
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: bool(stage.told(UtteranceStarted)))
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: bool(stage.told(UtteranceEnded)))
        await stage.wait(200)
        (ended,) = stage.told(UtteranceEnded)
        last = stage.told(Sent)[-1]
        assert last.start + last.samples == ended.samples_sent
        scale = frontend.info.output_rate_hz / RATE_HZ
        assert list(frontend.acknowledged.values()) == [pytest.approx(ended.samples_sent * scale, abs=1)]
        ((at_us, epoch),) = frontend.yields
        assert epoch == 1
        assert last.covers.to_us - at_us in (0, TICK_US)


async def test_a_work_goes_to_the_harness_with_its_evidence_and_its_outcome_to_the_frontend_once() -> None:
    frontend = AttentiveFrontend({"on": "turn_end", "delegate": "look it up", "takes_ms": 200}, {"on": "inject", "say": "nine"})
    updates = (ScriptedUpdate(300, WorkPhase.RUNNING, "looking"),)
    harness = ScriptedHarness([ScriptedWork(1_000, WorkStatus.SUCCEEDED, "it is nine", updates)], LoopClock())
    requests: list[WorkRequest] = []
    submit = harness.submit

    async def keeping_submit(request: WorkRequest) -> None:
        requests.append(request)
        await submit(request)

    harness.submit = keeping_submit  # type: ignore[method-assign]
    async with staged(frontend, parts=lambda parts: replace(parts, harness=harness)) as stage:
        await stage.wait(500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: stage.texts == ["nine"])
        (opened,), (created,) = stage.told(DelegateOpened), stage.told(DelegationCreated)
        assert created.evidence_until_us == opened.covers.to_us
        assert requests == [WorkRequest(stage.call.call_id, created.work_id, "look it up", opened.covers.to_us)]
        assert stage.told(WorkChanged) == [WorkChanged(created.work_id, WorkPhase.RUNNING, "looking")]
        assert stage.told(WorkEnded) == [WorkEnded(created.work_id, WorkStatus.SUCCEEDED, len("it is nine"))]
        assert [change.state for change in stage.told(DeliveryChanged)] == [
            DeliveryState.READY,
            DeliveryState.DELIVERING,
            DeliveryState.DELIVERED,
        ]
        (message,) = frontend.messages
        assert message == BackendMessage(stage.told(DeliveryChanged)[0].delivery_id, "it is nine")


async def test_the_line_is_told_of_a_jump_by_its_ticks() -> None:
    async with staged(AttentiveFrontend()) as stage:
        told: list[int] = []
        skip = stage.line.skip

        def listening_skip(ticks: int) -> None:
            told.append(ticks)
            skip(ticks)

        stage.line.skip = listening_skip  # type: ignore[method-assign]
        await stage.wait(500)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.advance(1.0)
        await stage.wait(200)
        (gap,) = (entry.event for entry in stage.events(Gap))
        assert isinstance(gap, Gap)
        assert told == [gap.lost_us // TICK_US]


async def test_a_greeting_is_known_to_the_frontend_and_a_later_session_has_it_in_its_history() -> None:
    frontend = AttentiveFrontend()
    async with staged(frontend, parts=with_lines(greeting=spoken("hello there", Role.GREETING))) as stage:
        await stage.until(lambda: bool(stage.events(UtteranceEnded)))
        await stage.wait(100)
        assert frontend.messages == [BackendMessage("say1", "hello there", MessageKind.SAID)]
        assert [(turn.who, turn.text) for turn in stage.call.history.turns] == [("agent", "hello there")]


async def test_every_sample_pulled_is_accounted_for_through_a_jump_and_to_the_end() -> None:
    async with staged(AttentiveFrontend()) as stage:
        await stage.wait(1_310)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.advance(0.9)
        await stage.wait(730)
        stage.far_end.hang_up()
        await stage.over()
        spans = stage.told(MediaReceived)
        (gap,) = stage.told(Gap)
        pulled = sum(span.received + span.concealed + span.silent for span in spans)
        assert pulled * 1_000_000 // RATE_HZ == stage.end.lasted_us + TICK_US - gap.lost_us
        assert all(span.covers.to_us <= gap.covers.from_us or span.covers.from_us >= gap.covers.to_us for span in spans)
