"""Any frontend, over whole calls: one end, closed accounts, a sound timeline, everything given back, and no effect next door."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.admission import Slots
from agent.call import Call
from agent.clock import LoopClock
from agent.errors import Gone
from agent.frontends.base import DelegationClosed, DelegationOpened, Listening, Speech, Unit
from agent.frontends.script import Script
from agent.frontends.scripted import ScriptedFrontend
from agent.harness import WorkRequest, WorkResult, WorkUpdate
from agent.parts import CallParts
from agent.tasks import install_task_factory, tasks_of
from agent.ticker import Ticker
from agent.timeline.codec import encode
from agent.timeline.events import CallEnded
from agent.timeline.kinds import Alignment, Cause, EndReason, Phase, Role, Span, Word, WorkPhase, WorkStatus
from agent.timeline.log import Entry
from agent.virtual import run_virtual
from tests.rehearsal.hostile import Rogue, breaking, hang, sound_timeline
from tests.rehearsal.stages import RATE_HZ, spoken, with_lines
from tests.rehearsal.test_hostile_surroundings import Harness
from transports.memory import FarEnd, WireSettings, pair

pytestmark = pytest.mark.rehearsal

LASTS_US = 8_000_000
LINES = with_lines(greeting=spoken("hello there"), apology=spoken("we are sorry"), recovery=spoken("one moment"))

ids = st.sampled_from(["a", "b", "c", "\x1b", "ü" * 64]) | st.text(max_size=70)
texts = st.sampled_from(["", "yes", "so it is \x00\x9b", "wort " * 50]) | st.text(st.characters(), max_size=40)
times = st.integers(-1_000, 3_000_000)
words = st.lists(st.builds(Word, texts, times, times), max_size=5).map(tuple) | st.lists(
    st.tuples(texts, st.integers(0, 10**6), st.integers(0, 10**6)).map(lambda one: Word(one[0], min(one[1:]), max(one[1:]))),
    max_size=5,
).map(tuple)
covers = st.sampled_from(["right"] * 8 + ["future", "negative", "reversed"])
pieces = st.sampled_from([0, 1, 319, 320, 321, 1_600, 8_000, 48_000])


def span(kind: str, unit: Unit) -> Span:
    """What a step says that it rests on."""
    return {
        "right": unit.covers,
        "future": Span(0, unit.covers.to_us + 10_000_000),
        "negative": Span(-1, 0),
        "reversed": Span(unit.covers.to_us, 0),
    }[kind]


@st.composite
def steps(draw: st.DrawFn) -> Callable[[Unit, Rogue], Any]:
    kind = draw(st.sampled_from(["speech"] * 8 + ["opened", "closed", "closed", "listening", "foreign"]))
    rests, name = draw(covers), draw(ids)
    if kind == "foreign":
        return lambda unit, rogue: object()
    if kind == "listening":
        return lambda unit, rogue: Listening(span(rests, unit))
    if kind == "opened":
        return lambda unit, rogue: DelegationOpened(span(rests, unit), name)
    request = draw(texts)
    if kind == "closed":
        return lambda unit, rogue: DelegationClosed(span(rests, unit), name, request)
    said, role, alignment = draw(words), draw(st.sampled_from(Role)), draw(st.sampled_from(Alignment))
    samples, final, epoch = draw(pieces), draw(st.booleans()), draw(st.integers(0, 2))
    attempt = draw(st.none() | st.integers(0, 3))

    def speech(unit: Unit, rogue: Rogue) -> Speech:
        told = rogue.injected[-1].attempt_id if attempt and rogue.injected else None
        pcm = np.full(samples, 3_000, np.int16)
        return Speech(span(rests, unit), name, epoch, request, pcm, said, alignment, role, Cause(attempt_id=told), final)

    return speech


METHODS = ("open", "feed", "steps", "inject", "yield_floor", "acknowledge", "close")
breaks = st.sampled_from([None] * 10 + [breaking(Gone("gone")), breaking(RuntimeError("x")), hang])
whims = st.sampled_from(["say", "say", "hold", "resume", "press", "flood", "vanish", "hang up", "end"])
caller = st.lists(st.tuples(st.integers(0, 7_000), whims), max_size=6)


def act(call: Call, far_end: FarEnd, what: str) -> None:
    match what:
        case "say":
            far_end.say(np.full(RATE_HZ, 9_000, np.int16))
        case "press":
            far_end.press("123")
        case "flood":
            far_end.flood(300)
        case "end":
            call.end(EndReason.OPERATOR, "enough")
        case "hang up":
            far_end.hang_up()
        case _:
            getattr(far_end, what)()


def reports(work: WorkRequest) -> list[Any]:
    number = int(work.work_id[1:])
    many = [WorkUpdate(work.work_id, WorkPhase.RUNNING, "looking"), WorkResult("w999", WorkStatus.FAILED, "")]
    return [*many, *([WorkResult(work.work_id, WorkStatus.SUCCEEDED, "done")] * (number % 3))]


def made(call_id: str, frontend: Any, ticker: Ticker, **more: Any) -> tuple[Call, FarEnd, list[Entry]]:
    line, far_end = pair(ticker.clock, WireSettings(rate_hz=RATE_HZ, delay_ms=30))
    call = Call(replace(LINES(CallParts(line, frontend)), **more), ticker, call_id=call_id)
    entries = list(call.timeline.recent)
    call.timeline.subscribe(entries.append)
    return call, far_end, entries


def neighbour(ticker: Ticker) -> tuple[Call, FarEnd, list[Entry]]:
    turns = [{"on": "turn_end", "after_ms": 100, "say": "this is an answer"}, {"on": "turn_end", "delegate": "look"}]
    frontend = ScriptedFrontend(Script.model_validate({"name": "neighbour", "agent": {"turns": turns}}))
    return made("neighbour", frontend, ticker)


async def side_by_side(rogue: Rogue | None, acts: list[tuple[int, str]]) -> tuple[bytes, list[Entry]]:
    """Run the neighbour, and the rogue's call beside it; the neighbour's timeline and the other's entries."""
    install_task_factory(asyncio.get_running_loop())
    clock, slots = LoopClock(), Slots(1)
    ticker = Ticker(clock, slots=1)
    ticking = asyncio.ensure_future(ticker.run())
    beside, its_far_end, its_entries = neighbour(ticker)
    running = [asyncio.ensure_future(beside.run())]
    entries: list[Entry] = []
    if rogue:
        call, far_end, entries = made("rogue", rogue, ticker, harness=Harness(reports), slots=slots)
        running.append(asyncio.ensure_future(call.run()))
    its_far_end.say(np.full(RATE_HZ, 9_000, np.int16))
    for at_ms, what in sorted(acts):
        await clock.sleep_until(at_ms * 1_000)
        if call.phase is not Phase.ENDED:
            act(call, far_end, what)
    await clock.sleep_until(LASTS_US)
    its_far_end.hang_up()
    if rogue and call.phase is not Phase.ENDED:
        call.end(EndReason.OPERATOR, "enough", at_once=True)
    await clock.sleep_until(LASTS_US + 2_000_000)
    assert all(one.done() for one in running)
    assert tasks_of("rogue") == tasks_of("neighbour") == []
    assert slots.taken == 0
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)
    return b"".join(map(encode, its_entries)), entries


@cache
def alone() -> bytes:
    timeline, _ = run_virtual(side_by_side(None, []))
    return timeline


@settings(max_examples=settings().max_examples // 2)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.lists(steps(), max_size=6)), max_size=12),
    st.dictionaries(st.sampled_from(METHODS), breaks, max_size=2),
    caller,
)
def test_whatever_a_frontend_does(said: list[Any], acts: dict[str, Any], callers: list[tuple[int, str]]) -> None:
    def answer(unit: Unit, number: int) -> list[object]:
        return [step(unit, rogue) for at, steps in said if at == number for step in steps]

    async def at_first(breaking: Any, attempt: int) -> None:
        if attempt == 1 and breaking:
            await breaking()

    rogue = Rogue(answer, acts={name: lambda attempt, act=act: at_first(act, attempt) for name, act in acts.items()})
    beside, entries = run_virtual(side_by_side(rogue, callers))
    sound_timeline(entries)
    (reason,) = (entry.event.reason for entry in entries if isinstance(entry.event, CallEnded))
    assert reason is not EndReason.FAULT, "nothing from outside breaks a tick or a task of ours"
    assert beside == alone()
