"""Where an answer is cut so that it can be spoken while the rest of it is still being written.

The first clause is short, so that its sound is ready soon; later ones are whole sentences. No cut falls into a number, a time, a
phone number or a name with its title. Pure: text in, clauses out, whatever pieces the text comes in.
"""

import re
from dataclasses import dataclass
from enum import IntEnum


class Break(IntEnum):
    """How deep the break behind a word is; the value is the pause it deserves, in ms, beside what the voice leaves itself."""

    NONE = 0
    COMMA = 90
    COLON = 150
    SENTENCE = 270
    PARAGRAPH = 400


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of an answer that is spoken in one go; `pause_us` of silence come before it."""

    text: str
    pause_us: int = 0


@dataclass(frozen=True, slots=True)
class Lengths:
    """In words. From `comma` on a comma ends the clause. One of more than `longest` is cut where a phrase begins, if there is
    such a place behind `shortest`."""

    comma: int
    shortest: int
    longest: int


FIRST = Lengths(comma=3, shortest=4, longest=8)
LATER = Lengths(comma=10, shortest=14, longest=28)
LONGEST_CHARACTERS = 400
"""A clause that grows beyond this is cut between any two words."""

_WORD = re.compile(r"\S+")
_CLOSERS = "\"'”’)]}*_`"
_OPENERS = "\"'“‘([{*_`"
_WORDS = {
    "titles": "mr mrs ms dr prof st mt ft gen gov sen rep capt lt col sgt rev hon pres approx e.g i.e vs cf",
    "before a number": "no nos ext apt ste fig vol p pp",
    "short": "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri sat sun a.m p.m",
    "days and months": "monday tuesday wednesday thursday friday saturday sunday "
    "january february march april may june july august september october november december",
    "conjunctions": "and but or so because since which that who where when while if unless until then although",
    "prepositions": "with for at on in from by between about after before during through",
    "clinging": "a an the to of as my your our his her their its this these is are",
    "numbers": "zero oh one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand "
    "million billion point plus double triple",
}
_SETS = {name: frozenset(words.split()) for name, words in _WORDS.items()}
_CLINGING = _SETS["clinging"] | _SETS["conjunctions"] | _SETS["prepositions"] | _SETS["numbers"] | _SETS["titles"]
_LIST_MARK = re.compile(r"\d{1,2}[.)]")
_DASHES = re.compile(r"[-–—]+")


class ClauseSplitter:
    """Text goes in as it is written; each clause comes out as soon as it is known to end. The same text in other pieces gives the
    same clauses. After `flush` the next answer may begin."""

    def __init__(self) -> None:
        self._text = ""
        self._lengths = FIRST
        self._pause = Break.NONE

    def push(self, text: str) -> list[Clause]:
        """More of the answer; the clauses that it completes. A clause needs the first letter behind it to be known."""
        self._text += text
        return self._cut(ended=False)

    def flush(self) -> list[Clause]:
        """The answer is complete: what is left of it."""
        clauses = self._cut(ended=True)
        if rest := self._text.strip():
            clauses.append(Clause(rest, self._pause * 1_000))
        self._text, self._lengths, self._pause = "", FIRST, Break.NONE
        return clauses

    def _cut(self, ended: bool) -> list[Clause]:
        clauses = []
        while cut := _first_cut(self._text, self._lengths, ended):
            at, depth = cut
            clauses.append(Clause(self._text[:at].strip(), self._pause * 1_000))
            self._text, self._lengths, self._pause = self._text[at:], LATER, depth
        return clauses


def _first_cut(text: str, lengths: Lengths, ended: bool) -> tuple[int, Break] | None:
    """Where the first clause of `text` ends and how deep the break is; None while that cannot be known."""
    found = list(_WORD.finditer(text))
    words = [match.group() for match in found]
    for number, match in enumerate(found[:-1]):
        next_is_whole = number + 2 < len(found) or ended or found[number + 1].end() < len(text)
        gap = text[match.end() : found[number + 1].start()]
        depth = _depth(words, number, gap, next_is_whole)
        if depth is None:
            return None
        if depth >= Break.SENTENCE or (depth > Break.NONE and number + 1 >= lengths.comma):
            return match.end(), depth
        if number + 1 > lengths.longest and (place := _natural_place(words, range(lengths.shortest, number + 1))):
            return found[place - 1].end(), Break.NONE
        if match.end() - found[0].start() > LONGEST_CHARACTERS:
            return match.end(), depth
    return None


def _depth(words: list[str], number: int, gap: str, next_is_whole: bool) -> Break | None:
    """The break behind word `number`; None while it hangs on a word that is not complete."""
    word, following = words[number].rstrip(_CLOSERS), words[number + 1].lstrip(_OPENERS)
    if not following and not next_is_whole:
        return None
    if number == 0 and _LIST_MARK.fullmatch(word):
        return Break.NONE
    if "\n" in gap:
        return Break.PARAGRAPH if "\n" in gap.partition("\n")[2] else Break.SENTENCE
    if word.endswith((".", "!", "?", "…")):
        return _full_stop(word, following, next_is_whole)
    if _DASHES.fullmatch(word) or word.endswith((";", ":", "—")):
        return Break.COLON
    if word.endswith(","):
        # "September 11, 2026" and "555, 0142" stay in one piece.
        return Break.NONE if word[-2:-1].isdigit() and following[:1].isdigit() else Break.COMMA
    return Break.NONE


def _full_stop(word: str, following: str, next_is_whole: bool) -> Break | None:
    stem = word.rstrip(".").lstrip(_OPENERS).lower()
    if word.endswith("."):
        if stem in _SETS["titles"] or (len(stem) == 1 and stem.isalpha() and stem != "i"):
            return Break.NONE
        if stem in _SETS["before a number"] and following[:1].isdigit():
            return Break.NONE
        if (stem in _SETS["short"] or "." in stem) and not following[:1].islower():
            # "8 a.m. Monday" goes on, "8 a.m. Please" does not: the next word tells, once it is whole.
            if not next_is_whole:
                return None
            goes_on = following[:1].isdigit() or following.rstrip(",.;:!?" + _CLOSERS).lower() in _SETS["days and months"]
            return Break.NONE if goes_on else Break.SENTENCE
    if following[:1].islower():
        return Break.NONE if stem in _SETS["short"] or "." in stem else Break.COMMA
    return Break.SENTENCE


def _natural_place(words: list[str], places: range) -> int | None:
    """After how many words to cut where there is no punctuation: before a conjunction if there is one, else a preposition."""
    for openers in (_SETS["conjunctions"], _SETS["prepositions"]):
        for place in reversed(places):
            if words[place].lower() in openers and not _clings(words[place - 1]):
                return place
    return None


def _clings(word: str) -> bool:
    """Whether `word` belongs to what follows it: a number, a title, an article, a preposition."""
    bare = word.strip(_OPENERS + _CLOSERS + ".,;:!?").lower()
    return any(letter.isdigit() for letter in word) or bare in _CLINGING
