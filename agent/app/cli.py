"""`venus`: the command line."""

import errno
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from agent import logs
from agent.app import bench as bench_command
from agent.app import demo as demo_command
from agent.app import doctor as doctor_command
from agent.app import models, replaying, show, worker
from agent.app.calls import delete_call, find_call, list_calls
from agent.app.lines import plain
from agent.app.stopping import Stopping
from agent.errors import VenusError
from agent.record.rebuild import rebuild

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
calls_app = typer.Typer(invoke_without_command=True)
app.add_typer(calls_app, name="calls")

PIPE_COLUMNS = 160
"""Where there is no terminal, lines are cut for none: a program or a file reads them."""

_columns_known = (sys.stdout and sys.stdout.isatty()) or "COLUMNS" in os.environ
console = Console(highlight=False, width=None if _columns_known else PIPE_COLUMNS)
app.add_typer(models.commands(console), name="models")
app.add_typer(worker.app, name="worker")

CallsDir = Annotated[Path, typer.Option("--calls", envvar="VENUS_CALLS_DIR", help="The folder that holds the records of calls.")]
CallId = Annotated[str, typer.Argument(help="The id of a call, or the beginning of one.", metavar="CALL")]


def _tell_version(wanted: bool) -> None:
    if wanted:
        console.print(f"venus-line {version('venus-line')}")
        raise typer.Exit


@app.callback()
def venus(
    tell_version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", is_eager=True, callback=_tell_version)
    ] = False,
) -> None:
    """Venus Line: a full-duplex voice agent on telephone lines and in meetings."""


@app.command()
def demo(
    script: Annotated[
        Path | None, typer.Argument(help="A rehearsal script; without it the one that comes along.", metavar="SCRIPT")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the record goes.", envvar="VENUS_CALLS_DIR")] = Path("calls"),
    fast: Annotated[bool, typer.Option("--fast", help="On virtual time: a minute in well under a second.")] = False,
    open_report: Annotated[bool, typer.Option("--open/--no-open", help="Open the report in the browser at the end.")] = True,
) -> None:
    """A scripted caller talks with the scripted agent; the timeline runs in the terminal, the report comes at the end."""
    raise typer.Exit(0 if demo_command.run(console, script, out, fast=fast, open_report=open_report) else 1)


@app.command()
def talk(
    text: Annotated[
        list[str] | None, typer.Argument(help="What a caller says, one turn each; without it, type.", metavar="TEXT")
    ] = None,
    wav: Annotated[Path | None, typer.Option(help="A caller's recording, WAV or FLAC, not text.", metavar="FILE")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the agent's sound to this WAV file.", metavar="FILE")] = None,
    knowledge: Annotated[
        Path | None, typer.Option(help="What the agent knows: a folder of Markdown files.", metavar="FOLDER")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="Keep the record of the call that --wav makes in this folder.", metavar="FOLDER")
    ] = None,
) -> None:
    """Try the agent without a line: text or a recording in, text and sound out."""
    from agent.app import talk as talk_command  # its models and their runtime are for nobody else

    talk_command.run(console, text or [], talk_command.TalkOptions(knowledge, wav, out, record))


@calls_app.callback()
def calls_recorded(context: typer.Context, calls: CallsDir = Path("calls")) -> None:
    """The calls that were recorded: without a command, a list of them."""
    command = context.invoked_subcommand
    if command is None:
        show.table(console, list_calls(calls), calls)
    elif (source := context.get_parameter_source("calls")) and source.name == "COMMANDLINE":
        raise typer.BadParameter(f"--calls stands behind the command: venus calls {command} --calls {calls}")


@calls_app.command("list")
def calls_list(calls: CallsDir = Path("calls")) -> None:
    """All records, newest first."""
    show.table(console, list_calls(calls), calls)


@calls_app.command("show")
def calls_show(call: CallId, calls: CallsDir = Path("calls")) -> None:
    """One call as it went, line by line."""
    show.call(console, find_call(calls, call))


@calls_app.command("report")
def calls_report(call: CallId, calls: CallsDir = Path("calls")) -> None:
    """Make one call's report anew, and what else its record lacks: its recorder was killed, or the disk was full."""
    console.print(Text(str(rebuild(find_call(calls, call).folder))), soft_wrap=True)


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
    call: Annotated[
        str, typer.Argument(help="A call's id (or the beginning of one), its folder, or a timeline.jsonl.", metavar="CALL")
    ],
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
    same = replaying.run(console, replaying.timeline_of(call, calls), what_if=what_if, changes=change or [])
    raise typer.Exit(0 if same else 1)


@app.command()
def doctor(
    calls: CallsDir = Path("calls"),
    knowledge: Annotated[
        Path | None, typer.Option(help="Look at the documents in this folder as well.", metavar="FOLDER")
    ] = None,
) -> None:
    """Check that this machine can carry calls, and say what to do where it cannot."""
    raise typer.Exit(0 if doctor_command.run(console, calls, knowledge) else 1)


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="Which benchmark, e.g. core.", metavar="NAME")],
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file as well.")] = None,
    only: Annotated[list[str] | None, typer.Option("--only", help="Only these figures.", metavar="ID")] = None,
) -> None:
    """Measure, from a checkout: prints each figure beside its target and never fails for a missed one."""
    bench_command.run(console, name, json_path, only or [])


def main() -> None:
    """Entry point: what this project raises on purpose is one sentence, not a traceback, and a signal ends it in order."""
    stopping = Stopping()
    try:
        logs.configure_from_environment()
        app()
    except VenusError as error:
        _fail(str(error))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _fail(f"the output cannot be written: {error.strerror}")
    except SystemExit as error:
        raise SystemExit(stopping.status(error.code)) from None


def _fail(sentence: str) -> NoReturn:
    said = "\n".join(plain(line) for line in sentence.splitlines())
    Console(stderr=True, highlight=False).print(Text.assemble(("error", "bold red"), " ", said), soft_wrap=True)
    raise SystemExit(2) from None


if __name__ == "__main__":
    main()
