"""Which passage answers a question, which of its sentences, and how likely the documents answer it at all."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agent.knowledge import fitted
from agent.knowledge.encoder import Encoder, Floats
from agent.knowledge.features import FEATURES, Candidates, candidates
from agent.knowledge.hearing import mend
from agent.knowledge.index import Index
from agent.knowledge.passages import Passage
from agent.knowledge.question import Question, bounded, take_apart
from agent.knowledge.sight import see

MOST_MARGIN = 3.0
"""Lead of the best passage over the next, at most: beyond it more says nothing."""


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """`share`: how much of the belief in an answer this passage has among all, 0..1."""

    passage: Passage
    share: float
    sentence_scores: tuple[float, ...]
    """Per sentence of the passage, on the scale of a logarithm: 1 more is 2.7 times as likely the answer."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """`known`: how likely the first passage answers the question, 0..1."""

    question: Question
    passages: tuple[RankedPassage, ...]
    known: float


def search(text: str, index: Index, encoder: Encoder, scale: Floats) -> Ranking:
    """The nearest passages, best first. `scale` is `thing_scale(encoder)`."""
    question = take_apart(mend(bounded(text), index.vocabulary, encoder), index.vocabulary)
    found = candidates(see(question, index, encoder, scale), index)
    scores = rank_scores(found)
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    owners = index.owner[found.sentences]
    passages = [
        RankedPassage(index.passages[owner], float(shares[owners == owner].sum()), tuple(map(float, scores[owners == owner])))
        for owner in dict.fromkeys(int(owner) for owner in owners[np.argsort(-scores, kind="stable")])
    ]
    return Ranking(question, tuple(passages), known_probability(found, scores, owners))


def rank_scores(found: Candidates) -> npt.NDArray[np.float64]:
    """A score per candidate sentence; differences are logarithms of odds."""
    return found.values.astype(np.float64) @ _column(fitted.RANKING)


def known_probability(found: Candidates, scores: npt.NDArray[np.float64], owners: npt.NDArray[np.int64]) -> float:
    """Logistic over the features of the best sentence and its passage's lead over the next one."""
    best = int(scores.argmax())
    margin = margin_of(scores, owners)
    weighed = float(found.values[best].astype(np.float64) @ _column(fitted.KNOWING))
    value = fitted.KNOWING_BASE + fitted.KNOWING_MARGIN * margin + weighed
    return float(1 / (1 + np.exp(-value)))


def margin_of(scores: npt.NDArray[np.float64], owners: npt.NDArray[np.int64]) -> float:
    """Lead of the best passage over the next, 0..`MOST_MARGIN`."""
    others = scores[owners != owners[int(scores.argmax())]]
    return min(float(scores.max() - others.max()), MOST_MARGIN) if len(others) else MOST_MARGIN


def _column(weights: dict[str, float]) -> npt.NDArray[np.float64]:
    return np.array([weights.get(name, 0.0) for name in FEATURES])
