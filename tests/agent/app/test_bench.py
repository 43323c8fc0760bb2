"""`venus bench`: what it prints and writes of the figures that a benchmark yields."""

import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent.app.bench import FigureRow
from agent.app.cli import app

pytestmark = pytest.mark.unit

BENCHMARK = """
from agent.app.bench import FigureRow

FIGURES = ("quick_ms", "slow_ms", "right_pct", "peer_ms", "never_ms")


def run(wanted, report):
    report("nothing")
    rows = (
        FigureRow("quick_ms", 12.0, "ms", 20),
        FigureRow("slow_ms", 1234.5, "ms", 20, note="it was late"),
        FigureRow("right_pct", 91.5, "%", 90, at_most=False),
        FigureRow("peer_ms", 2600, "ms", None, against=520),
    )
    yield from (row for row in rows if row.figure in wanted)
"""


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder is a checkout with one benchmark, `made_up`."""
    (tmp_path / "tests" / "bench").mkdir(parents=True)
    (tmp_path / "tests" / "bench" / "made_up.py").write_text(BENCHMARK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


def bench(*arguments: str | Path) -> str:
    """What it prints; a missed target is no failure."""
    done = CliRunner().invoke(app, ["bench", "made_up", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def rows(told: str) -> dict[str, list[str]]:
    """The rows of the table at the end, by figure."""
    return {cells[0]: cells[1:] for line in told.splitlines() if len(cells := re.split(r"\s{2,}", line.strip())) > 2}


def test_each_figure_stands_beside_its_target_or_is_only_reported() -> None:
    table = rows(bench())
    assert table["quick_ms"] == ["12 ms", "≤ 20", "met"]
    assert table["slow_ms"] == ["1,234 ms", "≤ 20", "missed"]
    assert table["right_pct"] == ["91.5 %", "≥ 90", "met"]
    assert table["peer_ms"] == ["2,600 ms", "520", "reported"]


def test_a_figure_that_was_not_measured_is_named_and_a_note_is_shown() -> None:
    told = bench()
    assert "missed: never_ms was not measured" in told
    assert "it was late" in told
    assert "never_ms" not in bench("--only", "quick_ms")


def test_the_file_holds_every_figure_with_null_for_no_target(tmp_path: Path) -> None:
    bench("--json", tmp_path / "figures.json", "--only", "slow_ms", "--only", "peer_ms")
    slow, peer = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert (slow["value"], slow["unit"], slow["target"], slow["met"], slow["against"]) == (1234.5, "ms", 20, False, None)
    assert (peer["value"], peer["target"], peer["met"], peer["against"]) == (2600, None, True, 520)


def test_without_a_target_nothing_is_missed() -> None:
    assert FigureRow("peer_ms", 1e9, "ms", None, at_most=False).met
    assert not FigureRow("right_pct", 89.9, "%", 90, at_most=False).met
