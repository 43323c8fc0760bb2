"""From the phonemes of hibari's G2P (misaki's alphabet, American) to those of espeak's en-us, in which Piper voices are trained.

Written from the two alphabets; espeak itself is GPL and is neither used nor needed. misaki folds diphthongs into one letter,
drops length and writes r-coloured vowels with an r; this unfolds them again.
"""

from collections.abc import Iterator

_UNFOLDED = {
    "A": "eɪ", "I": "aɪ", "O": "oʊ", "Q": "əʊ", "W": "aʊ", "Y": "ɔɪ", "ʤ": "dʒ", "ʧ": "tʃ", "ᵊ": "ə", "T": "ɾ",
    "u": "uː", "ɑ": "ɑː", "ɔ": "ɔː", "o": "oʊ",
    "—": ",", "…": ".", "“": "", "”": "", '"': "", "(": ",", ")": ",",
}  # fmt: skip
_VOWELS = frozenset("AIOQWYaeiouæɑɒɔəɛɜɪʊʌᵻᵊɐ")
_STRESS = "ˈˌ"


def espeak_symbols(phonemes: str) -> list[str]:
    """For each character of `phonemes` what espeak would write, possibly nothing."""
    return list(_symbols(phonemes))


def _symbols(phonemes: str) -> Iterator[str]:
    for at, phoneme in enumerate(phonemes):
        before, behind = phonemes[at - 1 : at], phonemes[at + 1 : at + 2]
        if phoneme == "ɹ" and before in ("ɜ", "ə"):
            # The r is in the vowel already; before another vowel it is heard once more.
            yield "ɹ" if phonemes[at + 1 : at + 3].lstrip(_STRESS)[:1] in _VOWELS else ""
        elif phoneme == "ɜ":
            yield "ɜː"
        elif phoneme == "ə" and behind == "ɹ":
            yield "ɚ"
        elif phoneme == "i":
            yield "iː" if before and before in _STRESS else "i"
        else:
            yield _UNFOLDED.get(phoneme, phoneme)
