"""all-MiniLM-L6-v2 in numpy: sentences as unit vectors whose dot product says how near their meanings are.

BERT (Devlin et al. 2018) with 6 layers, 12 heads and 384 dimensions, mean pooling over all tokens, then L2 normalisation, as in
the sentence-transformers release of the model. The weights are float32 in safetensors and are mapped, not read: processes on one
machine share them, and of the 47 MB of word embeddings only the rows in use become resident.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding, Tokenizer

from agent.errors import Refused
from agent.knowledge.encoder import Floats, Reading
from agent.knowledge.tensors import map_tensors

DIMENSIONS = 384
"""Length of a vector."""
LONGEST_TOKENS = 256
"""The model was trained on at most so many tokens; the rest of a text is not seen."""

_LAYERS = 6
_HEADS = 12
_HEAD_DIMENSIONS = DIMENSIONS // _HEADS
_EPSILON = np.float32(1e-12)
_PACKED_TOKENS = 128  # several short texts in one pass; beyond this the masked attention costs more than it saves
_APART = np.float32(-1e9)  # a score that softmax turns into 0
_ERF_SERIES = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_SHAPES = {
    "embeddings.word_embeddings.weight": (30_522, DIMENSIONS),
    "embeddings.position_embeddings.weight": (512, DIMENSIONS),
    f"encoder.layer.{_LAYERS - 1}.intermediate.dense.weight": (4 * DIMENSIONS, DIMENSIONS),
    f"encoder.layer.{_LAYERS - 1}.output.LayerNorm.bias": (DIMENSIONS,),
}


class MiniLM:
    """Safe to use from several threads at once: nothing changes after the constructor."""

    def __init__(self, model: Path, tokenizer: Path) -> None:
        """Raises `Refused` when a file is missing, damaged or of another model."""
        self._weights = _checked(map_tensors(model), model)
        self._tokenizer = _load_tokenizer(tokenizer)

    @property
    def identity(self) -> str:
        return "all-MiniLM-L6-v2/float32/1"

    def encode(self, texts: Sequence[str]) -> Floats:
        """Unit vectors float32[len(texts), 384], in the order of the texts. About 0.4 ms a token on one core."""
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        for members, hidden in self._passes([encoding.ids for encoding in self._encodings(texts)]):
            vectors[members] = [_unit(rows.mean(axis=0)) for rows in hidden]
        return vectors

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """As `encode`, with the vectors of the tokens, for texts that are compared word by word."""
        encodings = self._encodings(texts)
        readings: dict[int, Reading] = {}
        for members, hidden in self._passes([encoding.ids for encoding in encodings]):
            for member, rows in zip(members, hidden, strict=True):
                spans = np.array(encodings[member].offsets, np.int64).reshape(-1, 2)
                readings[member] = Reading(_unit(rows.mean(axis=0)), _unit(rows), spans)
        return [readings[member] for member in range(len(texts))]

    def knows(self, word: str) -> bool:
        """WordPiece keeps the 30,000 most frequent words whole and cuts the others into pieces."""
        return len(self._tokenizer.encode(word, add_special_tokens=False).ids) == 1

    def _encodings(self, texts: Sequence[str]) -> list[Encoding]:
        return [self._tokenizer.encode(text) for text in texts]  # a batch would start threads of its own

    def _passes(self, rows: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], list[Floats]]]:
        """Hidden states of the last layer: the members of each pass, and the states of each member's tokens."""
        for members in _packs([len(row) for row in rows]):
            lengths = [len(rows[member]) for member in members]
            hidden = self._pass([rows[member] for member in members], lengths)
            yield members, np.split(hidden, np.cumsum(lengths)[:-1])

    def _pass(self, rows: Sequence[Sequence[int]], lengths: Sequence[int]) -> Floats:
        """One forward pass over several texts laid end to end; each attends only to itself."""
        weights = self._weights
        ids = np.concatenate([np.asarray(row) for row in rows])
        positions = np.concatenate([np.arange(length) for length in lengths])
        owner = np.repeat(np.arange(len(rows)), lengths)
        apart = np.where(owner[:, None] == owner[None, :], np.float32(0), _APART)
        hidden = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][positions]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = self._normalised(hidden, "embeddings.LayerNorm")
        for layer in range(_LAYERS):
            hidden = self._layer(hidden, apart, f"encoder.layer.{layer}.")
        return hidden

    def _layer(self, hidden: Floats, apart: Floats, name: str) -> Floats:
        attended = self._attention(hidden, apart, name + "attention.self.")
        attended = self._linear(attended, name + "attention.output.dense")
        hidden = self._normalised(hidden + attended, name + "attention.output.LayerNorm")
        inner = self._linear(hidden, name + "intermediate.dense")
        return self._normalised(hidden + self._linear(_gelu(inner), name + "output.dense"), name + "output.LayerNorm")

    def _attention(self, hidden: Floats, apart: Floats, name: str) -> Floats:
        query, key, value = (
            self._linear(hidden, name + part).reshape(-1, _HEADS, _HEAD_DIMENSIONS).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) * np.float32(_HEAD_DIMENSIONS**-0.5) + apart
        np.exp(scores - scores.max(axis=-1, keepdims=True), out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return np.asarray((scores @ value).transpose(1, 0, 2).reshape(-1, DIMENSIONS), np.float32)

    def _linear(self, hidden: Floats, name: str) -> Floats:
        return np.asarray(hidden @ self._weights[name + ".weight"].T + self._weights[name + ".bias"], np.float32)

    def _normalised(self, hidden: Floats, name: str) -> Floats:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + _EPSILON)
        return np.asarray(centred / spread * self._weights[name + ".weight"] + self._weights[name + ".bias"], np.float32)


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32)


def _gelu(inner: Floats) -> Floats:
    """x * P(X <= x) of a standard normal; the error function by Abramowitz and Stegun 7.1.26, off by at most 1.5e-7."""
    scaled = np.abs(inner) * np.float32(0.5**0.5)
    step = 1 / (1 + np.float32(0.3275911) * scaled)
    series = step * np.float32(_ERF_SERIES[-1])
    for factor in reversed(_ERF_SERIES[:-1]):
        series = step * (series + np.float32(factor))
    tail = np.float32(0.5) * series * np.exp(-scaled * scaled)
    return np.asarray(inner * np.where(inner < 0, tail, 1 - tail), np.float32)


def _packs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Members of each pass: texts of similar length together, at most `_PACKED_TOKENS` tokens unless one text is longer."""
    members: list[int] = []
    tokens = 0
    for member in sorted(range(len(lengths)), key=lengths.__getitem__):
        if members and tokens + lengths[member] > _PACKED_TOKENS:
            yield members
            members, tokens = [], 0
        members.append(member)
        tokens += lengths[member]
    if members:
        yield members


def _checked(weights: Mapping[str, npt.NDArray[np.float32]], model: Path) -> Mapping[str, Floats]:
    for name, shape in _SHAPES.items():
        if name not in weights or weights[name].shape != shape or weights[name].dtype != np.float32:
            raise Refused(f"{model.name} does not hold all-MiniLM-L6-v2: install the models again.")
    return weights


def _load_tokenizer(path: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception for a missing or damaged file
        raise Refused(f"{path.name} cannot be read as a tokenizer: install the models again.") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST_TOKENS)
    tokenizer.encode_special_tokens = True  # "[SEP]" in a document is text
    return tokenizer
