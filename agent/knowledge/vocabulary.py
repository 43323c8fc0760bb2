"""The words and short phrases of a folder of documents, and in which passages they stand."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from agent.knowledge.passages import Passage
from agent.knowledge.words import LIGHT_WORDS, sound, stem, words

LONGEST_PHRASE = 3
"""Words of the longest phrase that gets a vector of its own."""
MOST_TERMS = 20_000
"""Of more, the ones that come first are kept: one vector each."""

_PIECE = re.compile(r"[A-Za-z0-9$'’]+(?:[.:,]\d+)*|[^\sA-Za-z0-9$'’-]")
_TITLE = re.compile(r"\b(dr|mrs?|ms|st)\.", re.IGNORECASE)
_CAPITAL = re.compile(r"(?<![.!?:] )(?<!^)\b[A-Z][a-z]+")
_CALENDAR = (
    "(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September|October|November"
    "|December|Christmas|Thanksgiving|Easter|Days?|Eve|Weekend)"
)
_DATE = re.compile(rf"\b(?:[A-Z][a-z]+(?:'s|')? )*{_CALENDAR}(?: {_CALENDAR})*\b")
_LOWER = re.compile(r"\b[a-z]+\b")

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Made from the passages alone; the order of `terms` is the order of their vectors in the index."""

    terms: tuple[str, ...]
    terms_of: tuple[Rows, ...]
    """Per passage: which terms stand in its innermost title or its sentences."""
    stems_of: tuple[frozenset[str], ...]
    """Per passage: stems of all its titles and sentences."""
    stems_of_sentences: tuple[frozenset[str], ...]
    """Per sentence, in order of the passages: stems of its passage's titles and of the sentence."""
    frequency: Counter[str]
    """In how many passages a stem stands."""
    names: frozenset[str]
    """Lower-case words that the documents write only with a capital: they have no synonyms."""
    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    """Words that stand next to each other or with one word between them, in order."""
    by_sound: dict[str, tuple[str, ...]]
    """The words that sound alike, of those that say what a passage is about."""

    @property
    def long_words(self) -> list[str]:
        """All words of `by_sound`."""
        return [word for group in self.by_sound.values() for word in group]


def collect(passages: Sequence[Passage]) -> Vocabulary:
    """Terms are words and phrases between words that carry no matter of their own."""
    terms: dict[str, int] = {}
    terms_of = []
    for passage in passages:
        found = {term for text in _own_texts(passage) for term in phrases(text)}
        rows = [terms.setdefault(term, len(terms)) for term in sorted(found) if term in terms or len(terms) < MOST_TERMS]
        terms_of.append(np.array(rows, np.int64))
    stems_of = tuple(frozenset(_stems(*passage.titles, passage.text)) for passage in passages)
    stems_of_sentences = tuple(
        frozenset(_stems(*passage.titles, sentence.lead, sentence.text)) for passage in passages for sentence in passage.sentences
    )
    texts = [text for passage in passages for text in (*passage.titles, *_own_texts(passage))]
    spelled = [words(text) for text in texts]
    known = frozenset(word for line in spelled for word in line)
    return Vocabulary(
        terms=tuple(terms),
        terms_of=tuple(terms_of),
        stems_of=stems_of,
        stems_of_sentences=stems_of_sentences,
        frequency=Counter(stem for stems in stems_of for stem in stems),
        names=_names(passages),
        words=known,
        pairs=frozenset(pair for line in spelled for pair in (*pairwise(line), *zip(line, line[2:], strict=False))),
        by_sound=_by_sound(known),
    )


def runs(text: str) -> list[list[str]]:
    """Stretches of words that carry matter, as a phrase keeps them together: "the root canal of a molar" has two."""
    found: list[list[str]] = []
    open_run = False
    for piece in _PIECE.findall(_TITLE.sub(r"\1", text)):
        matter = [word for word in words(piece) if word not in LIGHT_WORDS]
        if matter and open_run:
            found[-1].extend(matter)
        elif matter:
            found.append(matter)
        open_run = bool(matter)
    return found


def phrases(text: str) -> Iterator[str]:
    """All words and phrases of up to `LONGEST_PHRASE` words within a run."""
    for run in runs(text):
        for begin in range(len(run)):
            for end in range(begin + 1, min(begin + LONGEST_PHRASE, len(run)) + 1):
                yield " ".join(run[begin:end])


def _by_sound(known: frozenset[str]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for word in sorted(known - LIGHT_WORDS):
        if word.isalpha() and len(word) > 2:
            groups[sound(word)].append(word)
    return {key: tuple(group) for key, group in groups.items()}


def _own_texts(passage: Passage) -> list[str]:
    return [passage.title, *(f"{sentence.lead} {sentence.text}".strip() for sentence in passage.sentences)]


def _stems(*texts: str) -> Iterator[str]:
    """Stems of all words; of "Wi-Fi" also "wifi"."""
    for text in texts:
        spelled = words(text)
        yield from map(stem, spelled)
        for compound in re.findall(r"\b[A-Za-z]+-[A-Za-z]+\b", text):
            yield stem(compound.replace("-", "").lower())


def _names(passages: Sequence[Passage]) -> frozenset[str]:
    """Days, months and holidays are no names: one asks about them in general."""
    texts = [_DATE.sub(" ", sentence.text) for passage in passages for sentence in passage.sentences]
    written_low = {word for text in texts for word in _LOWER.findall(text)}
    return frozenset(name.lower() for text in texts for name in _CAPITAL.findall(text)) - written_low - {"dr", "mr", "mrs", "ms"}
