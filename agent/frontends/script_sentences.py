"""What is wrong with a rehearsal script, as one sentence with its place: for people who never heard of the validator."""

from typing import Any

from pydantic import ValidationError

from agent.frontends.yaml_lines import Lines

_SAID = {
    "extra_forbidden": "this key is not known here: look for a misspelling",
    "missing": "this key is missing",
    "model_type": "keys with values belong here, `key: value` each",
    "tuple_type": "a list belongs here, each entry of it behind `- `",
    "string_type": "a text belongs here",
    "int_parsing": "{input} is no whole number",
    "int_from_float": "{input} is no whole number",
    "int_parsing_size": "{input} is too long for a number",
    "float_parsing": "{input} is no number",
    "finite_number": "{input} is no number",
    "bool_parsing": "{input} is neither true nor false",
    "string_too_short": "there is no text",
    "string_too_long": "the text is longer than {max_length} characters",
    "too_long": "there are more than {max_length} entries",
}
"""By pydantic's name of the fault; what is not here is said in pydantic's own words."""

_PATTERNS = {
    "name": "a name has 1 to 80 letters, digits, spaces, '.', '_' and '-', and begins with a letter or a digit",
    "press": "keys are 0-9, *, # and A-D, 1 to 64 of them",
}
_LONGEST_SHOWN = 40


def sentence(error: ValidationError, lines: Lines) -> str:
    """The first fault of the script: "agent.turns[2].say: there is no text, line 14"."""
    faults: list[Any] = error.errors(include_url=False)
    where = _where(faults[0])
    reasons = dict.fromkeys(_reason(fault) for fault in faults if _where(fault) == where)  # several: of a union
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where).lstrip(".")
    return f"{place}{': ' if where else ''}{', and '.join(reasons)}, line {lines.of(where)}"


def _where(fault: Any) -> tuple[int | str, ...]:
    """pydantic also names the alternatives of a union; keys of ours are identifiers, and unknown keys are anything."""
    place = fault["loc"]
    known = place[:-1] if fault["type"] == "extra_forbidden" else place
    return (*(part for part in known if isinstance(part, int) or part.isidentifier()), *place[len(known) :])


def _reason(fault: Any) -> str:
    if fault["type"] == "string_pattern_mismatch" and fault["loc"][-1] in _PATTERNS:
        return _PATTERNS[fault["loc"][-1]]
    said = _SAID.get(fault["type"])
    if said:
        return said.format(**{**fault.get("ctx", {}), "input": _shown(fault["input"])})
    reason = str(fault["msg"]).removeprefix("Value error, ")
    return reason[0].lower() + reason[1:]


def _shown(value: object) -> str:
    text = str(value)
    return repr(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…")
