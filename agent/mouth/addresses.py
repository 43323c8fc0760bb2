"""E-mail and web addresses, and street addresses with their short words."""

import re

from agent.mouth.number_words import number_or_digits, spelled, word_or_spelled
from agent.mouth.owned_text import OwnedText

_DOMAINS = "com|org|net|edu|gov|io|co|us|uk|ca|au|de|fr|info|biz|app|dev|ai|me|tv|shop|store|online|health|care|example|test"
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}(?!\w)")
_WEB = re.compile(
    r"(?<![\w@.])(?:(?P<scheme>https?://)|(?P<www>www\.))?(?:www\.)?"
    rf"(?P<host>(?:[A-Za-z0-9-]{{1,63}}\.){{1,5}}(?:(?P<known>{_DOMAINS})|[a-z]{{2,24}}))(?![\w@])(?P<path>[/?#:]\S*)?"
)
_LONGEST_PATH = 30
_PART = re.compile(r"[A-Za-z]+|\d+|[^\w\s]|_")
_SIGNS = {
    ".": "dot", "@": "at", "_": "underscore", "-": "dash", "+": "plus", "/": "slash", "&": "and", "=": "equals",
    "?": "question mark",
}  # fmt: skip

_STREETS = {
    "St": "Street", "Dr": "Drive", "Ave": "Avenue", "Blvd": "Boulevard", "Rd": "Road", "Ln": "Lane", "Ct": "Court", "Pl": "Place",
    "Pkwy": "Parkway", "Hwy": "Highway", "Ter": "Terrace", "Cir": "Circle", "Sq": "Square",
}  # fmt: skip
_COMPASS = {
    "N": "North", "S": "South", "E": "East", "W": "West", "NE": "Northeast", "NW": "Northwest", "SE": "Southeast",
    "SW": "Southwest",
}  # fmt: skip
_ROOMS = {
    "Apt": "Apartment", "Ste": "Suite", "Rm": "Room", "Bldg": "Building", "Fl": "Floor", "Flr": "Floor", "Ext": "Extension",
    "ext": "extension", "Tel": "Telephone",
}  # fmt: skip
_STREET_NAME = r"\b\d+[A-Za-z]?(?:\s(?:[NSEW]|N[EW]|S[EW])\b\.?)?(?:\s(?:[A-Z][a-z’']+|\d+(?:st|nd|rd|th))){1,3}"
_NUMBERED_STREET = re.compile(rf"{_STREET_NAME}\s(({'|'.join(_STREETS)})\b(?:\.(?!\s+[A-Z]|$))?)")
_NAMED_STREET = re.compile(
    r"(?:[a-z,]|\d(?:st|nd|rd|th))\s(?:[A-Z][a-z]+|\d+(?:st|nd|rd|th))\s((St|Ave|Blvd|Rd|Ln|Pkwy|Hwy)\b(?:\.(?!\s+[A-Z]|$))?)"
)
_DIRECTION = re.compile(rf"\b\d+[A-Za-z]?\s(({'|'.join(sorted(_COMPASS, key=len, reverse=True))})\b\.?)(?=\s(?:[A-Z]|\d))")
_ROOM = re.compile(rf"\b({'|'.join(_ROOMS)})\b\.?(?=\s?[\d#:]|\s[A-Z]\b)")


def say_addresses(text: OwnedText) -> None:
    """Rewrite every address in `text`: "Apt 4B" becomes "Apartment 4B", "info@example.com" "info at example dot com"."""
    text.rewrite(_EMAIL, lambda match: _parts(match[0]))
    text.rewrite(_WEB, _web)
    text.rewrite(_DIRECTION, lambda match: _COMPASS[match[2]], 1)
    text.rewrite(_NUMBERED_STREET, lambda match: _STREETS[match[2]], 1)
    text.rewrite(_NAMED_STREET, lambda match: _STREETS[match[2]], 1)
    text.rewrite(_ROOM, lambda match: _ROOMS[match[1]] + ("" if match.string[match.end() : match.end() + 1] == " " else " "))


def _web(match: re.Match[str]) -> str | None:
    """Host and a short path; a long path is not for the ear."""
    if not (match["scheme"] or match["www"] or match["known"]):
        return None
    path = match["path"] or ""
    stop = path[len(path.rstrip(".,;:!?)\"'")) :]
    path = path[: len(path) - len(stop)].rstrip("/")
    return _parts(match["host"] + (path if len(path) <= _LONGEST_PATH else "")) + stop


def _parts(address: str) -> str:
    said = []
    for part in _PART.findall(address):
        if part[0].isalpha():
            said.append(spelled(part) if part in ("tv", "us", "me", "ai") else word_or_spelled(part) if part != "co" else part)
        elif part.isdigit():
            said.append(number_or_digits(part))
        elif part in _SIGNS:
            said.append(_SIGNS[part])
    return " ".join(said)
