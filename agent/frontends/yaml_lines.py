"""YAML read as plain text scalars, with the line of every place in it."""

from dataclasses import dataclass, field
from typing import Any

import yaml

MOST_NODES = 50_000
"""Most keys and values in a file."""
DEEPEST = 32
"""Deepest nesting."""

Place = tuple[int | str, ...]


@dataclass
class Lines:
    """Where in the file a place of the data stands, counted from 1."""

    known: dict[Place, int] = field(default_factory=dict)

    def of(self, place: Place) -> int:
        """The line of `place` or, when it is not in the file (a missing key), of what it belongs to."""
        while place and place not in self.known:
            place = place[:-1]
        return self.known.get(place, 1)


def read_yaml(text: str) -> tuple[Any, Lines]:
    """Mappings, lists and text; every scalar is its text. An empty document is an empty mapping.

    Raises `yaml.YAMLError`: also for a key given twice, for a key that is no text, and for more than `MOST_NODES` nodes (anchors
    let a small file unfold without end) or `DEEPEST` levels.
    """
    lines = Lines()
    loader = yaml.BaseLoader(text)
    try:
        root = loader.get_single_node()
    finally:
        loader.dispose()
    if root is None:
        return {}, lines
    return _plain(root, (), lines), lines


def _problem(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _plain(node: yaml.Node, place: Place, lines: Lines) -> Any:
    if len(lines.known) > MOST_NODES:
        raise _problem(node, f"more than {MOST_NODES} entries")
    if len(place) > DEEPEST:
        raise _problem(node, f"nested more than {DEEPEST} deep")
    lines.known[place] = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        if not node.value.isprintable() and any("\ud800" <= character <= "\udfff" for character in node.value):
            raise _problem(node, "half of a character (a lone surrogate escape)")
        return node.value
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*place, number), lines) for number, item in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        raise _problem(node, "an unknown kind of entry")
    data: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _problem(key, "a key must be plain text")
        if key.value in data:
            raise _problem(key, f"the key {key.value!r} is given twice")
        data[key.value] = _plain(value, (*place, key.value), lines)
        lines.known[(*place, key.value)] = key.start_mark.line + 1
    return data
