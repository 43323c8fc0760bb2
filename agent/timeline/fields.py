"""What the types say about the fields of an event (type, unit, personal mark), and redaction by that mark alone."""

from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from agent.timeline.kinds import PERSONAL

BLOCK = "█"
"""Stands for one character of redacted text."""

T = TypeVar("T")

_UNITS = {"_us": "µs", "_hz": "Hz", "_dbov": "dBov", "_db": "dB", "_chars": "characters"}
_SAMPLE_COUNTS = {"received", "concealed", "silent", "start"}


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """A field as its type describes it. `type`: as a person writes it; `unit`: "" where there is none; `personal`: marked so."""

    name: str
    type: str
    unit: str
    personal: bool


def fields_of(owner: type) -> tuple[FieldInfo, ...]:
    """The fields of an event or of a value inside one, in order."""
    hints = _hints(owner)
    return tuple(
        FieldInfo(field.name, _written(hints[field.name]), _unit(field.name), _marked(hints[field.name]))
        for field in fields(owner)
    )


def nested_types(owner: type) -> list[type]:
    """The dataclasses and enumerations that occur in the fields of `owner`, at any depth, outermost first, each once."""
    found: list[type] = []
    for hint in _hints(owner).values():
        for inner in _own_types_in(hint):
            deeper = nested_types(inner) if is_dataclass(inner) else []
            found += [kind for kind in (inner, *deeper) if kind not in found]
    return found


def redacted(event: T) -> T:
    """The same event with every personal text, at any depth, replaced by blocks of the same length."""
    redone: T = _redact(event, type(event))
    return redone


@cache
def _hints(owner: type) -> dict[str, Any]:
    names = {field.name for field in fields(owner)}
    return {name: hint for name, hint in get_type_hints(owner, include_extras=True).items() if name in names}


def _marked(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return PERSONAL in hint.__metadata__
    return get_origin(hint) is not Literal and any(_marked(part) for part in get_args(hint))


def _redact(value: Any, hint: Any) -> Any:
    if isinstance(value, str):
        return BLOCK * len(value) if _marked(hint) else value
    if is_dataclass(value) and not isinstance(value, type):
        inner = _hints(type(value))
        return replace(value, **{name: _redact(getattr(value, name), part) for name, part in inner.items()})
    if isinstance(value, tuple | list):
        part = next(iter(get_args(hint)), Any)
        return type(value)(_redact(item, part) for item in value)
    if isinstance(value, dict):
        key_hint, value_hint = get_args(hint) or (Any, Any)
        return {_redact(key, key_hint): _redact(item, value_hint) for key, item in value.items()}
    return value


def _own_types_in(hint: Any) -> list[type]:
    if isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, Enum)):
        return [hint]
    return [kind for part in get_args(hint) for kind in _own_types_in(part)]


def _written(hint: Any) -> str:
    """A type as a person writes it: the mark left out (it has a column of its own), module names dropped."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _written(get_args(hint)[0])
    if origin is Literal:
        return " | ".join(f'"{choice}"' for choice in get_args(hint))
    if isinstance(hint, type) and origin is None:
        return "none" if hint is type(None) else hint.__name__
    parts = [_written(part) for part in get_args(hint) if part is not Ellipsis]
    if origin is tuple:
        return f"list of {parts[0]}"
    if origin is dict:
        return f"map of {parts[0]} to {parts[1]}"
    return " | ".join(parts)


def _unit(name: str) -> str:
    if name in _SAMPLE_COUNTS or "samples" in name:
        return "samples"
    return next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
