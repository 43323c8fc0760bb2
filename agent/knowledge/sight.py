"""A question as vectors: one pass of the encoder, and what of it does not depend on a passage."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agent.knowledge.encoder import Encoder, Floats, Reading
from agent.knowledge.index import Index
from agent.knowledge.question import Question
from agent.knowledge.words import stem

THINGS = "things and products", "professions and staff", "illnesses and treatments", "places and buildings", "kinds of goods"
DOINGS = "to do something", "to start and to finish", "to send and to keep", "ready, done, open", "more, total, full"
"""Ends of a scale for words. A question about an unknown thing has no answer; an unknown verb or adverb matters less."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Vectors are of unit length. Arrays "per word" follow the question's content words, "per phrase" its phrases."""

    question: Question
    whole: Reading
    keywords: Floats
    nameless: Floats
    words: Floats
    """float32[words, dimensions]"""
    stems: tuple[str, ...]
    phrases: Floats
    """float32[phrases, dimensions]"""
    tokens: tuple[npt.NDArray[np.int64], ...]
    """Per word that was found in the text, its tokens in `whole`."""
    rarity: dict[str, float]
    """Per stem of the question's matter, how rare it is among the passages: 0 for a stem of all, 7 for one of 1 in 1,000."""
    thingness: Floats
    """Per word, from about -0.5 (a verb, an adverb) to 0.5 (a thing, a trade)."""
    known_words: Floats
    """Per word, how near the nearest term of any passage is, 0..1."""
    known_phrases: Floats
    is_name: npt.NDArray[np.bool_]
    is_noun: npt.NDArray[np.bool_]


def see(question: Question, index: Index, encoder: Encoder, scale: Floats) -> Sight:
    """`scale` is `thing_scale(encoder)`."""
    texts = [question.text, question.keywords, question.nameless, *question.content, *question.phrases]
    readings = encoder.read([text or "?" for text in texts])
    wholes = np.stack([reading.whole for reading in readings])
    first_phrase = 3 + len(question.content)
    words, phrases = wholes[3:first_phrase], wholes[first_phrase:]
    stems = tuple(stem(word) for word in question.content)
    frequency = index.vocabulary.frequency
    passages = len(index.passages)
    return Sight(
        question=question,
        whole=readings[0],
        keywords=wholes[1],
        nameless=wholes[2],
        words=words,
        stems=stems,
        phrases=phrases,
        tokens=_tokens(question, readings[0]),
        rarity={each: float(np.log((passages + 1) / (frequency.get(each, 0) + 0.5))) for each in question.matter},
        thingness=words @ scale,
        known_words=nearness(words, index.arrays.terms, [each in frequency for each in stems]),
        known_phrases=nearness(phrases, index.arrays.terms, [all_in(phrase, frequency) for phrase in question.phrases]),
        is_name=np.array([word in index.vocabulary.names for word in question.content], bool),
        is_noun=np.array(question.is_noun, bool),
    )


def thing_scale(encoder: Encoder) -> Floats:
    """The direction from doings to things, of unit length."""
    direction = encoder.encode(THINGS).mean(axis=0) - encoder.encode(DOINGS).mean(axis=0)
    return np.asarray(direction / max(float(np.linalg.norm(direction)), 1e-6), np.float32)


def nearness(wanted: Floats, terms: Floats, exact: Sequence[bool]) -> Floats:
    """Per wanted vector, how near the nearest term is, 0..1; 1 where the words themselves stand there."""
    if not len(wanted) or not len(terms):
        return np.array(exact, np.float32)
    nearest = np.clip((wanted @ terms.T).max(axis=1), 0, 1)
    return np.where(np.array(exact, bool), np.float32(1), nearest).astype(np.float32)


def all_in(phrase: str, stems: Collection[str]) -> bool:
    """Whether every word of the phrase is there, in any form and order."""
    return all(stem(word) in stems for word in phrase.split())


def _tokens(question: Question, reading: Reading) -> tuple[npt.NDArray[np.int64], ...]:
    text = question.text.lower()
    first, last = reading.spans[:, 0], reading.spans[:, 1]
    found = []
    for word in question.content:
        at = text.find(word.partition("'")[0])
        inside = (first >= at) & (last <= at + len(word)) & (last > first)
        if at >= 0 and inside.any():
            found.append(np.flatnonzero(inside))
    return tuple(found)
