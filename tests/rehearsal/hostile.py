"""Frontends, ears and harnesses that lie, flood, hang and break; and what must hold of a call whatever they do."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from agent.frontends.base import BackendMessage, Brief, FrontendInfo, Listening, Speech, Unit
from agent.line import Pcm
from agent.replay import check, replay
from agent.tasks import tasks_of
from agent.timeline.codec import LONGEST_LINE, decode, encode
from agent.timeline.events import CallEnded, DelegationCreated, DeliveryChanged, UtteranceEnded, UtteranceStarted, WorkEnded
from agent.timeline.kinds import DeliveryState
from agent.timeline.log import Entry
from tests.rehearsal.stages import RATE_HZ, Stage

UNIT_US = 100_000
TOLD = (DeliveryState.DELIVERED, DeliveryState.PARTIAL, DeliveryState.DROPPED)
Answer = Callable[[Unit, int], Iterable[object]]
"""What is given back for the n-th unit of a session (from 0), beside having listened."""


def sound(ms: int, value: int = 5_000) -> Pcm:
    """So much sound at the stages' rate."""
    return np.full(RATE_HZ * ms // 1000, value, np.int16)


def speech(unit: Unit, utterance_id: str = "u1", **fields: Any) -> Speech:
    """A piece of 200 ms that says "yes", or what `fields` say."""
    given: dict[str, Any] = {"epoch": 0, "text": "yes", "pcm": sound(200), "final": True, "covers": unit.covers}
    return Speech(utterance_id=utterance_id, **(given | fields))


def once(*makers: Callable[[Unit], object], at: int = 3) -> Answer:
    """These steps to the unit number `at`, nothing else."""
    return lambda unit, number: [make(unit) for make in makers] if number == at else []


@dataclass
class Rogue:
    """A frontend that answers as `answer` says. `listens`: it tells how far it read. `acts` come before its methods."""

    answer: Answer
    listens: bool = True
    acts: dict[str, Callable[..., Any]] = field(default_factory=dict)
    info: FrontendInfo = field(default_factory=lambda: FrontendInfo("rogue", UNIT_US, RATE_HZ))
    opened: int = 0
    closed: int = 0
    injected: list[BackendMessage] = field(default_factory=list)

    async def open(self, brief: Brief) -> "RogueSession":
        self.opened += 1
        if act := self.acts.get("open"):
            await act(self.opened)
        return RogueSession(self)


class RogueSession:
    """A session of a `Rogue`."""

    def __init__(self, rogue: Rogue) -> None:
        self._rogue = rogue
        self._out: asyncio.Queue[Any] = asyncio.Queue()
        self._units = 0

    async def _act(self, name: str) -> None:
        if act := self._rogue.acts.get(name):
            await act(self._rogue.opened)

    async def feed(self, unit: Unit) -> None:
        await self._act("feed")
        if self._rogue.listens:
            self._out.put_nowait(Listening(unit.covers))
        self._out.put_nowait((unit, self._units))
        self._units += 1

    async def steps(self) -> AsyncIterator[Any]:
        await self._act("steps")
        while (step := await self._out.get()) is not None:
            if isinstance(step, tuple):
                for answer in self._rogue.answer(*step):
                    yield answer
            else:
                yield step

    async def inject(self, message: BackendMessage) -> None:
        self._rogue.injected.append(message)
        await self._act("inject")

    async def yield_floor(self, at_us: int, epoch: int) -> None:
        await self._act("yield_floor")

    async def acknowledge(self, utterance_id: str, samples: int) -> None:
        await self._act("acknowledge")

    async def close(self) -> None:
        self._rogue.closed += 1
        await self._act("close")
        self._out.put_nowait(None)


async def hang(*_: object) -> None:
    """For ever."""
    await asyncio.Event().wait()


async def hang_on(*_: object) -> None:
    """For a minute, whoever cancels it: as bad as it gets. It ends, so that a test can clean up after it."""
    end = asyncio.get_running_loop().time() + 60
    while (left := end - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


def breaking(error: BaseException) -> Callable[..., Any]:
    """Raises `error`."""

    async def act(*_: object) -> None:
        raise error

    return act


def sound_timeline(entries: list[Entry]) -> None:
    """The timeline reads back as it was written, replays strictly, and every account in it is closed."""
    lines = [encode(entry) for entry in entries]
    assert max(map(len, lines)) < LONGEST_LINE
    assert [encode(decode(line)) for line in lines] == lines
    check(replay(entries))
    assert sum(isinstance(entry.event, CallEnded) for entry in entries) == 1
    started = [entry.event.utterance_id for entry in entries if isinstance(entry.event, UtteranceStarted)]
    ended = [entry.event.utterance_id for entry in entries if isinstance(entry.event, UtteranceEnded)]
    assert len(set(started)) == len(started)
    assert len(set(ended)) == len(ended)
    assert set(started) <= set(ended)
    created = [entry.event.work_id for entry in entries if isinstance(entry.event, DelegationCreated)]
    outcomes = [entry.event.work_id for entry in entries if isinstance(entry.event, WorkEnded)]
    told = [entry.event.work_id for entry in entries if isinstance(entry.event, DeliveryChanged) and entry.event.state in TOLD]
    assert sorted(created) == sorted(outcomes) == sorted(told)


async def ended(stage: Stage, within_ms: int = 60_000, stubborn: bool = False) -> CallEnded:
    """The call ends by itself within the bound and leaves nothing behind; its timeline is sound.

    `stubborn`: something in it refuses to be cancelled, so that its task goes on; the call must not wait for it.
    """
    await stage.until(lambda: stage.call.phase.value == "ended", within_ms)
    await stage.over(2_000)
    if stubborn:
        await stage.wait(61_000)
    assert tasks_of(stage.call.call_id) == []
    sound_timeline(stage.entries)
    (end,) = (entry.event for entry in stage.entries if isinstance(entry.event, CallEnded))
    assert not end.detail.startswith("tick failed"), "nothing from outside breaks a tick"
    return end


async def hung_up(stage: Stage, stubborn: bool = False) -> CallEnded:
    """The caller leaves, and everything is as it must be."""
    stage.far_end.hang_up()
    return await ended(stage, 2_000, stubborn)
