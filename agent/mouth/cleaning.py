"""What is written for the eye is taken out: markup, emoji, control characters, letters that the voice cannot read."""

import html
import re
import unicodedata

from agent.mouth.owned_text import OwnedText

LONGEST_WORD = 200
"""Characters of one written word that are looked at."""

_KEPT = frozenset("’‘“”–—…£€¥₹₩°¢½¼¾×÷±²³§")
_LETTERS = {
    "ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d",
    "þ": "th", "Þ": "Th", "ı": "i", "。": ".", "、": ",", "―": "—", "‒": "–", "−": "-", "‑": "-", "„": "“", "‚": ",", "′": "'",
    "″": '"', "·": " ", "•": " ", "→": " to ", "≈": "~",
}  # fmt: skip

_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,300}\)")
_ENTITY = re.compile(r"&(?:#\d{1,6}|#x[0-9a-fA-F]{1,5}|[A-Za-z]{2,8});")
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,200}>")
_LIST_MARK = re.compile(r"^(?:[-*+•]|#{1,6}|>)\s+")
_INNER_MARK = re.compile(r"(?<=\s)(?:#{1,6}|>|\|)\s+")
_EMPHASIS = re.compile(r"[*`~_]{2,}|`|(?<![\w*])[*_](?=\w)|(?<=[\w.,!?:;)])[*_](?![\w*])")
_TIMES = re.compile(r"(?<=\d)\s?[*×]\s?(?=\d)")
_BETWEEN_LETTERS = re.compile(r"(?<=[A-Za-z])_(?=[A-Za-z])")
_SMILEY = re.compile(r"(?<!\w)[:;]-?[)(DPp/](?!\w)|(?<!\w)<3(?!\d)|\^_\^")
_COMPARED = re.compile(r"(?<=\d)\s?([<>])\s?(?=\d)")
_ABOUT = re.compile(r"(?<![\w~])~\s?(?=[\d$£€])")
_LEFT_OVER = re.compile(r"[\[\]{}<>|\\^`~*]|(?<!\w)_|_(?!\w)|(?<!\w)#(?!\w)")
_DASHES = re.compile(r"(?<!-)--+(?!-)|---+|[—–]{2,}")
_DOTS = re.compile(r"\.{4,}|…{2,}|\.\.\.")
_MARKS = re.compile(r"[!?]{2,}")
_REPEATED = re.compile(r"([,;:\"])\1+|(?<!\.)\.\.(?!\.)")


def clean(text: OwnedText) -> None:
    """Leave letters of the Latin alphabet, digits, and the marks that rules and library read or that shape the melody."""
    text.rewrite(re.compile(rf"(?<=\S{{{LONGEST_WORD}}})\S+"), lambda match: "")
    text.rewrite(_LINK, lambda match: match[1], 0)
    text.rewrite(_TAG, lambda match: " ")
    text.rewrite(_ENTITY, lambda match: html.unescape(match[0]))
    text.translate(_readable)
    text.rewrite(_SMILEY, lambda match: "")
    text.rewrite(_LIST_MARK, lambda match: "")
    text.rewrite(_INNER_MARK, lambda match: "")
    text.rewrite(_TIMES, lambda match: " times ")
    text.rewrite(_EMPHASIS, lambda match: "")
    text.rewrite(_BETWEEN_LETTERS, lambda match: " ")
    text.rewrite(_COMPARED, lambda match: " less than " if match[1] == "<" else " greater than ")
    text.rewrite(_ABOUT, lambda match: "about ")
    text.rewrite(_LEFT_OVER, lambda match: " ")
    text.rewrite(_DASHES, lambda match: " — ")
    text.rewrite(_DOTS, lambda match: "…")
    text.rewrite(_MARKS, lambda match: "?" if "?" in match[0] else "!")
    text.rewrite(_REPEATED, lambda match: match[0][0])


def _readable(letter: str) -> str:
    """A character as the library can take it: itself, something like it, a space, or nothing."""
    if letter in _LETTERS:
        return _LETTERS[letter]
    if letter.isascii():
        return letter if letter.isprintable() else " " if letter.isspace() else ""
    if letter in _KEPT or "À" <= letter <= "ɏ":
        return letter
    if letter.isspace():
        return " "
    return "".join(one for one in unicodedata.normalize("NFKD", letter) if one.isascii() and one.isprintable())
