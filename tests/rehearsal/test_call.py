"""Whole calls in virtual time: how they begin and end, and everything that may be asked of one while it lasts."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from agent.admission import Slots
from agent.call import RETRY_AFTER_S, Call
from agent.clock import LoopClock
from agent.errors import Refused
from agent.frontends.base import Brief
from agent.frontends.script import Script
from agent.frontends.scripted import ScriptedFrontend, ScriptedSession
from agent.parts import CallParts
from agent.settings import TICK_US, CallSettings
from agent.tasks import tasks_of
from agent.ticker import Ticker
from agent.timeline.events import (
    CallEnded,
    CallStarted,
    DigitReceived,
    DigitsSent,
    FaultReported,
    LineAnswered,
    LineHeld,
    LineResumed,
    PhaseChanged,
    SayRequested,
    Sent,
    SpeechRefused,
    TransferProgressed,
    UtteranceEnded,
    UtteranceStarted,
)
from agent.timeline.kinds import EndReason, Outcome, Phase, Role, TransferState
from tests.measure.plain import Plain, PlainFrontend, even_words, steady
from tests.rehearsal.stages import RATE_HZ, scripted, spoken, staged, with_lines
from transports.memory import FarState, Options, Refusal, TransferScript, WireSettings, pair

pytestmark = pytest.mark.rehearsal


# --- ringing and admission --------------------------------------------------------------------------------------------------


class SlowFrontend(ScriptedFrontend):
    """Opens its sessions after `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(Script.model_validate({"name": "slow"}))
        self._seconds = seconds

    async def open(self, brief: Brief) -> ScriptedSession:
        await asyncio.sleep(self._seconds)
        return await super().open(brief)


async def test_it_rings_until_the_frontend_is_open_and_the_greeting_is_the_first_thing_sent() -> None:
    async with staged(SlowFrontend(2), parts=with_lines(greeting=spoken("hello there", Role.GREETING))) as stage:
        await stage.wait(1_900)
        assert stage.far_end.state is FarState.RINGING
        await stage.until(lambda: bool(stage.events(UtteranceStarted)))
        (line_answered,), (started,) = stage.events(LineAnswered), stage.events(UtteranceStarted)
        assert started.t - line_answered.t <= 100_000
        await stage.until(lambda: stage.said == [("hello there", Outcome.FINISHED)])
        stage.far_end.hang_up()
        await stage.over()
        phases = [one.phase for one in stage.told(PhaseChanged)]
        assert phases == [Phase.ANSWERED, Phase.ENDED]
        assert stage.end.reason is EndReason.CALLER_HUNG_UP


async def test_fifty_callers_and_three_sessions_give_three_answers_and_no_silence() -> None:
    clock = LoopClock()
    ticker = Ticker(clock)
    frontend = ScriptedFrontend(Script.model_validate({"name": "full"}), slots=3)
    ends = [pair(clock, WireSettings(rate_hz=RATE_HZ)) for _ in range(50)]
    slots = Slots(50)
    calls = [Call(CallParts(line, frontend, slots=slots), ticker) for line, _ in ends]
    ticking = asyncio.ensure_future(ticker.run())
    running = [asyncio.ensure_future(call.run()) for call in calls]
    await clock.sleep_until(1_000_000)
    states = [far.state for _, far in ends]
    assert (states.count(FarState.CONNECTED), states.count(FarState.GONE), slots.taken) == (3, 47, 3)
    refusals = [far.refusal for _, far in ends if far.state is FarState.GONE]
    assert all(refusal and refusal.retry_after_s == 5 and "all 3 sessions" in refusal.reason for refusal in refusals)
    refused = [task.result() for task in running if task.done()]
    assert [outcome.reason for outcome in refused] == [EndReason.REFUSED] * 47
    for _, far in ends:
        far.hang_up()
    done, _ = await asyncio.wait(running, timeout=5)
    assert len(done) == 50
    assert (frontend.sessions, slots.taken) == ([], 0)
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)


async def test_without_a_free_media_slot_nothing_is_opened_and_the_caller_may_try_again() -> None:
    slots = Slots(1)
    taken = slots.take()
    frontend = ScriptedFrontend(Script.model_validate({"name": "full"}))
    async with staged(frontend, parts=lambda parts: replace(parts, slots=slots)) as stage:
        await stage.over()
        assert stage.far_end.refusal == Refusal("all 1 media slots are taken; try again in 5 s", 5)
        assert stage.end.reason is EndReason.REFUSED
    assert slots.taken == 1, "what it did not get it does not give back"
    taken.release()


async def test_the_farewell_is_said_when_the_call_ends_by_itself() -> None:
    settings = CallSettings(longest_us=2_000_000)
    frontend = ScriptedFrontend(Script.model_validate({"name": "long"}))
    async with staged(frontend, settings, parts=with_lines(farewell=spoken("goodbye", Role.FAREWELL))) as stage:
        await stage.over(6_000)
        assert stage.said == [("goodbye", Outcome.FINISHED)]
        assert stage.end.reason is EndReason.TOO_LONG


async def test_a_farewell_of_the_flow_is_not_said_twice() -> None:
    frontend = ScriptedFrontend(Script.model_validate({"name": "flow"}))
    async with staged(frontend, parts=with_lines(farewell=spoken("goodbye", Role.FAREWELL))) as stage:
        await stage.wait(500)
        stage.call.say(spoken("see you on tuesday", Role.FAREWELL))
        stage.call.end(EndReason.AGENT_ENDED, "all is said")
        await stage.over(6_000)
        assert stage.said == [("see you on tuesday", Outcome.FINISHED)]


@pytest.mark.parametrize(
    ("opening_s", "settings", "reason"),
    [(30, CallSettings(answer_within_us=2_000_000), "the frontend did not open in time")],
)
async def test_a_frontend_that_does_not_open_turns_the_caller_away(opening_s: int, settings: CallSettings, reason: str) -> None:
    async with staged(SlowFrontend(opening_s), settings) as stage:
        await stage.over(4_000)
        assert stage.far_end.refusal == Refusal(reason, RETRY_AFTER_S)
        assert (stage.end.reason, stage.end.detail) == (EndReason.REFUSED, reason)


def _outbound(ring_ms: int, then: TransferState = TransferState.ANSWERED) -> Options:
    return {"callee": TransferScript(ring_ms, then), "remote": "+15550100"}


async def test_a_call_of_ours_talks_once_it_is_answered() -> None:
    parts = with_lines(greeting=spoken("hello there", Role.GREETING))
    async with staged(scripted(), parts=parts, line_options=_outbound(4_000)) as stage:
        await stage.wait(3_900)
        assert stage.call.phase is Phase.RINGING
        await stage.until(lambda: stage.said == [("hello there", Outcome.FINISHED)])
        started = stage.entries[0].event
        assert isinstance(started, CallStarted)
        assert (started.direction, started.remote) == ("outbound", "+15550100")
        assert stage.events(LineAnswered)[0].t == pytest.approx(4_000_000, abs=2 * TICK_US)


@pytest.mark.parametrize(
    ("ring_ms", "then", "reason", "detail"),
    [
        (3_000, TransferState.BUSY, EndReason.REFUSED, "the far end is busy: try again later"),
        (3_000, TransferState.DECLINED, EndReason.REFUSED, "the far end declined: try again later"),
        (3_000, TransferState.TIMEOUT, EndReason.NOT_ANSWERED, "nobody answered"),
        (3_000, TransferState.FAILED, EndReason.NOT_ANSWERED, "the far end cannot be reached"),
        (60_000, TransferState.ANSWERED, EndReason.NOT_ANSWERED, "not answered within 10 s"),
    ],
)
async def test_a_call_of_ours_that_is_not_answered_says_why(
    ring_ms: int, then: TransferState, reason: EndReason, detail: str
) -> None:
    frontend = scripted()
    async with staged(frontend, line_options=_outbound(ring_ms, then)) as stage:
        await stage.over(12_000)
        assert (stage.end.reason, stage.end.detail, stage.end.lasted_us) == (reason, detail, 0)
        assert frontend.sessions == []


@pytest.mark.parametrize("before_ms", [10, 20, 200, 900, 1_000])
async def test_who_hangs_up_while_it_rings_hung_up_whenever_it_was(before_ms: int) -> None:
    frontend = SlowFrontend(1)
    async with staged(frontend) as stage:
        await stage.wait(1_000 - before_ms)
        stage.far_end.hang_up()
        await stage.over()
        assert (stage.end.reason, stage.end.lasted_us) == (EndReason.CALLER_HUNG_UP, 0)
        assert (stage.events(LineAnswered), frontend.sessions) == ([], [])


# --- what may be asked of a call --------------------------------------------------------------------------------------------


async def test_digits_go_both_ways_and_interrupt_nobody() -> None:
    long = Plain(steady(RATE_HZ * 4), even_words(16, 250), RATE_HZ)
    async with staged(PlainFrontend(long)) as stage:
        await stage.until(lambda: bool(stage.events(UtteranceStarted)))
        stage.far_end.press("12#")
        stage.call.send_digits("90*")
        await stage.until(lambda: bool(stage.events(UtteranceEnded)))
        assert [one.digit for one in stage.told(DigitReceived)] == ["1", "2", "#"]
        assert stage.told(DigitsSent) == [DigitsSent("90*")]
        assert stage.far_end.digits == "90*"
        assert [outcome for _, outcome in stage.said] == [Outcome.FINISHED]


async def test_digits_that_no_keypad_has_are_a_fault_that_quotes_none_of_them() -> None:
    async with staged(scripted()) as stage:
        await stage.answered()
        stage.call.send_digits("4111 2222")
        await stage.until(lambda: bool(stage.events(FaultReported)))
        (fault,) = stage.told(FaultReported)
        assert isinstance(fault, FaultReported)
        assert fault.code == "digits"
        assert "4111" not in fault.detail
        assert "2222" not in fault.detail
        assert (stage.far_end.digits, stage.events(DigitsSent), stage.call.phase) == ("", [], Phase.ANSWERED)


@pytest.mark.parametrize("by", ["near", "far"])
async def test_on_hold_nothing_is_said_and_afterwards_it_goes_on_where_it_was(by: str) -> None:
    frontend = PlainFrontend(Plain(steady(RATE_HZ * 3), even_words(12, 250), RATE_HZ))
    async with staged(frontend, CallSettings(media_lost_us=2_000_000)) as stage:
        await stage.until(lambda: bool(stage.events(UtteranceStarted)))
        await stage.wait(1_000)
        holder = stage.call if by == "near" else stage.far_end
        holder.hold()
        await stage.until(lambda: bool(stage.events(LineHeld)))
        await stage.wait(5_000)
        assert stage.call.phase is Phase.ANSWERED, "no media is missed on hold"
        holder.resume()
        await stage.until(lambda: bool(stage.events(UtteranceEnded)))
        assert [one.by for one in (*stage.told(LineHeld), *stage.told(LineResumed))] == [by, by]
        held, resumed = stage.events(LineHeld)[0].t, stage.events(LineResumed)[0].t
        spans = stage.told(Sent)
        assert all(span.covers.to_us <= held or span.covers.from_us >= resumed for span in spans)
        assert sum(span.samples for span in spans) == RATE_HZ * 3
        assert all(one.start + one.samples == other.start for one, other in pairwise(spans))


async def test_a_line_that_is_not_connected_is_neither_held_nor_given_digits() -> None:
    async with staged(SlowFrontend(3)) as stage:
        await stage.wait(100)
        for ask in (stage.call.hold, stage.call.resume, lambda: stage.call.send_digits("1")):
            ask()
        stage.call.transfer("reception")
        await stage.wait(100)
        codes = [one.code for one in stage.told(FaultReported)]
        assert codes == ["hold", "resume", "digits"]
        (progress,) = stage.events(TransferProgressed)
        assert progress.event == TransferProgressed("reception", TransferState.FAILED, "the line is not connected")
        await stage.answered()


@pytest.mark.parametrize("then", [state for state in TransferState if state is not TransferState.RINGING])
async def test_a_transfer_ends_the_call_when_it_is_answered_and_leaves_it_alone_otherwise(then: TransferState) -> None:
    targets: Options = {"targets": {"reception": TransferScript(2_000, then)}}
    frontend = scripted({"on": "turn_end", "after_ms": 100, "say": "nobody is there i am sorry"})
    async with staged(frontend, line_options=targets) as stage:
        await stage.answered()
        stage.call.transfer("reception")
        await stage.until(lambda: len(stage.events(TransferProgressed)) == 2)
        progress = stage.told(TransferProgressed)
        assert progress == [
            TransferProgressed("reception", TransferState.RINGING, ""),
            TransferProgressed("reception", then, ""),
        ]
        rang, known = (entry.t for entry in stage.events(TransferProgressed))
        assert known - rang == pytest.approx(2_000_000, abs=3 * TICK_US)
        if then is TransferState.ANSWERED:
            await stage.over()
            assert stage.end.reason is EndReason.TRANSFERRED
            assert stage.far_end.ended == "transferred"
            assert frontend.sessions == []
            assert stage.events(TransferProgressed)[1].seq < stage.events(CallEnded)[0].seq, "the timeline tells it in order"
        else:
            stage.far_end.say(steady(RATE_HZ))
            await stage.until(lambda: stage.said == [("nobody is there i am sorry", Outcome.FINISHED)])


async def test_who_hangs_up_during_a_transfer_ends_it() -> None:
    async with staged(scripted(), line_options={"targets": {"reception": TransferScript(30_000)}}) as stage:
        await stage.answered()
        stage.call.transfer("reception")
        await stage.wait(500)
        stage.far_end.hang_up()
        await stage.over()
        assert stage.end.reason is EndReason.CALLER_HUNG_UP
        assert tasks_of(stage.call.call_id) == []


async def test_lines_are_said_in_their_order_after_what_is_queued_and_a_farewell_is_heard_before_the_end() -> None:
    async with staged(scripted(), parts=with_lines(greeting=spoken("hello there", Role.GREETING))) as stage:
        await stage.until(lambda: bool(stage.events(UtteranceStarted)))
        stage.call.say(spoken("one moment please"))
        stage.call.say(spoken("goodbye then", Role.FAREWELL))
        stage.call.end(EndReason.AGENT_ENDED, "all is said")
        stage.call.say(spoken("this comes too late"))
        await stage.over(10_000)
        said = [("hello there", Outcome.FINISHED), ("one moment please", Outcome.FINISHED), ("goodbye then", Outcome.FINISHED)]
        assert stage.said == said
        assert [one.reason for one in stage.told(SpeechRefused)] == ["ending"]
        assert (stage.end.reason, stage.end.detail) == (EndReason.AGENT_ENDED, "all is said")
        sent = sum(one.samples for one in stage.told(Sent))
        heard = np.concatenate([frame.pcm for frame in stage.far_end.frames if frame.state.value == "received"])
        assert len(heard) >= sent, "the last sample had reached the far end's ear"


async def test_a_line_at_another_rate_is_refused_before_it_is_queued() -> None:
    async with staged(scripted()) as stage:
        await stage.answered()
        with pytest.raises(Refused, match="is at 8000 Hz, this call at 16000"):
            stage.call.say(replace(spoken("hello"), rate_hz=8_000))
        await stage.wait(200)
        assert stage.told(SayRequested) == []


async def test_a_call_that_is_too_long_ends_and_what_is_being_said_is_said() -> None:
    settings = CallSettings(longest_us=60_000_000)
    async with staged(scripted({"at_ms": 59_000, "say": "this goes on for a while longer than that"}), settings) as stage:
        await stage.over(70_000)
        assert stage.said == [("this goes on for a while longer than that", Outcome.FINISHED)]
        assert (stage.end.reason, stage.end.detail) == (EndReason.TOO_LONG, "longer than 1 min")
        assert stage.end.lasted_us > 60_000_000


async def test_silence_of_a_network_that_is_lost_ends_the_call_within_its_bound() -> None:
    async with staged(scripted(), CallSettings(media_lost_us=3_000_000)) as stage:
        await stage.answered()
        await stage.wait(2_000)
        lost_us = stage.clock.now_us()
        stage.far_end.vanish()
        await stage.over(6_000)
        assert stage.end.reason is EndReason.MEDIA_LOST
        assert 3_000_000 <= stage.clock.now_us() - lost_us <= 3_000_000 + 1_100_000  # media is told of once a second
