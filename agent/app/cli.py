"""`venus`: the command line."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from agent import logs
from agent.app import bench as bench_command
from agent.app import demo as demo_command
from agent.app import doctor as doctor_command
from agent.app import replaying, show
from agent.app.calls import delete_call, find_call, list_calls
from agent.errors import VenusError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Venus Line: a full-duplex voice agent on telephone lines and in meetings.",
)
calls_app = typer.Typer(no_args_is_help=True, help="Look at the calls that were recorded.")
app.add_typer(calls_app, name="calls")

console = Console(highlight=False)

CallsDir = Annotated[Path, typer.Option("--calls", envvar="VENUS_CALLS_DIR", help="The folder that holds the records of calls.")]
CallId = Annotated[str, typer.Argument(help="The id of a call, or the beginning of one.", metavar="CALL")]


@app.command()
def demo(
    script: Annotated[Path | None, typer.Argument(help="A rehearsal script; without it the one that comes along.")] = None,
    out: Annotated[Path, typer.Option(help="Where the record goes.", envvar="VENUS_CALLS_DIR")] = Path("calls"),
    fast: Annotated[bool, typer.Option("--fast", help="On virtual time: a minute in well under a second.")] = False,
    open_report: Annotated[bool, typer.Option("--open/--no-open", help="Open the report in the browser at the end.")] = True,
) -> None:
    """A scripted caller talks with the scripted agent; the timeline runs in the terminal, the report comes at the end."""
    demo_command.run(console, script, out, fast=fast, open_report=open_report)


@calls_app.command("list")
def calls_list(calls: CallsDir = Path("calls")) -> None:
    """All records, newest first."""
    show.table(console, list_calls(calls), calls)


@calls_app.command("show")
def calls_show(call: CallId, calls: CallsDir = Path("calls")) -> None:
    """One call as it went, line by line."""
    show.call(console, find_call(calls, call))


@calls_app.command("delete")
def calls_delete(
    call: CallId,
    calls: CallsDir = Path("calls"),
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete the record of one call for good."""
    row = find_call(calls, call)
    if not yes and not typer.confirm(f"Delete the record of {row.call_id} for good?"):
        console.print("Nothing was deleted.")
        return
    delete_call(calls, row.call_id)
    console.print(f"Deleted {row.call_id}.")


@app.command()
def replay(
    call: Annotated[str, typer.Argument(help="A call's id (or the beginning of one), its folder, or a timeline.jsonl.")],
    strict: Annotated[bool, typer.Option("--strict", help="Every derived event must come out byte for byte (default).")] = False,
    what_if: Annotated[bool, typer.Option("--what-if", help="Recompute with the settings given by --set.")] = False,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="A setting, e.g. floor.yield_after_us=400000.", metavar="NAME=VALUE")
    ] = None,
    calls: CallsDir = Path("calls"),
) -> None:
    """Feed a stored call's inputs to the core again."""
    if strict and what_if:
        raise typer.BadParameter("give one of --strict and --what-if")
    replaying.run(console, replaying.timeline_of(call, calls), what_if=what_if, changes=change or [])


@app.command()
def doctor(calls: CallsDir = Path("calls")) -> None:
    """Check that this machine can carry calls, and say what to do where it cannot."""
    raise typer.Exit(0 if doctor_command.run(console, calls) else 1)


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="Which benchmark, e.g. core.")],
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file as well.")] = None,
    only: Annotated[list[str] | None, typer.Option("--only", help="Only these figures.", metavar="ID")] = None,
) -> None:
    """Measure, from a checkout: prints each figure beside its target and never fails for a missed one."""
    bench_command.run(console, name, json_path, only or [])


def main() -> None:
    """Entry point: what this project raises on purpose is one sentence, not a traceback."""
    logs.configure(json=os.environ.get("VENUS_LOG") == "json", level=os.environ.get("VENUS_LOG_LEVEL", "INFO"))
    try:
        app()
    except VenusError as error:
        Console(stderr=True, highlight=False).print(Text.assemble(("error", "bold red"), " ", str(error)), soft_wrap=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
