"""What a test leaves behind: tasks, threads, listening ports, child processes, files and sockets, each by name."""

import asyncio
import gc
import os
import sys
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.clock import pause
from agent.tasks import tag_of

GRACE_S = 1.0
"""Real seconds that threads, sockets and children get to finish closing before they count as left behind."""

_PROCESS_WIDE_THREADS = ("_poll_wrapper",)  # gRPC's one poller, started by its first asyncio object
_PROCESS_WIDE_CHILDREN = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
_IGNORED_TARGETS = ("/dev/null", "/dev/urandom", "/dev/random", "anon_inode:", "/proc/", "/sys/", "/memfd:")
_LISTEN = "0A"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What this process holds at one moment."""

    threads: frozenset[threading.Thread]
    children: frozenset[int]
    descriptors: Counter[str]


def snapshot() -> Snapshot:
    """Threads and children by identity, descriptors by what they point at."""
    numbers = _descriptors()
    counted = Counter(target for target, _ in numbers)
    return Snapshot(frozenset(threading.enumerate()), frozenset(_children()), counted)


def left_behind(before: Snapshot, grace_s: float = GRACE_S) -> list[str]:
    """What is there now and was not in `before`, as sentences' ends; empty when all was given back.

    What hangs in reference cycles is collected first: only what is still referenced counts.
    """
    leaks = _compare(before)
    waited = 0.0
    while leaks:
        gc.collect()
        leaks = _compare(before)
        if not leaks or waited >= grace_s:
            break
        pause(0.05)
        waited += 0.05
    return leaks


async def tasks_left() -> list[str]:
    """The tasks of the running loop, this one aside, that are not done after a few passes of the loop."""
    for _ in range(5):
        await asyncio.sleep(0)
    others = asyncio.all_tasks() - {asyncio.current_task()}
    return sorted(_describe_task(task) for task in others)


def _describe_task(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    name = getattr(coroutine, "__qualname__", repr(coroutine))
    call = tag_of(task)
    return f"task {task.get_name()!r} running {name}" + (f" of call {call!r}" if call else "")


def _compare(before: Snapshot) -> list[str]:
    now = snapshot()
    leaks = [f"thread {thread.name!r}" for thread in now.threads - before.threads if not _is_process_wide(thread)]
    leaks += [f"child process {pid} ({_command(pid)})" for pid in now.children - before.children if not _is_helper(pid)]
    leaks += [_describe_descriptor(target) for target in (now.descriptors - before.descriptors).elements()]
    return sorted(leaks)


def _is_process_wide(thread: threading.Thread) -> bool:
    return not thread.is_alive() or any(name in thread.name for name in _PROCESS_WIDE_THREADS)


def _children() -> list[int]:
    found: list[int] = []
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, path.read_text().split())
    return found


def _command(pid: int) -> str:
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            or "ended, not waited for"
        )
    except OSError:
        return "gone"


def _is_helper(pid: int) -> bool:
    command = _command(pid)
    return command == "gone" or any(name in command for name in _PROCESS_WIDE_CHILDREN)


def _descriptors() -> list[tuple[str, int]]:
    """(target, number) of every descriptor that somebody must close."""
    shared = _process_wide_numbers()
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the listing's own descriptor is closed by now
            target = os.readlink(f"/proc/self/fd/{number}")
            if not target.startswith(_IGNORED_TARGETS) and int(number) not in shared:
                found.append((target, int(number)))
    return found


def _process_wide_numbers() -> set[int]:
    tracker = sys.modules.get("multiprocessing.resource_tracker")
    number = getattr(getattr(tracker, "_resource_tracker", None), "_fd", None)
    return set() if number is None else {number}


def _describe_descriptor(target: str) -> str:
    if not target.startswith("socket:["):
        return f"pipe {target}" if target.startswith("pipe:") else f"open file {target}"
    return _describe_socket(target.removeprefix("socket:[").removesuffix("]"))


def _describe_socket(inode: str) -> str:
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = row.split()
            if fields[9] == inode:
                port = int(fields[1].rpartition(":")[2], 16)
                what = "listening" if fields[3] == _LISTEN else "open" if table.startswith("tcp") else "bound"
                return f"{what} {table} port {port}"
    for row in Path("/proc/net/unix").read_text().splitlines()[1:]:
        fields = row.split()
        if fields[6] == inode:
            return f"unix socket {fields[7] if len(fields) > 7 else 'without a name'}"
    return f"socket {inode}, neither bound nor connected"
