"""`venus worker`: what it says and serves, how it is asked and drained, and how it leaves."""

import asyncio
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner

from agent.app import worker as command
from agent.app.cli import app
from agent.app.worker import Hosted, Hosts
from agent.errors import Gone, Refused, VenusError
from agent.frontends.base import Brief
from agent.frontends.remote import connect_worker
from agent.frontends.script import load_script
from agent.frontends.scripted import ScriptedEars, ScriptedFrontend
from agent.frontends.speed import MOST_SLOTS

pytestmark = pytest.mark.peer

SCRIPT = "name: worker\nagent: {turns: [{on: open, say: Good morning}]}\n"
MADE = load_script(SCRIPT)
QUICK = (sys.executable, "-m", "agent.app.worker")
WHOLE = (sys.executable, "-m", "agent.app.cli", "worker")


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "worker.yaml"
    path.write_text(SCRIPT)
    return str(path)


@asynccontextmanager
async def hosts() -> AsyncIterator[Hosts]:
    """The scripted agent, for a worker in this process."""
    yield Hosts(ScriptedFrontend(MADE), ScriptedEars(MADE))


@contextmanager
def started(
    *arguments: str, entry: tuple[str, ...] = QUICK, wrapped_in: tuple[str, ...] = ()
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A worker and the line with which it is ready."""
    with subprocess.Popen(
        [*wrapped_in, *entry, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def venus(*arguments: str) -> str:
    """What a command prints that succeeds."""
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


# --- starting ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", [QUICK, WHOLE], ids=["quick", "whole"])
def test_without_an_address_it_listens_in_a_private_folder_and_leaves_nothing(
    entry: tuple[str, ...], script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with started("--script", script, entry=entry) as (process, ready):
        matched = re.fullmatch(r"ready (unix:(\S+)/worker\.sock) slots 64", ready)
        assert matched
        assert Path(matched[2]).parent == tmp_path
        assert stat.S_IMODE(Path(matched[2]).stat().st_mode) == 0o700
        assert stat.S_IMODE(Path(f"{matched[2]}/worker.sock").stat().st_mode) == 0o600
        assert "taking calls" in venus("worker", "health", matched[1])
        process.terminate()
        assert process.wait(20) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["worker.yaml"]


def test_on_a_port_it_says_which_and_takes_as_many_calls_as_it_is_told(script: str) -> None:
    with started("--script", script, "--listen", "127.0.0.1:0", "--slots", "3") as (_, ready):
        matched = re.fullmatch(r"ready (127\.0\.0\.1:\d+) slots 3", ready)
        assert matched
        with socket.create_connection(("127.0.0.1", int(matched[1].rpartition(":")[2])), 5):
            assert "3 slots, free for 3 calls (3 recognisers)" in venus("worker", "health", matched[1])


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--script", "/no/such.yaml"), "cannot read /no/such.yaml"),
        (("--slots", "0"), "--slots 0: give auto, or a number from 1 to 64"),
        (("--slots", "65"), "--slots 65: give auto"),
        (("--slots", "-1"), "--slots -1: give auto"),
        (("--slots", "²"), "--slots ²: give auto"),
        (("--slots", "many"), "--slots many: give auto"),
        (("--listen", "0.0.0.0:1"), "on this machine only"),
        (("--listen", "unix:/no/folder/s"), "does not exist"),
    ],
)
def test_what_it_cannot_do_is_one_sentence(
    arguments: tuple[str, ...], why: str, script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "--script" not in arguments:
        arguments = ("--script", script, *arguments)
    done = CliRunner().invoke(app, ["worker", *arguments])
    assert isinstance(done.exception, Refused)
    assert why in str(done.exception)
    monkeypatch.setattr(sys, "argv", ["worker", *arguments])
    with pytest.raises(SystemExit) as left:
        command.main()
    assert left.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"error {done.exception}"


def test_options_of_a_worker_do_not_go_with_a_question_to_one(script: str) -> None:
    done = CliRunner().invoke(app, ["worker", "--script", script, "health", "unix:/nowhere"])
    assert done.exit_code == 2
    assert "do not go with health" in done.output


def test_a_scripted_agent_is_given_no_documents(script: str) -> None:
    done = CliRunner().invoke(app, ["worker", "--script", script, "--knowledge", "documents"])
    assert done.exit_code == 2
    assert "give one of --script and --knowledge" in done.output


@asynccontextmanager
async def made() -> AsyncIterator[Hosts]:
    yield Hosts(ScriptedFrontend(MADE), ScriptedEars(MADE))


def test_auto_is_what_the_speed_test_gives_and_the_log_says_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    monkeypatch.setattr(command, "_cpu_max", lambda: "200000 100000")
    with capture_logs() as logged:
        assert command._measured(Hosted(made, lambda: 0.25)) == 9
    assert logged == [{"event": "speed test", "turn_cpu_ms": 250, "cores": 2.0, "slots": 9, "log_level": "info"}]
    assert command._measured(Hosted(made, None)) == MOST_SLOTS


def test_the_quota_of_this_machine_can_be_read_whatever_it_is() -> None:
    assert isinstance(command._cpu_max(), str)


# --- asking and draining ----------------------------------------------------------------------------------------------------


def test_health_says_what_an_operator_wants_to_know(script: str) -> None:
    with started("--script", script, "--slots", "2") as (_, ready):
        address = ready.split()[1]
        asyncio.run(_one_call(address))
        told = venus("worker", "health", address).splitlines()
        assert re.fullmatch(r"scripted worker, venus-line [\d.]+, taking calls", told[0])
        assert re.fullmatch(r"up 0:00:\d\d, 1 calls served", told[1])
        assert told[2] == "2 slots, free for 2 calls (2 recognisers)"


async def _one_call(address: str) -> None:
    async with connect_worker(address) as remote:
        await (await remote.frontend.open(Brief("c"))).close()


def test_a_wrong_address_is_refused_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def loading(_: Path | None) -> Hosted:
        raise AssertionError("the models were loaded for an address that cannot be used")

    monkeypatch.setattr(command, "_embedded", loading)
    monkeypatch.setattr(command, "end_with_supervisor", lambda: None)
    done = CliRunner().invoke(app, ["worker", "--listen", "0.0.0.0:1"])
    assert isinstance(done.exception, Refused)
    assert "workers are reached on this machine only" in str(done.exception)


@pytest.mark.parametrize("question", ["health", "drain"])
def test_where_no_worker_is_the_sentence_says_so(question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.frontends.remote.WITHIN_S", 0.2)
    done = CliRunner().invoke(app, ["worker", question, f"unix:{tmp_path}/none.sock"])
    assert isinstance(done.exception, Gone)
    assert "no worker at unix:" in str(done.exception)
    assert "nothing answered there within 0.2 s; start one with `venus worker --listen unix:" in str(done.exception)
    done = CliRunner().invoke(app, ["worker", question, "elsewhere:1"])
    assert isinstance(done.exception, VenusError)
    assert "this machine only" in str(done.exception)


def test_a_drained_worker_leaves(script: str) -> None:
    with started("--script", script) as (process, ready):
        assert venus("worker", "drain", ready.split()[1]) == "no call is left; it leaves\n"
        assert process.wait(10) == 0


async def test_a_drain_waits_no_longer_than_asked_and_the_worker_leaves_with_its_last_call(script: str) -> None:
    with started("--script", script) as (process, ready):
        address = ready.split()[1]
        async with connect_worker(address) as remote:
            session = await remote.frontend.open(Brief("c"))
            done = await asyncio.to_thread(CliRunner().invoke, app, ["worker", "drain", address, "--within", "0.1"])
            assert done.exit_code == 1
            assert "1 sessions are still open after 0.1 s" in done.output
            assert "draining" in await asyncio.to_thread(venus, "worker", "health", address)
            assert process.poll() is None
            await session.close()
            assert await asyncio.to_thread(process.wait, 10) == 0


# --- leaving ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("entry", [QUICK, WHOLE], ids=["quick", "whole"])
async def test_the_first_signal_drains_and_the_second_ends_it_at_once(
    entry: tuple[str, ...], number: signal.Signals, script: str
) -> None:
    with started("--script", script, entry=entry) as (process, ready):
        async with connect_worker(ready.split()[1]) as remote:
            session = await remote.frontend.open(Brief("c"))
            process.send_signal(number)
            async with asyncio.timeout(10):
                while not (await remote.health()).draining:  # noqa: ASYNC110 (another process)
                    await asyncio.sleep(0.02)
            process.send_signal(number)
            assert await asyncio.to_thread(process.wait, 8) == 0
            await session.close()
        assert process.stderr
        assert "sessions_cut_off=1" in process.stderr.read()


async def test_calls_that_do_not_end_are_cut_off_in_the_end(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "DRAIN_S", 0.1)
    hosted = Hosted(made, None)
    with capture_logs() as logged:
        serving = asyncio.create_task(command.serve(hosted, f"unix:{script}.sock", 1))
        async with connect_worker(f"unix:{script}.sock") as remote:
            session = await remote.frontend.open(Brief("c"))
            os.kill(os.getpid(), signal.SIGTERM)
            async with asyncio.timeout(5):
                await serving
            with pytest.raises(Gone):
                await anext(session.steps())
            await session.close()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            asyncio.get_running_loop().remove_signal_handler(number)
    assert logged[-1] == {"event": "the worker leaves", "sessions_cut_off": 1, "log_level": "info"}


def test_under_nohup_a_closed_terminal_ends_nothing(script: str) -> None:
    ignoring = ("sh", "-c", "trap '' HUP; exec \"$@\"", "sh")
    with started("--script", script, wrapped_in=ignoring) as (process, _):
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.terminate()
        assert process.wait(10) == 0


# --- while it serves --------------------------------------------------------------------------------------------------------


class StallingClock:
    """Wakes late by what it is told to, once each."""

    def __init__(self, *late_us: int) -> None:
        self._late = list(late_us)
        self._now_us = 0

    def now_us(self) -> int:
        return self._now_us

    def wall(self) -> datetime:
        raise NotImplementedError

    async def sleep_until(self, at_us: int) -> None:
        if not self._late:
            await asyncio.Event().wait()
        self._now_us = at_us + self._late.pop(0)
        await asyncio.sleep(0)


async def test_a_loop_that_stood_still_is_told_of() -> None:
    with capture_logs() as logged, suppress(TimeoutError):
        async with asyncio.timeout(0.1):
            await command._report_stalls(StallingClock(0, 900_000, 1_000_000, 1_250_000, 0, 61_000_000))
    assert [line["seconds"] for line in logged] == [1.2, 61.0]
