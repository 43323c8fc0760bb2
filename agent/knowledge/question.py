"""What a question asks for and about, in any trade: kinds of answer, words, phrases."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from agent.knowledge.vocabulary import Vocabulary, runs
from agent.knowledge.words import ASKING_WORDS, LIGHT_WORDS, stem, words

LONGEST_QUESTION = 60
"""Words of a question that are used: the last ones, as a caller comes to the point at the end."""
MOST_CHARACTERS = 600
"""And so many characters of these."""
MOST_WORDS = 10
MOST_PHRASES = 6


class Wanted(StrEnum):
    """Kinds of answers that can be seen in a sentence."""

    AMOUNT = "amount"
    DURATION = "duration"
    TIME = "time"
    PERSON = "person"
    PLACE = "place"
    CONTACT = "contact"


_ASKS = {
    Wanted.AMOUNT: re.compile(
        r"how (?:much|many dollars|expensive)|\b(?:price|prices|cost|costs|charge|charged|charges|fee|fees|expensive|cheaper|pay"
        r"|dollars|rate|rates|fare)\b"
    ),
    Wanted.DURATION: re.compile(
        r"how (?:long|soon|fast|quickly|early|far|old|many (?:minutes|hours|days|weeks|months|years))|\btill when\b|what age"
    ),
    Wanted.TIME: re.compile(
        r"\bwhen\b|what (?:time|hour|hours|day|days|date)|(?:which|what) (?:day|days|evening|evenings|hours)|\bhours\b|how late"
        r"|\b(?:are|is|will|do|does) \w+ (?:be )?(?:open|closed|close)\b|from what hour"
    ),
    Wanted.PERSON: re.compile(r"\b(?:who|whom|who's)\b|which (?:person|one of you|of you)"),
    Wanted.PLACE: re.compile(
        r"\bwhere\b|(?<!email )(?<!e-mail )\baddress\b|\blocated\b|what (?:floor|street)|how do i get to|directions"
    ),
    Wanted.CONTACT: re.compile(r"\bnumber\b|\be-?mail\b|\b(?:call|reach|phone) you\b"),
}
_PRICE = re.compile(
    r"\bhow (?:much (?:is|are|was|does|do|did|for|would|will|to|extra|more|money)|many dollars)\b|\bprice (?:of|for)\b"
    r"|\bwhat(?:'s| is| are| does| do| would| will)\b.*\b(?:cost|price|charge|fee|rate)\b"
)
_UNITS = r"(?:minutes?|hours?|days?|weeks?|months?|years?)"
_COUNTS = r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|half an?|an?)"
_GIVES = {
    Wanted.AMOUNT: re.compile(r"[$€£]|\bfree\b|no (?:extra )?(?:charge|fee|cost)|costs? nothing|includ|\d ?%|\bcents\b"),
    Wanted.DURATION: re.compile(
        rf"\b{_COUNTS} (?:\w+ )?{_UNITS}\b|same (?:day|evening)|\bages?\b|birthday|at once|expires?", re.I
    ),
    Wanted.TIME: re.compile(
        r"\d(?::\d\d)? ?[ap]\.?m|(?:mon|tues|wednes|thurs|fri|satur|sun)day|\bdays?\b|\bhours\b|\bnoon\b|\bmidnight\b|\bopen\b"
        r"|\bclosed\b|\bbefore\b|\bafter\b|\bmorning|\bevening|January|February|March|April|June|July|August|September"
        r"|October|November|December|\bMay\b",
        re.I,
    ),
    Wanted.PERSON: re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b|\b(?:Dr|Mr|Mrs|Ms)\.|\b(?:we|our)\b"),
    Wanted.PLACE: re.compile(
        r"\d+ [A-Z]|\b(?:floor|behind|next to|opposite|above|street|road|lane|square|building|garage|door|avenue|drive)\b", re.I
    ),
    Wanted.CONTACT: re.compile(r"\d{3}[- ]\d{3,4}|@"),
}

_ADDRESS = re.compile(r"\b\d+[A-Z]? (?:[A-Z][a-z]+ ){1,3}|\b(?:[A-Z][a-z]+ ){1,2}(?:Street|Road|Avenue|Lane|Square|Boulevard)\b")
_OUR_PLACE = re.compile(
    r"\b(?:address|where we|where to find|location|find us|how to get|directions|contact"
    r"|we are (?:at|on|in)|is (?:at|located))\b",
    re.IGNORECASE,
)
_OF_THE_BUSINESS = frozenset(
    ["address", "located", "location", "street", "place", "exactly", "based", "office", "building", "email", "number"]
)
_NOUNS_FOLLOW = """a an the your my our their his her its any some which what of for no this that these those in on at with by
from about many much another other new one and or without"""
_BEFORE_NOUNS = frozenset(_NOUNS_FOLLOW.split())


@dataclass(frozen=True, slots=True)
class Question:
    """A question taken apart. `keywords`: only what carries matter; `nameless`: people and places of the documents as "they"."""

    text: str
    keywords: str
    nameless: str
    wanted: tuple[Wanted, ...]
    content: tuple[str, ...]
    """Words that say what it is about, each once, in order."""
    is_noun: tuple[bool, ...]
    """Per content word, whether what stands before it lets a noun expect."""
    phrases: tuple[str, ...]
    matter: tuple[str, ...]
    """Stems of all words that carry matter, the asking ones included."""

    @property
    def asks_a_price(self) -> bool:
        """Whether nothing but an amount can answer it."""
        return _PRICE.search(self.text.lower()) is not None

    @property
    def asks_where_we_are(self) -> bool:
        """Whether it asks for the place of the business and of nothing else."""
        return Wanted.PLACE in self.wanted and set(self.content) <= _OF_THE_BUSINESS

    @property
    def asks_how_to_reach_us(self) -> bool:
        """Whether it asks for a number or an address to write to, and of nobody in particular."""
        return Wanted.CONTACT in self.wanted and set(self.content) <= _OF_THE_BUSINESS | {"phone", "telephone", "reach", "call"}


def take_apart(text: str, vocabulary: Vocabulary) -> Question:
    """Pure; any text is a question, an empty one too."""
    text = bounded(text)
    spelled = words(text)
    matter = [word for word in spelled if word not in LIGHT_WORDS]
    parts = [[word for word in run if word not in ASKING_WORDS and word[0].isalpha()] for run in runs(text)]
    content = _once([word for part in parts for word in part]) or _once([word for word in matter if word.isalpha()])
    content = content[:MOST_WORDS]
    before = {word: previous for previous, word in reversed([*pairwise(("", *spelled))])}
    return Question(
        text=text,
        keywords=" ".join(matter) or text,
        nameless=_nameless(text, vocabulary.names),
        wanted=tuple(kind for kind, asks in _ASKS.items() if asks.search(text.lower())),
        content=content,
        is_noun=tuple(_noun_after(before.get(word, "")) for word in content),
        phrases=_once([" ".join(part) for part in parts if part])[:MOST_PHRASES],
        matter=_once([stem(word) for word in matter]),
    )


def bounded(text: str) -> str:
    """The end of a text, as much as is used of a question."""
    return " ".join(text[-8 * MOST_CHARACTERS :].split()[-LONGEST_QUESTION:])[-MOST_CHARACTERS:]


def gives(kind: Wanted, text: str) -> bool:
    """Whether a sentence holds an answer of that kind."""
    return _GIVES[kind].search(text) is not None


def _noun_after(word: str) -> bool:
    return word in _BEFORE_NOUNS or (word != "" and word not in LIGHT_WORDS)


def is_our_address(text: str, title: str) -> bool:
    """Whether a street is in it, and it or its title speak of the business's own place."""
    return _ADDRESS.search(text) is not None and _OUR_PLACE.search(f"{title}: {text}") is not None


def _once(items: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def _nameless(text: str, names: frozenset[str]) -> str:
    untitled = re.sub(r"\b(?:doctor|dr|mr|mrs|ms|miss|mister)\.?\s+(?=\w)", "", text, flags=re.IGNORECASE)
    return re.sub(r"[A-Za-z]+", lambda match: "they" if match.group().lower() in names else match.group(), untitled)
