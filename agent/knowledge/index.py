"""The passages of a folder as vectors, made once and kept on disk until a document changes."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from agent.errors import Refused
from agent.knowledge.encoder import Encoder, Floats
from agent.knowledge.passages import Documents, Passage, Sentence
from agent.knowledge.tensors import read_tensors
from agent.knowledge.vocabulary import Vocabulary, collect

FORM = 1
"""Raised when the arrays of a cache mean something else than before."""

AT_ONCE = 64
"""Texts that are encoded before progress is told again."""
Told = Callable[[int, int], None]
_SEAL = "seal"
NO_TEXT, TITLE = -1, 0
"""Parts of a passage to which tokens belong; its sentences are 1, 2, ..."""


@dataclass(frozen=True, slots=True)
class Arrays:
    """Vectors are float32[n, dimensions] and of unit length; tokens are float16."""

    titles: Floats
    passages: Floats
    """Title and all sentences."""
    sentences: Floats
    contexts: Floats
    """Each sentence behind its passage's title."""
    terms: Floats
    tokens: npt.NDArray[np.float16]
    token_parts: npt.NDArray[np.int16]
    """Per token: `NO_TEXT`, `TITLE`, or the number of its sentence from 1."""
    token_starts: npt.NDArray[np.int64]
    """Per passage, the first of its tokens; one more at the end."""


@dataclass(frozen=True, slots=True)
class Index:
    """Immutable: any number of threads may search it."""

    passages: tuple[Passage, ...]
    sentences: tuple[Sentence, ...]
    owner: npt.NDArray[np.int64]
    """Per sentence, its passage."""
    first_sentence: npt.NDArray[np.int64]
    """Per passage, the first of its sentences; one more at the end."""
    vocabulary: Vocabulary
    arrays: Arrays


def silently(done: int, total: int) -> None:
    """For who watches no progress."""


def build(documents: Documents, encoder: Encoder, cache_folder: Path | None = None, told: Told = silently) -> Index:
    """From the cache when it fits these documents and this encoder; otherwise anew (about 30 ms a sentence), and cached.

    `told(done, total)` is called now and then while encoding, with the texts that are done and all of them. A cache that is
    damaged or cannot be written costs time, never the index.
    """
    passages = documents.passages
    vocabulary = collect(passages)
    counts = [len(passage.sentences) for passage in passages]
    path = cache_folder / f"{_key(passages, vocabulary, encoder)}.safetensors" if cache_folder else None
    arrays = _load(path) if path else None
    if arrays is None:
        arrays = _encode(passages, vocabulary, encoder, told)
        if path:
            _save(arrays, path)
    return Index(
        passages=passages,
        sentences=tuple(sentence for passage in passages for sentence in passage.sentences),
        owner=np.repeat(np.arange(len(passages)), counts),
        first_sentence=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        vocabulary=vocabulary,
        arrays=arrays,
    )


def _key(passages: Sequence[Passage], vocabulary: Vocabulary, encoder: Encoder) -> str:
    """A digest of all that is encoded and of what encodes it: documents that changed find no cache."""
    digest = hashlib.sha256(f"{FORM}\0{encoder.identity}\0".encode())
    for passage in passages:
        sentences = [text for sentence in passage.sentences for text in (sentence.lead, sentence.text)]
        digest.update(json.dumps([passage.title, *sentences]).encode())
    digest.update(json.dumps(vocabulary.terms).encode())
    return digest.hexdigest()[:32]


def _encode(passages: Sequence[Passage], vocabulary: Vocabulary, encoder: Encoder, told: Told) -> Arrays:
    sentences = [(passage.title, sentence) for passage in passages for sentence in passage.sentences]
    done, total = 0, 2 * (len(passages) + len(sentences)) + len(vocabulary.terms)

    def step(texts: int) -> None:
        nonlocal done
        done += texts
        told(done, total)

    def encoded(texts: Sequence[str]) -> Floats:
        vectors = []
        for start in range(0, len(texts), AT_ONCE):
            vectors.append(encoder.encode(texts[start : start + AT_ONCE]))
            step(len(vectors[-1]))
        return np.concatenate(vectors) if vectors else encoder.encode([])

    readings, parts = [], []
    for passage in passages:
        step(1)
        pieces = [f"{passage.title}.", *(sentence.text for sentence in passage.sentences)]
        (reading,) = encoder.read([" ".join(pieces)])
        readings.append(reading)
        parts.append(_parts(pieces, reading.spans))
    return Arrays(
        titles=encoded([passage.title for passage in passages]),
        passages=np.stack([reading.whole for reading in readings]),
        sentences=encoded([sentence.text for _, sentence in sentences]),
        contexts=encoded([f"{title}: {sentence.lead} {sentence.text}".replace("  ", " ") for title, sentence in sentences]),
        terms=encoded(vocabulary.terms),
        tokens=np.concatenate([reading.tokens.astype(np.float16) for reading in readings]),
        token_parts=np.concatenate(parts),
        token_starts=np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64),
    )


def _parts(pieces: Sequence[str], spans: npt.NDArray[np.int64]) -> npt.NDArray[np.int16]:
    ends = np.cumsum([len(piece) + 1 for piece in pieces])
    parts = np.searchsorted(ends, spans[:, 0], side="right")
    return np.where(spans[:, 0] == spans[:, 1], NO_TEXT, parts).astype(np.int16)


def _save(arrays: Arrays, path: Path) -> None:
    """Atomic; the folder is readable by its owner only. When it fails, the next start encodes again."""
    tensors = {name: np.ascontiguousarray(getattr(arrays, name)) for name in Arrays.__slots__}
    tensors[_SEAL] = _seal(tensors)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".tmp")
        os.close(handle)
        try:
            save_file(tensors, name)
            os.replace(name, path)
        finally:
            Path(name).unlink(missing_ok=True)


def _load(path: Path) -> Arrays | None:
    """None when there is no cache or it is not as it was written."""
    try:
        tensors = dict(read_tensors(path.read_bytes(), path.name))
    except (OSError, Refused):
        return None
    seal = tensors.pop(_SEAL, None)
    if seal is None or set(tensors) != set(Arrays.__slots__) or not np.array_equal(seal, _seal(tensors)):
        return None
    return Arrays(**tensors)


def _seal(tensors: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.uint8]:
    """A digest over all arrays: a cache whose bytes changed is not used."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name}{tensor.dtype}{tensor.shape}".encode())
        digest.update(np.ascontiguousarray(tensor).data)
    return np.frombuffer(digest.digest(), np.uint8)
