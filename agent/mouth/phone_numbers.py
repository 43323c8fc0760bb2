"""Telephone numbers: found and grouped by the phonenumbers library, read digit by digit with a pause behind each group."""

import re
from collections.abc import Iterator

import phonenumbers
from phonenumbers import Leniency, PhoneNumberFormat, PhoneNumberMatch, PhoneNumberMatcher

from agent.mouth.number_words import digit_by_digit
from agent.mouth.owned_text import OwnedText

REGION = "US"
"""Where numbers without a country code are dialled from."""

LONGEST_GROUP = 5
_PIECE = re.compile(r"(?P<digits>\d+)|(?P<plus>\+)|(?P<extension>[a-z#]+)", re.IGNORECASE)
_SHAPES = ([3, 4], [7], [3, 3, 4], [3, 7], [10], [1, 10], [1, 3, 3, 4], [11])


def say_phone_numbers(text: OwnedText) -> None:
    """Rewrite every telephone number in `text`: "+1 555 0142" becomes "plus one, five five five, zero one four two"."""
    matcher = PhoneNumberMatcher(text.text, REGION, leniency=Leniency.POSSIBLE, max_tries=20)
    text.replace([(match.start, match.end, _said(match)) for match in matcher if _looks_like_one(match)])


def _looks_like_one(match: PhoneNumberMatch) -> bool:
    """The matcher also takes "5 10 15 20" for one: without a plus, the groups must be those in which numbers are written."""
    groups = re.findall(r"\d+", match.raw_string.partition("x")[0].partition("#")[0])
    return match.raw_string.startswith("+") or [len(group) for group in groups] in _SHAPES


def _said(match: PhoneNumberMatch) -> tuple[str, ...]:
    """A part for each written word of the number."""
    return tuple(
        " ".join(_pieces(chunk, match, last=number + 1 == len(chunks)))
        for chunks in [match.raw_string.split()]
        for number, chunk in enumerate(chunks)
    )


def _pieces(chunk: str, match: PhoneNumberMatch, last: bool) -> Iterator[str]:
    found = list(_PIECE.finditer(chunk))
    for number, piece in enumerate(found):
        if piece["plus"]:
            yield "plus"
        elif piece["extension"]:
            yield "extension"
        else:
            groups = [digit_by_digit(group) for group in _groups(piece["digits"], match)]
            yield ", ".join(groups) + ("" if last and number + 1 == len(found) else ",")


def _groups(digits: str, match: PhoneNumberMatch) -> Iterator[str]:
    """Digits written without a break, grouped as the number's country does it."""
    country, *national = re.findall(r"\d+", phonenumbers.format_number(match.number, PhoneNumberFormat.INTERNATIONAL))
    sizes = [len(group) for group in national]
    if sum(sizes) != len(digits):
        sizes = [len(country), *sizes] if len(country) + sum(sizes) == len(digits) else [len(digits)]
    for size in sizes:
        yield from in_groups(digits[:size])
        digits = digits[size:]


def in_groups(digits: str) -> Iterator[str]:
    """Threes, and at the end three to five: what a listener can write down."""
    while len(digits) > LONGEST_GROUP:
        yield digits[:3]
        digits = digits[3:]
    yield digits
