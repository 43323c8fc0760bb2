"""Short-term memory of one caller: a question that leans on the one before is completed before it is looked up.

"How much is a cleaning?" "And for children?" is looked up as "How much is a cleaning for children". Rules only: pure, and bounded
by one remembered question and one remembered title.
"""

import re
from collections.abc import Sequence
from typing import Protocol

from agent.knowledge.question import bounded
from agent.knowledge.words import ASKING_WORDS, LIGHT_WORDS, words

LONGEST_FRAGMENT = 7
"""A longer question that opens with "and" stands by itself."""

_DAY = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|weekends?|today|tomorrow|christmas(?: eve| day)?"
    r"|new year's(?: eve| day)?|january|february|march|april|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(r"\b(?:doctor|dr\.?|mr\.?|mrs\.?|ms\.?|miss|mister)\s+[a-z]+", re.IGNORECASE)
_OPENS = re.compile(r"^(?:and|but|also|or|so|okay|ok)\b[\s,]*|^(?:what|how) about\b\s*", re.IGNORECASE)
_ABOUT = re.compile(r"^(?:(?:and|but|so|okay|ok)\b[\s,]*)?(?:what|how) about\b", re.IGNORECASE)
_PREPOSITION = re.compile(
    r"^(?:for|on|in|at|with|without|to|from|by|after|before|during|between|if|when|as|until|till|near|under|over)\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\b(?:a|an|the|my|your|any|some)\s+$", re.IGNORECASE)
_ARTICLE_FIRST = re.compile(r"^(?:a|an|the|my|your|any|some)\b", re.IGNORECASE)
_POINTS_BACK = re.compile(r"\b(?:it|that|this|these|those|they|them|he|him|she|her|one)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"\b(?:is|are|was|do|does|did|can|could|will|would|should|have|has|may|must|i|you|we|how|when|where|who|why|which|what)\b",
    re.IGNORECASE,
)
_FRAME = re.compile(
    r"^.*?\b(?:how (?:much|long|far)(?: (?:is|are|was|does|do|did|for|would|will))?|(?:price|cost|fee|charge) (?:of|for)"
    r"|what (?:does|do|is|are|would)(?: you (?:charge|ask|take) for)?|(?:do|does|can|could|will|would) (?:you|i|we)"
    r"(?: (?:have|take|accept|offer|do|sell|treat|get|repair|teach|make|see|bring|pay with))?|is there|are there"
    r"|(?:who|where|when|which)(?: (?:is|are|does|do))?|is|are)\b(?: (?:a|an|the|my|your|any|some)\b)?\s*",
    re.IGNORECASE,
)


class Completed(Protocol):
    """What is remembered of an answer."""

    @property
    def question(self) -> str:
        """As it was looked up."""

    @property
    def title(self) -> str:
        """Of the passage that answered; empty when none did."""


class Dialogue:
    """One caller's. Not changed by looking something up, only by `learn`."""

    def __init__(self) -> None:
        self._question = ""
        self._title = ""

    @classmethod
    def of(cls, questions: Sequence[str]) -> "Dialogue":
        """From a history of the caller's turns, oldest first: what is needed to complete the next one."""
        dialogue = cls()
        for question in questions:
            if words(question):
                dialogue._question = dialogue.complete(question)
        return dialogue

    def learn(self, turn: str, found: Completed) -> None:
        """The turn was looked up with this result. A turn without words changes nothing."""
        if words(turn):
            self._question, self._title = found.question, found.title

    def complete(self, question: str) -> str:
        """The question as one would ask it without having asked before; itself when it stands alone."""
        question = bounded(question)
        if not self._question or not words(question):
            return question
        if _is_fragment(question):
            return bounded(self._with_fragment(_OPENS.sub("", _OPENS.sub("", question.strip())).strip(" ?.!,")))
        topic = self._topic(question)
        return bounded(_POINTS_BACK.sub(topic, question, count=1)) if topic and _points_back(question) else question

    def _with_fragment(self, fragment: str) -> str:
        before = self._question.rstrip(" ?.!")
        for kind in (_DAY, _PERSON):
            if kind.search(before) and (new := kind.search(fragment)):
                return kind.sub(lambda _: new.group(), before, count=1)
        frame = _FRAME.match(before)
        if _PREPOSITION.match(fragment) or not frame:
            return f"{before} {fragment}"
        asked = _ARTICLE.sub("", frame.group()) if _ARTICLE_FIRST.match(fragment) else frame.group()
        return f"{asked}{fragment}"

    def _topic(self, question: str) -> str:
        """What "it" is: the matter of the last question, or for a person the title that answered it."""
        if self._title and re.search(r"\b(?:he|him|she|her)\b", question, re.IGNORECASE):
            return self._title
        matter = [word for word in words(self._question) if word not in LIGHT_WORDS and word not in ASKING_WORDS]
        return " ".join(matter[-8:]) or self._title


def _is_fragment(question: str) -> bool:
    spelled = words(question)
    if len(spelled) > LONGEST_FRAGMENT:
        return False
    if _ABOUT.match(question.strip()):
        return True
    rest = _OPENS.sub("", question.strip())
    opened = rest != question.strip()
    return (opened or _PREPOSITION.match(rest) is not None) and not _ASKS.search(rest) and bool(words(rest))


def _points_back(question: str) -> bool:
    """Whether it says "it" or "that" and nothing of its own that these could mean."""
    matter = [word for word in words(question) if word not in LIGHT_WORDS and word not in ASKING_WORDS]
    return _POINTS_BACK.search(question) is not None and len(matter) <= 2
