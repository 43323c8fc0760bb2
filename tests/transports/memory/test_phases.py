import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import Fault, Gone, Refused
from agent.line import MediaState
from agent.timeline.events import DigitReceived, LineAnswered, LineClosed, LineHeld, LineQuality, LineResumed, TransferProgressed
from agent.timeline.kinds import EndReason, TransferState
from tests.transports.memory.ticks import Ticks, answered, speech
from transports.memory import FarState, Refusal, TransferScript, WireSettings, pair

pytestmark = pytest.mark.unit

HUNG_UP = LineClosed(EndReason.CALLER_HUNG_UP, "hung up")


# --- ringing ----------------------------------------------------------------------------------------------------------------


async def test_an_inbound_line_rings_in_silence_until_it_is_accepted() -> None:
    ticks = Ticks()
    ticks.far.say(speech(3200))
    await ticks.run(10, lambda number: speech(320))
    assert ticks.line.info.direction == "inbound"
    assert ticks.far.state is FarState.RINGING
    assert (set(ticks.states()), ticks.events, ticks.far.frames) == ({MediaState.SILENT}, [], ())
    await ticks.line.accept()
    await ticks.line.accept()
    await ticks.run(30)
    assert ticks.told(LineAnswered) == [LineAnswered()]
    assert ticks.far.answered_us == 200_000
    assert MediaState.RECEIVED in ticks.states()


async def test_who_hangs_up_while_it_rings_cannot_be_accepted() -> None:
    ticks = Ticks()
    ticks.far.hang_up()
    with pytest.raises(Gone):
        await ticks.line.accept()
    await ticks.run(3)
    assert ticks.events == [LineClosed(EndReason.CALLER_HUNG_UP, "hung up while ringing")]


async def test_a_call_is_refused_as_busy_or_declined() -> None:
    for retry_after_s in (30, None):
        ticks = Ticks()
        await ticks.line.refuse("no slot", retry_after_s)
        await ticks.line.refuse("again", 1)
        assert ticks.far.refusal == Refusal("no slot", retry_after_s)
        assert ticks.far.state is FarState.GONE
        with pytest.raises(Gone):
            await ticks.line.accept()
        await ticks.run(3)
        assert ticks.events == []


async def test_an_answered_call_cannot_be_refused() -> None:
    ticks = await answered()
    with pytest.raises(Refused, match="hang up"):
        await ticks.line.refuse("too late", None)


async def test_an_outbound_call_is_answered_when_the_far_end_answers() -> None:
    ticks = Ticks(callee=TransferScript(ring_ms=1510))
    assert ticks.line.info.direction == "outbound"
    await ticks.line.accept()
    assert ticks.clock.now_us() == 1_510_000
    assert ticks.far.answered_us == 1_510_000
    assert ticks.line.events() == [LineAnswered()]


@pytest.mark.parametrize(
    ("then", "error", "says"),
    [
        (TransferState.BUSY, Refused, "busy"),
        (TransferState.DECLINED, Refused, "declined"),
        (TransferState.TIMEOUT, Gone, "nobody answered"),
        (TransferState.FAILED, Gone, "cannot be reached"),
    ],
)
async def test_an_outbound_call_that_is_not_answered(then: TransferState, error: type[Exception], says: str) -> None:
    ticks = Ticks(callee=TransferScript(500, then))
    with pytest.raises(error, match=says):
        await ticks.line.accept()
    assert ticks.clock.now_us() == 500_000
    assert ticks.far.state is FarState.GONE
    with pytest.raises(Gone):
        await ticks.line.accept()


@pytest.mark.parametrize("how", ["far", "near", "close"])
async def test_an_outbound_call_left_while_it_rings(how: str) -> None:
    ticks = Ticks(callee=TransferScript(ring_ms=5000))
    answer = asyncio.create_task(ticks.line.accept())
    await ticks.run(10)
    if how == "far":
        ticks.far.hang_up()
    elif how == "near":
        await ticks.line.hang_up("changed our mind")
    else:
        await ticks.line.close()
    with pytest.raises(Gone):
        await answer
    assert ticks.clock.now_us() <= 300_000


# --- the end ----------------------------------------------------------------------------------------------------------------


async def test_the_far_end_hangs_up_and_is_heard_of_after_the_delay() -> None:
    ticks = await answered(WireSettings(delay_ms=50))
    ticks.far.say(speech(16_000))
    await ticks.run(20)
    ticks.far.hang_up()
    ticks.far.hang_up()
    assert not ticks.far.speaking
    await ticks.run(2)
    assert ticks.told(LineClosed) == []
    await ticks.run(10)
    assert ticks.told(LineClosed) == [HUNG_UP]
    assert set(ticks.states(since=23)) == {MediaState.SILENT}
    with pytest.raises(Gone):
        await ticks.line.send_digits("1")


async def test_we_hang_up_and_the_far_end_knows_why() -> None:
    ticks = await answered()
    await ticks.run(10, lambda number: speech(320))
    await ticks.line.hang_up("done")
    await ticks.line.hang_up("done again")
    assert (ticks.far.ended, ticks.far.state) == ("done", FarState.GONE)
    ticks.far.hang_up()
    ticks.far.press("1")
    heard = len(ticks.far.frames)
    await ticks.run(10, lambda number: speech(320))
    assert (ticks.told(LineClosed), ticks.told(DigitReceived), len(ticks.far.frames)) == ([], [], heard)


async def test_who_vanishes_sends_hears_and_says_nothing_more() -> None:
    ticks = await answered()
    ticks.far.say(speech(160_000))
    await ticks.run(50, lambda number: speech(320))
    heard, so_far = len(ticks.far.frames), len(ticks.events)
    ticks.far.vanish()
    ticks.far.press("1")
    ticks.far.hang_up()
    ticks.far.flood(5)
    await ticks.run(100, lambda number: speech(320))
    assert set(ticks.states(since=100)) == {MediaState.SILENT}
    assert len(ticks.far.frames) == heard
    assert {type(event) for event in ticks.events[so_far:]} == {LineQuality}


async def test_close_is_safe_at_any_time_and_lets_go_of_the_far_end() -> None:
    for phase in ("ringing", "answered", "held", "gone"):
        line, far = pair((ticks := Ticks()).clock, WireSettings(echo_db=-20))
        if phase != "ringing":
            await line.accept()
            far.say(speech(32_000))
            for _ in range(20):
                await ticks.clock.sleep_until(ticks.clock.now_us() + 20_000)
                line.receive()
                line.send(speech(320))
        if phase == "held":
            await line.hold()
        if phase == "gone":
            far.hang_up()
        released = weakref.ref(far)
        await line.close()
        assert far.state is FarState.GONE
        del far
        gc.collect()
        assert released() is None, phase
        await line.close()
        await line.hang_up("late")
        line.send(speech(320))
        line.skip(3)
        assert line.receive().state is MediaState.SILENT
        with pytest.raises(Gone, match="closed"):
            _ = line.far_end


OUR_ACTS = ["accept", "refuse", "tick", "stall", "skip", "hold", "resume", "digits", "hang_up", "close", "transfer"]
FAR_ACTS = [f"far {act}" for act in ("hang_up", "hold", "resume", "say", "vanish", "press", "flood", "burst", "restart")]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(OUR_ACTS + FAR_ACTS),
        max_size=40,
    ),
    st.integers(0, 3),
)
async def test_whatever_happens_there_is_at_most_one_answer_and_one_end(acts: list[str], seed: int) -> None:
    ticks = Ticks(WireSettings(jitter_ms=60, loss=0.1, seed=seed), targets={"sip:desk": TransferScript(40)})
    line, far = ticks.line, ticks.far
    for act in acts:
        try:
            await one_act(act, ticks)
        except (Gone, Refused):
            assert act in ("accept", "refuse", "hold", "resume", "digits")
    await line.close()
    ticks.events += line.events()
    kinds = [type(event) for event in ticks.events]
    assert kinds.count(LineAnswered) <= 1
    assert kinds.count(LineClosed) <= 1
    assert LineClosed not in kinds[:-1]
    holds = [event for event in ticks.events if isinstance(event, LineHeld | LineResumed)]
    for by in ("far", "near"):
        mine = [type(event) for event in holds if event.by == by]
        assert mine == [LineHeld, LineResumed] * (len(mine) // 2) + [LineHeld] * (len(mine) % 2)
    assert far.state is FarState.GONE


async def one_act(act: str, ticks: Ticks) -> None:
    line, far = ticks.line, ticks.far
    if act == "tick":
        await ticks.run(3, lambda number: speech(320))
    elif act == "stall":
        await ticks.stall(30)
    elif act == "skip":
        line.skip(1)
    elif act == "transfer":
        states = [progress.state async for progress in line.transfer("sip:desk")]
        assert states in ([TransferState.RINGING, TransferState.ANSWERED], [TransferState.FAILED]) or (
            states[0] is TransferState.RINGING and states[1:] in ([TransferState.FAILED], [TransferState.TIMEOUT])
        )
    elif act.startswith("far"):
        acts: dict[str, Callable[[], None]] = {
            "hang_up": far.hang_up,
            "hold": far.hold,
            "resume": far.resume,
            "vanish": far.vanish,
            "say": lambda: far.say(speech(5000)),
            "press": lambda: far.press("12"),
            "flood": lambda: far.flood(20),
            "burst": lambda: far.burst(100),
            "restart": far.restart_stream,
        }
        acts[act.removeprefix("far ")]()
    else:
        await {
            "accept": line.accept,
            "refuse": lambda: line.refuse("no", None),
            "hold": line.hold,
            "resume": line.resume,
            "digits": lambda: line.send_digits("1"),
            "hang_up": lambda: line.hang_up("done"),
            "close": line.close,
        }[act]()


# --- digits, hold, transfer -------------------------------------------------------------------------------------------------


async def test_digits_go_both_ways_one_by_one() -> None:
    ticks = await answered()
    ticks.far.press("1*d")
    await ticks.run(12)
    assert ticks.told(DigitReceived) == [DigitReceived("1", "memory"), DigitReceived("*", "memory")]
    await ticks.run(20)
    assert ticks.told(DigitReceived)[2:] == [DigitReceived("D", "memory")]
    await ticks.line.send_digits("90#")
    await ticks.line.send_digits("a")
    assert ticks.far.digits == "90#A"


@pytest.mark.parametrize("digits", ["", "1 2", "E", "٣", "12x"])
async def test_what_no_keypad_has_is_refused(digits: str) -> None:
    ticks = await answered()
    with pytest.raises(Refused, match="keypad"):
        await ticks.line.send_digits(digits)
    with pytest.raises(Refused, match="keypad"):
        ticks.far.press(digits)


@pytest.mark.parametrize("by", ["far", "near"])
async def test_on_hold_nothing_is_heard_or_missed_and_speech_waits(by: Literal["far", "near"]) -> None:
    ticks = await answered()
    ticks.far.say(speech(16_000))
    await ticks.run(20, lambda number: speech(320))
    if by == "far":
        ticks.far.hold()
        ticks.far.hold()
    else:
        await ticks.line.hold()
        await ticks.line.hold()
    await ticks.run(10, lambda number: speech(320))
    heard, since = len(ticks.far.frames), len(ticks.frames)
    await ticks.run(500, lambda number: speech(320))
    assert set(ticks.states(since)) == {MediaState.SILENT}
    assert not ticks.received(since).any()
    assert len(ticks.far.frames) == heard
    assert ticks.far.speaking
    if by == "far":
        ticks.far.resume()
        ticks.far.resume()
    else:
        await ticks.line.resume()
        await ticks.line.resume()
    since = len(ticks.frames)
    await ticks.run(100, lambda number: speech(320))
    assert ticks.told(LineHeld) == [LineHeld(by)]
    assert ticks.told(LineResumed) == [LineResumed(by)]
    assert np.count_nonzero(ticks.received(since)) > 8_000
    assert len(ticks.far.frames) > heard + 90
    assert ticks.told(LineQuality)[-1].lost == 0


@pytest.mark.parametrize("then", [state for state in TransferState if state is not TransferState.RINGING])
async def test_a_transfer_goes_as_its_target_behaves(then: TransferState) -> None:
    ticks = await answered(targets={"sip:desk": TransferScript(3000, then)})
    states = [progress async for progress in ticks.line.transfer("sip:desk")]
    assert states == [TransferProgressed("sip:desk", state, "") for state in (TransferState.RINGING, then)]
    assert ticks.clock.now_us() == 3_000_000
    closed = [LineClosed(EndReason.TRANSFERRED, "the far end was handed over")] if then is TransferState.ANSWERED else []
    assert [event for event in ticks.line.events() if isinstance(event, LineClosed)] == closed
    assert ticks.far.ended == ("transferred" if then is TransferState.ANSWERED else None)


async def test_transfers_that_cannot_be() -> None:
    ticks = Ticks(targets={"sip:desk": TransferScript(1000)})

    async def outcomes(target: str) -> list[tuple[TransferState, str]]:
        return [(progress.state, progress.detail) async for progress in ticks.line.transfer(target)]

    assert await outcomes("sip:desk") == [(TransferState.FAILED, "the line is not connected")]
    await ticks.line.accept()
    assert await outcomes("sip:nobody") == [(TransferState.FAILED, "nobody is known at this address")]
    first = asyncio.create_task(outcomes("sip:desk"))
    await ticks.run(1)
    assert await outcomes("sip:desk") == [(TransferState.FAILED, "another transfer is under way")]
    ticks.far.hang_up()
    assert (await first)[1:] == [(TransferState.FAILED, "the far end hung up meanwhile")]
    assert ticks.clock.now_us() < 200_000


async def test_who_vanishes_during_a_transfer_never_answers_it() -> None:
    ticks = await answered(targets={"sip:desk": TransferScript(1000)})
    ticks.far.vanish()
    states = [progress.state async for progress in ticks.line.transfer("sip:desk")]
    assert states == [TransferState.RINGING, TransferState.TIMEOUT]


async def test_a_frame_of_a_wrong_length_is_our_fault() -> None:
    ticks = await answered()
    with pytest.raises(Fault, match="320"):
        ticks.line.send(speech(160))
