"""Sentences of others, made fit for an event: what a worker, a far end or an error says of itself may be anything."""

from dataclasses import fields, replace
from typing import TypeVar

from agent.timeline.events import Event

LONGEST_SENTENCE = 300
"""Characters kept of a sentence that others made."""

E = TypeVar("E", bound=Event)


def sentence(text: object, otherwise: str = "") -> str:
    """`str(text)` as one line that can be stored: cut to `LONGEST_SENTENCE`, half characters replaced. `otherwise` if empty."""
    said = str(text)[: 2 * LONGEST_SENTENCE]
    whole = said.encode(errors="replace").decode()
    line = " ".join(whole.split()) or otherwise
    return line if len(line) <= LONGEST_SENTENCE else line[: LONGEST_SENTENCE - 1] + "…"


def with_sentences(event: E) -> E:
    """The event with each of its texts as a `sentence`."""
    texts = {field.name: getattr(event, field.name) for field in fields(event)}  # type: ignore[arg-type]
    mended = {name: sentence(text) for name, text in texts.items() if type(text) is str and text}
    changed = {name: text for name, text in mended.items() if text != texts[name]}
    return replace(event, **changed) if changed else event  # type: ignore[type-var]
