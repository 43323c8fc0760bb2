"""`venus demo`: a scripted call in the terminal, with its record and its report."""

import asyncio
import os
import sys
import webbrowser
from importlib.resources import files
from pathlib import Path

from rich.console import Console
from rich.text import Text

from agent.app.calls import make_calls_dir
from agent.app.lines import plain
from agent.app.live import LiveCall
from agent.app.rehearse import Rehearsed, rehearse, rehearse_virtually
from agent.app.show import figures
from agent.clock import LoopClock, wall_now
from agent.frontends.script import Script, load_script
from agent.pace import keep_pace
from agent.record.client import RecorderClient
from agent.record.inline import InlineRecorder
from agent.replay import check, replay
from agent.tasks import install_task_factory
from agent.timeline.kinds import EndReason


def run(console: Console, path: Path | None, out: Path, *, fast: bool, open_report: bool) -> bool:
    """Run the demo; False when its call ended with a fault. Raises `Refused` for a script or a folder that cannot be used."""
    script = load_script(path) if path else load_script(files("agent.app").joinpath("demo.yaml").read_text("utf-8"))
    make_calls_dir(out, "--out")
    call_id = _call_id(script.name)
    console.print(Text.assemble(("Venus Line", "bold"), "  ", (plain(script.about or script.name), "dim")))
    console.print()
    try:
        with LiveCall(console) as live:
            done = _virtual(script, out, call_id, live) if fast else asyncio.run(_real(script, out, call_id, live))
    except KeyboardInterrupt:
        _conclude(console, None, out / call_id)
        raise
    _conclude(console, done, out / call_id)
    report = out / call_id / "report.html"
    if open_report and report.exists() and console.is_terminal and _has_screen():
        webbrowser.open(report.resolve().as_uri())
    return done.outcome.reason is not EndReason.FAULT


def _call_id(name: str) -> str:
    """The script's name and the moment, to the millisecond: two rehearsals begun in one second are two calls."""
    return f"{name[:40].replace(' ', '-')}-{wall_now():%Y%m%d-%H%M%S-%f}"[:-3]


def _has_screen() -> bool:
    """Without one a text browser would take the terminal over."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _virtual(script: Script, out: Path, call_id: str, live: LiveCall) -> Rehearsed:
    return rehearse_virtually(script, recorder=lambda: InlineRecorder(out), call_id=call_id, listener=live.learn)


async def _real(script: Script, out: Path, call_id: str, live: LiveCall) -> Rehearsed:
    install_task_factory(asyncio.get_running_loop())
    keep_pace()
    async with RecorderClient(out, LoopClock()) as recorder:
        return await rehearse(script, recorder=recorder, call_id=call_id, listener=live.learn)


def _conclude(console: Console, done: Rehearsed | None, folder: Path) -> None:
    """Figures, proof and places; `done` is None when the call was stopped, and is then not replayed."""
    console.print()
    table = figures(folder)
    if done:
        result = replay(done.entries)
        check(result)
        table.add_row(Text("replay", style="dim"), f"{result.derived} derived events came out again, byte for byte")
    if folder.exists():
        table.add_row(Text("record", style="dim"), Text(str(folder)))
    if (folder / "report.html").exists():
        table.add_row(Text("report", style="dim"), Text(str(folder / "report.html"), style="bold"))
    console.print(table)
