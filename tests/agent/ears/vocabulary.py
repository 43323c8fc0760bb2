"""A small vocabulary in the form of Moonshine's, for tests without weights."""

from collections.abc import Iterable
from pathlib import Path

from agent.ears.pieces import VOCABULARY

WORDS = ("▁yes", "▁Yes", "▁please", "▁no", "▁one", "▁two", "ty", "♪", ".", "?", "!", ",", "...", '▁."')
_FIRST = 259


def number_of(piece: str) -> int:
    """Its number."""
    return _FIRST + WORDS.index(piece)


def written(pieces: Iterable[bytes]) -> bytes:
    """The pieces as `tokenizer.bin` stores them."""
    return b"".join(_length(len(piece)) + piece for piece in pieces)


def write_vocabulary(folder: Path) -> Path:
    """A tokenizer.bin with `WORDS` in it."""
    proper = [b"<unk>", b"<s>", b"</s>", *(bytes([byte]) for byte in range(256)), *(word.encode() for word in WORDS)]
    reserved = [f"<<ST_{number}>>".encode() for number in range(VOCABULARY - len(proper))]
    path = folder / "tokenizer.bin"
    path.write_bytes(written([*proper, *reserved]))
    return path


def _length(length: int) -> bytes:
    return bytes([length]) if length < 128 else bytes([128 + length % 128, length // 128])
