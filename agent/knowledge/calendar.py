"""Which days of the week and which holidays a text is about; "Monday to Thursday" is about Tuesday too."""

import re

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = rf"({'|'.join(_DAYS)})s?"
_ONE = re.compile(rf"\b{_DAY}\b")
_RANGE = re.compile(rf"\b{_DAY}(?: (?:to|through|until|till)|\s*[-–])\s*{_DAY}\b")
_GROUPS = {
    re.compile(r"\bweek ?days?\b|\bduring the week\b"): _DAYS[:5],
    re.compile(r"\bweek ?ends?\b"): _DAYS[5:],
    re.compile(r"\bevery day\b|\bdaily\b|\b(?:7|seven) days a week\b"): _DAYS,
}
_HOLIDAYS = {
    "christmas eve": r"christmas eve|december 24(?:th)?|24th of december",
    "christmas": r"christmas(?! eve)|december 25(?:th)?|x-?mas",
    "new year's eve": r"new year'?s? eve|december 31(?:st)?|last day of (?:the year|december)",
    "new year": r"new year(?!'?s? eve)(?:'?s)?(?: day)?|january 1(?:st)?\b|first of january",
    "independence day": r"independence day|july (?:4(?:th)?|fourth)|(?:fourth|4th) of july",
    "martin luther king day": r"martin luther king|mlk day",
    **{name: name for name in ("thanksgiving", "easter", "good friday", "halloween", "juneteenth", "hanukkah", "ramadan")},
    **{f"{name} day": rf"{name}'?s?'? day" for name in ("memorial", "labor", "president", "columbus", "veteran", "valentine")},
    **{f"{name} day": rf"{name}'?s?'? day" for name in ("mother", "father", "election", "patrick", "boxing", "may", "groundhog")},
}
_NAMED = {name: re.compile(rf"\b(?:{pattern})\b") for name, pattern in _HOLIDAYS.items()}
_ANY_HOLIDAY = re.compile(r"\b(?:public |bank |legal |federal )?holidays?\b")

ANY = "any holiday"
"""Stands for "public holidays" without a name."""


def days_of(text: str) -> frozenset[str]:
    """Days of the week, in lower case."""
    low = _without_holidays(text)
    days = {match.group(1) for match in _ONE.finditer(low)}
    for match in _RANGE.finditer(low):
        first, last = _DAYS.index(match.group(1)), _DAYS.index(match.group(2))
        days.update(_DAYS[(first + step) % 7] for step in range((last - first) % 7 + 1))
    for pattern, group in _GROUPS.items():
        if pattern.search(low):
            days.update(group)
    return frozenset(days)


def holidays_of(text: str) -> frozenset[str]:
    """Holidays by a name of ours, and `ANY`."""
    low = text.lower().replace("’", "'")
    named = {name for name, pattern in _NAMED.items() if pattern.search(low)}
    return frozenset(named | ({ANY} if _ANY_HOLIDAY.search(low) else set()))


def _without_holidays(text: str) -> str:
    low = text.lower().replace("’", "'")
    return _NAMED["good friday"].sub(" ", low)
