from collections.abc import Callable

import pytest

from agent.settings import TICK_US, WatchdogSettings
from agent.timeline.events import VoiceContinued, VoiceStarted, VoiceStopped
from agent.timeline.kinds import Span
from agent.watchdog import Alarm, Sending, Watchdog

pytestmark = pytest.mark.unit

MS = 1_000
SPEAKING = Sending(begun=True, starved=0, held=False)
HELD = Sending(begun=True, starved=0, held=True)
MURMUR = Sending(begun=True, starved=0, held=False, backchannel=True)

View = Callable[[int], Sending | None]


def burst(watchdog: Watchdog, from_ms: int, to_ms: int) -> None:
    """A burst of voice, as one piece of evidence after the other."""
    watchdog.voice(VoiceStarted(Span(from_ms * MS, from_ms * MS), -20.0))
    watchdog.voice(VoiceContinued(Span(from_ms * MS, to_ms * MS), -20.0))
    watchdog.voice(VoiceStopped(Span(from_ms * MS, to_ms * MS)))


def run(watchdog: Watchdog, from_ms: int, to_ms: int, view: View = lambda at_ms: None) -> list[tuple[str, int]]:
    """(code, ms) of every alarm in the ticks of `[from_ms, to_ms)`."""
    alarms = []
    for at_ms in range(from_ms, to_ms, TICK_US // MS):
        alarm = watchdog.step(at_ms * MS, view(at_ms))
        if alarm:
            alarms.append((alarm.code, at_ms))
    return alarms


def test_a_turn_that_is_not_answered_is_told_once() -> None:
    watchdog = Watchdog(WatchdogSettings())
    burst(watchdog, 1_000, 2_000)
    assert run(watchdog, 2_200, 60_000) == [("unanswered", 7_000)]


@pytest.mark.parametrize(
    ("name", "bursts", "view", "expected"),
    [
        ("nobody spoke", [], lambda at_ms: None, []),
        ("a turn of just 300 ms", [(1000, 1300)], lambda at_ms: None, [("unanswered", 6300)]),
        ("a burst of 299 ms is no turn", [(1000, 1299)], lambda at_ms: None, []),
        ("bursts with short gaps are one turn", [(1000, 1150), (1300, 1450)], lambda at_ms: None, [("unanswered", 6460)]),
        ("it ended while we were speaking", [(1000, 2000)], lambda at_ms: SPEAKING if at_ms < 4000 else None, []),
        ("a backchannel is no answer", [(1000, 2000)], lambda at_ms: MURMUR if at_ms < 4000 else None, [("unanswered", 7000)]),
        ("the answer is only queued", [(1000, 2000)], lambda at_ms: Sending(False, 0, False), [("unanswered", 7000)]),
    ],
)
def test_what_counts_as_a_turn(name: str, bursts: list[tuple[int, int]], view: View, expected: list[tuple[str, int]]) -> None:
    watchdog = Watchdog(WatchdogSettings())
    for from_ms, to_ms in bursts:
        burst(watchdog, from_ms, to_ms)
    start = bursts[-1][1] // 20 * 20 + 20 if bursts else 1000
    assert run(watchdog, start, 30_000, view) == expected, name


def test_our_speech_settles_what_is_owed() -> None:
    watchdog = Watchdog(WatchdogSettings())
    burst(watchdog, 1_000, 2_000)
    assert run(watchdog, 2_000, 6_980) == []
    watchdog.spoke()
    assert run(watchdog, 6_980, 30_000) == []


def test_nothing_is_owed_while_the_caller_goes_on() -> None:
    watchdog = Watchdog(WatchdogSettings())
    burst(watchdog, 1_000, 2_000)
    assert run(watchdog, 2_000, 4_000) == []
    watchdog.voice(VoiceStarted(Span(4_000 * MS, 4_000 * MS), -20.0))
    assert run(watchdog, 4_000, 20_000) == []
    watchdog.voice(VoiceStopped(Span(4_000 * MS, 19_800 * MS)))
    assert run(watchdog, 20_000, 60_000) == [("unanswered", 24_800)]


def test_a_cough_after_a_question_does_not_settle_it() -> None:
    watchdog = Watchdog(WatchdogSettings())
    burst(watchdog, 1_000, 2_000)
    assert run(watchdog, 2_000, 4_000) == []
    burst(watchdog, 4_000, 4_100)
    assert run(watchdog, 4_100, 60_000) == [("unanswered", 7_000)]


def test_a_question_that_is_coughed_over_at_its_bound_is_told_when_the_cough_is_over() -> None:
    watchdog = Watchdog(WatchdogSettings())
    burst(watchdog, 1_000, 2_000)
    assert run(watchdog, 2_000, 6_800) == []
    watchdog.voice(VoiceStarted(Span(6_800 * MS, 6_800 * MS), -20.0))
    assert run(watchdog, 6_800, 7_100) == []
    watchdog.voice(VoiceStopped(Span(6_800 * MS, 7_000 * MS)))
    assert run(watchdog, 7_100, 60_000) == [("unanswered", 7_700)]


def test_the_next_turn_is_watched_again() -> None:
    watchdog = Watchdog(WatchdogSettings())
    burst(watchdog, 1_000, 2_000)
    assert len(run(watchdog, 2_000, 10_000)) == 1
    burst(watchdog, 10_000, 11_000)
    assert run(watchdog, 11_000, 30_000) == [("unanswered", 16_000)]


@pytest.mark.parametrize(
    ("begun", "starved", "alarm"),
    [(True, 50, None), (True, 51, "starved"), (False, 51, None), (False, 250, None), (False, 251, "starved")],
)
def test_speech_without_audio_starves_after_its_bound(begun: bool, starved: int, alarm: str | None) -> None:
    watchdog = Watchdog(WatchdogSettings())
    told = watchdog.step(TICK_US, Sending(begun, starved, False))
    assert (told.code if told else None) == alarm


def test_speech_that_is_held_does_not_starve() -> None:
    assert Watchdog(WatchdogSettings()).step(TICK_US, Sending(True, 500, True)) is None


def test_a_hold_is_lifted_after_three_seconds() -> None:
    watchdog = Watchdog(WatchdogSettings())
    assert run(watchdog, 0, 3_000, lambda at_ms: HELD) == []
    assert watchdog.step(3_000 * MS, HELD) == Alarm("held", "speech was held for 3000 ms and nobody resumed it")
    assert watchdog.step(3_020 * MS, HELD) is None, "it begins to count anew"


def test_holds_do_not_add_up() -> None:
    watchdog = Watchdog(WatchdogSettings())
    assert run(watchdog, 0, 10_000, lambda at_ms: SPEAKING if at_ms % 2_000 == 0 else HELD) == []


def test_a_hold_that_went_with_its_utterance_is_not_counted_for_the_next() -> None:
    watchdog = Watchdog(WatchdogSettings())
    assert run(watchdog, 0, 5_000, lambda at_ms: None if at_ms == 2_500 else HELD) == []
