"""Workers under supervision: restarted when gone, replaced when hanging, never a storm, none left behind."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from agent.app import supervisor
from agent.app.supervisor import (
    AT_ONCE,
    FIRST_DELAY_US,
    LONGEST_DELAY_US,
    OLD_US,
    Backoff,
    RunningWorker,
    SupervisedWorkers,
    supervise,
    worker_command,
)
from agent.clock import LoopClock
from agent.errors import Gone, Refused
from agent.frontends.base import Brief
from agent.frontends.pool import connect_pool
from agent.frontends.remote import connect_worker

pytestmark = pytest.mark.peer

WORKER = """
sys.argv[1:] = ["--listen", sys.argv[1], "--script", "{}"]
worker.main()
"""
"""The last lines of a worker that was altered."""
SCRIPT = "name: worker\nagent: {turns: [{on: open, say: Good morning}]}\n"


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "worker.yaml"
    path.write_text(SCRIPT)
    return str(path)


def python(code: str) -> supervisor.CommandFactory:
    """The command of a worker that runs `code`, with its address and its slots as arguments."""
    imports = "import asyncio, os, signal, sys, time\nfrom agent.app import worker\n"
    return lambda address, slots: (sys.executable, "-c", imports + code, address, slots)


async def until(met: Callable[[], bool], within_s: float = 15.0) -> None:
    """Wait for other processes."""
    async with asyncio.timeout(within_s):
        while not met():  # noqa: ASYNC110 (other processes)
            await asyncio.sleep(0.01)


def has_socket(worker: RunningWorker) -> bool:
    return Path(worker.address.removeprefix("unix:")).exists()


async def successor(workers: SupervisedWorkers, of: RunningWorker) -> RunningWorker:
    """The worker that runs in the place of one that is gone."""
    await until(lambda: any(one.number == of.number and one.life > of.life for one in workers.running))
    return next(one for one in workers.running if one.number == of.number)


# --- when -------------------------------------------------------------------------------------------------------------------


def test_the_next_one_starts_at_once_unless_they_die_young_again_and_again() -> None:
    backoff = Backoff()
    assert [backoff.delay_us(OLD_US) for _ in range(20)] == [0] * 20
    assert [backoff.delay_us(OLD_US - 1) for _ in range(AT_ONCE + 3)] == [0] * AT_ONCE + [FIRST_DELAY_US << n for n in range(3)]
    assert [backoff.delay_us(0) for _ in range(50)][-1] == LONGEST_DELAY_US
    assert backoff.delay_us(OLD_US) == 0
    assert backoff.delay_us(0) == 0, "one that lived well ends the row"


# --- starting ---------------------------------------------------------------------------------------------------------------


async def test_workers_are_ready_when_entered_and_gone_when_left(script: str) -> None:
    async with supervise(worker_command("--script", script), LoopClock(), count=2) as workers:
        first, second = workers.running
        assert sorted(workers.roster.addresses) == sorted((first.address, second.address))
        assert (first.slots, second.slots) == (64, 64)
        for worker in workers.running:
            async with connect_worker(worker.address) as remote:
                assert (await remote.health()).slots == worker.slots
        folder = Path(first.address.removeprefix("unix:")).parent
        assert len(list(folder.iterdir())) == 2
    assert not folder.exists()
    assert not psutil.pid_exists(first.pid)
    assert not psutil.pid_exists(second.pid)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--script", "/no/such.yaml"), "cannot read /no/such.yaml: No such file or directory"),
        (("--script",), "Option '--script' requires an argument."),
        (("--nonsense",), "No such option: --nonsense"),
    ],
)
async def test_a_worker_that_cannot_start_is_one_sentence(options: tuple[str, ...], why: str) -> None:
    with pytest.raises(Refused) as refused:
        async with supervise(worker_command(*options), LoopClock(), count=2):
            pytest.fail("started")
    assert str(refused.value) == why


async def test_a_program_that_is_not_there_is_one_sentence() -> None:
    def command(address: str, slots: str) -> Sequence[str]:
        return ("/no/such/program", address, slots)

    with pytest.raises(Refused, match="/no/such/program cannot be started"):
        async with supervise(command, LoopClock()):
            pytest.fail("started")


async def test_a_worker_that_is_never_ready_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "READY_WITHIN_S", 0.5)
    code = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: print('not yet'); time.sleep(0.01)"
    with pytest.raises(Gone, match="it was not ready within"):
        async with supervise(python(code), LoopClock()):
            pytest.fail("started")


async def test_a_start_that_is_cancelled_leaves_nothing() -> None:
    async def start() -> None:
        async with supervise(python("time.sleep(600)"), LoopClock(), count=3):
            pytest.fail("started")

    starting = asyncio.create_task(start())
    children = psutil.Process().children
    await until(lambda: len([one for one in children() if "sleep" in " ".join(one.cmdline())]) == 3)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting


# --- restarting -------------------------------------------------------------------------------------------------------------


async def test_a_killed_worker_is_replaced_at_once_and_told_of(script: str) -> None:
    with capture_logs() as logged:
        async with supervise(
            worker_command(
                "--script",
                script,
            ),
            LoopClock(),
            count=2,
        ) as workers:
            first, second = workers.running
            os.kill(first.pid, signal.SIGKILL)
            await until(lambda: workers.running == (second,))
            assert workers.roster.addresses == (second.address,)
            again = await successor(workers, first)
            assert again.life == 2
            assert again.address != first.address
            assert workers.roster.addresses == (second.address, again.address)
            assert not has_socket(first)
    (gone,) = [line for line in logged if line["event"] == "a worker is gone"]
    assert (gone["worker"], gone["why"], gone["again_in_s"]) == (0, "it was killed by SIGKILL", 0)


async def test_what_the_first_worker_measured_is_not_measured_again(script: str) -> None:
    asked = []

    def command(address: str, slots: str) -> Sequence[str]:
        asked.append(slots)
        return worker_command("--script", script)(address, slots)

    async with supervise(command, LoopClock()) as workers:
        (first,) = workers.running
        os.kill(first.pid, signal.SIGKILL)
        assert (await successor(workers, first)).slots == 64
    assert asked == ["auto", "64"]


async def test_workers_that_die_young_again_and_again_are_no_storm(script: str) -> None:
    dies = "async def die(clock):\n    await asyncio.sleep(0.3)\n    os._exit(3)\nworker._report_stalls = die\n"
    with capture_logs() as logged:
        async with supervise(python(dies + WORKER.format(script)), LoopClock()) as workers:
            await until(lambda: sum(line["event"] == "a worker is gone" for line in logged) >= AT_ONCE + 1)
            await asyncio.sleep(0.5)
            assert workers.running == ()
    gone = [line for line in logged if line["event"] == "a worker is gone"]
    assert [(line["why"], line["again_in_s"]) for line in gone] == [
        ("it ended with status 3", 0),
        ("it ended with status 3", 0),
        ("it ended with status 3", 1),
    ]


async def test_a_worker_that_hangs_is_noticed_killed_and_replaced(script: str) -> None:
    with capture_logs() as logged:
        async with supervise(worker_command("--script", script), LoopClock()) as workers:
            (first,) = workers.running
            os.kill(first.pid, signal.SIGSTOP)
            assert (await successor(workers, first)).life == 2
            assert not psutil.pid_exists(first.pid)
    (gone,) = [line for line in logged if line["event"] == "a worker is gone"]
    assert gone["why"] == "it did not say within 1.5 s how it is, 2 times in a row"


async def test_a_worker_that_only_says_that_it_is_ready_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.frontends.remote.WITHIN_S", 0.3)
    code = "print('ready', sys.argv[1], 'slots 1', flush=True); time.sleep(600)"
    with pytest.raises(Gone, match="no worker at unix:"):
        async with supervise(python(code), LoopClock()):
            pytest.fail("started")


async def test_a_worker_that_was_drained_is_followed_by_a_fresh_one(script: str) -> None:
    clock = LoopClock()
    with capture_logs() as logged:
        async with supervise(worker_command("--script", script), clock) as workers, connect_pool(workers.roster, clock) as pool:
            (first,) = workers.running
            session = await pool.open(Brief("c"))
            async with connect_worker(first.address) as remote:
                assert await remote.drain(0.1) == 1
                assert workers.running == (first,), "its last call is served to the end"
                await session.close()
            again = await successor(workers, first)
            assert again.life == 2
            await (await pool.open(Brief("d"))).close()
    (gone,) = [line for line in logged if line["event"] == "a worker is gone"]
    assert gone["why"] == "it ended with status 0"


# --- stopping ---------------------------------------------------------------------------------------------------------------


async def test_a_worker_that_does_not_stop_is_killed(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "STOP_WITHIN_S", 0.3)
    code = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WORKER.format(script)
    with capture_logs() as logged:
        async with supervise(python(code), LoopClock(), count=2) as workers:
            pids = [worker.pid for worker in workers.running]
    assert [psutil.pid_exists(pid) for pid in pids] == [False, False]
    assert sum(line["event"] == "a process does not end and is killed" for line in logged) == 2


async def test_an_error_inside_stops_the_workers_too(script: str) -> None:
    pids = []
    with suppress(ZeroDivisionError):
        async with supervise(worker_command("--script", script), LoopClock()) as workers:
            pids += [worker.pid for worker in workers.running]
            raise ZeroDivisionError
    assert [psutil.pid_exists(pid) for pid in pids] == [False]
