"""From the passage that answers to what is said: the sentences that the question asks for, and no more than one can listen to."""

import re
from collections.abc import Sequence

from agent.knowledge.passages import Kind, Passage, Sentence
from agent.knowledge.question import Question
from agent.knowledge.words import stem, words

MOST_WORDS = 35
"""Words of an answer, unless a single sentence is longer."""
MOST_SENTENCES = 3
NEAR = 3.0
"""Sentences this close behind the best one, on the logarithmic scale of the ranking, are told as well."""
SHORT_PASSAGE = 25
"""A passage of so few words is told as a whole, unless a sentence is `FAR` behind: leaving out costs more than it saves."""
FAR = 6.0

_LEANS_BACK = re.compile(
    r"(?:it|its|they|them|their|he|she|his|her|this|these|that|those|then|there|with that|one|another|later|otherwise"
    r"|but|except|only|the others?)\b",
    re.IGNORECASE,
)
_LIMITS = re.compile(r"\b(?:but|except|only|unless|otherwise|however|instead|not)\b", re.IGNORECASE)


def compose(passage: Passage, scores: Sequence[float], question: Question) -> str:
    """Written text of 1 to `MOST_SENTENCES` sentences of the passage, in its order. `scores`: one per sentence."""
    best = max(range(len(scores)), key=scores.__getitem__)
    if passage.sentences[best].kind is Kind.ITEM and not _is_meant_alone(passage, passage.sentences[best], question):
        return _whole_list(passage, best)
    chosen = _chosen(passage, scores, best)
    lines = [passage.sentences[position].text for position in chosen]
    first = passage.sentences[chosen[0]]
    if first.kind is Kind.ITEM:
        return f"{(first.lead or passage.title).rstrip('.:')}: {' '.join(lines)}"
    leans = chosen[0] > 0 and _LEANS_BACK.match(first.text)
    if leans or (first.kind is Kind.ROW and _needs_title(passage, lines, question)):
        return f"{passage.title.rstrip('.:?')}: {' '.join(lines)}"
    return " ".join(lines)


def _chosen(passage: Passage, scores: Sequence[float], best: int) -> list[int]:
    """The best sentence, what it leans back on, then the nearest others while there is room."""
    chosen = [best]
    room = MOST_WORDS - _length(passage.sentences[best])

    def add(position: int) -> None:
        nonlocal room
        length = _length(passage.sentences[position])
        if position not in chosen and len(chosen) < MOST_SENTENCES and length <= room:
            chosen.append(position)
            room -= length

    if best > 0 and _LEANS_BACK.match(passage.sentences[best].text):
        add(best - 1)
    if best + 1 < len(scores) and _limits(passage, best):
        add(best + 1)
    reach = FAR if len(passage.text.split()) <= SHORT_PASSAGE and passage.sentences[best].kind is Kind.PROSE else NEAR
    for position in sorted(range(len(scores)), key=lambda each: -scores[each]):
        if scores[position] >= scores[best] - reach:
            add(position)
    return sorted(chosen)


def _limits(passage: Passage, position: int) -> bool:
    """Whether the next sentence takes back a part of this one: who hears the rule must hear its exception."""
    following = passage.sentences[position + 1]
    return following.kind is Kind.PROSE and bool(_LEANS_BACK.match(following.text) and _LIMITS.search(following.text))


def _length(sentence: Sentence) -> int:
    return len(sentence.text.split())


def _is_meant_alone(passage: Passage, item: Sentence, question: Question) -> bool:
    """Whether the question names something of this item that is not common to the list."""
    around = {stem(word) for text in (*passage.titles, item.lead) for word in words(text)}
    asked = {stem(word) for word in question.content} - around
    return bool(asked & {stem(word) for word in words(item.text)})


def _whole_list(passage: Passage, best: int) -> str:
    lead = passage.sentences[best].lead
    items, room = [], MOST_WORDS
    for sentence in passage.sentences:
        if sentence.kind is Kind.ITEM and sentence.lead == lead and _length(sentence) <= room:
            items.append(sentence.text.rstrip("."))
            room -= _length(sentence)
    if not items:
        return passage.sentences[best].text
    told = items[0] if len(items) == 1 else f"{'; '.join(items[:-1])}; and {items[-1]}"
    return f"{(lead or passage.title).rstrip('.:?')}: {told}."


def _needs_title(passage: Passage, lines: Sequence[str], question: Question) -> bool:
    """Whether the rows alone leave out something asked for that the title says."""
    asked = {stem(word) for word in question.content}
    told = {stem(word) for line in lines for word in words(line)}
    return bool((asked - told) & {stem(word) for word in words(passage.title)})
