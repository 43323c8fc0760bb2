"""What the caller was asked, read off our own last words: it says how an answer sounds and how patient to be with it."""

import re
from enum import StrEnum


class Asked(StrEnum):
    """The kind of answer that our last words call for."""

    NOTHING = "nothing"
    """No question, or one that only a sentence answers."""
    YES_NO = "yes_no"
    DETAIL = "detail"
    """One thing, for which a word or two will do: a day, a place, which of several."""
    DIGITS = "digits"
    """A number that is spoken in groups: of a phone, a card, an order, a date of birth."""
    SPELLING = "spelling"
    """A name, an address, an e-mail address: spelt, or said word by word."""


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_SENTENCE = re.compile(r"(?<=[.?!])(?<!\b[A-Z]\.)(?<!\b(?:Dr|Mr|Ms|St)\.)(?<!\bMrs\.)[\"')]*\s+")
_LEAD_IN = re.compile(
    r"^((and|so|or|then|well|now|okay|ok|great|thanks|thank you|sure|perfect|alright|all right|of course|no problem|please|also"
    r"|sorry|by the way|one last question|before we go on)[,:;]?\s+)+",
    re.IGNORECASE,
)
_REQUEST = _pattern(
    r"^(tell|give|say|spell|enter|dictate|repeat|read|leave|provide|confirm)\b(?! you\b)",
    r"^(i('ll| will)? (just )?need|i('d| would) like|let me have|let's start with)\b",
    r"^(may|can|could) i (please )?(have|get|take|ask for)\b",
    r"^(can|could|would|will) you (please )?(tell|give|say|spell|repeat|read|confirm|let me have)\b",
)
_QUESTION_WORD = _pattern(r"\b(what|which|who|whom|whose|where|when|why|how)('s|'re|\b)")
_THING = re.compile(r"^(your|the|her|his|their)\b", re.IGNORECASE)
_OWNERS = (
    "phone|telephone|mobile|cell|callback|call-back|contact|fax|card|account|order|policy|member|membership|insurance|reference|case"
    "|claim|confirmation|booking|customer|tracking|ticket|invoice|security|routing|group|id|serial"
)
_DIGITS = _pattern(
    rf"\b({_OWNERS})\b[^.?!]*\b(number|id|code|digits)\b",
    r"\bnumber\b[^.?!]*\b(reach|call|text|contact)\b",
    r"\b(reach|call|text) you\b[^.?!]*\b(at|on)\b",
    r"\b(what|which|your|the) (number|code)\b",
    r"\bdate of birth\b|\bbirth ?(date|day)\b|\bwhen (were|was) (you|he|she|they|the patient) born\b",
    r"\b(zip|postal|area|pin|access|door) ?code\b|\bdigits?\b|\bpin\b|\bexpir(y|ation)\b",
)
_SPELLING = _pattern(
    r"\bspell|\bname\b|\bsurname\b|\baddress\b|\be-?mail\b",
    r"\bwho am i (speaking|talking) (with|to)\b|\bwho's calling\b|\bwho is (this|calling)\b",
)
_FOR_A_SENTENCE = _pattern(
    r"\bhow (can|may|could|might|else can) (i|we)\b|\bwhat (can|could|may|else can) (i|we) (do|help)\b",
    r"\bwhat else\b|\banything else\b|\bhelp you\b|\btell me (more|about|what)\b",
    r"\bwhat('s| is| was| seems to be) (the (matter|problem|issue|trouble|question|reason|purpose)|going on|wrong|happening)\b",
    r"\bwhat('s| is) (this|it) about\b|\bwhat('s| is) (on your mind|your question)\b|\bwhat happened\b|\bwhat brings you\b",
    r"\bwhy\b|\bhow come\b|\bhow (do|did|are|is|was|were|come) (you|it|that|things)\b|\bwhat do you (think|mean|say)\b",
)
_YES_NO = _pattern(
    r"^(do|does|did|is|are|am|was|were|would|will|can|could|shall|should|have|has|had|may|might|must)(n't)?\b",
    r"\bis (that|this|it) (right|correct|ok|okay|fine|all right)\b",
    r"\b(right|correct|ok|okay|yes or no|is it|isn't it|don't you|would you|shall we|shall i|all right|sound good)$",
)


def what_was_asked(said: str) -> Asked:
    """`said`: what was sent of our last utterance. Only its last sentence counts, and only when it asks or requests."""
    sentences = [part for part in _SENTENCE.split(said.replace("’", "'").strip()) if re.search(r"\w", part)]
    sentence = _LEAD_IN.sub("", sentences[-1].strip("\"'() ")) if sentences else ""
    asks, clause = sentence.endswith("?"), sentence.rstrip("?.! ")
    requests = _REQUEST.match(clause) is not None
    if not asks and not requests:
        return Asked.NOTHING
    behind = _LEAD_IN.sub("", clause.rpartition(",")[2].strip())
    if behind != clause and _YES_NO.search(behind) and not _QUESTION_WORD.search(behind):
        return Asked.YES_NO  # "..., is that right"
    if requests or _QUESTION_WORD.search(clause):
        return _wanted(clause, Asked.DETAIL if asks else Asked.NOTHING)
    return _wanted(clause, Asked.YES_NO) if _THING.match(clause) else Asked.YES_NO


def _wanted(clause: str, else_asked: Asked) -> Asked:
    """What is asked for by its name: "your last name", "what is your number"."""
    if _SPELLING.search(clause) and not re.search(r"\bnumber\b", clause, re.IGNORECASE):
        return Asked.SPELLING
    if _DIGITS.search(clause):
        return Asked.DIGITS
    return Asked.NOTHING if _FOR_A_SENTENCE.search(clause) else else_asked
