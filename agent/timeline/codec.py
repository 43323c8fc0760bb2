"""The timeline as JSON Lines: a header line with the schema version, then one entry a line.

    {"venus_timeline": 1}
    {"seq": 0, "t": 0, "cause": null, "kind": "call.started", "event": {…}}

Encoding is canonical: equal entries give equal bytes, which is what strict replay compares.
"""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agent.errors import Fault, Gone, Refused
from agent.timeline.events import CATALOGUE
from agent.timeline.log import Entry, check_order

SCHEMA = 1
"""Version of the stored form. It rises when an older reader would misread a newer file."""

HEADER = b'{"venus_timeline": %d}\n' % SCHEMA
LONGEST_LINE = 1_000_000
"""Longest line a reader accepts, bytes."""


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(CATALOGUE[kind])


def prepare() -> None:
    """Build every encoder now; otherwise each is built at the first event of its kind, in half a millisecond to two."""
    for kind in CATALOGUE:
        _adapter(kind)


def encode(entry: Entry) -> bytes:
    """One line, with its newline."""
    cause = b"null" if entry.cause is None else b"%d" % entry.cause
    body = _adapter(entry.event.kind).dump_json(entry.event)
    return b'{"seq":%d,"t":%d,"cause":%s,"kind":"%s","event":%s}\n' % (
        entry.seq,
        entry.t,
        cause,
        entry.event.kind.encode(),
        body,
    )


def decode(line: bytes) -> Entry:
    """The entry of one line. Raises `Refused` with what is wrong."""
    try:
        raw = json.loads(line)
        kind, seq, t, cause = raw["kind"], raw["seq"], raw["t"], raw["cause"]
        if kind not in CATALOGUE:
            raise Refused(f"unknown event {kind!r}")
        if not (type(seq) is int and type(t) is int and (cause is None or type(cause) is int)):  # true is an int, too
            raise Refused("seq, t and cause must be whole numbers")
        event = _adapter(kind).validate_python(raw["event"])
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Refused(f"{kind}: field {where!r}: {first['msg']}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Refused(f"not a timeline entry ({type(error).__name__}: {error})") from None
    return Entry(seq, t, cause, event)


def read(path: Path) -> Iterator[Entry]:
    """The entries of a stored timeline, checked for order and causality as they come.

    Raises `Gone` when there is no such file and `Refused`, naming the line, when it is corrupt or written by a newer version.
    A last line without its newline (the process died while writing) ends the stream without an error.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise Gone(f"cannot read {path}: {error.strerror}") from None
    with file:
        _check_header(path, file.readline(LONGEST_LINE))
        previous = 0
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=2):
            if not line.endswith(b"\n"):
                if len(line) >= LONGEST_LINE:
                    raise Refused(f"{path}, line {number}: longer than {LONGEST_LINE} bytes; the file is corrupt")
                return
            try:
                entry = decode(line)
                if entry.seq != number - 2:
                    raise Refused(f"seq {entry.seq} where {number - 2} is due: lines are missing or doubled")
                check_order(entry, previous)
            except (Refused, Fault) as error:
                raise Refused(f"{path}, line {number}: {error}") from None
            previous = entry.t
            yield entry


def _check_header(path: Path, line: bytes) -> None:
    try:
        version = json.loads(line)["venus_timeline"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refused(f"{path} is not a timeline: its first line must be {HEADER.decode().strip()}") from None
    if type(version) is not int or version != SCHEMA:
        raise Refused(
            f"{path} has timeline schema {version!r}, this version reads {SCHEMA}: "
            "open it with the version of venus-line that wrote it (see its call.started event)"
        )


def write(path: Path, entries: Iterable[Entry]) -> None:
    """Store entries as a whole file."""
    with path.open("wb") as file:
        file.write(HEADER)
        for entry in entries:
            file.write(encode(entry))
