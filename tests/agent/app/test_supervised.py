"""One supervised process: what it says, how it ends, and that it is gone."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from agent.app import supervised
from agent.app.supervised import LONGEST_LINE, MOST_LINES, LineCutter, Ready, SupervisedProcess, runtime_folder, start_process
from agent.clock import LoopClock
from agent.errors import Gone, Refused

pytestmark = pytest.mark.peer

READY = "print('ready unix:/w.sock slots 3', flush=True)\n"
FOR_EVER = "import time; time.sleep(600)\n"


@asynccontextmanager
async def process(code: str, stop_within_s: float = 10.0) -> AsyncIterator[SupervisedProcess]:
    """A Python program under supervision; gone when the block is left."""
    started = await start_process("worker 0", (sys.executable, "-S", "-c", code), LoopClock())
    try:
        yield started
    finally:
        await started.stop(stop_within_s)
        assert not psutil.pid_exists(started.pid) or psutil.Process(started.pid).status() == psutil.STATUS_ZOMBIE


# --- its output -------------------------------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_lines_do_not_depend_on_how_the_output_is_cut(pieces: list[bytes]) -> None:
    apart, whole = LineCutter(), LineCutter()
    assert [line for piece in pieces for line in apart.feed(piece)] == whole.feed(b"".join(pieces))


def test_a_line_without_end_is_cut_off_and_its_rest_dropped() -> None:
    cutter = LineCutter()
    lines = [line for _ in range(1_000) for line in cutter.feed(b"x" * 1_000)]
    assert [len(line) for line in lines] == [LONGEST_LINE]
    assert cutter.feed(b"still the same line\nthe next\xff\n\n  \n") == ["the next\ufffd"]


async def test_what_it_says_goes_to_our_log() -> None:
    own = json.dumps({"event": "speed test", "level": "warning", "timestamp": "t", "self": 1, "slots": 9, "not a name": 2})
    code = f"import sys; print('hello\\x1b[31m'); print({own!r}, file=sys.stderr, flush=True)\n{READY}{FOR_EVER}"
    with capture_logs() as logged:
        async with process(code) as started:
            assert await started.ready(10) == Ready("unix:/w.sock", 3)
    assert {"event": "a process says", "says": "hello\ufffd[31m", "process": "worker 0", "log_level": "info"} in logged
    assert {"event": "speed test", "slots": 9, "process": "worker 0", "log_level": "warning"} in logged


async def test_garbage_is_nothing_but_said() -> None:
    says = ["ready", "ready x slots y", "READY unix:/w.sock slots 3", "{", '{"event": 3}', "[" * 1_500, "{" + '"a":{' * 300]
    code = f"for line in {says!r}: print(line)\nimport os; os.write(1, bytes(range(256)))\nprint()\n{READY}{FOR_EVER}"
    with capture_logs() as logged:
        async with process(code) as started:
            assert await started.ready(10) == Ready("unix:/w.sock", 3)
    said = [line["says"] for line in logged]
    assert said[: len(says)] == says
    assert len(said) > len(says)


async def test_one_that_never_stops_talking_neither_fills_the_log_nor_keeps_our_loop_busy() -> None:
    with capture_logs() as logged:
        async with process(f"{READY}while True: print('x' * 60)") as started:
            await started.ready(10)
            turns = 0
            clock = LoopClock()
            until_us = clock.now_us() + 2_200_000
            while clock.now_us() < until_us:
                await clock.sleep_until(clock.now_us() + 1_000)
                turns += 1
    assert turns > 300
    assert 0 < len(logged) <= 4 * MOST_LINES
    assert any(line["event"] == "a process says too much" and line["lines_left_out"] > 0 for line in logged)


# --- its end ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "error", "why"),
    [
        ("import sys; print('noise'); print('error no such script', file=sys.stderr); sys.exit(2)", Refused, "no such script"),
        ("import sys; print('Error: No such option: --x', file=sys.stderr); sys.exit(2)", Refused, "No such option: --x"),
        ("import sys; sys.exit(2)", Gone, "it ended with status 2 before it was ready"),
        ("raise SystemExit('out of memory')", Gone, "it ended with status 1 before it was ready: out of memory"),
        ("import os; os.kill(os.getpid(), 11)", Gone, "it was killed by SIGSEGV before it was ready"),
        ("pass", Gone, "it ended with status 0 before it was ready"),
        (FOR_EVER, Gone, "it was not ready within 0.5 s"),
    ],
)
async def test_one_that_does_not_become_ready_says_why(code: str, error: type[Exception], why: str) -> None:
    async with process(code) as started:
        with pytest.raises(error) as raised:
            await started.ready(0.5 if code == FOR_EVER else 10)
    assert str(raised.value) == why


async def test_a_program_that_is_not_there_is_refused() -> None:
    with pytest.raises(Refused, match="/no/such/program cannot be started: No such file"):
        await start_process("worker 0", ("/no/such/program",), LoopClock())


async def test_one_that_ignores_sigterm_is_killed_with_what_it_started() -> None:
    child = "import subprocess, sys; print('child', subprocess.Popen(['sleep', '600']).pid, flush=True)\n"
    code = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{child}{READY}{FOR_EVER}"
    with capture_logs() as logged:
        async with process(code, stop_within_s=0.2) as started:
            await started.ready(10)
    assert "a process does not end and is killed" in [line["event"] for line in logged]
    (pid,) = [int(line["says"].split()[1]) for line in logged if line.get("says", "").startswith("child")]
    await asyncio.to_thread(_gone, pid)


def _gone(pid: int) -> None:
    """Wait for the end of a process that is not our child."""
    with suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(10)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_one_that_is_stopped_is_gone_as_well() -> None:
    async with process(READY + FOR_EVER, stop_within_s=0.2) as started:
        await started.ready(10)
        os.kill(started.pid, signal.SIGSTOP)


SUPERVISOR_CODE = """
import asyncio, sys
from agent.app.supervised import start_process
from agent.clock import LoopClock

async def main():
    child = "from agent.app.supervised import end_with_supervisor as end; end(); print('ready x slots 1', flush=True); " \\
        "import time; time.sleep(600)"
    started = await start_process("worker 0", (sys.executable, "-c", child), LoopClock())
    await started.ready(20)
    print(started.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize("stopped", [False, True], ids=["alive", "hanging"])
def test_it_does_not_outlive_its_supervisor_however_that_ends(stopped: bool) -> None:
    with subprocess.Popen([sys.executable, "-c", SUPERVISOR_CODE], stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout
        pid = int(supervisor.stdout.readline())
        if stopped:
            os.kill(pid, signal.SIGSTOP)
        supervisor.kill()
    _gone(pid)


def test_one_whose_supervisor_is_gone_already_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from agent.app.supervised import end_with_supervisor as end; end()"
    environment = {**os.environ, supervised.SUPERVISOR: "999999999"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "the supervisor ended before this process had begun" in done.stderr


def test_one_without_a_supervisor_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(supervised.SUPERVISOR, raising=False)
    supervised.end_with_supervisor()
    assert psutil.Process().is_running()


# --- the folder of its sockets ----------------------------------------------------------------------------------------------


def test_the_runtime_folder_is_private_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with runtime_folder() as folder:
        assert folder.parent == tmp_path
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "left.sock").touch()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "none"))
    with pytest.raises(Refused, match=r"no folder for sockets can be made in .*none: No such file"), runtime_folder():
        pytest.fail("made one in nothing")
