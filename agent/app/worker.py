"""`venus worker`: a process that hosts ears and frontend for the calls of other processes on this machine.

`python -m agent.app.worker` is the same command without the rest of `venus`, and starts in half the time.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from agent import logs
from agent.app.supervised import end_with_supervisor, runtime_folder
from agent.clock import Clock, LoopClock
from agent.errors import Refused, VenusError
from agent.frontends.address import check_address, check_unused
from agent.frontends.base import Ears, Frontend, LineVoice
from agent.frontends.remote import WorkerHealth, connect_worker
from agent.frontends.script import load_script
from agent.frontends.scripted import ScriptedEars, ScriptedFrontend
from agent.frontends.server import Worker, serve_worker
from agent.frontends.speed import LEAST_SLOTS, MOST_SLOTS, measure, usable_cores
from agent.tasks import run_until_one_ends

DRAIN_S = 10.0
"""After SIGTERM, calls that are still open have so long to end."""
LOOK_EVERY_US = 250_000
STALL_US = 1_000_000
"""An event loop that stands still for longer is reported: no call was served meanwhile."""

log = logs.get_logger("venus.worker")

app = typer.Typer(
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # an error is one line, whoever reads it
)

Address = Annotated[str, typer.Argument(help="Where it listens, as it said: unix:/path or 127.0.0.1:port.", metavar="ADDRESS")]


@dataclass(frozen=True, slots=True)
class Hosted:
    """What a worker serves, entered on its loop. `turn_seconds` does the work of one turn and returns its CPU seconds; None: a
    turn costs nothing."""

    opened: Callable[[], AbstractAsyncContextManager["Hosts"]]
    turn_seconds: Callable[[], float] | None


@dataclass(frozen=True, slots=True)
class Hosts:
    """Whom a worker serves to others. `voice` None: it renders no lines."""

    frontend: Frontend
    ears: Ears
    voice: LineVoice | None = None


@app.callback()
def worker(
    context: typer.Context,
    listen: Annotated[
        str | None, typer.Option(help="unix:/path or 127.0.0.1:port; without it a socket in a private folder.", metavar="ADDRESS")
    ] = None,
    slots: Annotated[str, typer.Option(help="Calls at once; auto: as many as a speed test gives.", metavar="N|auto")] = "auto",
    script: Annotated[
        Path | None, typer.Option(help="Serve the scripted frontend with this rehearsal script.", metavar="FILE")
    ] = None,
    knowledge: Annotated[
        Path | None, typer.Option(help="What the agent knows: a folder of Markdown files.", metavar="FOLDER")
    ] = None,
) -> None:
    """Serve ears and frontend to other processes on this machine, until SIGTERM; or ask a worker that does."""
    if context.invoked_subcommand is not None:
        if listen or script or knowledge or slots != "auto":
            raise typer.BadParameter(f"options of a worker to be started do not go with {context.invoked_subcommand}")
        return
    if script and knowledge:
        raise typer.BadParameter("give one of --script and --knowledge: a scripted agent knows its script")
    end_with_supervisor()
    wanted = _slots(slots)
    if listen:  # before the models are loaded
        check_unused(check_address(listen))
    hosted = _scripted(script) if script else _embedded(knowledge)
    with ExitStack() as stack:
        address = listen or f"unix:{stack.enter_context(runtime_folder())}/worker.sock"
        asyncio.run(serve(hosted, address, wanted or _measured(hosted)))


@app.command("health")
def health(address: Address) -> None:
    """Say how a worker is: what it serves, since when, and how many calls it could take now."""
    name, report = asyncio.run(_health(address))
    state = "draining: it takes no new calls and leaves with the last one" if report.draining else "taking calls"
    minutes, seconds = divmod(round(report.up_s), 60)
    typer.echo(f"{name}, venus-line {report.version}, {state}")
    typer.echo(f"up {minutes // 60}:{minutes % 60:02d}:{seconds:02d}, {report.served} calls served")
    typer.echo(f"{report.slots} slots, free for {report.frontend_free} calls ({report.ears_free} recognisers)")


@app.command("drain")
def drain(
    address: Address,
    within: Annotated[float, typer.Option(help="Seconds to wait for the last call.", min=0, max=3600)] = 600.0,
) -> None:
    """Let a worker take no new calls and leave with its last one; a supervisor then starts a fresh one in its place."""
    left = asyncio.run(_drain(address, within))
    if left:
        typer.echo(f"{left} sessions are still open after {within:g} s; it takes no new calls and leaves with the last one")
        raise typer.Exit(1)
    typer.echo("no call is left; it leaves")


async def _health(address: str) -> tuple[str, WorkerHealth]:
    async with connect_worker(address) as remote:
        return remote.frontend.info.name, await remote.health()


async def _drain(address: str, within_s: float) -> int:
    async with connect_worker(address) as remote:
        return await remote.drain(within_s)


# --- what it serves -----------------------------------------------------------------------------------------------------------


def _scripted(path: Path) -> Hosted:
    script = load_script(path)

    @asynccontextmanager
    async def opened() -> AsyncIterator[Hosts]:
        yield Hosts(ScriptedFrontend(script), ScriptedEars(script))

    return Hosted(opened, None)


def _embedded(knowledge: Path | None) -> Hosted:
    from agent.app.embedded import (  # its models and their runtime are for nobody else
        EmbeddedOptions,
        MouthVoice,
        embedded,
        load_models,
    )

    models = load_models(EmbeddedOptions(knowledge=knowledge))
    for finding in models.findings:
        log.warning("the documents", finding=str(finding))

    @asynccontextmanager
    async def opened() -> AsyncIterator[Hosts]:
        async with embedded(models) as (frontend, ears):
            yield Hosts(frontend, ears, MouthVoice(models.mouth))

    return Hosted(opened, models.turn_seconds)


def _slots(text: str) -> int | None:
    """The number given; None for `auto`."""
    if text == "auto":
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 4 or not LEAST_SLOTS <= int(text) <= MOST_SLOTS:
        raise Refused(f"--slots {text[:20]}: give auto, or a number from {LEAST_SLOTS} to {MOST_SLOTS}")
    return int(text)


def _measured(hosted: Hosted) -> int:
    if hosted.turn_seconds is None:
        return MOST_SLOTS
    speed = measure(hosted.turn_seconds, usable_cores(len(os.sched_getaffinity(0)), _cpu_max()))
    log.info("speed test", turn_cpu_ms=round(speed.turn_s * 1000), cores=speed.cores, slots=speed.slots)
    return speed.slots


def _cpu_max() -> str:
    """The quota of this process's control group (cgroup v2), empty where there is none."""
    try:
        group = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
        return Path(f"/sys/fs/cgroup/{group.removeprefix('0::/')}/cpu.max").read_text()
    except (OSError, StopIteration):
        return ""


# --- serving ------------------------------------------------------------------------------------------------------------------


async def serve(hosted: Hosted, address: str, slots: int) -> None:
    """Serve until a signal or a drain ends it; says `ready ADDRESS slots N` on standard output once it can be reached."""
    stop, at_once = _signals()
    async with (
        hosted.opened() as hosts,
        serve_worker(hosts.frontend, hosts.ears, address, slots, hosts.voice) as served,
    ):
        typer.echo(f"ready {served.address} slots {slots}")
        log.info("the worker is ready", address=served.address, slots=slots, frontend=hosts.frontend.info.name, pid=os.getpid())
        await run_until_one_ends(_until(stop), served.drained(), _report_stalls(LoopClock()))
        if served.open_sessions:
            log.info("the worker drains", sessions=served.open_sessions, within_s=DRAIN_S)
        await run_until_one_ends(_drained(served), _until(at_once))
        log.info("the worker leaves", sessions_cut_off=served.open_sessions)


async def _until(event: asyncio.Event) -> None:
    await event.wait()


async def _drained(served: Worker) -> None:
    await served.drain(DRAIN_S)


def _signals() -> tuple[asyncio.Event, asyncio.Event]:
    """Set by the first signal to end, and by the second; those ignored under nohup or in the background stay so."""
    stop, at_once = asyncio.Event(), asyncio.Event()

    def told() -> None:
        (at_once if stop.is_set() else stop).set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, told)
    return stop, at_once


async def _report_stalls(clock: Clock) -> None:
    while True:
        due_us = clock.now_us() + LOOK_EVERY_US
        await clock.sleep_until(due_us)
        late_us = clock.now_us() - due_us
        if late_us > STALL_US:
            log.error("the event loop stood still: no call was served", seconds=round(late_us / 1e6, 1))


def main() -> None:
    """Entry point of the command by itself: what it cannot do is one sentence and status 2."""
    try:
        logs.configure_from_environment()
        app()
    except VenusError as error:
        typer.echo(f"error {error}", err=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
