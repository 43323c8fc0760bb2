"""Prose to sentences that can be spoken alone."""

import re
from collections.abc import Iterator

SENTENCE_CHARACTERS = 400
"""A longer stretch without a full stop is split at a clause, or at a space."""

_END = re.compile(r"[.!?][\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9$])")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:(?:dr|mr|mrs|ms|st|ave|blvd|rd|inc|ltd|co|vs|approx|ext|tel|jr|sr|prof|mt|e\.g|i\.e|[a-z])\.)$", re.IGNORECASE
)
_CLAUSE = re.compile(r"[;,:]\s+")


def split_sentences(text: str) -> Iterator[str]:
    """Sentences of one paragraph, each closed by a mark; abbreviations such as "Dr." or initials end none."""
    begin = 0
    for match in _END.finditer(text):
        if not _ABBREVIATION.search(text[max(begin, match.start() - 12) : match.start() + 1]):
            yield from _bounded(text[begin : match.end()].strip())
            begin = match.end()
    yield from _bounded(text[begin:].strip())


def closed(text: str) -> str:
    """The text with a full stop unless it ends a sentence already; empty when there is nothing but marks to close."""
    stripped = text.rstrip(" ,;:")
    ends = not stripped or stripped.rstrip("\"')]")[-1:] in (".", "!", "?")
    return stripped if ends else f"{stripped}."


def _bounded(sentence: str) -> Iterator[str]:
    while len(sentence) > SENTENCE_CHARACTERS:
        cuts = [match.end() for match in _CLAUSE.finditer(sentence, SENTENCE_CHARACTERS // 2, SENTENCE_CHARACTERS)]
        space = sentence.rfind(" ", SENTENCE_CHARACTERS // 2, SENTENCE_CHARACTERS)
        cut = cuts[-1] if cuts else space if space > 0 else SENTENCE_CHARACTERS
        yield from filter(None, [closed(sentence[:cut].strip())])
        sentence = sentence[cut:].strip()
    yield from filter(None, [closed(sentence)])
