"""`venus doctor`: can this machine carry calls, and what to do where it cannot."""

import asyncio
import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import av
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent.clock import LoopClock
from agent.errors import Refused
from agent.knowledge import check
from agent.ticker import Ticker
from agent.weights.catalogue import MODELS
from agent.weights.store import State, models_folder, remedy, state_of

PYTHONS = ((3, 11), (3, 13))
PACE_S = 2.0
WORST_P99_MS = 5.0
LEAST_FREE = 200_000_000
PACKAGES = ("venus-line", "numpy", "av", "grpcio", "protobuf", "pydantic")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `advice` says what to do when it is not `good`."""

    name: str
    good: bool
    seen: str
    advice: str = ""


class _Idle:
    def tick(self, skipped: int) -> None:
        """Nothing to do: only the pace is measured."""

    def crashed(self, error: Exception) -> None:
        """Cannot happen."""


def run(console: Console, calls_dir: Path, knowledge: Path | None = None) -> bool:
    """Print what was found; True when all is well. `knowledge`: documents to be looked at as well."""
    good = True
    for look in (_python, _packages, _codec, _models, lambda: _documents(knowledge), lambda: _disk(calls_dir), _pace):
        for finding in look():
            good = good and finding.good
            mark = Text("✓", style="green") if finding.good else Text("✗", style="bold red")
            row = Table.grid(padding=(0, 1, 0, 0))
            row.add_row(mark, f"{finding.name:<9}", Text(finding.seen, style="dim" if finding.good else "default"))
            console.print(row)
            if not finding.good:
                console.print(Text.assemble("  → ", finding.advice), style="yellow")
    console.print("\nThis machine can carry calls." if good else "\nMend what is marked ✗, then run this again.")
    return good


Look = Callable[[], Iterator[Finding]]


def _python() -> Iterator[Finding]:
    here = sys.version_info[:2]
    good = PYTHONS[0] <= here <= PYTHONS[1]
    yield Finding(
        "python", good, f"{platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores", "use Python 3.11–3.13"
    )


def _packages() -> Iterator[Finding]:
    found, missing = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    yield Finding("packages", not missing, ", ".join(found), f"missing: {', '.join(missing)}; install venus-line again")


def _codec() -> Iterator[Finding]:
    good = "libopus" in av.codecs_available
    yield Finding(
        "opus",
        good,
        f"PyAV {av.__version__} with libopus" if good else f"PyAV {av.__version__} has no libopus",
        "install the av wheel",
    )


def _models() -> Iterator[Finding]:
    """Only looked at, not read: that is what `venus models verify` does."""
    try:
        wrong = {model: state for model in MODELS if model.group != "extra" and (state := state_of(model)) is not State.INSTALLED}
        folder = str(models_folder())
    except Refused as error:
        yield Finding("models", False, "where they are is not known", str(error))
        return
    seen = ", ".join(f"{model.name} {state}" for model, state in wrong.items()) or f"all there, in {folder}"
    yield Finding("models", not wrong, seen, ", ".join(dict.fromkeys(remedy(model) for model in wrong)))


def _documents(folder: Path | None) -> Iterator[Finding]:
    """Only read, not searched: a warning is something to look at, an error a file that answers nothing."""
    if folder is None:
        return
    found = check(folder)
    if not found:
        yield Finding("documents", True, f"{folder}: all of them can be read, and none contradicts another")
    for one in found:
        place = f"{one.file}:{one.line}" if one.line else one.file
        yield Finding("documents", False, f"{place}: {one.severity}", one.message)


def _disk(calls_dir: Path) -> Iterator[Finding]:
    folder = next(path for path in (calls_dir.resolve(), *calls_dir.resolve().parents) if path.exists())
    writable = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    yield Finding("records", writable, f"{calls_dir.resolve()}", f"{folder} cannot be written: choose another with --calls")
    status = os.statvfs(folder)
    free = status.f_bavail * status.f_frsize
    yield Finding(
        "disk", free >= LEAST_FREE, f"{free / 1e9:.1f} GB free", "make room: an hour of recorded call takes about 20 MB"
    )


def _pace() -> Iterator[Finding]:
    p99, worst = asyncio.run(_measured_pace())
    yield Finding(
        "pace",
        p99 <= WORST_P99_MS,
        f"20 ms ticks are late by {min(p99, worst):.1f} ms (99th percentile), {worst:.1f} ms at worst, over {PACE_S:g} s",
        "this machine is too busy for live audio: stop other work, or give the process a core of its own",
    )


async def _measured_pace() -> tuple[float, float]:
    clock = LoopClock()
    ticker = Ticker(clock)
    ticker.attach(_Idle())
    ticking = asyncio.ensure_future(ticker.run())
    await clock.sleep_until(clock.now_us() + round(PACE_S * 1e6))
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)
    return ticker.lateness.quantile_ms(0.99), ticker.lateness.max_us / 1000
