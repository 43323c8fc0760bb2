"""An encoder without weights: a word is always the same random direction, a text the mean of its words."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from agent.knowledge.encoder import Floats, Reading

DIMENSIONS = 32


class FakeEncoder:
    """Counts the texts it was given, so that a test sees whether a cache was used."""

    def __init__(self, identity: str = "fake/1") -> None:
        self._identity = identity
        self.texts = 0

    @property
    def identity(self) -> str:
        return self._identity

    def encode(self, texts: Sequence[str]) -> Floats:
        return np.array([reading.whole for reading in self.read(texts)], np.float32).reshape(-1, DIMENSIONS)

    def read(self, texts: Sequence[str]) -> list[Reading]:
        self.texts += len(texts)
        return [_reading(text) for text in texts]

    def knows(self, word: str) -> bool:
        return word in {"flew", "crowd", "night"}


def _reading(text: str) -> Reading:
    matches = list(re.finditer(r"\w+", text.lower()))
    spans = [(0, 0), *(match.span() for match in matches)]
    tokens = np.array([_direction("[start]"), *(_direction(match.group()) for match in matches)], np.float32)
    mean = tokens.mean(axis=0)
    return Reading(np.asarray(mean / np.linalg.norm(mean), np.float32), tokens, np.array(spans, np.int64))


def _direction(word: str) -> Floats:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "little")
    vector = np.random.default_rng(seed).standard_normal(DIMENSIONS)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)
