"""Set-ups for rehearsals that a script cannot say: a call with parts of one's own, on the running loop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from agent.call import Call
from agent.clock import LoopClock
from agent.frontends.base import Frontend
from agent.frontends.script import Script
from agent.frontends.scripted import ScriptedFrontend
from agent.frontends.tone import ToneVoice
from agent.parts import CallParts
from agent.replay import check, replay
from agent.settings import TICK_US, CallSettings
from agent.speech import SpokenLine
from agent.ticker import Ticker
from agent.timeline.events import CallEnded, Event, UtteranceEnded
from agent.timeline.kinds import Outcome, Phase, Role
from agent.timeline.log import Entry
from transports.memory import FarEnd, MemoryLine, Options, WireSettings, pair

RATE_HZ = 16_000
E = TypeVar("E", bound=Event)


@dataclass
class Stage:
    """A call that is running, its far end, and its timeline so far."""

    call: Call
    line: MemoryLine
    far_end: FarEnd
    clock: LoopClock
    running: asyncio.Task[object]
    entries: list[Entry] = field(default_factory=list)

    def events(self, kind: type[Event]) -> list[Entry]:
        """The entries of one kind."""
        return [entry for entry in self.entries if isinstance(entry.event, kind)]

    def told(self, kind: type[E]) -> list[E]:
        """The events of one kind."""
        return [entry.event for entry in self.entries if isinstance(entry.event, kind)]

    @property
    def texts(self) -> list[str]:
        """What was sent of each utterance that is over."""
        return [text for text, _ in self.said]

    @property
    def said(self) -> list[tuple[str, Outcome]]:
        """What was sent of each utterance that is over, and how it ended."""
        return [(ended.text_sent, ended.outcome) for ended in self.told(UtteranceEnded)]

    @property
    def end(self) -> CallEnded:
        """The one end of the call; its timeline replays strictly."""
        check(replay(self.entries))
        (end,) = self.told(CallEnded)
        return end

    async def until(self, met: Callable[[], bool], within_ms: int = 20_000) -> None:
        """Wait for something to hold, tick by tick; fails after `within_ms`."""
        deadline = self.clock.now_us() + within_ms * 1000
        while not met():
            assert self.clock.now_us() < deadline, f"what was waited for did not happen within {within_ms} ms"
            await self.clock.sleep_until(self.clock.now_us() + TICK_US)

    async def wait(self, ms: int) -> None:
        """Let the call go on for `ms`."""
        await self.clock.sleep_until(self.clock.now_us() + ms * 1000)

    async def answered(self) -> None:
        """The call is answered."""
        await self.until(lambda: self.call.phase is Phase.ANSWERED)

    async def over(self, within_ms: int = 2_000) -> None:
        """The call ends within the bound."""
        await self.until(self.running.done, within_ms)


@asynccontextmanager
async def staged(
    frontend: Frontend,
    settings: CallSettings | None = None,
    wire: WireSettings | None = None,
    parts: Callable[[CallParts], CallParts] = lambda parts: parts,
    line_options: Options | None = None,
    replays: bool = True,
) -> AsyncIterator[Stage]:
    """Run a call with `frontend` while the block runs; it is cancelled at the end if it has not ended, and replayed strictly.

    `replays` False: the core itself was broken on purpose.
    """
    clock = LoopClock()
    ticker = Ticker(clock)
    options: Options = {"keep_all": True, **(line_options or {})}
    line, far_end = pair(clock, wire or WireSettings(rate_hz=RATE_HZ, delay_ms=30), **options)
    call = Call(parts(CallParts(line, frontend)), ticker, settings)
    entries = list(call.timeline.recent)
    call.timeline.subscribe(entries.append)
    ticking = asyncio.ensure_future(ticker.run())
    running = asyncio.ensure_future(call.run())
    try:
        yield Stage(call, line, far_end, clock, running, entries)
    finally:
        running.cancel()
        ticking.cancel()
        await asyncio.gather(running, ticking, return_exceptions=True)
    if replays:
        check(replay(entries))


def scripted(*turns: dict[str, Any]) -> ScriptedFrontend:
    """The scripted frontend with these turns."""
    return ScriptedFrontend(Script.model_validate({"name": "staged", "agent": {"turns": list(turns)}}))


def spoken(text: str, role: Role = Role.NOTICE, must_hear: bool = False) -> SpokenLine:
    """A line in the tone voice at the stages' rate."""
    pcm, words = ToneVoice(RATE_HZ).speak(text)
    return SpokenLine(text, pcm, RATE_HZ, words, role, must_hear)


def with_lines(**lines: SpokenLine) -> Callable[[CallParts], CallParts]:
    """Give the call these lines."""
    return lambda parts: replace(parts, lines=replace(parts.lines, **lines))
