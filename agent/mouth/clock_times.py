"""Times of day, days of the week and spans of them: "8 am-6 pm", "9:00-17:30", "Mon-Fri", "24/7"."""

import re

from agent.mouth.number_words import cardinal
from agent.mouth.owned_text import OwnedText

_CLEAR = {
    "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday", "Thur": "Thursday",
    "Thurs": "Thursday", "Fri": "Friday", "Feb": "February", "Apr": "April", "Aug": "August", "Sep": "September",
    "Sept": "September", "Oct": "October", "Nov": "November", "Dec": "December",
}  # fmt: skip
_DOUBTFUL = {"Sat": "Saturday", "Sun": "Sunday", "Mar": "March", "Jan": "January", "Jun": "June", "Jul": "July"}
"""These are words or names too: they are expanded only beside another such name or a number."""
_NAMES = {**_CLEAR, **_DOUBTFUL}
_FULL = "|".join(dict.fromkeys([*_NAMES.values(), "May"]))
_ANY = f"{_FULL}|{'|'.join(_DOUBTFUL)}"
_NO_STOP = r"(?:\.(?!\s+[A-Z]|$))?"
_BETWEEN = r"(?:\s?[-–—,/&]\s?|\s(?:and|or|to|through)\s)"

_CLEAR_NAME = re.compile(rf"\b({'|'.join(_CLEAR)})\b(?![’'@]|\.\w){_NO_STOP}")
_DOUBTFUL_FIRST = re.compile(rf"\b({'|'.join(_DOUBTFUL)})\b{_NO_STOP}(?={_BETWEEN}(?:{_ANY})\b|,?\s(?:at\s)?\d)")
_DOUBTFUL_SECOND = re.compile(rf"\b(?:{_FULL}){_BETWEEN}(({'|'.join(_DOUBTFUL)})\b{_NO_STOP})")
_ANY_NAME = re.compile(rf"(?:{_FULL}|{'|'.join(_NAMES)})\b")
_SPAN_OF_NAMES = re.compile(rf"\b(?:{_FULL})\b(\s?[-–—]\s?)(?=(?:{_FULL})\b)")
_SLASHED_NAMES = re.compile(rf"\b(?:{_FULL})\b(\s?/\s?)(?=(?:{_FULL})\b)")

_HALF = r"(?P<half>[AaPp])\.?\s?[Mm]\b\.?"
_CLOCK = r"\d{1,2}(?::\d\d)?"
_SPAN_TO_HALF = re.compile(rf"(?<=[\dmM.])(\s?[-–—]\s?)(?={_CLOCK}\s?{_HALF})")
_SPAN_OF_TIMES = re.compile(r"(?<=\d:\d\d)\s?[-–—]\s?(?=\d{1,2}:\d\d(?!\d))")
_TIME = re.compile(rf"(?<![\d:.,$])(?P<hour>\d{{1,2}})(?::(?P<minute>\d\d))?\s?{_HALF}(?!\w)")
_TIME_24 = re.compile(r"(?<![\d:.,])(?P<hour>\d{1,2}):(?P<minute>\d\d)(?![\d:])(?P<half>)")
_ALWAYS = re.compile(r"(?<![\d/])24\s?/\s?7(?:\s?/\s?365)?(?![\d/])")


def say_times(text: OwnedText) -> None:
    """Rewrite times of day, and the short names of days and months where they are meant."""
    text.rewrite(_ALWAYS, lambda match: "twenty four seven" + (", three sixty five" if "365" in match[0] else ""))
    text.rewrite(_SPAN_TO_HALF, lambda match: " to ")
    text.rewrite(_SPAN_OF_TIMES, lambda match: " to ")
    text.rewrite(_TIME, _time)
    text.rewrite(_TIME_24, _time)
    text.rewrite(_CLEAR_NAME, lambda match: _NAMES[match[1]])
    text.rewrite(_DOUBTFUL_FIRST, lambda match: _NAMES[match[1]])
    text.rewrite(_DOUBTFUL_SECOND, lambda match: _NAMES[match[2]], 1)
    text.rewrite(_SPAN_OF_NAMES, lambda match: " to ", 1)
    text.rewrite(_SLASHED_NAMES, lambda match: ", ", 1)


def _time(match: re.Match[str]) -> str | tuple[str, ...] | None:
    hour, minute, half = int(match["hour"]), match["minute"], match["half"]
    if hour > (12 if half else 24) or (minute and int(minute) > 59):
        return None
    said = cardinal(hour)
    if minute and minute[0] == "0" and minute != "00":
        said += f" oh {cardinal(int(minute))}"
    elif minute and minute != "00":
        said += f" {cardinal(int(minute))}"
    elif not half:
        said += " o'clock" if 0 < hour <= 12 else " hundred"
    if not half:
        return said
    # With its points, so that the library spells it; one more where the written one also ended the sentence.
    letters = f"{half.upper()}.M." + ("." if match[0].endswith(".") and _ends(match) else "")
    words = match[0].split()
    return (said, letters, *[""] * (len(words) - 2)) if len(words) > 1 else f"{said} {letters}"


def _ends(match: re.Match[str]) -> bool:
    """Whether the point behind "a.m." is a full stop too."""
    behind = match.string[match.end() :].lstrip()
    return not behind or (behind[0].isupper() and not _ANY_NAME.match(behind))
