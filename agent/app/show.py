"""Records of calls in the terminal: the list, one call's story, its figures."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent.app.calls import CallRow
from agent.app.lines import line_of, plain
from agent.app.live import styled
from agent.timeline.codec import read


def table(console: Console, rows: list[CallRow], calls_dir: Path) -> None:
    """All records as a table."""
    if not rows:
        console.print(f"No calls are recorded in {calls_dir}. `venus demo` makes one.", markup=False)
        return
    listing = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in ("call", "started", "lasted", "turns", "ended"):  # in a narrow window all wrap but the id, which is copied
        listing.add_column(
            name, justify="right" if name in ("lasted", "turns") else "left", no_wrap=name in ("call", "lasted", "turns")
        )
    for row in rows:
        end = plain(row.end or row.state).replace("_", " ")
        state = Text(end, style="yellow" if row.state != "complete" else "default")
        lasted = f"{row.lasted_s:.1f} s" if row.lasted_s is not None else "–"
        listing.add_row(
            Text(row.call_id, style="bold"),
            Text(plain(row.started or "–").replace("T", " ")[:19]),
            lasted,
            "–" if row.turns is None else str(row.turns),
            state,
        )
    console.print(listing)


def call(console: Console, row: CallRow) -> None:
    """One call, line by line, then its figures."""
    for entry in read(row.folder / "timeline.jsonl"):
        line = line_of(entry)
        if line:
            console.print(styled(line))
    console.print()
    console.print(figures(row.folder))


def figures(folder: Path) -> Table:
    """The few figures that tell how a call went, from its summary."""
    grid = Table.grid(padding=(0, 2))
    try:
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_bytes())
    except (OSError, ValueError):
        grid.add_row(Text("summary", style="dim"), Text("there is none: the record is incomplete", style="yellow"))
        return grid
    for name, value in _rows(summary):
        value.plain = plain(value.plain)
        grid.add_row(Text(name, style="dim"), value)
    return grid


def _rows(summary: dict[str, Any]) -> list[tuple[str, Text]]:
    latency, words = summary["answer_latency_ms"], summary["words"]
    silence, faults, record = summary["longest_silence"], summary["faults"], summary["record"]
    end = (summary["end"] or "its end is missing").replace("_", " ")
    rows = [("ended", Text(f"{end}, after {summary['lasted_s']:.1f} s"))]
    if latency["count"]:
        rows.append(
            ("answers", Text(f"{latency['count']}, half of them within {latency['p50']} ms, the slowest {latency['max']} ms"))
        )
    rows.append(("words", Text(f"{words['sent']} sent, {words['unsent']} never said")))
    if silence:
        rows.append(("silence", Text(f"{silence['ms'] / 1000:.1f} s at the longest, {silence['after']} → {silence['before']}")))
    if summary["works"]["created"]:
        outcomes = ", ".join(f"{count} {status}" for status, count in summary["works"]["outcomes"].items())
        rows.append(("works", Text(f"{summary['works']['created']}: {outcomes}")))
    if faults:
        rows.append(("faults", Text(", ".join(f"{count} × {code}" for code, count in faults.items()), style="red")))
    if record["state"] != "complete":
        rows.append(("record", Text(record["detail"], style="yellow")))
    return rows
