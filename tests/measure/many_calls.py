"""Fifty conversations at once on real time, recorder on: lateness of the ticks and processor time of the media process."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from agent.app.rehearse import stage
from agent.clock import LoopClock, cpu_us
from agent.frontends.script import Script
from agent.pace import keep_pace
from agent.record.client import RecorderClient
from agent.tasks import install_task_factory
from agent.ticker import Histogram, Ticker

SPREAD_US = 40_000
"""Calls come one after another, this far apart."""


@dataclass(frozen=True, slots=True)
class ManyCalls:
    """`cpu_pct` of one core and call; lateness of each call's tick, ms."""

    calls: int
    measured_s: float
    cpu_pct: float
    late_p50_ms: float
    late_p99_ms: float
    late_max_ms: float
    resyncs: int


def talk(seconds: int) -> Script:
    """A conversation in which both sides speak about half the time each."""
    question = "could you tell me when the practice is open on tuesday please"
    answer = "On Tuesday the practice is open from eight in the morning until six, and there is a break at noon."
    return Script.model_validate(
        {
            "name": "talk",
            "limit_ms": seconds * 1000,
            "agent": {"turns": [{"on": "turn_end", "nth": "every", "after_ms": 300, "say": answer}], "rate_hz": 16_000},
            "caller": {
                "says": [
                    {"after": "agent_utterance_end", "nth": n, "delay_ms": 400, "say": question}
                    for n in range(1, seconds // 4 + 2)
                ]
            },
        }
    )


async def run_many(calls_dir: Path, calls: int, seconds: int) -> ManyCalls:
    """Set `calls` up, let them talk, measure from the last set-up on until `seconds` later."""
    install_task_factory(asyncio.get_running_loop())
    keep_pace()
    clock = LoopClock()
    ticker = Ticker(clock)
    ticking = asyncio.ensure_future(ticker.run())
    script = talk(seconds + 30)
    async with RecorderClient(calls_dir, clock, report=False) as recorder:
        running = []
        for _ in range(calls):
            running.append(asyncio.ensure_future(stage(script, ticker, recorder=recorder).call.run()))
            await clock.sleep_until(clock.now_us() + SPREAD_US)
        await clock.sleep_until(clock.now_us() + 2_000_000)
        ticker.lateness = Histogram()
        cpu, began = cpu_us(), clock.now_us()
        await clock.sleep_until(began + seconds * 1_000_000)
        cpu, took = cpu_us() - cpu, clock.now_us() - began
        lateness = ticker.lateness
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)
    return ManyCalls(
        calls=calls,
        measured_s=took / 1e6,
        cpu_pct=100 * cpu / took / calls,
        late_p50_ms=lateness.quantile_ms(0.5),
        late_p99_ms=lateness.quantile_ms(0.99),
        late_max_ms=lateness.max_us / 1000,
        resyncs=ticker.stats.resyncs,
    )
