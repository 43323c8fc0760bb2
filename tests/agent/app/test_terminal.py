"""`venus` as a process: exit codes, closed pipes, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent.timeline.codec import read
from agent.timeline.events import CallEnded
from agent.timeline.kinds import EndReason

pytestmark = pytest.mark.peer

VENUS = [sys.executable, "-m", "agent.app.cli"]
SETTINGS = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "VENUS_CALLS_DIR", "VENUS_LOG", "VENUS_LOG_LEVEL")


def environment(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in SETTINGS} | more


def venus(*arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*VENUS, *arguments], capture_output=True, text=True, timeout=60, env=environment(**more), check=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("calls", "list", "--calls", "/none"), "there is no folder /none"),
        (("calls", "show", "x", "--calls", "/"), "there is no call 'x' in /"),
        (("replay", "none.jsonl"), "there is no timeline at none.jsonl"),
        (("demo", "none.yaml"), "cannot read none.yaml: No such file or directory"),
        (("bench", "nope"), "there is no benchmark 'nope': there are core"),
    ],
)
def test_a_failure_is_one_sentence_on_stderr_and_status_2(arguments: tuple[str, ...], says: str) -> None:
    done = venus(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error {says}")
    assert done.stderr.count("\n") == 1


def test_a_wrong_log_level_and_a_full_disk_are_sentences_too(tmp_path: Path) -> None:
    done = venus("calls", "list", VENUS_LOG_LEVEL="loud")
    assert done.returncode == 2
    assert done.stderr.startswith("error there is no log level 'loud'")
    with open("/dev/full", "w") as full:
        done = subprocess.run([*VENUS, "calls", "list", "--calls", tmp_path], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "error the output cannot be written: No space left on device\n")


def test_a_reader_that_leaves_early_is_no_error_to_tell(tmp_path: Path) -> None:
    assert venus("demo", "--fast", "--out", tmp_path).returncode == 0
    (record,) = tmp_path.iterdir()
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*VENUS, "calls", "show", record.name, "--calls", tmp_path], stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_without_a_terminal_there_are_no_colours_and_no_cut_lines(tmp_path: Path) -> None:
    done = venus("demo", "--fast", "--out", tmp_path, TERM="xterm-256color")
    assert "\x1b" not in done.stdout
    assert "takes a moment. You will not need to bring anything but your card.” [finished]" in done.stdout


def test_ctrl_c_ends_the_call_and_its_record_is_whole(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*VENUS, "demo", "--out", tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONUNBUFFERED="1"),
        start_new_session=True,
    ) as running:
        assert running.stdout
        assert running.stderr
        for line in running.stdout:
            if "begins to speak" in line:
                break
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: the recorder's process, too
        told, failed = running.stdout.read(), running.stderr.read()
    assert running.returncode == 130
    assert "Traceback" not in failed
    (record,) = tmp_path.iterdir()
    assert f"{record}/report.html" in told
    ended = [entry.event for entry in read(record / "timeline.jsonl") if isinstance(entry.event, CallEnded)]
    assert [event.reason for event in ended] == [EndReason.SHUTDOWN]
    assert json.loads((record / "summary.json").read_text())["record"]["state"] == "complete"
