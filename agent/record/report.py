"""`report.html`: one self-contained page that shows a call, made from the files of its record.

The page's style and scripts are inlined, its data is embedded as JSON, and its policy lets run only the scripts that were
built in (by their hashes): what a caller said or is called cannot become markup or code. It plays `audio.ogg` beside it when
that is there.
"""

import base64
import hashlib
import json
import re
from dataclasses import asdict, fields, is_dataclass, replace
from enum import Enum
from importlib import resources
from pathlib import Path
from typing import Any

from agent.errors import Gone
from agent.record import folder as files
from agent.record.figures import duration, ending, figures, when
from agent.record.story import Story, tell
from agent.record.summary import CallSummary
from agent.timeline import codec
from agent.timeline.events import CATALOGUE
from agent.timeline.fields import fields_of, nested_types, redacted
from agent.timeline.log import Entry

SCRIPTS = ("page.js", "drawing.js", "timeline.js", "lanes.js", "pointing.js", "conversation.js", "events.js", "report.js")
"""In the order in which they run; later ones use what earlier ones define."""


def render_report(folder: Path, redact: bool = False) -> Path:
    """Write `report.html` into the folder of a record and return its path.

    `redact`: every text that is marked personal becomes a block of the same length, and the page offers no sound. Raises
    `Gone` when there is no timeline or the page cannot be written, `Refused` when the timeline cannot be read.
    """
    entries = list(codec.read(folder / files.TIMELINE))
    if redact:
        entries = [replace(entry, event=redacted(entry.event)) for entry in entries]
    notes: list[str] = []
    shown = page_data(entries) | {
        "redacted": redact,
        "audio": files.AUDIO if (folder / files.AUDIO).is_file() and not redact else None,
        "peaks": _peaks(folder, notes),
        "notes": notes,
    }
    _complete(folder, notes)
    path = folder / files.REPORT
    try:
        files.write_whole(path, page(shown))
    except OSError as error:
        raise Gone(f"the report {path} cannot be written: {files.reason(error)}") from None
    return path


def page_data(entries: list[Entry]) -> dict[str, Any]:
    """Everything of a timeline that the page shows, ready for JSON. Raises `Refused` when it is no whole timeline."""
    story = tell(entries)
    summary = CallSummary(story.started.call_id)
    for entry in entries:
        summary.add(entry)
    kinds = sorted({entry.event.kind for entry in entries})
    number = {kind: index for index, kind in enumerate(kinds)}
    return {
        "headline": ending(story),
        "when": when(story),
        "length": duration(story.length_us),
        "figures": [asdict(figure) for figure in figures(story, summary.figures(story.length_us))],
        "story": _story(story),
        "kinds": [_kind(kind) for kind in kinds],
        "types": _types(kinds),
        "events": [[entry.seq, entry.t, entry.cause, number[entry.event.kind], *_values(entry.event)] for entry in entries],
    }


def page(data: dict[str, Any]) -> bytes:
    """The page around its data."""
    assets = resources.files("agent.record") / "assets"
    style = (assets / "report.css").read_text("utf-8")
    scripts = [(assets / name).read_text("utf-8") for name in SCRIPTS]
    policy = (
        f"default-src 'none'; style-src {_allowed(style)}; script-src {' '.join(map(_allowed, scripts))}; "
        "media-src 'self' file:; img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "style": f"<style>{style}</style>",
        "data": embedded(data),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    template = (assets / "report.html").read_text("utf-8")
    html = re.sub(r"\{\{(\w+)\}\}", lambda slot: parts[slot[1]], template)
    return html.encode("utf-8", "replace")


def embedded(data: Any) -> str:
    """JSON that is safe between script tags: nothing in it can end the element, begin a comment or break a line of script."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _allowed(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def _story(story: Story) -> dict[str, Any]:
    """The story without what only its making needed."""
    plain = asdict(story)
    for said in plain["utterances"]:
        for unneeded in ("raw_words", "segments", "text"):
            del said[unneeded]
    del plain["started"], plain["ended"]
    started = story.started
    return plain | {
        "call_id": started.call_id,
        "line": started.line,
        "direction": started.direction,
        "remote": started.remote,
        "record": started.record,
    }


def _kind(kind: str) -> dict[str, Any]:
    event = CATALOGUE[kind]
    return {
        "kind": kind,
        "origin": event.origin,
        "says": " ".join((event.__doc__ or "").replace("`", "").split()),
        "fields": [[field.name, field.type, field.unit, field.personal] for field in fields_of(event)],
    }


def _types(kinds: list[str]) -> dict[str, list[str]]:
    """The names of the fields of every dataclass inside these events: in the page they are lists of values."""
    return {
        inner.__name__: [field.name for field in fields_of(inner)]
        for kind in kinds
        for inner in nested_types(CATALOGUE[kind])
        if not issubclass(inner, Enum)
    }


def _values(value: Any) -> Any:
    """A dataclass as the list of its values, at any depth."""
    if is_dataclass(value) and not isinstance(value, type):
        return [_values(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, tuple | list):
        return [_values(item) for item in value]
    return value


def _peaks(folder: Path, notes: list[str]) -> dict[str, Any] | None:
    """The envelope of both sides for drawing: per step one byte, the level to the power of 0.6 (255: full scale), in base64."""
    stored = _stored(folder / files.PEAKS, notes, "no waveform is drawn")
    if stored is None:
        return None
    try:
        full, step_us = float(stored["full_scale"]), int(stored["step_us"])
        sides = {
            side: base64.b64encode(bytes(round(255 * (min(max(level / full, 0.0), 1.0)) ** 0.6) for level in stored[side]))
            for side in ("caller", "agent")
        }
        if step_us <= 0:
            raise ValueError
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        notes.append(f"{files.PEAKS} is not an envelope, so no waveform is drawn.")
        return None
    return {"step_us": step_us} | {side: text.decode() for side, text in sides.items()}


def _complete(folder: Path, notes: list[str]) -> None:
    """Tell the reader what the record itself says it has lost."""
    stored = _stored(folder / files.SUMMARY, notes, "it is not known whether the record is whole")
    lost = stored.get("record") if stored else None
    if isinstance(lost, dict) and isinstance(lost.get("lost"), list):
        notes += [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in map(str, lost["lost"])]


def _stored(path: Path, notes: list[str], otherwise: str) -> dict[str, Any] | None:
    """A JSON object beside the timeline; None when it is missing, and a note for the reader when it cannot be read."""
    try:
        stored = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        stored = None
    if isinstance(stored, dict):
        return stored
    notes.append(f"{path.name} cannot be read, so {otherwise}.")
    return None
