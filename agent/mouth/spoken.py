"""The spoken form of a text: what is said for each written word.

Rules in front of hibari's normaliser mend what that does not read as a telephone agent must; it reads the rest (dates, units,
ordinals, titles, decimals). Any text is taken, and one without a speakable character is read as nothing.
"""

import re
from dataclasses import dataclass

from hibari.g2p.normalize import normalize  # type: ignore[import-untyped]

from agent.mouth.addresses import say_addresses
from agent.mouth.cleaning import clean
from agent.mouth.clock_times import say_times
from agent.mouth.codes import say_codes
from agent.mouth.money import say_money
from agent.mouth.number_words import ordinal
from agent.mouth.owned_text import OwnedText
from agent.mouth.phone_numbers import say_phone_numbers

LONGEST_SPOKEN = 40
"""Spoken words of one written word; a longer reading is cut there."""
LONGEST_PIECE = 20
"""Letters of one spoken word; a longer one is said in pieces."""

_PERCENT_SPAN = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)%?\s?[-–]\s?(\d+(?:\.\d+)?)\s?%")
_ORDINAL_SPAN = re.compile(r"(?<=\d(?:st|nd|rd|th))\s?[-–]\s?(?=\d+(?:st|nd|rd|th)\b)")
_MONTH_SPAN = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
    r"\.?\s\d{1,2}(?:st|nd|rd|th)?(\s?[-–]\s?(\d{1,2})(?:st|nd|rd|th)?)(?![\w:/-])"
)
_SPAN = re.compile(r"(?<![\w.,/:-])(\d{1,4})\s?[-–]\s?(\d{1,4})(?=[.,;:!?)\"]*(?:\s|$))")
_THOUSANDS = re.compile(r"(?<![\w.,-])(\d{1,3})k(?!\w)")
_DASHED_DATE = re.compile(r"(?<![\w/-])(\d{1,2})-(\d{1,2})-(\d{4})(?![\w/-])")
_SHORT_WORDS = {
    "e.g.": "for example", "i.e.": "that is", "a.k.a.": "also known as", "appt": "appointment", "appts": "appointments",
    "w/": "with ", "ASAP": "as soon as possible", "asap": "as soon as possible", "FYI": "for your information", "No.": "Number",
    "N/A": "not available", "n/a": "not available", "c/o": "care of",
}  # fmt: skip
_SHORT = re.compile(
    r"(?<![\w.])(e\.g\.|i\.e\.|a\.k\.a\.|appts?\b\.?|w/(?=\w{3})|ASAP\b|asap\b|FYI\b|N/A\b|n/a\b|c/o\b|No\.(?=\s?[A-Z]?\d))"
)
_TIMES_X = re.compile(r"(?<![\w.])(\d+)x(?!\w)")
_FEET_INCHES = re.compile(r"(?<!\w)(\d+)'(\d{1,2})(?:\"|''|”)?(?!\w)")
_QUOTE_BEHIND_DIGIT = re.compile(r"(?<=\d)['’](?!\w)")
_SPEAKABLE = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Reading:
    """`spoken`: the words said for the written word, single spaces between them, with the punctuation that shapes the melody."""

    written: str
    spoken: str


def spoken_form(text: str) -> tuple[Reading, ...]:
    """A reading for every whitespace-separated word of `text`, in order; `spoken` is empty where there is nothing to say."""
    owned = OwnedText(text)
    clean(owned)
    say_money(owned)
    say_addresses(owned)
    say_phone_numbers(owned)
    _say_small_things(owned)
    say_times(owned)
    say_codes(owned)
    owned.normalise(normalize)
    spoken = [_in_pieces(said) for said in owned.spoken()]
    if not any(_SPEAKABLE.search(said) for said in spoken):
        spoken = [""] * len(spoken)
    return tuple(Reading(written, said) for written, said in zip(owned.written, spoken, strict=True))


def _say_small_things(text: OwnedText) -> None:
    text.rewrite(_SHORT, lambda match: _SHORT_WORDS.get(match[0]) or _SHORT_WORDS[match[0].rstrip(".")])
    text.rewrite(_PERCENT_SPAN, lambda match: f"{match[1]} to {match[2]} percent")
    text.rewrite(_ORDINAL_SPAN, lambda match: " to ")
    text.rewrite(_MONTH_SPAN, lambda match: f" to the {ordinal(int(match[2]))}", 1)
    text.rewrite(_SPAN, lambda match: f"{match[1]} to {match[2]}")
    text.rewrite(_THOUSANDS, lambda match: f"{match[1]} thousand")
    text.rewrite(_DASHED_DATE, lambda match: f"{match[1]}/{match[2]}/{match[3]}")
    text.rewrite(_TIMES_X, lambda match: f"{match[1]} times")
    text.rewrite(_FEET_INCHES, lambda match: f"{match[1]} foot {match[2]}")
    text.rewrite(_QUOTE_BEHIND_DIGIT, lambda match: "")


def _in_pieces(said: str) -> str:
    """Bounded: no word longer than a voice can say in one go, and not more of them than a listener can bear."""
    pieces = [word[at : at + LONGEST_PIECE] for word in said.split() for at in range(0, len(word), LONGEST_PIECE)]
    return " ".join(pieces[:LONGEST_SPOKEN])
