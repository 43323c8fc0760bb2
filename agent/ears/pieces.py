"""The vocabulary of Moonshine: pieces of text by number, as its `tokenizer.bin` stores them.

Each piece is its length and its bytes; a length of 128 and more takes two bytes, the lower seven bits first. Numbers 3 to 258
are single bytes, for letters that have no piece of their own.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agent.errors import Refused

START, END = 1, 2
"""Numbers of the marks around a text."""
VOCABULARY = 32_768
_WORD_BEGINS = "▁"
_BYTES_FROM, _PIECES_FROM = 3, 259
_RESERVED = b"<<ST_"
_ENDS_OF_SENTENCE = {".", "?", "!", "?!", "!!", "??"}  # not "...", which is how an unfinished sentence is written

Numbers = npt.NDArray[np.int64]


class Pieces:
    """`marks`: the numbers of all pieces that are punctuation; `final`: of those among them that end a sentence."""

    def __init__(self, path: Path) -> None:
        """Raises `Refused` when `path` is no such file."""
        if not path.is_file():
            raise Refused(f"there is no {path.name} in the models folder: run `venus models install`")
        self._pieces = parse(path.read_bytes())
        texts = [piece.decode("utf-8", "ignore") for piece in self._pieces]
        self._is_mark = [number >= _PIECES_FROM and _is_mark(text) for number, text in enumerate(texts)]
        self.marks: Numbers = np.flatnonzero(self._is_mark)
        self.final: Numbers = np.array([number for number in self.marks if _ends_sentence(texts[number])])
        by_letters: defaultdict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(texts):
            by_letters[text.lower() if number >= _PIECES_FROM else str(number)].append(number)
        self._spellings = {number: np.array(same) for same in by_letters.values() for number in same}

    def piece(self, number: int) -> bytes:
        """Its bytes; empty for the marks around a text and for the reserved numbers behind the vocabulary proper."""
        piece = self._pieces[number]
        return b"" if number < _BYTES_FROM or piece.startswith(_RESERVED) else piece

    def is_mark(self, number: int) -> bool:
        """Whether it is punctuation and nothing else."""
        return self._is_mark[number]

    def spellings(self, number: int) -> Numbers:
        """The numbers of all pieces with the same letters, small or large, itself included."""
        return self._spellings[number]


def parse(content: bytes) -> list[bytes]:
    """All pieces, in the order of their numbers. Raises `Refused` when there are not exactly 32,768."""
    pieces, at = [], 0
    while at < len(content):
        length = content[at]
        at += 1
        if length >= 128 and at < len(content):
            length += (content[at] - 1) * 128
            at += 1
        pieces.append(content[at : at + length])
        at += length
    if at != len(content) or len(pieces) != VOCABULARY:
        raise Refused("tokenizer.bin is not the one of Moonshine: run `venus models install` again")
    return pieces


def text_of(pieces: Iterable[bytes]) -> str:
    """The pieces joined to words; bytes that make no letter are left out."""
    return " ".join(b"".join(pieces).decode("utf-8", "ignore").replace(_WORD_BEGINS, " ").split())


def _ends_sentence(mark: str) -> bool:
    return mark.strip(_WORD_BEGINS + "\"'") in _ENDS_OF_SENTENCE


def _is_mark(text: str) -> bool:
    bare = text.strip(_WORD_BEGINS)
    return bool(bare) and all(character in ".,;:?!…—-\"'" for character in bare)
