"""Set-ups for rehearsals that a script cannot say: a call with parts of one's own, on the running loop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from agent.call import Call
from agent.clock import LoopClock
from agent.frontends.base import Frontend
from agent.frontends.tone import ToneVoice
from agent.parts import CallParts
from agent.settings import TICK_US, CallSettings
from agent.speech import SpokenLine
from agent.ticker import Ticker
from agent.timeline.events import Event
from agent.timeline.kinds import Role
from agent.timeline.log import Entry
from transports.memory import FarEnd, MemoryLine, WireSettings, pair

RATE_HZ = 16_000


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

    async def until(self, met: Callable[[], bool], within_ms: int = 20_000) -> None:
        """Wait for something to hold, tick by tick; fails after `within_ms`."""
        deadline = self.clock.now_us() + within_ms * 1000
        while not met():
            assert self.clock.now_us() < deadline, f"what was waited for did not happen within {within_ms} ms"
            await self.clock.sleep_until(self.clock.now_us() + TICK_US)

    async def wait(self, ms: int) -> None:
        """Let the call go on for `ms`."""
        await self.clock.sleep_until(self.clock.now_us() + ms * 1000)

    async def over(self, within_ms: int = 2_000) -> None:
        """The call ends within the bound."""
        await self.until(self.running.done, within_ms)


@asynccontextmanager
async def staged(
    frontend: Frontend,
    settings: CallSettings | None = None,
    wire: WireSettings | None = None,
    parts: Callable[[CallParts], CallParts] = lambda parts: parts,
) -> AsyncIterator[Stage]:
    """Run a call with `frontend` while the block runs; it is cancelled at the end if it has not ended."""
    clock = LoopClock()
    ticker = Ticker(clock)
    line, far_end = pair(clock, wire or WireSettings(rate_hz=RATE_HZ, delay_ms=30), keep_all=True)
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


def spoken(text: str, role: Role = Role.NOTICE, must_hear: bool = False) -> SpokenLine:
    """A line in the tone voice at the stages' rate."""
    pcm, words = ToneVoice(RATE_HZ).speak(text)
    return SpokenLine(text, pcm, RATE_HZ, words, role, must_hear)


def with_lines(**lines: SpokenLine) -> Callable[[CallParts], CallParts]:
    """Give the call these lines."""
    return lambda parts: replace(parts, lines=replace(parts.lines, **lines))
