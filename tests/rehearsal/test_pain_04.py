"""Pain 4: silent after an interruption, for the rest of the call. Every interleaving, in virtual time."""

from collections.abc import Callable, Iterator

import pytest

from agent.app.rehearse import rehearse_virtually
from agent.frontends.script import Script
from agent.frontends.scripted import ScriptedFrontend
from agent.replay import check, replay
from agent.settings import CallSettings, WatchdogSettings
from agent.timeline.events import (
    DelegateClosed,
    DelegateOpened,
    DeliveryChanged,
    Event,
    FaultDetected,
    SpeechArrived,
    UtteranceEnded,
    UtteranceStarted,
    VoiceStopped,
    WorkEnded,
)
from tests.measure.plain import steady
from tests.rehearsal.accounts import accounts_are_closed
from tests.rehearsal.stages import RATE_HZ, spoken, staged, with_lines

pytestmark = pytest.mark.rehearsal

ANSWER_WITHIN_US = 1_500_000
"""The scripted agent answers 300 ms after a turn; the bound also covers what it was saying when the turn ended."""
LAST_QUESTION_MS = 15_000
VOICE_IS_KNOWN_AFTER_MS = 150
"""From the caller's mouth to our evidence of it: the wire, the jitter buffer, the gate."""
KINDS = ("answers", "slow", "delegates")

# What an interruption can come before, into or after: the end of the turn, generating, the first and the last audio of an
# answer, handing work over, its result, the telling of it.
MOMENTS: tuple[type[Event], ...] = (
    VoiceStopped,
    SpeechArrived,
    UtteranceStarted,
    UtteranceEnded,
    DelegateOpened,
    DelegateClosed,
    WorkEnded,
    DeliveryChanged,
)


def _script(kind: str, interruption_ms: int | None) -> Script:
    """A question, an interruption, and a last question."""
    turns: list[dict[str, object]] = [{"on": "turn_end", "nth": "every", "after_ms": 300, "say": "yes of course that is so"}]
    if kind == "delegates":
        turns.append({"on": "turn_end", "nth": 1, "after_ms": 100, "delegate": "look it up", "takes_ms": 100})
        turns.append({"on": "inject", "say": "here is the result of it"})
    if kind == "slow":
        turns[0] |= {"speed_x": 0.7}
    says: list[dict[str, object]] = [{"at_ms": 500, "say": "please tell me about it"}]
    if interruption_ms is not None:
        says.append({"at_ms": interruption_ms, "say": "no stop that is not what i meant at all"})
    says.append({"at_ms": LAST_QUESTION_MS, "say": "and now the last question"})
    return Script.model_validate(
        {
            "name": f"interrupted {kind}",
            "limit_ms": 22_000,
            "lines": {"greeting": "", "recovery": "one moment please"},
            "agent": {"turns": turns},
            "caller": {"says": says},
            "work": [{"after_ms": 1_500, "text": "done"}],
        }
    )


def _it_still_answers(kind: str, interruption_ms: int) -> None:
    done = rehearse_virtually(_script(kind, interruption_ms))
    last = [entry.event.covers for entry in done.entries if isinstance(entry.event, VoiceStopped)][-1]
    assert last.from_us > (LAST_QUESTION_MS - 100) * 1000, "the last question was heard as a turn of its own"
    spoke = [
        entry.t
        for entry in done.entries
        if isinstance(entry.event, UtteranceStarted) and last.to_us < entry.t <= last.to_us + ANSWER_WITHIN_US
    ]
    assert spoke, f"interrupted at {interruption_ms} ms, nothing was said after the last question ({kind})"
    accounts_are_closed(done.entries)
    check(replay(done.entries))


def _moments(kind: str) -> Iterator[int]:
    """When, in the call without an interruption, each of the events above happens, ms; up to eight of a kind."""
    done = rehearse_virtually(_script(kind, None))
    for event in MOMENTS:
        times = [entry.t // 1000 for entry in done.entries if isinstance(entry.event, event)]
        yield from [t for t in times if t < LAST_QUESTION_MS - 6_000][:8]


@pytest.mark.parametrize("kind", KINDS)
def test_pain_04_the_agent_speaks_after_an_interruption_around_every_event(kind: str, loops: Callable[[int], int]) -> None:
    step_ms = 20 if loops(10) == 10 else 60
    moments = sorted(set(_moments(kind)))
    assert len(moments) >= (10 if kind == "delegates" else 5)
    for interruption_ms in sorted({m - VOICE_IS_KNOWN_AFTER_MS + off for m in moments for off in range(-60, 61, step_ms)}):
        _it_still_answers(kind, interruption_ms)


@pytest.mark.parametrize("kind", KINDS)
def test_pain_04_the_agent_speaks_after_an_interruption_at_any_time(kind: str, loops: Callable[[int], int]) -> None:
    for interruption_ms in range(2_600, 8_600, 20 * max(1, 10 // loops(10))):
        _it_still_answers(kind, interruption_ms)


async def test_pain_04_a_frontend_that_falls_silent_is_made_up_for_and_counted() -> None:
    settings = CallSettings(watchdog=WatchdogSettings(answer_us=2_000_000))
    silent = ScriptedFrontend(Script.model_validate({"name": "silent", "agent": {"turns": []}}))
    async with staged(silent, settings, parts=with_lines(recovery=spoken("one moment please"))) as stage:
        for n in (1, 2):
            await stage.wait(500)
            stage.far_end.say(steady(RATE_HZ))
            await stage.until(lambda n=n: len(stage.events(UtteranceEnded)) == n)  # type: ignore[misc]
        faults = [entry.event for entry in stage.events(FaultDetected)]
        assert [fault.code for fault in faults if isinstance(fault, FaultDetected)] == ["unanswered", "unanswered"]
