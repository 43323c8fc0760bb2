"""Signals to `venus demo`: the call ends with a reason, its record is whole, nothing is left, and the status names the signal."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from agent.app.calls import list_calls
from agent.timeline.codec import read
from agent.timeline.events import CallEnded
from agent.timeline.kinds import EndReason

pytestmark = pytest.mark.peer

DEMO = [sys.executable, "-m", "agent.app.cli", "demo", "--no-open", "--out"]


@contextmanager
def demo(out: Path, *wrapped_in: str) -> Iterator[subprocess.Popen[str]]:
    """A demo whose agent has begun to speak."""
    with subprocess.Popen(
        [*wrapped_in, *DEMO, out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as running:
        assert running.stdout
        for line in running.stdout:
            if "begins to speak" in line:
                break
        yield running


def status_of(running: subprocess.Popen[str], recorders: list[psutil.Process], out: Path) -> int:
    """Wait for the end of both processes, check the record; the exit status."""
    assert len(recorders) == 1
    _, failed = running.communicate(timeout=20)
    assert failed == ""
    _, left = psutil.wait_procs(recorders, timeout=5)
    assert left == []
    (row,) = list_calls(out)
    assert (row.state, row.end) == ("complete", "shutdown")
    last = [entry.event for entry in read(row.folder / "timeline.jsonl") if isinstance(entry.event, CallEnded)]
    assert [event.reason for event in last] == [EndReason.SHUTDOWN]
    assert json.loads((row.folder / "summary.json").read_text())["record"]["report"] == "written"
    return running.returncode


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_call_in_order(tmp_path: Path, number: signal.Signals, status: int) -> None:
    with demo(tmp_path) as running:
        recorders = psutil.Process(running.pid).children()
        running.send_signal(number)
        assert status_of(running, recorders, tmp_path) == status


def test_several_at_once_are_one(tmp_path: Path) -> None:
    """A service manager may send SIGTERM and SIGHUP together, and both again."""
    with demo(tmp_path) as running:
        recorders = psutil.Process(running.pid).children()
        for _ in range(3):
            running.send_signal(signal.SIGTERM)
            running.send_signal(signal.SIGHUP)
        assert status_of(running, recorders, tmp_path) in (143, 129)


def test_in_the_background_of_a_script(tmp_path: Path) -> None:
    """There SIGINT is ignored."""
    with demo(tmp_path, "sh", "-c", "trap '' INT; exec \"$@\"", "sh") as running:
        recorders = psutil.Process(running.pid).children()
        running.send_signal(signal.SIGINT)
        running.send_signal(signal.SIGTERM)
        assert status_of(running, recorders, tmp_path) == 143


def test_under_nohup_a_closed_terminal_ends_nothing(tmp_path: Path) -> None:
    with demo(tmp_path, "sh", "-c", "trap '' HUP; exec \"$@\"", "sh") as running:
        recorders = psutil.Process(running.pid).children()
        running.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(0.5)
        running.send_signal(signal.SIGTERM)
        assert status_of(running, recorders, tmp_path) == 143
