"""The page `docs/reference/timeline.md`, written from the event catalogue itself.

python -m agent.timeline.catalogue_page            write it
python -m agent.timeline.catalogue_page --check    exit 1 when it is out of date
"""

import sys
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path

from agent.timeline.codec import SCHEMA
from agent.timeline.events import CATALOGUE, Event
from agent.timeline.fields import fields_of, nested_types

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "timeline.md"
"""Where the page lies in a checkout."""

COMMAND = "python -m agent.timeline.catalogue_page"

_TITLES = {
    "call": "The call",
    "media": "Media",
    "line": "The line",
    "evidence": "Evidence",
    "frontend": "The frontend",
    "step": "Steps of the frontend",
    "command": "Commands",
    "utterance": "Speech",
    "floor": "The floor",
    "delegation": "Works and deliveries",
    "work": "Works and deliveries",
    "delivery": "Works and deliveries",
    "dtmf": "Keypad digits",
    "fault": "Faults",
    "record": "The record",
}

_HEAD = f"""# Timeline events

<!-- Written by `{COMMAND}` from agent/timeline/events.py. Do not edit. -->

The timeline of a call is `timeline.jsonl` in the folder of its record: a header line with the schema version (now {SCHEMA}), then
one event a line, in the order in which the call learned them.

```
{{"venus_timeline": {SCHEMA}}}
{{"seq": 0, "t": 0, "cause": null, "kind": "call.started", "event": {{…}}}}
```

| key | meaning |
| --- | --- |
| `seq` | number of the event, from 0 without gaps |
| `t` | when the call learned it: µs of the call's own clock, a multiple of 20,000 |
| `cause` | `seq` of the earlier event that led to it, or null |
| `kind` | which of the events below |
| `event` | its fields |

An *input* comes from outside; a *derived* event is computed from the inputs before it, and strict replay compares these byte for
byte. `covers` is the stretch of the call's clock an event is about and never reaches beyond `t`. Fields marked **personal** may
identify a person: redaction and retention go by that mark. What is said between the private tags is never stored, only its
length.
"""


def catalogue_page() -> str:
    """The whole page as Markdown."""
    groups: dict[str, list[type[Event]]] = {}
    for kind, event in CATALOGUE.items():
        prefix = kind.partition(".")[0]
        groups.setdefault(_TITLES.get(prefix, prefix.capitalize()), []).append(event)
    parts = [_HEAD, _contents(groups)]
    for title, events in groups.items():
        parts.append(f"## {title}\n")
        parts += [_event(event) for event in events]
    parts.append("## Values inside events\n")
    parts += [_value(kind) for kind in _values()]
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    """Write the page, or with `--check` only compare. Returns the exit status."""
    if arguments not in ([], ["--check"]):
        print(f"usage: {COMMAND} [--check]", file=sys.stderr)
        return 2
    if not PAGE.parent.is_dir():
        print(f"there is no folder {PAGE.parent}: run this in a checkout of the source", file=sys.stderr)
        return 2
    page = catalogue_page()
    if not arguments:
        PAGE.write_text(page, "utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text("utf-8") == page:
        return 0
    print(f"{PAGE} does not say what the code says: run `{COMMAND}` and commit the page", file=sys.stderr)
    return 1


def _contents(groups: dict[str, list[type[Event]]]) -> str:
    rows = [f"| {title} | {', '.join(_link(event) for event in events)} |" for title, events in groups.items()]
    return "\n".join(["| about | events |", "| --- | --- |", *rows, ""])


def _link(event: type[Event]) -> str:
    return f"[`{event.kind}`](#{event.kind.replace('.', '')})"


def _event(event: type[Event]) -> str:
    lines = [f"### {event.kind}\n", f"*{event.origin}* · {_prose(event)}\n"]
    return "\n".join([*lines, *_table(event, defaults=False)])


def _value(kind: type) -> str:
    lines = [f"### {kind.__name__}\n", f"{_prose(kind)}\n"]
    if issubclass(kind, Enum):
        return "\n".join([*lines, " · ".join(f"`{member.value}`" for member in kind), ""])
    return "\n".join([*lines, *_table(kind, defaults=True)])


def _table(owner: type, defaults: bool) -> list[str]:
    """The fields of a dataclass; nothing for one without. `defaults`: with a column for them, where any has one."""
    described = fields_of(owner)
    values = _defaults(owner) if defaults else {}
    if not described:
        return []
    last = " default |" if values else ""
    rows = [f"| field | type | unit | |{last}", f"| --- | --- | --- | --- |{' --- |' if values else ''}"]
    for field in described:
        mark = "**personal**" if field.personal else ""
        default = f" {values.get(field.name, '')} |" if values else ""
        rows.append(f"| `{field.name}` | {_cell(field.type)} | {field.unit} | {mark} |{default}")
    return [*rows, ""]


def _defaults(owner: type) -> dict[str, str]:
    """The defaults of a dataclass that are plain values."""
    if not is_dataclass(owner):
        return {}
    return {field.name: f"{field.default:,}" for field in fields(owner) if _is_number(field.default)} | {
        field.name: str(field.default).lower()
        for field in fields(owner)
        if field.default is not MISSING and not _is_number(field.default)
    }


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _values() -> list[type]:
    """The types of values inside events, each once, in the order in which the events name them."""
    return list(dict.fromkeys(kind for event in CATALOGUE.values() for kind in nested_types(event)))


def _prose(kind: type) -> str:
    return " ".join((kind.__doc__ or "").split())


def _cell(text: str) -> str:
    """The text of a type; the names of our own types lead to their tables."""
    names = {kind.__name__ for kind in _values()}
    words = [f"[{word}](#{word.lower()})" if word in names else word for word in text.split(" ")]
    return " ".join(words).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
