"""What speaks for a sentence as the answer to a question, as numbers: meaning, words, and what is left uncovered.

Late interaction over token vectors as in ColBERT (Khattab and Zaharia 2020), on the last layer of the sentence encoder: each
token of the question takes its nearest token of the passage. What finds no counterpart speaks against the passage.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agent.knowledge.calendar import days_of, holidays_of
from agent.knowledge.encoder import Floats
from agent.knowledge.index import NO_TEXT, TITLE, Index
from agent.knowledge.question import Wanted, gives, is_our_address
from agent.knowledge.sight import Sight, all_in, nearness

CANDIDATES = 10
"""Passages that are looked at closely; the others are too far from the question in meaning and in words."""

_NO_WORDS = 0.7  # coverage of a question without any word that says what it is about: nothing is missing, little is matched
_NO_TOKENS = 0.5

FEATURES = (
    *("context", "sentence", "sentence_keywords", "passage", "passage_keywords", "nameless", "named_nameless"),
    *("words_mean", "phrases_mean", "phrases_min", "plain_mean", "plain_min", "nouns_min", "named_plain"),
    *("known_words_mean", "known_phrases_mean", "things_missing", "things_unknown", "shared", "shared_sentence"),
    *("tokens_passage", "content_passage", "content_min_passage", "function_passage"),
    *("tokens_sentence", "content_sentence", "content_min_sentence"),
    *("unwanted_passage", "unwanted_sentence", "time_given", "place_given"),
    *("place_lacking", "duration_lacking", "person_lacking"),
    *("day_told", "day_lacking", "holiday_told", "holiday_lacking", "holiday_unasked"),
    *("address_told", "address_lacking", "contact_told"),
)
"""Names of the columns, as they are fitted."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Sentences that may answer (indices into the index), and a row of `FEATURES` for each."""

    sentences: npt.NDArray[np.int64]
    values: Floats


def candidates(sight: Sight, index: Index) -> Candidates:
    """The sentences of the nearest passages."""
    arrays = index.arrays
    near = _Near(
        context=arrays.contexts @ sight.whole.whole,
        sentence=arrays.sentences @ sight.whole.whole,
        title=arrays.titles @ sight.whole.whole,
        passage=arrays.passages @ sight.whole.whole,
        sentence_keywords=arrays.sentences @ sight.keywords,
        title_keywords=arrays.titles @ sight.keywords,
        passage_keywords=arrays.passages @ sight.keywords,
        nameless=arrays.sentences @ sight.nameless,
    )
    rows: list[int] = []
    values: list[list[float]] = []
    for passage in _nearest(index, sight, near):
        of_passage, of_sentences = _tokens(index, sight, passage)
        shared = _of_passage(index, sight, near, passage) | of_passage
        for number, tokens in enumerate(of_sentences):
            row = int(index.first_sentence[passage]) + number
            found = {**shared, **tokens, **_of_sentence(index, sight, near, row)}
            rows.append(row)
            values.append([found[name] for name in FEATURES])
    return Candidates(np.array(rows), np.array(values, np.float32))


@dataclass(frozen=True, slots=True)
class _Near:
    """Dot products of a question with all passages or all sentences."""

    context: Floats
    sentence: Floats
    title: Floats
    passage: Floats
    sentence_keywords: Floats
    title_keywords: Floats
    passage_keywords: Floats
    nameless: Floats


def _nearest(index: Index, sight: Sight, near: _Near) -> list[int]:
    best = np.full(len(index.passages), -1, np.float32)
    np.maximum.at(best, index.owner, np.maximum(near.sentence, near.context))
    shared = np.array([_shared(sight, stems) for stems in index.vocabulary.stems_of])
    words = shared / max(sum(sight.rarity.values()), 1e-6)
    whole = np.maximum(near.passage, near.title) + np.maximum(near.passage_keywords, near.title_keywords) / 2
    return [int(passage) for passage in np.argsort(-(whole + best + words), kind="stable")[:CANDIDATES]]


def _shared(sight: Sight, stems: frozenset[str]) -> float:
    return sum(rarity for each, rarity in sight.rarity.items() if each in stems)


def _of_passage(index: Index, sight: Sight, near: _Near, passage: int) -> dict[str, float]:
    stems = index.vocabulary.stems_of[passage]
    terms = index.arrays.terms[index.vocabulary.terms_of[passage]]
    words = nearness(sight.words, terms, [each in stems for each in sight.stems])
    phrases = nearness(sight.phrases, terms, [all_in(phrase, stems) for phrase in sight.question.phrases])
    plain = words[~sight.is_name]
    named = float(sight.is_name.any())
    nameless = float(near.nameless[index.first_sentence[passage] : index.first_sentence[passage + 1]].max())
    wanted = [gives(kind, index.passages[passage].text) for kind in sight.question.wanted]
    return {
        "passage": float(near.passage[passage]),
        "passage_keywords": float(near.passage_keywords[passage]),
        "nameless": nameless,
        "named_nameless": named * (nameless - 0.4),
        "words_mean": _mean(words, _NO_WORDS),
        "phrases_mean": _mean(phrases, _NO_WORDS),
        "phrases_min": _least(phrases, _NO_WORDS),
        "plain_mean": _mean(plain, _NO_WORDS),
        "plain_min": _least(plain, _NO_WORDS),
        "nouns_min": _least(words[sight.is_noun], _NO_WORDS),
        "named_plain": named * (_mean(plain, _NO_WORDS) - 0.7),
        "known_words_mean": _mean(sight.known_words, _NO_WORDS),
        "known_phrases_mean": _mean(sight.known_phrases, _NO_WORDS),
        "things_missing": float(((1 - words) * sight.thingness).sum()),
        "things_unknown": float(((1 - sight.known_words) * sight.thingness).sum()),
        "shared": _shared(sight, stems),
        "unwanted_passage": float(bool(wanted) and not any(wanted)),
    }


def _tokens(index: Index, sight: Sight, passage: int) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Nearest tokens in the whole passage, and in its title with each of its sentences alone."""
    start, end = index.arrays.token_starts[passage], index.arrays.token_starts[passage + 1]
    parts = index.arrays.token_parts[start:end]
    near = sight.whole.tokens @ index.arrays.tokens[start:end].astype(np.float32).T
    best = near.max(axis=1)
    content = np.array([best[each].mean() for each in sight.tokens])
    is_function = np.ones(len(best), bool)
    is_function[[token for each in sight.tokens for token in each]] = False
    of_passage = {
        "tokens_passage": float(best.mean()),
        "content_passage": _mean(content, _NO_TOKENS),
        "content_min_passage": _least(content, _NO_TOKENS),
        "function_passage": _mean(best[is_function], _NO_TOKENS),
    }
    of_sentences = []
    for number in range(1, len(index.passages[passage].sentences) + 1):
        here = near[:, (parts == NO_TEXT) | (parts == TITLE) | (parts == number)].max(axis=1)
        content = np.array([here[each].mean() for each in sight.tokens])
        of_sentences.append(
            {
                "tokens_sentence": float(here.mean()),
                "content_sentence": _mean(content, _NO_TOKENS),
                "content_min_sentence": _least(content, _NO_TOKENS),
            }
        )
    return of_passage, of_sentences


def _of_sentence(index: Index, sight: Sight, near: _Near, row: int) -> dict[str, float]:
    wanted = sight.question.wanted
    text = index.sentences[row].text
    given = {kind: gives(kind, text) for kind in wanted}
    asked_place = sight.question.asks_where_we_are
    ours = asked_place and is_our_address(text, index.passages[index.owner[row]].title)
    return {
        "context": float(near.context[row]),
        "sentence": float(near.sentence[row]),
        "sentence_keywords": float(near.sentence_keywords[row]),
        "shared_sentence": _shared(sight, index.vocabulary.stems_of_sentences[row]),
        "unwanted_sentence": float(bool(wanted) and not any(given.values())),
        "time_given": float(given.get(Wanted.TIME, False)),
        "place_given": float(given.get(Wanted.PLACE, False)),
        "place_lacking": float(not given.get(Wanted.PLACE, True)),
        "duration_lacking": float(not given.get(Wanted.DURATION, True)),
        "person_lacking": float(not given.get(Wanted.PERSON, True)),
        "address_told": float(asked_place and ours),
        "address_lacking": float(asked_place and not ours),
        "contact_told": float(sight.question.asks_how_to_reach_us and given[Wanted.CONTACT]),
        **_dates(sight, index, row),
    }


def _dates(sight: Sight, index: Index, row: int) -> dict[str, float]:
    """Days and holidays asked for against those that the sentence tells, or that its title tells for it."""
    title, text = index.passages[index.owner[row]].title, index.sentences[row].text
    asked_days, asked_holidays = days_of(sight.question.text), holidays_of(sight.question.text)
    days, holidays = days_of(text) or days_of(title), holidays_of(text) or holidays_of(title)
    asks_when = bool(asked_days) or Wanted.TIME in sight.question.wanted
    return {
        "day_told": float(bool(asked_days) and asked_days <= days),
        "day_lacking": float(bool(asked_days) and not asked_days & days),
        "holiday_told": float(bool(asked_holidays & holidays)),
        "holiday_lacking": float(bool(asked_holidays) and not asked_holidays & holidays),
        "holiday_unasked": float(asks_when and bool(holidays) and not asked_holidays),
    }


def _mean(values: npt.NDArray[np.floating], otherwise: float) -> float:
    return float(values.mean()) if len(values) else otherwise


def _least(values: npt.NDArray[np.floating], otherwise: float) -> float:
    return float(values.min()) if len(values) else otherwise
