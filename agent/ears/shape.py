"""What a turn amounts to so far, going by its words alone: a whole question, a sentence that breaks off, a greeting."""

import re
from enum import StrEnum

from agent.ears.grammar import Need, Outcome, Tagged, read, sentences
from agent.ears.grammar import lexicon as lex

_BREAKS_OFF = re.compile(r"(\.\.\.|…|[-–—])[.,]?$")
_SHORT = 7
"""Words up to which a doubtful end counts: people break off early in what they want to say."""
_TITLE = re.compile(r"\b(dr|mr|mrs|ms)\.$", re.IGNORECASE)


class Shape(StrEnum):
    """The kinds of turn ends that differ in how often people go on behind them."""

    EMPTY = "empty"
    OPENER = "opener"
    """Nothing but words with which people begin: "hello", "um so"."""
    OPEN = "open"
    """A word must follow: "the", "for", "my name is", or a main clause, behind "if ..."."""
    HUNGRY = "hungry"
    """A verb waits for its object: "I need", "can you tell me"."""
    UNCLEAR = "unclear"
    """It may be whole or not: "what would you charge for", "when can I call"."""
    FRAGMENT = "fragment"
    """Words without a verb: "on Saturday", "my first name"."""
    WEAK = "weak"
    """Whole, but the last word is one as which recognisers write "a" and "the": "could I get that"."""
    STATEMENT = "statement"
    LONG_STATEMENT = "long_statement"
    """One of more than seven words."""
    QUESTION = "question"
    REPLY = "reply"
    """A short answer: "yes please", "no thanks"."""


def shape_of(text: str) -> Shape:
    """The shape of a turn as a recogniser wrote it. Its last sentence counts, and the one before where that is no sentence."""
    said = [words for words in (_bare(words) for words in sentences(text)) if words]
    if not said:
        return Shape.REPLY if re.search(r"\w", text) else Shape.EMPTY
    if _BREAKS_OFF.search(text.strip()) or _TITLE.search(text.strip()):
        return Shape.OPEN
    short = sum(map(len, said)) <= _SHORT
    last = _shape(said[-1], short)
    if len(said) > 1 and last in (Shape.FRAGMENT, Shape.REPLY):
        before = _shape(said[-2], short)
        last = before if before in (Shape.QUESTION, Shape.STATEMENT, Shape.WEAK) else last
    if last is not Shape.STATEMENT:
        return last
    return Shape.QUESTION if text.rstrip().endswith("?") else Shape.STATEMENT if short else Shape.LONG_STATEMENT


def _shape(words: list[Tagged], short: bool) -> Shape:
    spoken = [one.word for one in words if one.word[-1].isalnum() or one.word[0] == "'"]
    if all(word in lex.OPENERS or word in lex.REPLIES for word in spoken):
        return Shape.OPENER if spoken[-1] in lex.FILLERS or any(word in lex.ONLY_OPENERS for word in spoken) else Shape.REPLY
    sentence = _led_in(words)
    shape = _of_outcome(read(sentence), short)
    if shape in (Shape.OPEN, Shape.HUNGRY, Shape.UNCLEAR, Shape.FRAGMENT):
        mended = _mended(sentence)
        if mended and _of_outcome(read(mended), short) is Shape.QUESTION:
            return Shape.QUESTION
    weak = short and shape in (Shape.QUESTION, Shape.STATEMENT) and spoken[-1] in lex.WEAK_ENDS
    return Shape.WEAK if weak else shape


def _of_outcome(outcome: Outcome, short: bool) -> Shape:
    loose = outcome.unclear or (outcome.need is Need.ARGUMENT and outcome.lenient)
    if loose and short:
        return Shape.UNCLEAR
    if not loose and outcome.need in (Need.ARGUMENT, Need.LEAD):
        return Shape.HUNGRY
    if outcome.led_up or not (loose or outcome.need is Need.NOTHING):
        return Shape.OPEN
    if not outcome.verb:
        return Shape.FRAGMENT
    return Shape.QUESTION if outcome.asks else Shape.STATEMENT


def _bare(words: list[Tagged]) -> list[Tagged]:
    """Without thanks and farewells at its end, unless there is nothing else."""
    end = len(words)
    while end and words[end - 1].word in lex.FAREWELLS:
        end -= 1
    thanked = end < len(words) and any(one.word in ("thank", "thanks", "bye", "goodbye") for one in words[end:])
    polite = all(one.word in ("please", ",", "okay", "ok") for one in words[end:])
    return words[:end] if end and (thanked or polite) else words


def _led_in(words: list[Tagged]) -> list[Tagged]:
    """Without the greeting, or the word that takes up what was said, at its beginning."""
    while len(words) > 1 and words[0].word in lex.LEAD_INS:
        if words[0].word in lex.FIRM_LEAD_INS and words[1].tag.startswith(("N", "J", "V", "R", "DT")):
            break
        words = words[1:]
    return words


def _mended(words: list[Tagged]) -> list[Tagged] | None:
    """The sentence with the "is" or "are" that begins it, where recognisers write "as", "his" and "our" for them."""
    at = 1 if words[0].word in lex.QUESTIONS else 0
    following = words[at + 1 : at + 4]
    if len(words) <= at + 2:
        return None
    names = following[0].tag in ("NNP", "DT", "PRP$", "EX") or following[0].word in ("doctor", "there")
    if words[at].word in ("as", "his") and names:
        be = Tagged("is", "VBZ")
    elif words[at].word == "our" and any(one.tag == "NNS" for one in following):
        be = Tagged("are", "VBP")
    else:
        return None
    return [*words[:at], be, *words[at + 1 :]]
