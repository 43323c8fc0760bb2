"""How finished a turn is, and how much silence it takes until it counts as over.

The words say most: whether they make a sentence that could end there, and of which kind. How it was said (the turn model) and how
sure the recogniser is of a full stop say the rest. Who dictates a number is left time between its groups.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.ears.dictation import Dictation, dictation
from agent.ears.recogniser import EndOfText, Token
from agent.ears.shape import Shape, shape_of
from agent.understanding.asked import Asked

SURE_US = 300_000
"""Patience with a turn that is certainly over: about as long as recogniser and turn model take anyway."""
OPEN_US = 1_400_000
"""Patience with a turn that breaks off in the middle of a sentence."""
GROUPS_US = 2_600_000
"""Patience with one who dictates: nine in ten pauses between groups of digits are shorter than 2.4 s."""
WHOLE_US = 700_000
"""Patience with one who has said a whole number or date: a digit may have been misheard."""
SENTENCE_US = 800_000
"""The most patience with a whole sentence or a short answer: of those that stood alone and went on, one in three is cut by it."""
WEAK_US = 600_000
"""The least patience with a sentence whose last word may be a misheard article."""
_ANSWERING_US = 1_000_000
"""Patience with words in answer to a request for a number or a spelling."""
_PAUSES_US = (450_000, 1_150_000)
"""Pauses inside of sentences, from the last voiced sample until the voice is back: nearly all lie between, evenly spread."""
CUT, CUT_WHOLE = 0.08, 0.2
"""Of all pauses with the same probability, so many may be taken for an end; more of those behind what could stand alone."""
_WHOLE = frozenset({Shape.QUESTION, Shape.STATEMENT, Shape.LONG_STATEMENT, Shape.REPLY})
_OPEN_BELOW = 0.5

# Fitted by tests/measure/fit_finished.py. The weight of the sound is not: the voices it is fitted on end everything like a turn.
_BIAS: Mapping[Shape, float] = {
    Shape.EMPTY: 0.0,
    Shape.OPENER: -3.4,
    Shape.OPEN: -3.6,
    Shape.HUNGRY: -3.9,
    Shape.UNCLEAR: -1.8,
    Shape.FRAGMENT: -1.6,
    Shape.WEAK: -1.8,
    Shape.STATEMENT: -0.2,
    Shape.LONG_STATEMENT: 1.9,
    Shape.QUESTION: 2.7,
    Shape.REPLY: 0.4,
}
SOUND_WEIGHT = 0.2
UNSURE_WORD = 0.99
"""Certainty of a weak last word at which it is as often right as misheard."""
_FINAL_WEIGHT, _LAST_WORD_WEIGHT = 0.4, 1.0
_SURELY = 4.0
"""Added where the turn is just what was asked for."""
_LONGEST = 400
"""Characters at the end of a turn that are looked at: more than a sentence, and less than a millisecond's work."""
_WORD_BEGINS, _MARKS = "▁".encode(), b".,;:?!-'\""


@dataclass(frozen=True, slots=True)
class Finished:
    """`probability` that the turn is over, 0..1, and the patience that follows from it, µs."""

    probability: float
    patience_us: int


@dataclass(frozen=True, slots=True)
class Signals:
    """What is weighed: the shape of the words, and the log odds of each score, bounded."""

    shape: Shape
    sound: float
    final: float
    last_word: float


def finished(text: str, sound: float, end: EndOfText, asked: Asked, last_word: float = UNSURE_WORD) -> Finished:
    """Whether the turn is over. `text`: all of it so far; `sound`: the turn model's probability.

    `end`: how the recogniser saw the end of the text; `last_word`: how sure it is of the last word (`last_word_certainty`).
    """
    if len(text) > _LONGEST:
        text = text[-_LONGEST:].partition(" ")[2]
    shape = shape_of(text)
    if shape is Shape.EMPTY:
        return Finished(0.0, OPEN_US)
    found = signals(shape, sound, end, last_word)
    odds = _BIAS[shape] + SOUND_WEIGHT * found.sound + _FINAL_WEIGHT * found.final + _LAST_WORD_WEIGHT * found.last_word
    probability = 1 / (1 + math.exp(-odds - _expected(shape, asked)))
    return Finished(probability, _dictating(text, shape, asked) or patience_with(shape, probability))


def prepare() -> None:
    """Load what judging needs: 0.3 s, which the first judgement takes otherwise. Raises `Refused` without hibari-tts."""
    shape_of("Hello, can you hear me?")


def signals(shape: Shape, sound: float, end: EndOfText, last_word: float) -> Signals:
    """The scores as they are weighed: that of the last word where it is a weak one, that of the end where decoding reached it."""
    final = _log_odds(end.final) if end.end_probability else 0.0
    doubted = shape is Shape.WEAK
    return Signals(shape, _log_odds(sound), final, _log_odds(last_word, 0.002) - _log_odds(UNSURE_WORD) if doubted else 0.0)


def last_word_certainty(tokens: Sequence[Token]) -> float:
    """How sure the recogniser is of the last word, 0..1; 1 where there is none.

    Least probability of the word's pieces. A last "the" or "a", said before a pause, comes out as "it" or "that", and not sure.
    """
    least = 1.0
    for token in reversed(tokens):
        word = token.piece.removeprefix(_WORD_BEGINS)
        if word.strip(_MARKS):
            least = min(least, token.probability)
            if word != token.piece:
                return least
    return least


def _log_odds(probability: float, least: float = 0.02) -> float:
    """Bounded at 2 and 98 %, where nothing else is said: few models are surer than that with reason."""
    inside = min(max(probability, least), 1 - least)
    return math.log(inside / (1 - inside))


def patience_with(shape: Shape, probability: float, cut: float | None = None) -> int:
    """As `patience_us` with the share that goes with the shape, unless another is given.

    No longer than `SENTENCE_US` with what could stand alone and is more likely over than not. A weak last word is never trusted
    at once.
    """
    if cut is None:
        cut = CUT_WHOLE if shape in _WHOLE else CUT
    if shape is Shape.WEAK:
        return max(patience_us(probability, cut), WEAK_US)
    stands_alone = probability >= _OPEN_BELOW and shape in (Shape.STATEMENT, Shape.LONG_STATEMENT, Shape.REPLY)
    return min(patience_us(probability, cut), SENTENCE_US if stands_alone else OPEN_US)


def patience_us(probability: float, cut: float = CUT) -> int:
    """So long that no more than the share `cut` of all pauses with this probability of being the end is taken for it."""
    if probability < _OPEN_BELOW:
        return OPEN_US
    shortest, longest = _PAUSES_US
    outlasting = cut / max(1 - probability, 1e-9)
    if outlasting >= 1:
        return SURE_US
    return round(longest - (longest - shortest) * outlasting)


def _expected(shape: Shape, asked: Asked) -> float:
    """What the question before it says for the turn's being whole."""
    if asked is Asked.YES_NO and shape is Shape.REPLY:
        return _SURELY
    if asked in (Asked.DETAIL, Asked.YES_NO) and shape is Shape.FRAGMENT:
        return _SURELY / 2
    return 0.0


def _dictating(text: str, shape: Shape, asked: Asked) -> int:
    """Patience with numbers, dates and spellings, µs; 0 where there are none and none was asked for."""
    wanted = asked in (Asked.DIGITS, Asked.SPELLING)
    match dictation(text, wanted):
        case Dictation.GROUPS:
            return GROUPS_US
        case Dictation.LOCAL:
            return OPEN_US
        case Dictation.WHOLE:
            return WHOLE_US
    if not wanted or shape is Shape.QUESTION:
        return 0
    if shape in (Shape.STATEMENT, Shape.LONG_STATEMENT, Shape.WEAK) or (shape is Shape.FRAGMENT and asked is Asked.SPELLING):
        return _ANSWERING_US
    return GROUPS_US
