"""`venus bench core`: the figures of the call core, on in-memory lines."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from agent.app.bench import FigureRow
from agent.app.rehearse import rehearse_virtually
from agent.clock import stopwatch_us
from tests.measure import ledger_cuts, many_calls, record_drift, short_calls, strict_replays

FIGURES = (
    "tick_lateness_p99_ms",
    "call_cpu_pct_core",
    "virtual_speedup",
    "ledger_error_ms",
    "record_drift_ms",
    "rss_slope_kb_per_call",
    "replay_strict_failures",
)
CALLS, TALK_S = 50, 60
HOUR_S = 3600
DRIFT_MIN = 60
SHORT_CALLS, WARM_UP = 2_000, 400
REPLAYS = 200

Report = Callable[[str], None]


def run(wanted: tuple[str, ...], report: Report) -> Iterator[FigureRow]:
    """Measure the wanted figures; the whole takes about ten minutes on two cores."""
    with TemporaryDirectory() as folder:
        calls_dir = Path(folder)
        if {"tick_lateness_p99_ms", "call_cpu_pct_core"} & set(wanted):
            yield from _many(calls_dir, wanted, report)
        if "virtual_speedup" in wanted:
            yield _speedup(report)
        if "ledger_error_ms" in wanted:
            yield _ledger(report)
        if "record_drift_ms" in wanted:
            yield _drift(calls_dir, report)
        if "rss_slope_kb_per_call" in wanted:
            yield _memory(calls_dir, report)
        if "replay_strict_failures" in wanted:
            yield _replays(calls_dir, report)


def _many(calls_dir: Path, wanted: tuple[str, ...], report: Report) -> Iterator[FigureRow]:
    report(f"{CALLS} conversations for {TALK_S} s")
    seen = asyncio.run(many_calls.run_many(calls_dir, CALLS, TALK_S))
    if "tick_lateness_p99_ms" in wanted:
        note = f"each call's own tick; p50 {seen.late_p50_ms:.1f}, worst {seen.late_max_ms:.1f} ms, {seen.resyncs} resyncs"
        yield FigureRow("tick_lateness_p99_ms", seen.late_p99_ms, "ms", 5, note=note)
    if "call_cpu_pct_core" in wanted:
        note = "far end, wire and scripted frontend are in the same process and counted"
        yield FigureRow("call_cpu_pct_core", round(seen.cpu_pct, 3), "%", 0.8, note=note)


def _speedup(report: Report) -> FigureRow:
    report("an hour of call on virtual time")
    began = stopwatch_us()
    done = rehearse_virtually(many_calls.talk(HOUR_S))
    took = stopwatch_us() - began
    note = f"{done.outcome.lasted_us / 60e6:.1f} min in {took / 1e6:.1f} s, {done.entries[-1].seq + 1} events"
    return FigureRow("virtual_speedup", round(done.outcome.lasted_us / took, 1), "×", 100, at_most=False, note=note)


def _ledger(report: Report) -> FigureRow:
    report("cutting an answer at every 20 ms")
    cuts = ledger_cuts.cut_everywhere()
    worst = max(cuts, key=lambda cut: cut.worst_ms)
    note = f"{len(cuts)} cuts, worst at {worst.at_ms} ms: sent {worst.sent_error_ms:+.1f}, onset {worst.onset_error_ms:+.1f}"
    return FigureRow("ledger_error_ms", round(worst.worst_ms, 2), "ms", 20, note=note)


def _drift(calls_dir: Path, report: Report) -> FigureRow:
    drifts = []
    for skew_ppm in (-200.0, 200.0):
        progress = lambda minute, skew_ppm=skew_ppm: report(f"{skew_ppm:+.0f} ppm, minute {minute} of {DRIFT_MIN}")  # noqa: E731
        drifts.append(record_drift.measure(calls_dir, DRIFT_MIN, skew_ppm, progress))
    worst = max(drifts, key=lambda drift: drift.worst_ms)
    clicks, expected = sum(drift.clicks for drift in drifts), sum(drift.expected for drift in drifts)
    length = max(abs(drift.length_error_ms) for drift in drifts)
    note = f"caller {worst.caller_ms:.1f}, agent {worst.agent_ms:.1f}, apart {worst.apart_ms:.1f}; "
    note += f"{clicks} clicks of {expected} (the rest muted or in a stall), length off by {length:.1f} ms"
    return FigureRow("record_drift_ms", round(worst.worst_ms, 2), "ms", 20, note=note)


def _memory(calls_dir: Path, report: Report) -> FigureRow:
    calls = short_calls.run_short(
        calls_dir, SHORT_CALLS, WARM_UP, lambda done: report(f"short call {done} of {SHORT_CALLS + WARM_UP}")
    )
    seen = asyncio.run(calls)
    note = f"{seen.first_mb:.0f} → {seen.last_mb:.0f} MB over {seen.calls} calls, {seen.tasks_left} tasks left"
    return FigureRow("rss_slope_kb_per_call", round(seen.slope_kb, 2), "kB", 4, note=note)


def _replays(calls_dir: Path, report: Report) -> FigureRow:
    failed, entries, lasted_us = [], 0, 0
    for one in strict_replays.replay_generated(range(REPLAYS), calls_dir):
        report(f"strict replay {one.seed + 1} of {REPLAYS}")
        entries, lasted_us = entries + one.entries, lasted_us + one.lasted_us
        if one.problem:
            failed.append(one)
            print(f"seed {one.seed}: {one.problem}", file=sys.stderr)
    note = f"{REPLAYS} rehearsals, {lasted_us / 60e6:.0f} min of call, {entries} events"
    return FigureRow("replay_strict_failures", len(failed), "", 0, note=note)
