"""Words that a recogniser got wrong, put right by what the documents write: "root cannel" is "root canal"."""

import re

from rapidfuzz import process
from rapidfuzz.distance import Indel

from agent.knowledge.encoder import Encoder
from agent.knowledge.vocabulary import Vocabulary
from agent.knowledge.words import ASKING_WORDS, LIGHT_WORDS, alike, sound, stem, words

BESIDE_ITS_NEIGHBOUR = 0.74
"""So alike must a word be that stands in the documents next to the same neighbour ("flew shot", "flu shot"); a common word must
sound the same as well."""
ALONE = 0.85
"""So alike must a word be without such a neighbour; then what was heard must be no common word besides."""
ALONE_LETTERS = 0.8
"""And so many of its letters must agree: another firm's name may sound like a word of ours and is still another name."""

_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_SHORTEST = 3
_SHORTEST_JOINED = 6
_SHORTEST_SOUND = 2
_CONSIDERED = 5


def mend(text: str, vocabulary: Vocabulary, encoder: Encoder) -> str:
    """The text with misheard words replaced; all else stays as it was. At most one replacement a word."""
    text = _joined(text, vocabulary)
    matches = list(_WORD.finditer(text))
    heard = [(words(match.group()) or [""])[0] for match in matches]
    pieces, begin = [], 0
    for position, match in enumerate(matches):
        before = heard[position - 1] if position else ""
        after = heard[position + 1] if position + 1 < len(heard) else ""
        meant = _meant(heard[position], before, after, vocabulary, encoder)
        pieces += [text[begin : match.start()], meant or match.group()]
        begin = match.end()
    return "".join((*pieces, text[begin:]))


def _joined(text: str, vocabulary: Vocabulary) -> str:
    """ "check up" as the documents write it: "checkup"."""
    pieces = re.split(r"([ -])", text)
    position = 0
    while position + 2 < len(pieces):
        first, second = pieces[position].lower(), pieces[position + 2].lower().rstrip("?.,!")
        whole = first + second
        writes_it = whole in vocabulary.words and whole not in LIGHT_WORDS and (first, second) not in vocabulary.pairs
        if writes_it and len(whole) >= _SHORTEST_JOINED:
            pieces[position : position + 3] = ["".join((pieces[position], pieces[position + 2]))]
        position += 2
    return "".join(pieces)


def _meant(heard: str, before: str, after: str, vocabulary: Vocabulary, encoder: Encoder) -> str | None:
    """The word of the documents that was meant; None when the one heard may stand."""
    base = heard.partition("'")[0]
    if len(base) < _SHORTEST or base in LIGHT_WORDS or base in ASKING_WORDS:
        return None
    if base in vocabulary.words or stem(base) in vocabulary.frequency:
        return None
    beside = {word for word in (before, after) if word and word not in LIGHT_WORDS}
    common = encoder.knows(base)
    best, best_score = None, 0.0
    for word in _similar(base, vocabulary):
        score = alike(base, word)
        next_to = (before in beside and (before, word) in vocabulary.pairs) or (
            after in beside and (word, after) in vocabulary.pairs
        )
        letters = Indel.normalized_similarity(base, word)
        alone = not common and score >= ALONE and letters >= ALONE_LETTERS
        if score > best_score and (
            alone or (next_to and score >= BESIDE_ITS_NEIGHBOUR and (not common or _same_sound(base, word)))
        ):
            best, best_score = word, score
    return best


def _same_sound(heard: str, written: str) -> bool:
    key = sound(heard)
    return len(key) >= _SHORTEST_SOUND and key == sound(written)


def _similar(heard: str, vocabulary: Vocabulary) -> list[str]:
    by_letters = process.extract(
        heard, vocabulary.long_words, scorer=Indel.normalized_similarity, limit=_CONSIDERED, score_cutoff=BESIDE_ITS_NEIGHBOUR
    )
    return [*vocabulary.by_sound.get(sound(heard), ()), *(word for word, _, _ in by_letters)]
