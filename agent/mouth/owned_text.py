"""A text that is rewritten step by step while each character stays the property of the written word it came from."""

import re
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher

Say = Callable[[re.Match[str]], str | tuple[str, ...] | None]
"""What a match becomes: text, a text for each written word in it, or None to leave it as it is."""


class OwnedText:
    """Starts as the text itself; rules rewrite it; `spoken()` gives what has become of each written word."""

    def __init__(self, text: str) -> None:
        self.written = tuple(text.split())
        self.text = " ".join(self.written)
        # A space belongs to the word before it.
        self._owners = [number for number, word in enumerate(self.written) for _ in range(len(word) + 1)][: len(self.text)]

    def rewrite(self, pattern: re.Pattern[str], say: Say, group: int | str = 0) -> None:
        """Replace `group` of every match by what `say` makes of the match.

        One text for several written words is shared out among them word by word, in order.
        """
        edits = []
        for match in pattern.finditer(self.text):
            start, end = match.span(group)
            if start >= 0 and (said := say(match)) is not None:
                edits.append((start, end, said))
        self.replace(edits)

    def replace(self, edits: Iterable[tuple[int, int, str | tuple[str, ...]]]) -> None:
        """Replace stretches of the text, each (start, end, what it becomes), in order; one that overlaps another is left."""
        text, owners, done = list[str](), list[int](), 0
        for start, end, said in edits:
            if start < done:
                continue
            text.append(self.text[done:start])
            owners += self._owners[done:start]
            for owner, part in self._shares(start, end, said):
                text.append(part)
                owners += [owner] * len(part)
            done = end
        self.text = "".join([*text, self.text[done:]])
        self._owners = owners + self._owners[done:]

    def translate(self, table: Callable[[str], str]) -> None:
        """Replace every character by what `table` makes of it."""
        parts = [table(letter) for letter in self.text]
        self._owners = [owner for owner, part in zip(self._owners, parts, strict=True) for _ in part]
        self.text = "".join(parts)

    def normalise(self, library: Callable[[str], str]) -> None:
        """Put the whole text through `library`; what it leaves alone anchors what it changes."""
        spoken = self.spoken()
        before = [(word, owner) for owner, said in enumerate(spoken) for word in said.split()]
        after = library(" ".join(word for word, _ in before)).split()
        owners = list[int]()
        matcher = SequenceMatcher(None, [word for word, _ in before], after, autojunk=False)
        for kind, first, last, to, until in matcher.get_opcodes():
            block = before[first:last] or before[first - 1 : first] or before[:1]
            if kind == "equal":
                owners += [owner for _, owner in block]
            elif kind != "delete":
                owners += _shared(after[to:until], block, library)
        self.text = " ".join(after)
        self._owners = [owner for word, owner in zip(after, owners, strict=True) for _ in range(len(word) + 1)][: len(self.text)]

    def spoken(self) -> tuple[str, ...]:
        """For each written word what is to be said, single spaces between the words; empty for those that are not said."""
        said = [list[str]() for _ in self.written]
        for letter, owner in zip(self.text, self._owners, strict=True):
            said[owner].append(letter)
        return tuple(" ".join("".join(letters).split()) for letters in said)

    def _shares(self, start: int, end: int, said: str | tuple[str, ...]) -> list[tuple[int, str]]:
        owners = list(dict.fromkeys(self._owners[at] for at in range(start, end) if not self.text[at].isspace()))
        if not owners:
            return []
        if isinstance(said, tuple) and len(said) == len(owners):
            parts = list(zip(owners, said, strict=True))
        elif len(owners) == 1:
            return [(owners[0], said if isinstance(said, str) else " ".join(said))]
        else:
            words = (said if isinstance(said, str) else " ".join(said)).split()
            parts = [(owners[number * len(owners) // len(words)], word) for number, word in enumerate(words)]
        # No space behind the last one: a comma or a full stop may follow.
        return [(owner, part if number + 1 == len(parts) else part + " ") for number, (owner, part) in enumerate(parts)]


def _shared(words: list[str], block: list[tuple[str, int]], library: Callable[[str], str]) -> list[int]:
    """The owner of each of `words`, which the library made of `block`: as it treats each alone if that adds up, else in order."""
    owners = [owner for word, owner in block for _ in library(word).split()]
    if len(owners) == len(words):
        return owners
    return [block[number * len(block) // len(words)][1] for number in range(len(words))]
