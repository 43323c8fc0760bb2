"""`venus replay`: strict and what-if, told to a person."""

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from agent.app.calls import find_call
from agent.app.lines import clock_text, plain
from agent.errors import Gone, Refused
from agent.record.folder import TIMELINE
from agent.replay import Replayed, replay, with_changes
from agent.settings import CallSettings
from agent.timeline.codec import read
from agent.timeline.events import CallStarted
from agent.timeline.log import Entry


def timeline_of(call: str, calls_dir: Path) -> Path:
    """The timeline that `call` names: a file, a folder, or a call's id under `calls_dir`."""
    path = Path(call)
    if path.is_file():
        return path
    if (path / TIMELINE).is_file():
        return path / TIMELINE
    if "/" in call or path.suffix == ".jsonl" or call in (".", ".."):
        raise Gone(f"there is no timeline at {call}: give a call's id, its folder or its {TIMELINE}")
    return find_call(calls_dir, call).folder / TIMELINE


def run(console: Console, path: Path, *, what_if: bool, changes: list[str]) -> bool:
    """Replay and tell; False when a strict replay differs."""
    if changes and not what_if:
        raise Refused("--set changes settings, which is a what-if replay: add --what-if")
    if what_if and not changes:
        raise Refused("a what-if replay needs something to change: add --set NAME=VALUE, e.g. floor.yield_after_us=400000")
    entries = list(read(path))
    settings = _changed(entries, changes) if what_if else None
    result = _replayed(console, entries, settings)
    if what_if:
        _tell_what_if(console, result, changes)
        return True
    _tell_strict(console, result)
    return result.difference is None


def _changed(entries: list[Entry], changes: list[str]) -> CallSettings:
    pairs = [change.partition("=") for change in changes]
    wrong = [name for name, sign, value in pairs if not (sign and value)]
    if wrong:
        raise Refused(f"--set {wrong[0]}: write NAME=VALUE")
    if not entries or not isinstance(entries[0].event, CallStarted):
        raise Refused("this timeline does not begin with call.started: there is nothing to replay")
    return with_changes(entries[0].event.settings, {name: value for name, _, value in pairs})


def _replayed(console: Console, entries: list[Entry], settings: CallSettings | None) -> Replayed:
    columns = (TextColumn("replaying"), BarColumn(), TextColumn("{task.fields[at]}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("replay", total=max(1, entries[-1].t if entries else 1), at="")
        return replay(entries, settings, lambda t: progress.update(task, completed=t, at=clock_text(t)))


def _tell_strict(console: Console, result: Replayed) -> None:
    console.print(
        f"{clock_text(result.lasted_us)} of call: {result.entries} events, {result.derived} of them derived", markup=False
    )
    if not result.complete:
        console.print("The timeline stops before the call's end; it was replayed up to there.", style="yellow")
    if result.difference:
        _tell_difference(console, result)
        console.print("[bold red]✗[/] the strict replay differs: this version derives something else from the same inputs")
    else:
        console.print("[green]✓[/] every derived event came out again, byte for byte")


def _tell_difference(console: Console, result: Replayed) -> None:
    assert result.difference is not None
    difference = result.difference
    console.print(f"first difference at {clock_text(difference.t)} (seq {difference.seq}):", markup=False)
    for name, line in (("recorded", difference.recorded), ("replayed", difference.replayed)):
        console.print(Text.assemble((f"  {name}  ", "dim"), plain(line or "nothing")), soft_wrap=True)


def _tell_what_if(console: Console, result: Replayed, changes: list[str]) -> None:
    console.print(f"what if {', '.join(changes)}", markup=False)
    if result.difference is None:
        console.print("Nothing would have been different.")
        return
    _tell_difference(console, result)
    console.print(
        "Everything after it is recomputed from the inputs as they were recorded: what the caller and the frontend "
        "would have done instead is not known.",
        style="yellow",
    )
    table = Table(box=None, padding=(0, 2), header_style="dim")
    table.add_column("derived events")
    table.add_column("recorded", justify="right")
    table.add_column("what if", justify="right")
    for kind in sorted(result.recorded_kinds | result.replayed_kinds):
        before, after = result.recorded_kinds[kind], result.replayed_kinds[kind]
        if before != after:
            table.add_row(kind, str(before), str(after))
    if table.row_count:
        console.print(table)
