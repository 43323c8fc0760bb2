"""The rules of the suite, proved on a suite of its own that breaks them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.peer

ROOT = Path(__file__).parents[1]

LEAKY = """
import asyncio, multiprocessing, os, socket, subprocess, sys, threading
import pytest
from agent.tasks import tagged

pytestmark = pytest.mark.KIND
kept = []


async def linger():
    await asyncio.sleep(3600)

def test_thread():
    kept.append(threading.Thread(target=threading.Event().wait, name="lingering-thread", daemon=True))
    kept[-1].start()

def test_file(tmp_path):
    kept.append((tmp_path / "left-open.txt").open("w"))

def test_file_in_a_cycle_is_collected(tmp_path):
    cycle = [(tmp_path / "in-a-cycle.txt").open("w")]
    cycle.append(cycle)

def test_port():
    kept.append(socket.create_server(("127.0.0.1", 0)))
    print("PORT", kept[-1].getsockname()[1])

def test_datagram_port():
    kept.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    kept[-1].bind(("127.0.0.1", 0))
    print("PORT", kept[-1].getsockname()[1])

def test_pipe():
    kept.append(os.pipe())

def test_child():
    kept.append(subprocess.Popen([sys.executable, "-c", "input()  # lingering-child"], stdin=subprocess.PIPE))

async def test_task():
    with tagged("call-7"):
        kept.append(asyncio.create_task(linger(), name="lingering-task"))

async def test_task_that_ends_by_itself():
    kept.append(asyncio.create_task(asyncio.sleep(0)))

def test_clean(tmp_path):
    with (tmp_path / "closed.txt").open("w"), socket.create_server(("127.0.0.1", 0)):
        thread = threading.Thread(target=print)
        thread.start()
        thread.join()
        subprocess.run([sys.executable, "-c", ""], check=True)

def test_last_gives_everything_back():
    for each in kept:
        if isinstance(each, subprocess.Popen):
            each.communicate(b"\\n")
"""

KINDS = """
import asyncio
import pytest

pytestmark = pytest.mark.KIND

async def test_loop():
    assert getattr(asyncio.get_running_loop(), "is_virtual", False) is VIRTUAL
"""

PLAIN = "def test_nothing():\n    pass\n"


class Suite:
    """A checkout with our configuration and conftest, and test modules of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "tests").mkdir()
        shutil.copy(ROOT / "pyproject.toml", root)
        for name in ("conftest.py", "leaks.py"):
            shutil.copy(ROOT / "tests" / name, root / "tests")

    def write(self, name: str, text: str) -> None:
        (self.root / "tests" / name).write_text(text)

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Exit status and output of pytest in this suite."""
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **environment}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", *arguments]
        done = subprocess.run(command, cwd=self.root, env=variables, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def test_modules_of_no_kind_of_two_kinds_and_of_an_unknown_one_are_not_collected(suite: Suite) -> None:
    suite.write("test_good.py", "import pytest\npytestmark = pytest.mark.unit\n" + PLAIN)
    suite.write("test_no_kind.py", PLAIN)
    suite.write("test_two_kinds.py", "import pytest\npytestmark = [pytest.mark.unit, pytest.mark.peer]\n" + PLAIN)
    suite.write("test_unknown_kind.py", "import pytest\npytestmark = pytest.mark.quick\n" + PLAIN)
    status, output = suite.run()
    assert status == pytest.ExitCode.INTERRUPTED
    assert "test_no_kind.py declares none: each test module declares exactly one kind" in output
    assert "test_two_kinds.py declares unit and peer: each test module declares exactly one kind" in output
    assert "'quick' not found in `markers` configuration option" in output
    assert set(re.findall(r"^ERROR tests/(\w+)\.py", output, re.MULTILINE)) == {
        "test_no_kind",
        "test_two_kinds",
        "test_unknown_kind",
    }


def test_what_a_test_leaves_behind_is_named(suite: Suite) -> None:
    suite.write("test_leaky.py", LEAKY.replace("KIND", "unit"))
    status, output = suite.run("-rA")
    assert status == pytest.ExitCode.TESTS_FAILED
    left = dict(re.findall(r"^(?:ERROR|FAILED) tests/test_leaky\.py::(\w+) - Failed: left behind: (.*)$", output, re.MULTILINE))
    ports = iter(re.findall(r"^PORT (\d+)$", output, re.MULTILINE))
    assert left.pop("test_thread") == "thread 'lingering-thread'"
    assert left.pop("test_file").endswith("left-open.txt")
    assert left.pop("test_port") == f"listening tcp port {next(ports)}"
    assert left.pop("test_datagram_port") == f"bound udp port {next(ports)}"
    assert re.fullmatch(r"pipe pipe:\[\d+\]; pipe pipe:\[\d+\]", left.pop("test_pipe"))
    assert re.match(r"child process \d+ \(.*lingering-child\); pipe", left.pop("test_child"))
    assert left.pop("test_task") == "task 'lingering-task' running linger of call 'call-7'"
    assert left == {}
    for name in ("test_clean", "test_file_in_a_cycle_is_collected", "test_task_that_ends_by_itself"):
        assert f"PASSED tests/test_leaky.py::{name}" in output


def test_a_task_left_on_a_real_loop_is_named_too(suite: Suite) -> None:
    suite.write("test_leaky.py", LEAKY.replace("KIND", "peer"))
    status, output = suite.run("-k", "test_task")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "left behind: task 'lingering-task' running linger of call 'call-7'" in output
    assert "1 failed, 1 passed" in output


def test_async_tests_run_on_the_loop_of_their_kind(suite: Suite) -> None:
    expected = {"unit": "True", "rehearsal": "True", "peer": "False", "model": "False", "bench": "False"}
    for kind, virtual in expected.items():
        suite.write(f"test_{kind}.py", KINDS.replace("KIND", kind).replace("VIRTUAL", virtual))
    status, output = suite.run("-q")
    assert (status, "5 passed" in output) == (0, True), output


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [((), {}, 20), (("--soak",), {}, 200), ((), {"VENUS_SOAK": "1"}, 200), ((), {"VENUS_SOAK": "0"}, 20)],
)
def test_long_loops_run_at_one_tenth_unless_soaked(
    suite: Suite, arguments: tuple[str, ...], environment: dict[str, str], expected: int
) -> None:
    lines = (
        "import pytest",
        "pytestmark = pytest.mark.unit",
        "def test_loops(loops):",
        f"    assert (loops(200), loops(3)) == ({expected}, EXPECTED)",
    )
    suite.write("test_loops.py", "\n".join(lines).replace("EXPECTED", "3" if expected == 200 else "1"))
    status, output = suite.run("-q", *arguments, **{"VENUS_SOAK": "0", **environment})
    assert status == 0, output
