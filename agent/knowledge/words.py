"""Words as this retrieval compares them: lower case, lightly stemmed, numbers as digits, with a key of how they sound."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from rapidfuzz.distance import Indel

_TOKEN = re.compile(r"\$?\d[\d,]*(?:[.:]\d+)*|[a-z]+(?:'[a-z]+)?")
_UP_TO_NINETEEN = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
"""
_SMALL = {word: number for number, word in enumerate(_UP_TO_NINETEEN.split())}
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_SPELLED_OUT = {
    "dr": "doctor",
    "mr": "mister",
    "st": "street",
    "ave": "avenue",
    "rd": "road",
    "apt": "apartment",
    "dept": "department",
}
_PLAIN_ENDINGS = re.compile(r"(?:'s|')$")
_VOWELS = set("aeiouy")

_FUNCTION_WORDS = """
a about above after again against all also am an and any anybody anyone anything are as at be because been before being below
between both but by can could did do does doing don't down during each either else etc even ever every few for from further
had has have having he her here hers herself him himself his how i i'd i'll i'm i've if in into is isn't it its it's itself
just let let's like may maybe me might mine more most much must my myself neither no nor not of off on once only onto or
other our ours out over own per please quite rather really same shall she should so some somebody someone something still
such than that that's the their them then there there's these they they're this those though through to too under until up
upon us very was we we're were what what's when when's where where's whether which while who who's whom whose why will with
within without won't would yes yet you you'd you'll you're you've your yours
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Words that carry the grammar of a sentence and not its matter."""

_FRAME_WORDS = """
able actually ask asking bit bring calling came come excuse find get getting give go going gonna gotta guess guys happen
happens hear hello help hey hi hope information info kind know known look looking lot make making mean mind need needed needs
offer offered offers oh ok okay possible possibly provide question questions quick quickly right say see sort sorry speak
sure take taken takes taking talk tell telling thank thanks thing things think thinking thought try trying uh um use using
wanna want wanted wanting wants well wonder wondering yeah
"""
FRAME_WORDS = frozenset(_FRAME_WORDS.split())
"""Words with which callers wrap a question, in any trade; they ask for nothing by themselves."""

LIGHT_WORDS = FUNCTION_WORDS | FRAME_WORDS
"""Words that do not say what a question is about."""

_ASKING_WORDS = """
much many long time times cost costs price prices charge charges charged fee fees pay hour hours day days minute minutes week
weeks month months year years old soon early late dollars
"""
ASKING_WORDS = frozenset(_ASKING_WORDS.split())
"""Words that say what kind of answer is wanted, rather than about what."""


def words(text: str) -> list[str]:
    """Words and numbers in order, lower case; "twenty five" and "25" are the same."""
    plain = text.lower().replace("’", "'").replace("-", " ")
    tokens = [token.strip("$").replace(",", "") for token in _TOKEN.findall(plain)]
    return [_SPELLED_OUT.get(token, token) for token in _joined_numbers(tokens)]


def _joined_numbers(tokens: Sequence[str]) -> Iterator[str]:
    position = 0
    while position < len(tokens):
        token = tokens[position]
        following = tokens[position + 1] if position + 1 < len(tokens) else ""
        position += 1
        if token in _TENS and 0 < _SMALL.get(following, 0) < 10:
            yield str(_TENS[token] + _SMALL[following])
            position += 1
        elif token in _SMALL and token != "one":  # "one" is mostly no number: "which one"
            yield str(_SMALL[token])
        else:
            yield str(_TENS.get(token, token))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A key that the forms of a word share: "fillings", "filling" and "filled" give "fill". Not always a word."""
    base = _PLAIN_ENDINGS.sub("", word)
    if not base.isalpha() or len(base) <= 3:
        return base
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("s", "")):
        if base.endswith(ending) and not base.endswith(("ss", "us", "is")):
            base = base.removesuffix(ending) + instead
            break
    for ending in ("ing", "ed", "er", "ly"):
        rest = base.removesuffix(ending)
        if rest != base and len(rest) >= 3 and _VOWELS & set(rest):
            base = rest
            if base[-1] == base[-2] and base[-1] not in "sl":
                base = base[:-1]
            break
    return base.removesuffix("e") if len(base) > 3 else base


@lru_cache(maxsize=20_000)
def sound(word: str) -> str:
    """How a word sounds, roughly: consonants by class, vowels only at the beginning. "flew" and "flu" give the same."""
    text = re.sub(r"[^a-z]", "", word)
    for written, said in _SOUNDS:
        text = re.sub(written, said, text)
    head = "a" if text[:1] in _VOWELS else text[:1]
    key = head + "".join(letter for letter in text[1:] if letter not in _VOWELS and letter not in "hw")
    return re.sub(r"(.)\1+", r"\1", key)


_SOUNDS = (
    (r"^(?:kn|gn|pn)", "n"),
    (r"^wr", "r"),
    (r"^wh", "w"),
    (r"^x", "s"),
    (r"ph", "f"),
    (r"tch|ch|sh|ti(?=o)|ci(?=a)", "j"),
    (r"dg(?=[eiy])|g(?=[eiy])", "j"),
    (r"gh(?=t|$)", ""),
    (r"c(?=[eiy])", "s"),
    (r"ck|c|q", "k"),
    (r"x", "ks"),
    (r"z", "s"),
    (r"v", "f"),
    (r"d", "t"),
    (r"b", "p"),
    (r"g", "k"),
)


def alike(heard: str, written: str) -> float:
    """How likely a recogniser wrote `heard` for `written`, 0..1, from letters and sound."""
    if heard == written:
        return 1.0
    if not heard.isalpha() or not written.isalpha() or min(len(heard), len(written)) < 3:
        return 0.0
    letters = Indel.normalized_similarity(heard, written)
    same_sound = sound(heard) == sound(written)
    return float(max(letters, 0.6 + 0.4 * letters) if same_sound else letters)
