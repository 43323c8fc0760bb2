"""The folder of one call's record, and who may read it.

    <calls_dir>/<call_id>/
        timeline.jsonl   every event (agent.timeline.codec)
        audio.ogg        left: the caller as heard; right: the agent as sent
        peaks.json       loudness every 50 ms, for drawing
        summary.json     figures, without personal text
        report.html      the page that shows all of it

Folders are 0700 and files 0600 whatever the umask: a record is somebody's conversation.
"""

import fcntl
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

from agent.errors import Refused

TIMELINE = "timeline.jsonl"
AUDIO = "audio.ogg"
PEAKS = "peaks.json"
SUMMARY = "summary.json"
REPORT = "report.html"
FILES = (TIMELINE, AUDIO, PEAKS, SUMMARY, REPORT)

LONGEST_US = 24 * 3600 * 1_000_000
"""Media time that a record may reach, µs. Beyond it something is wrong with `t`, and silence would be written for hours."""

_CALL_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")


def is_call_id(name: str) -> bool:
    """The name can be a call's."""
    return _CALL_ID.fullmatch(name) is not None


def check_call_id(call_id: str) -> str:
    """The id itself, safe as the name of a folder. Raises `Refused` on any other."""
    if not is_call_id(call_id):
        raise Refused(
            f"{call_id[:80]!r} cannot be a call id: use 1 to 64 letters, digits, '.', '_' and '-', and no '.' at the beginning"
        )
    return call_id


def check_calls_dir(calls_dir: Path) -> None:
    """Raises `Refused` unless records can be made in `calls_dir`."""
    if not calls_dir.is_dir():
        raise Refused(f"there is no folder {calls_dir} for the records of calls: create it or name another one")
    if not os.access(calls_dir, os.W_OK | os.X_OK):
        raise Refused(f"records of calls cannot be written in {calls_dir}: give this user the right to write there")


def create_folder(folder: Path) -> None:
    """Make the folder of a new call, 0700. Raises `Refused`: it exists, its parent is missing or is not writable."""
    try:
        folder.mkdir(mode=0o700)
        folder.chmod(0o700)
    except FileExistsError:
        raise Refused(f"there is already a record at {folder}: a call id is used once") from None
    except FileNotFoundError:
        raise Refused(f"there is no folder {folder.parent} for the records of calls: create it or name another one") from None
    except OSError as error:
        raise Refused(f"the record {folder} cannot be made: {reason(error)}") from None


def create_file(path: Path) -> BinaryIO:
    """A new file, 0600, open for writing. Raises `OSError`, also when there is one already."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "wb", buffering=65536)


def unfinished(name: str) -> str:
    """What the file `name` is called while `write_whole` writes it."""
    return f".{name}.new"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it, the one before, or none. Raises `OSError`."""
    new = path.with_name(unfinished(path.name))
    new.unlink(missing_ok=True)
    try:
        with create_file(new) as file:
            file.write(content)
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def lock(file: BinaryIO) -> int:
    """Mark the record as being written, also after `file` is closed; returns a descriptor that carries the mark.

    The mark goes with that descriptor or with the process, however that ends. Raises `OSError`.
    """
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return os.dup(file.fileno())


def is_plain(path: Path) -> bool:
    """There is a file, and reading it ends: no link, pipe or device."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def is_being_written(folder: Path) -> bool:
    """Some process is writing this record now."""
    if not is_plain(folder / TIMELINE):
        return False
    try:
        with (folder / TIMELINE).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def reason(error: OSError) -> str:
    """What the system said, as part of a sentence."""
    text = error.strerror or type(error).__name__
    return text[:1].lower() + text[1:]


def clock_text(t_us: int) -> str:
    """Media time as `hh:mm:ss`."""
    seconds = max(0, t_us) // 1_000_000
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def incomplete(what: str, t_us: int) -> str:
    """The sentence that says why a record is not whole."""
    return f"the record is incomplete: {what} at {clock_text(t_us)}"
