"""Question files: what is asked, and what a right answer must say."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True, slots=True)
class Asked:
    """`alternatives`: strings of the documents; a right answer holds all of one of the lists. None for an unknown question."""

    text: str
    alternatives: tuple[tuple[str, ...], ...] = ()
    passage: str = ""

    @property
    def known(self) -> bool:
        return bool(self.alternatives)

    def answered_by(self, text: str) -> bool:
        """Whether all strings of one alternative stand in it, in whatever case."""
        low = text.lower()
        return any(all(each.lower() in low for each in strings) for strings in self.alternatives)


@dataclass(frozen=True, slots=True)
class Talk:
    """Turns of one caller; what counts is the answer to the last."""

    turns: tuple[str, ...]
    last: Asked


def read_questions(path: Path) -> list[Asked]:
    """Known ones first. `known` or `answered`: maps with `ask` and `says` or `says_any`; `unknown`: texts or maps with `ask`."""
    content = yaml.safe_load(path.read_text("utf-8"))
    return [*_known(content), *_unknown(content)]


def read_talks(path: Path) -> list[Talk]:
    """The list `dialogues`: `turns`, and `says` or `unknown: true`."""
    content = yaml.safe_load(path.read_text("utf-8"))
    return [
        Talk(tuple(each["turns"]), Asked(each["turns"][-1], (tuple(each["says"]),) if "says" in each else ()))
        for each in content.get("dialogues", [])
    ]


def _known(content: dict[str, list[dict[str, object]]]) -> Iterator[Asked]:
    for each in content.get("answered", content.get("known", [])):
        lists = each["says_any"] if "says_any" in each else [each["says"]]
        assert isinstance(lists, list)
        yield Asked(str(each["ask"]), tuple(tuple(strings) for strings in lists), str(each.get("passage", "")))


def _unknown(content: dict[str, list[dict[str, object]]]) -> Iterator[Asked]:
    for each in content["unknown"]:
        yield Asked(str(each["ask"]) if isinstance(each, dict) else str(each))
