"""Time, in one module. Nothing else of the project reads a clock, sleeps or asks for the date.

`LoopClock` reads the running event loop, so the same code is on real time under asyncio's own loop and on virtual time under
`agent.virtual.VirtualLoop`.
"""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

VIRTUAL_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""Wall time at virtual second 0, so that a rehearsal writes the same dates on every run."""


class Clock(Protocol):
    """What the project may know of time."""

    def now_us(self) -> int:
        """Monotonic time, µs."""

    def wall(self) -> datetime:
        """The date, UTC."""

    async def sleep_until(self, at_us: int) -> None:
        """Return at `at_us` or, when that is past, after one pass of the loop."""


class LoopClock:
    """The running loop's time; `wall` is real unless the loop is virtual."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop or asyncio.get_running_loop()
        self._virtual = getattr(self._loop, "is_virtual", False)

    def now_us(self) -> int:
        return round(self._loop.time() * 1e6)

    def wall(self) -> datetime:
        if self._virtual:
            return VIRTUAL_EPOCH + timedelta(microseconds=self.now_us())
        return datetime.now(UTC)

    async def sleep_until(self, at_us: int) -> None:
        await asyncio.sleep(max(0.0, at_us / 1e6 - self._loop.time()))


def cpu_us() -> int:
    """Processor time used by this process so far, µs."""
    return time.process_time_ns() // 1000


def thread_cpu_us() -> int:
    """Processor time used by this thread so far, µs."""
    return time.thread_time_ns() // 1000


def stopwatch_us() -> int:
    """Real time for measuring durations outside any loop (benchmarks, progress), µs."""
    return time.perf_counter_ns() // 1000


def wall_now() -> datetime:
    """The real date, UTC, where no call and no loop is at hand (names of files, logs)."""
    return datetime.now(UTC)


def pause(seconds: float) -> None:
    """Block this thread. Only for command lines and helper processes, never under a loop that carries calls."""
    time.sleep(seconds)
