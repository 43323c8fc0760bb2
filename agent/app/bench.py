"""`venus bench NAME`: runs `tests/bench/NAME.py` of a checkout and prints its figures beside their targets."""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Protocol

from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent.errors import Refused


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One measured figure. `at_most`: the target is an upper bound, else a lower one; without a target it is only reported.
    `against`: a peer's value, same run.
    """

    figure: str
    value: float
    unit: str
    target: float | None
    at_most: bool = True
    against: float | None = None
    note: str = ""

    @property
    def met(self) -> bool:
        if self.target is None:
            return True
        return self.value <= self.target if self.at_most else self.value >= self.target


class Benchmark(Protocol):
    """What a module of `tests/bench` offers."""

    FIGURES: tuple[str, ...]

    def run(self, wanted: tuple[str, ...], report: Callable[[str], None]) -> Iterator[FigureRow]:
        """Measure the wanted figures; `report` is told what is being done."""


def run(console: Console, name: str, json_path: Path | None, only: list[str]) -> None:
    """Run a benchmark. Raises `Refused` outside a checkout or for an unknown name or figure; a missed target is no error."""
    module = _load(name)
    unknown = [figure for figure in only if figure not in module.FIGURES]
    if unknown:
        raise Refused(f"no figure {unknown[0]!r} in {name}: there are {', '.join(module.FIGURES)}")
    wanted = tuple(only) or module.FIGURES
    if json_path:
        _check_writable(json_path)
    rows: list[FigureRow] = []
    with console.status(f"measuring {name} …") as status:
        for row in module.run(wanted, lambda text: status.update(f"{name}: {text} …")):
            rows.append(row)
            console.print(_line(row))
    console.print()
    console.print(_table(rows))
    missing = [figure for figure in wanted if figure not in {row.figure for row in rows}]
    for figure in missing:
        console.print(f"missed: {figure} was not measured", style="red", markup=False)
    if json_path:
        content = [{**asdict(row), "met": row.met} for row in rows]
        json_path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def _check_writable(path: Path) -> None:
    """Said before the measuring, which takes minutes."""
    try:
        path.open("a").close()
    except OSError as error:
        raise Refused(f"the figures cannot go to {path}: {error.strerror}; name another file with --json") from None


def _load(name: str) -> Benchmark:
    there: dict[str, Path] = {}
    for root in (Path(__file__).resolve().parents[2], Path.cwd()):
        there |= {path.stem: path for path in sorted((root / "tests" / "bench").glob("[!_]*.py"))}
    if not there:
        raise Refused(f"there is no benchmark {name!r} here: benchmarks run from a checkout, where they are tests/bench/NAME.py")
    if name not in there:
        raise Refused(f"there is no benchmark {name!r}: there are {', '.join(sorted(there))}")
    root = there[name].parents[2]
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return _imported(there[name])


def _imported(path: Path) -> Benchmark:
    spec = importlib.util.spec_from_file_location(f"tests.bench.{path.stem}", path)
    assert spec
    assert spec.loader
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _value(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.3g}"


def _line(row: FigureRow) -> Text:
    mark = Text("✓ ", style="green") if row.met else Text("✗ ", style="bold red")
    note = Text(f"\n  {row.note}", style="dim") if row.note else ""
    return Text.assemble(mark, row.figure, "  ", (_value(row.value), "bold"), f" {row.unit}", note)


def _table(rows: list[FigureRow]) -> Table:
    table = Table(box=None, padding=(0, 2), header_style="dim")
    for name in ("figure", "value", "target", "against", ""):
        table.add_column(name, justify="right" if name in ("value", "target", "against") else "left")
    for row in rows:
        bound = "" if row.target is None else f"{'≤' if row.at_most else '≥'} {_value(row.target)}"
        met = Text("met", style="green") if row.met else Text("missed", style="bold red")
        if row.target is None:
            met = Text("reported", style="dim")
        against = "" if row.against is None else _value(row.against)
        table.add_row(row.figure, f"{_value(row.value)} {row.unit}", bound, against, met)
    return table
