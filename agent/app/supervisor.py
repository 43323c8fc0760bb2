"""Keeps workers running: starts them, notices when one is gone or hangs, starts another in its place, and leaves none behind.

    async with supervise(worker_command("--script", "table.yaml"), clock) as workers, connect_pool(workers.roster, clock) as pool:
        ...

A worker that is gone is followed by another at once. Only when they die young again and again, each waits longer than the last.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from agent.app.supervised import Ready, SupervisedProcess, runtime_folder, start_process
from agent.clock import Clock
from agent.errors import Gone, VenusError
from agent.frontends.remote import connect_worker
from agent.frontends.roster import Roster
from agent.logs import get_logger
from agent.tasks import run_until_one_ends

READY_WITHIN_S = 120.0
"""A worker that cannot be reached by then is killed: on a slow disk its models take a while."""
STOP_WITHIN_S = 15.0
"""From SIGTERM to SIGKILL; a worker waits ten seconds for calls that are still open."""
ASK_EVERY_US = 1_000_000
ASK_WITHIN_US = 1_500_000
MOST_UNANSWERED = 2
"""A worker that so often in a row does not say in time how it is hangs: four seconds at most until it is killed."""
OLD_US = 10_000_000
"""A worker that could be reached for so long did not die young."""
AT_ONCE = 2
"""Deaths in youth in a row after which the next worker still starts at once."""
FIRST_DELAY_US, LONGEST_DELAY_US = 1_000_000, 60_000_000

CommandFactory = Callable[[str, str], Sequence[str]]
"""`command(address, slots)`: the command line of a worker that listens at `address`; `slots` is a number or `auto`."""

log = get_logger("venus.supervisor")


def worker_command(*options: str) -> CommandFactory:
    """The command of our own worker with these options of `venus worker` (not `--listen` and `--slots`)."""

    def command(address: str, slots: str) -> Sequence[str]:
        return (sys.executable, "-m", "agent.app.worker", "--listen", address, "--slots", slots, *options)

    return command


class Backoff:
    """When a worker that is gone is followed by the next. Pure."""

    def __init__(self) -> None:
        self._young = 0

    def delay_us(self, lived_us: int) -> int:
        """How long to wait after one that could be reached for `lived_us` (0: never)."""
        self._young = self._young + 1 if lived_us < OLD_US else 0
        if self._young <= AT_ONCE:
            return 0
        return min(FIRST_DELAY_US << min(self._young - AT_ONCE - 1, 10), LONGEST_DELAY_US)


@dataclass(frozen=True, slots=True)
class RunningWorker:
    """A worker that can be reached. `life` counts the processes that were started in its place, from 1."""

    number: int
    life: int
    pid: int
    address: str
    slots: int


class SupervisedWorkers:
    """What is running; made by `supervise`."""

    def __init__(self, count: int) -> None:
        self.roster = Roster(expected=count)
        """Their addresses, for a pool."""
        self._running: dict[int, RunningWorker] = {}

    @property
    def running(self) -> tuple[RunningWorker, ...]:
        """Those that can be reached now, by number."""
        return tuple(self._running[number] for number in sorted(self._running))

    def came(self, worker: RunningWorker) -> None:
        """It can be reached."""
        self._running[worker.number] = worker
        self.roster.add(worker.address)

    def went(self, number: int) -> None:
        """It cannot be reached any more, if it could be."""
        worker = self._running.pop(number, None)
        if worker:
            self.roster.remove(worker.address)


class _Keeper:
    """One place among the workers: a process, and after it another."""

    def __init__(self, number: int, command: CommandFactory, folder: Path, workers: SupervisedWorkers, clock: Clock) -> None:
        self.first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the first process can be reached; holds why it cannot be."""
        self._number, self._command, self._folder = number, command, folder
        self._workers, self._clock = workers, clock
        self._backoff = Backoff()
        self._life = 0
        self._slots = "auto"
        self._ready_us: int | None = None

    async def keep(self) -> None:
        """Have a worker running until this is cancelled. Returns when the first one cannot be started."""
        while True:
            why = await self._one()
            if not self.first.done():
                self.first.set_exception(why)
                return
            lived_us = 0 if self._ready_us is None else self._clock.now_us() - self._ready_us
            delay_us = self._backoff.delay_us(lived_us)
            lived = {"lived_s": round(lived_us / 1e6, 1), "again_in_s": delay_us / 1e6}
            log.warning("a worker is gone", worker=self._number, why=str(why), **lived)
            if delay_us:
                await self._clock.sleep_until(self._clock.now_us() + delay_us)

    async def _one(self) -> VenusError:
        """One process from start to end; why it is gone."""
        self._life += 1
        self._ready_us = None
        socket = self._folder / f"{self._number}-{self._life}.sock"  # one that hangs must not be in the way of the next
        try:
            name = f"worker {self._number}"
            process = await start_process(name, self._command(f"unix:{socket}", self._slots), self._clock)
        except VenusError as error:
            return error
        try:
            ready = await process.ready(READY_WITHIN_S)
            await run_until_one_ends(process.ended(), self._watch(process, ready))
            return Gone(f"it {process.end}")
        except VenusError as error:
            process.kill()
            return error
        finally:
            self._workers.went(self._number)
            await process.stop(STOP_WITHIN_S)
            with suppress(FileNotFoundError):
                socket.unlink()

    async def _watch(self, process: SupervisedProcess, ready: Ready) -> None:
        """Ask it again and again how it is. Raises `Gone` when it hangs."""
        unanswered = 0
        async with connect_worker(ready.address) as worker:
            self._came(process, ready)
            while unanswered < MOST_UNANSWERED:
                asked_us = self._clock.now_us()
                try:
                    await worker.health(ASK_WITHIN_US / 1e6)
                    unanswered = 0
                    await self._clock.sleep_until(asked_us + ASK_EVERY_US)
                except Gone:  # at once, when it is just leaving
                    unanswered += 1
                    await self._clock.sleep_until(asked_us + ASK_WITHIN_US)
        raise Gone(f"it did not say within {ASK_WITHIN_US / 1e6:g} s how it is, {unanswered} times in a row")

    def _came(self, process: SupervisedProcess, ready: Ready) -> None:
        self._slots = str(ready.slots)  # what was measured once needs no second speed test
        self._ready_us = self._clock.now_us()
        self._workers.came(RunningWorker(self._number, self._life, process.pid, ready.address, ready.slots))
        log.info("a worker is ready", worker=self._number, pid=process.pid, slots=ready.slots, life=self._life)
        if not self.first.done():
            self.first.set_result(None)


@asynccontextmanager
async def supervise(command: CommandFactory, clock: Clock, count: int = 1) -> AsyncIterator[SupervisedWorkers]:
    """Run `count` workers while the block runs. It is entered when all can be reached; when it is left, none of them is there.

    Raises `Refused` with the worker's own sentence when it cannot do what it is asked, `Gone` when it fails at its first start.
    """
    workers = SupervisedWorkers(count)
    with runtime_folder() as folder:
        keepers = [_Keeper(number, command, folder, workers, clock) for number in range(count)]
        tasks = [asyncio.create_task(keeper.keep(), name=f"worker {number}") for number, keeper in enumerate(keepers)]
        for task in tasks:
            task.add_done_callback(_report_fault)
        try:
            await asyncio.gather(*(keeper.first for keeper in keepers))
            yield workers
        finally:
            for waiting in (*tasks, *(keeper.first for keeper in keepers)):
                waiting.cancel()
            await asyncio.gather(*tasks, *(keeper.first for keeper in keepers), return_exceptions=True)


def _report_fault(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("nobody keeps a worker running any more", worker=task.get_name(), exc_info=error)
