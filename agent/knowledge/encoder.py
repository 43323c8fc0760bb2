"""What the search needs of a text encoder."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as a whole and token by token."""

    whole: Floats
    """Unit vector of the text, float32[dimensions]."""
    tokens: Floats
    """Unit vectors of its tokens in their context, float32[tokens, dimensions]."""
    spans: npt.NDArray[np.int64]
    """Where each token stands in the text: first character and the one after the last; equal for tokens that are no text."""


class Encoder(Protocol):
    """Texts to vectors whose dot product says how near two meanings are. Used from several threads at once."""

    @property
    def identity(self) -> str:
        """What made the vectors: those of another identity must not be compared with them."""

    def encode(self, texts: Sequence[str]) -> Floats:
        """Unit vectors float32[len(texts), dimensions], in the order of the texts."""

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """As `encode`, with the vectors of the tokens."""

    def knows(self, word: str) -> bool:
        """Whether a lower-case word is common enough in general English to be meant when it was heard."""
