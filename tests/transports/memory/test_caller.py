import numpy as np
import pytest

from agent.errors import Refused
from agent.timeline.events import DigitReceived, LineClosed, LineHeld, LineResumed
from tests.transports.memory.ticks import Speaker, Ticks, answered, place_of, speech, tone
from transports.memory import CallerAct, FarState, Mute, Press, Say, ScriptedCaller, Simple, Trigger

pytestmark = pytest.mark.unit


def utterances(*spans: tuple[int, int], level: float = 8000.0) -> Speaker:
    """A speaker that is loud in these ticks, half open."""
    loud = tone(320, 16_000, amplitude=level)
    return lambda number: loud if any(start <= number < end for start, end in spans) else np.zeros(320, np.int16)


async def run(ticks: Ticks, number: int, speaker: Speaker) -> dict[str, int]:
    """Ticks one by one; gives the time in ms at which our end learned of each digit."""
    learned: dict[str, int] = {}
    for _ in range(number):
        seen = len(ticks.events)
        await ticks.run(1, speaker)
        for event in ticks.events[seen:]:
            if isinstance(event, DigitReceived):
                learned[event.digit] = ticks.clock.now_us() // 1000
    return learned


async def test_acts_at_a_time_of_the_call_and_after_the_answer() -> None:
    ticks = Ticks()
    caller = ScriptedCaller(
        ticks.far,
        [
            CallerAct(Trigger.AT, 300_000, Press("1")),
            CallerAct(Trigger.ANSWERED, 300_000, Press("2")),
            CallerAct(Trigger.AT, 4_000_000, Press("3")),
        ],
    )
    await ticks.run(25)
    await ticks.line.accept()
    learned = await run(ticks, 100, lambda number: None)
    assert ticks.told(DigitReceived)[0] == DigitReceived("1", "memory")
    assert learned == {"2": 840}
    assert not caller.done
    await ticks.run(100)
    assert caller.done


async def test_the_agents_utterances_are_found_by_level() -> None:
    ticks = await answered()
    caller = ScriptedCaller(
        ticks.far,
        [
            CallerAct(Trigger.AGENT_STARTED, 0, Press("1")),
            CallerAct(Trigger.AGENT_ENDED, 0, Press("2")),
            CallerAct(Trigger.AGENT_STARTED, 100_000, Press("3"), nth=2),
            CallerAct(Trigger.AGENT_ENDED, 60_000, Press("4"), nth=2),
            CallerAct(Trigger.AGENT_STARTED, 0, Press("5"), nth=3),
        ],
    )
    learned = await run(ticks, 150, utterances((10, 30), (40, 50), (80, 90)))
    # Tick 10 is sent at 220 ms and heard from 250 ms, acted upon at 260 and known to us 30 ms later, at the tick of 300 ms.
    assert learned["1"] == 300
    # The pause of 200 ms is within the utterance, which is quiet from 1050 ms and over at 1450.
    assert learned["2"] == 1500
    # The second begins at 1650 + 100 and ends at 1850 + 400, + 60.
    assert learned["3"] == 1800
    assert learned["4"] == 2360
    assert not caller.done
    assert caller.voice.utterances == 2


@pytest.mark.parametrize(("level", "found"), [(90.0, 0), (170.0, 1)])
async def test_minus_fifty_dbov_is_the_limit(level: float, found: int) -> None:
    """A sine of amplitude a lies at 20·log10(a / 32768) − 3 dBov: −54.2 and −48.7."""
    ticks = await answered()
    caller = ScriptedCaller(ticks.far, [CallerAct(Trigger.AGENT_STARTED, 0, Press("1"), nth=9)])
    await ticks.run(40, utterances((5, 20), level=level))
    assert caller.voice.utterances == found


async def test_an_utterance_ends_although_nothing_is_heard_any_more() -> None:
    ticks = await answered()
    caller = ScriptedCaller(ticks.far, [CallerAct(Trigger.AGENT_ENDED, 0, Say(speech(3200)))])
    loud = tone(320, 16_000)
    await ticks.run(20, lambda number: loud)
    for _ in range(40):
        await ticks.clock.sleep_until(ticks.clock.now_us() + 20_000)
        ticks.frames.append(ticks.line.receive())
    assert caller.done
    assert place_of(speech(3200), ticks.received()) > 0


async def test_all_it_can_do() -> None:
    ticks = await answered()
    said = speech(64_000)
    caller = ScriptedCaller(
        ticks.far,
        [
            CallerAct(Trigger.AT, 100_000, Say(said)),
            CallerAct(Trigger.AT, 500_000, Mute(100)),
            CallerAct(Trigger.AT, 1_000_000, Simple.HOLD),
            CallerAct(Trigger.AT, 2_000_000, Simple.RESUME),
            CallerAct(Trigger.AT, 2_500_000, Simple.STOP_SPEAKING),
            CallerAct(Trigger.AT, 3_000_000, Simple.HANG_UP),
        ],
    )
    await ticks.run(145)
    assert not ticks.far.speaking
    assert (len(ticks.told(LineHeld)), len(ticks.told(LineResumed))) == (1, 1)
    # 100 to 1000 ms and 2000 to 2500 ms, less 100 ms of mute, give or take the packets at the edges.
    assert abs(np.count_nonzero(ticks.received()) - 1300 * 16) <= 3 * 320
    await ticks.run(10)
    assert ticks.far.state is FarState.GONE
    assert len(ticks.told(LineClosed)) == 1
    assert caller.done


async def test_it_vanishes() -> None:
    ticks = await answered()
    ScriptedCaller(ticks.far, [CallerAct(Trigger.ANSWERED, 0, Simple.VANISH), CallerAct(Trigger.ANSWERED, 0, Press("1"))])
    await ticks.run(20)
    assert ticks.far.vanished
    assert ticks.told(DigitReceived) == []


async def test_acts_missed_in_a_stall_are_done_at_their_time() -> None:
    ticks = await answered()
    ScriptedCaller(ticks.far, [CallerAct(Trigger.AT, 1_000_000, Say(speech(1600))), CallerAct(Trigger.AT, 1_500_000, Press("1"))])
    await ticks.run(10)
    await ticks.stall(100)
    await ticks.run(1)
    assert ticks.told(DigitReceived) == [DigitReceived("1", "memory")]
    assert not ticks.far.speaking


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"after_us": -1}, "0 or more"),
        ({"nth": 0}, "count from 1"),
        ({"nth": 2}, "happens once"),
        ({"action": Press("x")}, "keypad"),
    ],
)
def test_acts_that_cannot_be_are_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(Refused, match=says):
        CallerAct(**{"trigger": Trigger.AT, "after_us": 0, "action": Simple.VANISH, **wrong})  # type: ignore[arg-type]
