"""From written text to phonemes, with the slice of them that each written word became. Shared by all voices.

The phonemes are those of hibari's G2P (misaki's alphabet for American English): one character a phoneme, with stress
marks, spaces between words, and the punctuation that shapes the melody.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hibari.g2p import G2P  # type: ignore[import-untyped]

from agent.mouth.spoken import spoken_form

_MARKS = ";:,.!?—…\"“”()' "
PUNCTUATION = frozenset(_MARKS)
LONGEST_PHRASE = 400
"""Phonemes that a synthesiser sees at once: what hibari's own front end allows."""
_WARM_UP = "Zorblatt will call you back at 7:30 p.m., Dr. Smith."


@dataclass(frozen=True, slots=True)
class Slice:
    """Phonemes `first` to `last` (half open, no punctuation at its ends) of a phrase belong to the written word number `word`."""

    word: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Phrase:
    """What a synthesiser is given in one go."""

    phonemes: str
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class Pronunciation:
    """All of a text. `written`: its whitespace-separated words. `exact`: the slices are known, not shared out in order."""

    written: tuple[str, ...]
    phrases: tuple[Phrase, ...]
    exact: bool = True


class Pronouncer:
    """Holds the lexicon, tagger and letter-to-sound network; half a second to load and warm up; safe in several threads."""

    def __init__(self) -> None:
        self._g2p: Any = G2P()
        self.pronounce(_WARM_UP)

    def pronounce(self, text: str) -> Pronunciation:
        """Any text, also one that nothing can be said of: then there are no phrases."""
        readings = spoken_form(text)
        written = tuple(reading.written for reading in readings)
        owners = [number for number, reading in enumerate(readings) for _ in reading.spoken.split()]
        if not owners:
            return Pronunciation(written, ())
        groups = self._groups(" ".join(self._readable(word) for reading in readings for word in reading.spoken.split()))
        exact = len(groups) == len(owners)
        if not exact:
            owners = [owners[number * len(owners) // len(groups)] for number in range(len(groups))]
        phrases = tuple(phrase for phrase in _phrases(groups, owners) if phrase.slices)
        return Pronunciation(written, phrases, exact)

    def _readable(self, word: str) -> str:
        """A word with accents that the lexicon does not know loses them: letters to sound are learned from plain ones."""
        bare = word.strip(_MARKS)
        if word.isascii() or self._g2p.lexicon.is_known(bare, "") or self._g2p.lexicon.is_known(bare.lower(), ""):
            return word
        return "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))

    def _groups(self, spoken: str) -> list[str]:
        """The phonemes of each whitespace-separated word of `spoken`."""
        groups = [""]
        for token in self._g2p.phonemize_tokens(self._g2p.tokenize(spoken)):
            groups[-1] += token.phonemes or ""
            if token.whitespace:
                groups.append("")
        return groups


def _phrases(groups: list[str], owners: list[int]) -> Iterator[Phrase]:
    """Groups joined to phrases that are short enough, cut behind punctuation where there is some in the second half."""
    first, length, good = 0, 0, 0
    for number, group in enumerate(groups):
        if length + len(group) > LONGEST_PHRASE and number > first:
            cut = good if good > first else number
            yield _phrase(groups[first:cut], owners[first:cut])
            first, length = cut, sum(len(one) + 1 for one in groups[cut:number])
        length += len(group) + 1
        if group and group[-1] in PUNCTUATION and length > LONGEST_PHRASE // 2:
            good = number + 1
    yield _phrase(groups[first:], owners[first:])


def _phrase(groups: list[str], owners: list[int]) -> Phrase:
    phonemes, slices = "", list[Slice]()
    for group, owner in zip(groups, owners, strict=True):
        start = len(phonemes) + len(group) - len(group.lstrip(_MARKS))
        end = len(phonemes) + len(group.rstrip(_MARKS))
        if start < end:
            if slices and slices[-1].word == owner:
                slices[-1] = Slice(owner, slices[-1].first, end)
            else:
                slices.append(Slice(owner, start, end))
        phonemes += group + " " if group else ""
    return Phrase(phonemes.rstrip(), tuple(slices))
