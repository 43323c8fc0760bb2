"""What a record lacks, made afterwards from its timeline and its audio: the recorder was killed, or the disk was full."""

import json
from pathlib import Path
from typing import Any

from agent.errors import Gone, Refused
from agent.record import folder as at
from agent.record.peaks import Peaks
from agent.record.report import render_report
from agent.record.summary import CallSummary, encoded
from agent.timeline import codec
from agent.timeline.events import CallEnded
from media.oggopus import iter_ogg_opus, ogg_opus_format


def rebuild(folder: Path) -> Path:
    """Make `peaks.json` and `summary.json` where they are missing and `report.html` anew; returns the path of that.

    Raises `Gone` when there is no timeline or nothing can be written, `Refused` while the record is being written or when the
    timeline cannot be read.
    """
    if at.is_being_written(folder):
        raise Refused(f"the record of {folder.name} is being written: it gets its report when the call has ended")
    try:
        audio_us = _peaks(folder)
        summary = _stored(folder)
        if summary is None:
            summary = _summary(folder, audio_us)
            at.write_whole(folder / at.SUMMARY, encoded(summary))
        report = render_report(folder)
        summary["record"]["report"] = "written"
        summary["faults"].pop("report_failed", None)
        at.write_whole(folder / at.SUMMARY, encoded(summary))
    except OSError as error:
        raise Gone(f"the record of {folder.name} cannot be completed: {at.reason(error)}") from None
    return report


def _peaks(folder: Path) -> int:
    """Make `peaks.json` where it is missing and the audio can be read; how long the audio is then, µs."""
    if at.is_plain(folder / at.PEAKS) or not at.is_plain(folder / at.AUDIO):
        return 0
    samples = 0
    try:
        header = ogg_opus_format(folder / at.AUDIO)
        if header.channels != 2:
            return 0
        peaks = Peaks(header.rate_hz)
        for piece in iter_ogg_opus(folder / at.AUDIO):
            peaks.add(samples, piece)
            samples += len(piece)
    except ValueError:  # nothing had reached the file yet
        return 0
    at.write_whole(folder / at.PEAKS, peaks.encode())
    return samples * 1_000_000 // header.rate_hz


def _stored(folder: Path) -> dict[str, Any] | None:
    """The summary that is there."""
    try:
        stored = json.loads((folder / at.SUMMARY).read_bytes()) if at.is_plain(folder / at.SUMMARY) else None
    except (ValueError, RecursionError):
        return None
    whole = isinstance(stored, dict) and isinstance(stored.get("record"), dict) and isinstance(stored.get("faults"), dict)
    return stored if whole else None


def _summary(folder: Path, audio_us: int) -> dict[str, Any]:
    """The summary of what there is. That may be all of it, but only the recorder could have said so."""
    summary, t, ended = CallSummary(folder.name), 0, False
    for entry in codec.read(folder / at.TIMELINE):
        summary.add(entry)
        t, ended = entry.t, ended or isinstance(entry.event, CallEnded)
    sentence = at.incomplete(f"its recorder did not finish it; the {'call ended' if ended else 'timeline stops'}", t)
    record = {"state": "failed", "detail": sentence, "lost": [sentence], "report": "not made yet"}
    return {**summary.figures(max(t, audio_us)), "record": record}
