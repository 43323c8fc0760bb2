"""Many short calls in one process on real time: how much memory each leaves behind."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from agent.app.rehearse import stage
from agent.clock import LoopClock
from agent.frontends.script import Script
from agent.pace import keep_pace
from agent.record.client import RecorderClient
from agent.tasks import install_task_factory, tasks_of
from agent.ticker import Ticker

AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class ShortCalls:
    """`slope_kb` of resident memory a call, fitted after the warm-up; tasks that outlived their call."""

    calls: int
    slope_kb: float
    first_mb: float
    last_mb: float
    tasks_left: int


def short(seed: int) -> Script:
    """A call of about two seconds: greeting, a question, an answer that is interrupted by the hang-up."""
    return Script.model_validate(
        {
            "name": "short",
            "seed": seed,
            "limit_ms": 2_000,
            "lines": {"greeting": "Hello."},
            "agent": {"turns": [{"on": "turn_end", "after_ms": 100, "say": "one moment please I will look that up"}]},
            "caller": {"says": [{"after": "answered", "delay_ms": 200, "say": "open today"}]},
        }
    )


async def run_short(calls_dir: Path, calls: int, warm_up: int, report: Callable[[int], None] | None = None) -> ShortCalls:
    """Run `calls` calls, fifty at once, after `warm_up` that are not counted."""
    install_task_factory(asyncio.get_running_loop())
    keep_pace()
    clock = LoopClock()
    ticker = Ticker(clock)
    ticking = asyncio.ensure_future(ticker.run())
    memory: list[tuple[int, float]] = []
    left = done = 0
    process = psutil.Process()
    async with RecorderClient(calls_dir, clock, report=False) as recorder:
        while done < warm_up + calls:
            batch = [stage(short(done + n), ticker, recorder=recorder).call for n in range(AT_ONCE)]
            await asyncio.gather(*(call.run() for call in batch))
            await asyncio.gather(*(call.recorded() for call in batch))
            left += sum(len(tasks_of(call.call_id)) for call in batch)
            done += AT_ONCE
            batch.clear()
            if done > warm_up:
                memory.append((done, process.memory_info().rss / 1024))
            if report:
                report(done)
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)
    at, rss = np.array([n for n, _ in memory], float), np.array([kb for _, kb in memory])
    slope = float(np.polyfit(at, rss, 1)[0]) if len(at) > 1 else 0.0
    return ShortCalls(calls, slope, rss[0] / 1024, rss[-1] / 1024, left)
