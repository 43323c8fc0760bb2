"""Prices: "$1,250.50", "$0.50", "35 €", "$10-20", "$1.5M", "$35/month"."""

import re

from agent.mouth.number_words import cardinal, digit_by_digit
from agent.mouth.owned_text import OwnedText

_CURRENCIES = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "€": ("euro", "euros", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "¥": ("yen", "yen", "", ""),
    "₹": ("rupee", "rupees", "paisa", "paise"),
}
_CODES = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹"}
_SCALES = {"k": "thousand", "m": "million", "b": "billion", "bn": "billion"}
_AMOUNT = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_SCALE = r"(?:\s?(?P<scale>thousand|million|billion|trillion|[kKmMbB]|bn)(?![A-Za-z]))?"
_SIGNS = "[$€£¥₹]"
_CODE = "|".join(_CODES)
_RANGE = re.compile(rf"(?<=\d)\s?[-–]\s?(?={_SIGNS}\d)")
_SHORT_RANGE = re.compile(rf"(?P<sign>{_SIGNS})(?P<low>{_AMOUNT})\s?[-–]\s?(?P<high>{_AMOUNT})(?![\d,]*\d|[-–/]\d)")
_LED = re.compile(rf"(?<!\w)(?P<minus>[-−])?(?:US|U\.S\.|C|CA|A|AU)?(?P<sign>{_SIGNS})\s?(?P<amount>{_AMOUNT}){_SCALE}")
_CODED = re.compile(rf"(?<!\w)(?P<code>{_CODE})\s?(?P<amount>{_AMOUNT}){_SCALE}")
_FOLLOWED = re.compile(
    rf"(?<![\w.,$€£¥₹])(?P<minus>[-−])?(?P<amount>{_AMOUNT})\s?(?:(?P<sign>[$€£¥₹])|(?P<code>{_CODE})(?!\w))(?!\d)"
)
_PER = re.compile(
    r"(?<=[A-Za-z\d])\s?/\s?(month|mo|year|yr|week|wk|day|hour|hr|night|person|minute|min|unit|item|seat|user)\b\.?(?!/)"
)
_SHORT_UNITS = {"mo": "month", "yr": "year", "wk": "week", "hr": "hour", "min": "minute"}


def say_money(text: OwnedText) -> None:
    """Rewrite every price in `text`, and "/month" and its like behind prices and numbers."""
    text.rewrite(_RANGE, lambda match: " to ")
    text.rewrite(_SHORT_RANGE, _short_range)
    text.rewrite(_LED, _price)
    text.rewrite(_CODED, _price)
    text.rewrite(_FOLLOWED, _price)
    text.rewrite(_PER, lambda match: f" per {_SHORT_UNITS.get(match[1], match[1])}")


def amount(written: str) -> str:
    """ "1,250.5" is "one thousand two hundred fifty point five"."""
    whole, _, part = written.replace(",", "").partition(".")
    said = cardinal(int(whole or 0))
    return f"{said} point {digit_by_digit(part)}" if part.strip("0") else said


def _short_range(match: re.Match[str]) -> str | None:
    """ "$10-20"; "$555-0142" is none."""
    if len(match["high"]) > 1 and match["high"][0] == "0":
        return None
    return f"{amount(match['low'])} to {amount(match['high'])} {_CURRENCIES[match['sign']][1]}"


def _price(match: re.Match[str]) -> str | tuple[str, ...]:
    groups = match.groupdict()
    sign = groups.get("sign") or _CODES[groups["code"]]
    minus = "minus " if groups.get("minus") else ""
    if scale := groups.get("scale"):
        said, behind = amount(match["amount"]), f"{_SCALES.get(scale.lower(), scale)} {_CURRENCIES[sign][1]}"
        return (minus + said, behind) if " " in match[0].strip() else f"{minus}{said} {behind}"
    return minus + _price_words(match["amount"], sign)


def _price_words(written: str, sign: str) -> str:
    one, many, small_one, small_many = _CURRENCIES[sign]
    whole, _, part = written.replace(",", "").partition(".")
    if not small_one or len(part) > 2 or whole.startswith("00"):
        return f"{amount(written)} {many}"
    large, small = int(whole or 0), int(part.ljust(2, "0") or 0) if part else 0
    coins = f"{cardinal(small)} {small_one if small == 1 else small_many}"
    if not large and small:
        return coins
    notes = f"{cardinal(large)} {one if large == 1 else many}"
    return f"{notes} and {coins}" if small else notes
