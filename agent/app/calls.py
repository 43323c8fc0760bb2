"""The records there are: list them, find one, delete one."""

import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.errors import Gone, Refused
from agent.record import folder as at

_LONGEST_SUMMARY = 1 << 20
"""A longer `summary.json` is none of ours, bytes."""


@dataclass(frozen=True, slots=True)
class CallRow:
    """One record in a list.

    `state`: `complete`; `failed` (something is missing, `detail` says what); `recording` (being written now); `incomplete` (the
    recorder was killed, or `summary.json` cannot be read). Figures are None where no summary tells them.
    """

    call_id: str
    folder: Path
    state: str
    detail: str = ""
    started: str | None = None
    line: str | None = None
    lasted_s: float | None = None
    end: str | None = None
    turns: int | None = None


def list_calls(calls_dir: Path) -> list[CallRow]:
    """All records, the newest first; those of unknown beginning last, by name. Raises `Refused` when there is no such folder."""
    rows = [_row(folder) for folder in _folders(calls_dir)]
    rows.sort(key=lambda row: row.call_id)
    rows.sort(key=lambda row: row.started or "", reverse=True)
    return rows


def find_call(calls_dir: Path, id_or_prefix: str) -> CallRow:
    """The record of that id, or the only one whose id begins so.

    Raises `Gone` when there is none, `Refused` when there are several.
    """
    ids = sorted(folder.name for folder in _folders(calls_dir))
    if id_or_prefix in ids:
        return _row(calls_dir / id_or_prefix)
    found = [call_id for call_id in ids if id_or_prefix and call_id.startswith(id_or_prefix)]
    if not found:
        raise Gone(f"there is no call {id_or_prefix!r} in {calls_dir}: `venus calls` lists them")
    if len(found) > 1:
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise Refused(f"{id_or_prefix!r} could be {', '.join(found[:3])}{more}: give more of the id")
    return _row(calls_dir / found[0])


def delete_call(calls_dir: Path, call_id: str) -> Path:
    """Delete the record of exactly that id, and return where it was.

    Raises `Gone` when there is none, `Refused` when it is being written, holds files that are no part of a record, or may not be
    deleted. A link is never followed.
    """
    folder = calls_dir / at.check_call_id(call_id)
    if folder not in _folders(calls_dir):
        raise Gone(f"there is no call {call_id!r} in {calls_dir}: `venus calls` lists them")
    if at.is_being_written(folder):
        raise Refused(f"the call {call_id} is being recorded: end it before deleting its record")
    strangers = [path.name for path in folder.iterdir() if path.name not in at.FILES and not _is_left_over(path.name)]
    if strangers:
        raise Refused(f"{folder} also holds {strangers[0]!r}, which is no part of a record: move it away first")
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise Refused(f"{folder} cannot be deleted: {at.reason(error)}") from None
    return folder


def _is_left_over(name: str) -> bool:
    """A file whose writing was interrupted."""
    return name in {at.unfinished(file) for file in at.FILES}


def _folders(calls_dir: Path) -> list[Path]:
    if not calls_dir.is_dir():
        raise Refused(f"there is no folder {calls_dir}, so no calls were recorded there: name another with --calls")
    return [path for path in calls_dir.iterdir() if at.is_call_id(path.name) and not path.is_symlink() and path.is_dir()]


def _row(folder: Path) -> CallRow:
    summary = _summary(folder)
    if summary is None:
        state = "recording" if at.is_being_written(folder) else "incomplete"
        return CallRow(folder.name, folder, state)
    record = summary.get("record")
    record = record if isinstance(record, dict) else {}
    return CallRow(
        call_id=folder.name,
        folder=folder,
        state="complete" if record.get("state") == "complete" else "failed",
        detail=_text(record.get("detail")) or "",
        started=_text(summary.get("started")),
        line=_text(summary.get("line")),
        lasted_s=_number(summary.get("lasted_s")),
        end=_text(summary.get("end")),
        turns=round(_number(summary.get("turns")) or 0),
    )


def _summary(folder: Path) -> dict[str, Any] | None:
    path = folder / at.SUMMARY
    try:
        if not at.is_plain(path) or path.stat().st_size > _LONGEST_SUMMARY:
            return None
        stored = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return stored if isinstance(stored, dict) and "venus_summary" in stored else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def make_calls_dir(folder: Path, option: str) -> None:
    """Have a folder for records. Raises `Refused` when it cannot be made; `option` is what names another."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise Refused(f"the record cannot go to {folder}: {error.strerror}; name another folder with {option}") from None
