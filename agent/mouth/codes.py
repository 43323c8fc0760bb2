"""What is read letter by letter or digit by digit: booking codes, card numbers, order numbers, postcodes."""

import re

from agent.mouth.number_words import digit_by_digit, number_or_digits, word_or_spelled
from agent.mouth.owned_text import OwnedText
from agent.mouth.phone_numbers import in_groups

_UNITS = (
    "km|cm|mm|kg|mg|mcg|lbs?|oz|ft|mi|ml|mph|kph|[kMG]?Hz|[kKMGT]B|Mbps|Gbps|hrs?|mins?|secs?|ms|yd|k?Wh|kW|MW|GW|mAh|cc|nm|pct"
)
_NOT_A_CODE = re.compile(rf"\d+(?:st|nd|rd|th|s|{_UNITS})", re.IGNORECASE)
_MIXED = re.compile(r"(?<![\w.,'’/$€£¥-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*(?![\w’'/-]|[.,:]\d)")
_RUN = re.compile(r"[A-Za-z]+|\d+")
_NAMED = re.compile(
    r"\b(?:code|pin|number|account|order|reference|ref|confirmation|ticket|zip|extension|id|case|invoice|claim|policy|tracking|"
    r"booking|card|member|ending in|No\.)(?:\s(?:is|number|code|no\.|ID))?[:,]?\s#?(\d{3,6})(?![\w/%$€£:]|[.,-]\d)",
    re.IGNORECASE,
)
_GROUPED = re.compile(r"(?<![\w.,$-])(?:\d{3,4}(?:[ -]\d{3,4}){2,5}|\d{3}-\d{2}-\d{4}|\d{5}-\d{4})(?![\w-]|[.,]\d)")
_LONG = re.compile(r"(?<![\w.,:$€£¥-])(?:0\d+|\d{5,})(?![\w%-]|[.,]\d)")
_ROUND = re.compile(r"[1-9]\d{2,3}00|[1-9]\d{0,2}0{5,}")


def say_codes(text: OwnedText) -> None:
    """Rewrite codes and the numbers that are names, not amounts."""
    text.rewrite(_GROUPED, lambda match: tuple(", ".join(_digits(group)) for group in match[0].split()))
    text.rewrite(_NAMED, lambda match: ", ".join(_digits(match[1])), 1)
    text.rewrite(_MIXED, _code)
    text.rewrite(_LONG, lambda match: None if _ROUND.fullmatch(match[0]) else ", ".join(_digits(match[0])))


def _digits(written: str) -> list[str]:
    return [digit_by_digit(group) for run in re.findall(r"\d+", written) for group in in_groups(run)]


def _code(match: re.Match[str]) -> str | None:
    """ "A1B-204" is "eh one B, two zero four"; "20-minute" and "5km" are left to the library."""
    parts = match[0].split("-")
    if _NOT_A_CODE.fullmatch(match[0]) or any(part.isalpha() and not part.isupper() for part in parts):
        return None
    said = [
        " ".join(number_or_digits(run) if run.isdigit() else word_or_spelled(run) for run in _RUN.findall(part)) for part in parts
    ]
    # "COVID-19" is a name, "A1B-204" is dictated.
    return (" " if any(word_or_spelled(part).islower() for part in parts if part.isalpha()) else ", ").join(said)
