"""Whether a turn ends in a number, a date or letters that are said in groups, with pauses of two seconds between them."""

import itertools
import re
from enum import StrEnum

_DIGITS = frozenset(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "oh", "o"])
_TEENS = frozenset(
    ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"],
)
_TENS = frozenset(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"])
_LARGE = frozenset(["hundred", "thousand", "double", "triple"])
_MONTHS = re.compile(r"january|february|march|april|may|june|july|august|september|october|november|december")
_ORDINAL = re.compile(
    r"\d{1,2}(st|nd|rd|th)|first|second|third|(four|fif|six|seven|eigh|nin|ten|eleven|twelf|\w+teen|twentie|thirtie)th"
)
_PIECE = re.compile(r"\$?\d+(?:st|nd|rd|th)?\b|[^\W\d_]+(?:['’][^\W\d_]+)?|[-.@:]")
_CONTEXT = re.compile(
    r"\b(numbers?|phone|mobile|cell|card|account|policy|member|membership|reference|confirmation|code|zip|extension|digits?|id|i\.d"
    r"|reach me|call me|call back|call us|fax|pin)\b"
)
_OTHER_NUMBER = re.compile(r"\b(card|account|policy|member|membership|reference|confirmation|order|code|id)\b")
"""A number of which nobody knows how long it is."""
_BIRTH = re.compile(r"\b(born|birthday|birth ?date|date of birth|d\.?o\.?b)\b")
_SPELLING = re.compile(r"\b(spell\w*|e-?mail)\b")
_SPELT = re.compile(r"\b(as in|dot|at) \w+\W*$")
_ADDRESS = re.compile(r"\b(dot|\.) ?(com|org|net|edu|gov)\W*$")
_ZIP_CODE, _LOCAL_NUMBER, _PHONE_NUMBER = (5, 9), 7, (10, 11)
"""Digits of a whole one."""
_MANY = 3
"""Digits in a row that are a number even when nobody said so."""


class Dictation(StrEnum):
    """What the end of the turn is."""

    NONE = "none"
    GROUPS = "groups"
    """Digits or letters of which more may come."""
    LOCAL = "local"
    """As many digits as a telephone number has without its area code, or as a misheard one with it."""
    WHOLE = "whole"
    """A number or date that has all it needs."""


def dictation(text: str, asked: bool = False) -> Dictation:
    """`asked`: the caller was asked for a number, a date or a spelling, so that fewer signs will do."""
    said = text.lower().strip()
    spells = asked or _SPELLING.search(said) is not None
    if spells and _SPELT.search(said):
        return Dictation.WHOLE if _ADDRESS.search(said) else Dictation.GROUPS
    run = _run([piece for piece in _PIECE.findall(said) if piece.isalnum() or len(piece) > 1])
    if not run:
        return Dictation.NONE
    if any(_is_date(piece) for piece in run):
        return _date(run) if asked or _BIRTH.search(said) else Dictation.NONE
    letters = [piece for piece in run if len(piece) == 1 and piece.isalpha()]
    if (len(letters) > 1 and run != ["o", "k"]) or (spells and letters and letters[-1] not in ("a", "i", "o")):
        return Dictation.GROUPS
    return _number(run, said, asked)


def _run(pieces: list[str]) -> list[str]:
    """The pieces at the end that belong to numbers, dates or spellings."""
    start = len(pieces)
    while start and (_is_number(pieces[start - 1]) or _is_date(pieces[start - 1]) or _is_letter(pieces[start - 1])):
        start -= 1
        links = start >= 2 and pieces[start - 1] in ("of", "the", "and")
        if links and (_is_number(pieces[start - 2]) or _is_date(pieces[start - 2])):
            start -= 1
    return pieces[start:]


def _is_number(piece: str) -> bool:
    return piece.isdigit() or piece in _DIGITS or piece in _TEENS or piece in _TENS or piece in _LARGE


def _is_date(piece: str) -> bool:
    return _MONTHS.fullmatch(piece) is not None or _ORDINAL.fullmatch(piece) is not None


def _is_letter(piece: str) -> bool:
    return len(piece) == 1 and piece.isalpha()


def _date(run: list[str]) -> Dictation:
    """A date is whole with its month, its day and its year."""
    month = next((at for at, piece in enumerate(run) if _MONTHS.fullmatch(piece)), None)
    if month is None:
        return Dictation.GROUPS
    behind = list(itertools.dropwhile(_is_day, run[month + 1 :]))
    year = [piece for piece in behind if piece.isdigit() and len(piece) == 4]
    spoken = [piece for piece in behind if _is_number(piece)]
    whole = year or len(spoken) >= 3 or (len(spoken) == 2 and spoken[0] in ("nineteen", "twenty") and spoken[1] not in _LARGE)
    return Dictation.WHOLE if whole or (len(spoken) == 2 and spoken[1] == "thousand") else Dictation.GROUPS


def _is_day(piece: str) -> bool:
    """Of the month, or a word in front of it."""
    return _ORDINAL.fullmatch(piece) is not None or piece in ("of", "the", "and") or (piece.isdigit() and len(piece) < 3)


def _number(run: list[str], said: str, asked: bool) -> Dictation:
    count = _digits(run)
    leads_with_zero = count > 1 and (run[0] in ("zero", "oh") or run[0].startswith("0"))
    context = asked or leads_with_zero or _CONTEXT.search(said) is not None
    if not context and (count < _MANY or not _looks_dictated(run)):
        return Dictation.NONE
    if re.search(r"\bzip|\bpostal", said):
        return Dictation.WHOLE if count in _ZIP_CODE else Dictation.GROUPS
    if _OTHER_NUMBER.search(said):
        return Dictation.GROUPS
    if count == _LOCAL_NUMBER:
        return Dictation.LOCAL
    return Dictation.WHOLE if count in _PHONE_NUMBER else Dictation.GROUPS


def _digits(run: list[str]) -> int:
    """How many digits the run writes out: "double five" are two, "twenty three" are two, "4155" are four."""
    count = 0
    for before, piece in zip(["", *run], run, strict=False):
        if piece.isdigit():
            count += len(piece)
        elif piece in _DIGITS:
            count += {"double": 2, "triple": 3}.get(before, 0 if before in _TENS and piece not in ("oh", "o") else 1)
        elif piece in _TEENS or piece in _TENS:
            count += 2
        elif piece in ("hundred", "thousand"):
            count += 2 if piece == "hundred" else 3
    return count


def _looks_dictated(run: list[str]) -> bool:
    """Digit by digit, not an amount or a time of day: "two hundred", "eight thirty"; or a code as a recogniser writes it."""
    single = sum(piece in _DIGITS for piece in run)
    return single >= _MANY or "double" in run or len(run) > 3 or sum(len(piece) for piece in run if piece.isdigit()) > 4
