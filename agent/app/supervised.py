"""One process under our supervision: when it is ready, what it says, that it ends, and that it never outlives us.

It says `ready ADDRESS slots N` on its standard output once it can be reached. Everything else that it says, on either output,
goes to our log.
"""

import asyncio
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.app.lines import plain
from agent.clock import Clock
from agent.errors import Fault, Gone, Refused
from agent.logs import get_logger

SUPERVISOR = "VENUS_SUPERVISOR"
"""Names, in the environment of a supervised process, the process that it must not outlive."""
CANNOT = 2
"""Exit status of a command of ours that cannot do what it was asked; its last line says why."""
KILLED_WITHIN_S = 5.0
"""Even a killed process takes a moment to be gone: its memory is given back."""
READ_BYTES = 16_384
PAUSE_US = 20_000
"""Between two looks at the output: a process that never stops talking must not keep our loop busy."""
LONGEST_LINE = 2_000
"""Bytes; the rest of a longer line is dropped."""
MOST_LINES = 200
"""Lines of output that are logged in a second; the others are counted."""
READY = re.compile(r"ready (\S+) slots (\d{1,5})")
_PR_SET_PDEATHSIG = 1
_LEVELS = ("debug", "info", "warning", "error", "critical")
_NOT_PASSED_ON = frozenset(("self", "event", "level", "timestamp", "process"))
"""Keys of a log line that our own line has itself."""

log = get_logger("venus.supervisor")


def end_with_supervisor() -> None:
    """End at once when the supervisor that started this process does, however that ends; a process without one is left alone.

    The kernel sends SIGKILL, so that a process that hangs or is stopped goes as well. Raises `Gone` when it is gone already.
    """
    supervisor = os.environ.get(SUPERVISOR)
    if supervisor is None:
        return
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise Fault(f"the kernel does not tell of the supervisor's end: {os.strerror(ctypes.get_errno())}")
    if str(os.getppid()) != supervisor:
        raise Gone("the supervisor ended before this process had begun")


@contextmanager
def runtime_folder() -> Iterator[Path]:
    """A fresh private folder (0700) for sockets, in `XDG_RUNTIME_DIR` or else with the temporary files, while the block runs.

    Raises `Refused` when none can be made.
    """
    inside = os.environ.get("XDG_RUNTIME_DIR") or None
    try:
        made = tempfile.TemporaryDirectory(prefix="venus-", dir=inside, ignore_cleanup_errors=True)
    except OSError as error:
        raise Refused(f"no folder for sockets can be made in {inside or tempfile.gettempdir()}: {error.strerror}") from None
    with made as path:
        yield Path(path)


class LineCutter:
    """Output cut into lines, whatever comes: bytes that are no text are replaced, long lines cut off. Pure."""

    def __init__(self) -> None:
        self._rest = b""
        self._dropping = False

    def feed(self, data: bytes) -> list[str]:
        """The lines that are complete with `data`, without empty ones."""
        lines = []
        *ends, rest = (self._rest + data).split(b"\n")
        for end in ends:
            if not self._dropping:
                lines.append(end)
            self._dropping = False
        if len(rest) > LONGEST_LINE and not self._dropping:
            lines.append(rest)
            self._dropping = True
        self._rest = b"" if self._dropping else rest
        texts = (line[:LONGEST_LINE].decode(errors="replace").strip() for line in lines)
        return [text for text in texts if text]


@dataclass(frozen=True, slots=True)
class Ready:
    """What a process said when it could be reached."""

    address: str
    slots: int


class SupervisedProcess:
    """A process that was started by `start_process`; `stop` it in the end, whatever became of it."""

    def __init__(
        self,
        name: str,
        process: asyncio.subprocess.Process,
        output: asyncio.StreamReader,
        pipe: asyncio.ReadTransport,
        clock: Clock,
    ) -> None:
        self._name, self._process, self._pipe, self._clock = name, process, pipe, clock
        self._ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._lines = LineCutter()
        self._told: deque[int] = deque()
        self._untold = 0
        self._last = ""
        self._telling = asyncio.create_task(self._tell(output))

    @property
    def pid(self) -> int:
        """Its id, also when it is gone."""
        return self._process.pid

    async def ready(self, within_s: float) -> Ready:
        """What it says when it can be reached.

        Raises `Refused` when it cannot do what it was asked, `Gone` when it ends otherwise or is not ready within the bound.
        """
        ended = asyncio.create_task(self._process.wait())
        try:
            await asyncio.wait((ended, self._ready), timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                await asyncio.wait((self._telling,), timeout=1.0)  # its last words
                said = self._last.removeprefix("Error: ").removeprefix("error ")
                if self._process.returncode == CANNOT and said:
                    raise Refused(said)
                raise Gone(f"it {self.end} before it was ready" + (f": {said}" if said else ""))
            if not self._ready.done():
                raise Gone(f"it was not ready within {within_s:g} s")
            return self._ready.result()
        finally:
            ended.cancel()

    async def ended(self) -> None:
        """Return when it has ended."""
        await self._process.wait()

    def kill(self) -> None:
        """End it and whatever it started, at once."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    async def stop(self, within_s: float) -> None:
        """SIGTERM, and SIGKILL to what is left after the bound. It is gone when this returns or is cancelled."""
        try:
            if self._process.returncode is None:
                with suppress(ProcessLookupError):
                    self._process.terminate()
                async with asyncio.timeout(within_s):
                    await self._process.wait()
        except TimeoutError:
            log.warning("a process does not end and is killed", process=self._name, pid=self.pid, waited_s=within_s)
        finally:
            self.kill()
            with suppress(TimeoutError):
                async with asyncio.timeout(KILLED_WITHIN_S):
                    await self._process.wait()
            self._telling.cancel()
            self._pipe.close()
            await asyncio.gather(self._telling, return_exceptions=True)

    @property
    def end(self) -> str:
        """How it ended, as the end of a sentence."""
        status = self._process.returncode or 0
        if status >= 0:
            return f"ended with status {status}"
        names = {each.value: each.name for each in signal.Signals}
        return f"was killed by {names.get(-status, f'signal {-status}')}"

    # --- what it says ---

    async def _tell(self, output: asyncio.StreamReader) -> None:
        while data := await output.read(READ_BYTES):
            for line in self._lines.feed(data):
                self._take(line)
            await self._clock.sleep_until(self._clock.now_us() + PAUSE_US)

    def _take(self, line: str) -> None:
        said = READY.fullmatch(line)
        if said and not self._ready.done():
            self._ready.set_result(Ready(said[1], int(said[2])))
            return
        if not line.startswith("{"):
            self._last = plain(line)
        if self._may_tell():
            self._log(line)

    def _may_tell(self) -> bool:
        now_us = self._clock.now_us()
        while self._told and self._told[0] <= now_us - 1_000_000:
            self._told.popleft()
        if len(self._told) >= MOST_LINES:
            self._untold += 1
            return False
        if self._untold:
            log.warning("a process says too much", process=self._name, lines_left_out=self._untold)
            self._untold = 0
        self._told.append(now_us)
        return True

    def _log(self, line: str) -> None:
        own = _log_line(line)
        if own is None:
            log.info("a process says", process=self._name, says=plain(line))
            return
        fields = {key: value for key, value in own.items() if key not in _NOT_PASSED_ON and key.isidentifier()}
        level = own.get("level")
        tell = getattr(log, level if level in _LEVELS else "info")
        tell(plain(own["event"]), process=self._name, **fields)


def _log_line(line: str) -> dict[str, Any] | None:
    """The line as one of our own log (`VENUS_LOG=json`), None if it is anything else."""
    if not line.startswith("{"):
        return None
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) and isinstance(read.get("event"), str) else None


async def start_process(name: str, command: Sequence[str], clock: Clock) -> SupervisedProcess:
    """Start it, in a process group of its own, so that Ctrl-C is for us alone. Raises `Refused` when it cannot be started."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
        "OPENBLAS_NUM_THREADS": "1",
        "VENUS_LOG": "json",
        SUPERVISOR: str(os.getpid()),
    }
    output = asyncio.StreamReader(limit=READ_BYTES)
    reading, writing = os.pipe()
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(output), os.fdopen(reading, "rb", 0)
    )
    with ExitStack() as unless_started:
        unless_started.callback(pipe.close)
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=subprocess.DEVNULL, stdout=writing, stderr=writing, env=environment, start_new_session=True
            )
        except OSError as error:
            raise Refused(f"{command[0]} cannot be started: {error.strerror}") from None
        finally:
            os.close(writing)
        unless_started.pop_all()
    return SupervisedProcess(name, process, output, pipe, clock)
