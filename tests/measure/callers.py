"""What callers say, as sound: the questions of `tests/bench/voice`, spoken by the Piper voice joe (CC0) in several manners.

Rendering takes a second a question, so the sounds are kept in the cache folder of this user, named by what makes them.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
import yaml

from agent.compute import never
from agent.mouth.piper_voice import PiperOptions, PiperVoice
from agent.places import cache_folder
from agent.weights.store import model_file
from media.frames import Samples
from tests.voice_sounds import RATE_HZ, to_rate

QUESTIONS = Path(__file__).parents[1] / "bench" / "voice"
MANNERS = (
    PiperOptions(noise_scale=0.4, noise_w=0.6, seed=1),
    PiperOptions(length_scale=0.9, noise_scale=0.5, noise_w=0.6, seed=2),
    PiperOptions(length_scale=1.1, noise_scale=0.4, noise_w=0.7, seed=3),
    PiperOptions(length_scale=1.05, noise_scale=0.4, noise_w=0.6, seed=4, pitch_x=1.12),
    PiperOptions(length_scale=0.95, noise_scale=0.4, noise_w=0.6, seed=5, pitch_x=0.92),
)
"""The manners of speaking: normal, quick, slow, higher, lower. Each question has one of them, by its place."""


@dataclass(frozen=True, slots=True)
class Question:
    """`says`: what a right answer contains, one of the alternatives whole; empty when the documents do not answer it."""

    id: str
    ask: str
    says: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Paused:
    """A sentence with one pause in it."""

    id: str
    first: str
    second: str
    pause_ms: int


def questions(half: str) -> tuple[Question, ...]:
    """`half`: dev | test. First those that the documents answer, then the others."""
    stored = yaml.safe_load((QUESTIONS / f"questions_{half}.yaml").read_text("utf-8"))
    answered = [Question(one["id"], one["ask"], _says(one)) for one in stored["answered"]]
    return (*answered, *(Question(one["id"], one["ask"], ()) for one in stored["unknown"]))


def _says(stored: dict[str, list[str] | list[list[str]]]) -> tuple[tuple[str, ...], ...]:
    alternatives = stored.get("says_any") or [stored["says"]]
    return tuple(tuple(str(piece) for piece in one) for one in alternatives)


def pauses(half: str) -> tuple[Paused, ...]:
    """`half`: dev | test."""
    stored = yaml.safe_load((QUESTIONS / f"pauses_{half}.yaml").read_text("utf-8"))["pauses"]
    return tuple(Paused(one["id"], *(part.strip() for part in one["say"].split("|")), one["pause_ms"]) for one in stored)


def spoken(text: str, manner: int) -> Samples:
    """The text in one of the manners, 16 kHz, as loud as a caller on the phone; the same each time."""
    options = MANNERS[manner % len(MANNERS)]
    key = hashlib.sha256(repr((text, sorted(asdict(options).items()))).encode()).hexdigest()[:24]
    path = _kept() / f"{key}.npy"
    if not path.is_file():
        voice = _voice(manner % len(MANNERS))
        rendered = voice.render(text, never)
        pcm = to_rate(rendered.pcm.astype(np.float32) / np.float32(32768), voice.rate_hz, RATE_HZ)
        partial = path.with_suffix(f".{os.getpid()}.tmp")
        with partial.open("wb") as file:
            np.save(file, (np.clip(pcm, -1, 1) * 32767).astype(np.int16))
        partial.replace(path)
    return np.load(path).astype(np.float32) / np.float32(32768)


def with_pause(one: Paused, manner: int) -> tuple[Samples, int, int]:
    """The sentence with its pause, and where the pause begins and ends, samples at 16 kHz."""
    first, second = trimmed(spoken(one.first, manner)), trimmed(spoken(one.second, manner))
    gap = np.zeros(one.pause_ms * RATE_HZ // 1000, np.float32)
    return np.concatenate([first, gap, second]), len(first), len(first) + len(gap)


def trimmed(pcm: Samples) -> Samples:
    """From the first to the last loud sample (above −50 dB of full scale)."""
    (loud,) = np.nonzero(np.abs(pcm) > LOUD)
    return pcm[loud[0] : loud[-1] + 1] if len(loud) else pcm[:0]


LOUD = 10 ** (-50 / 20)


def _kept() -> Path:
    folder = cache_folder() / "callers"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@cache
def _voice(manner: int) -> PiperVoice:
    return PiperVoice(model_file("piper-joe", "en_US-joe-medium.onnx").parent, options=MANNERS[manner])


def prepare(texts: list[tuple[str, int]]) -> Iterator[int]:
    """Render what is not kept yet; yields how many are done."""
    for number, (text, manner) in enumerate(texts, 1):
        spoken(text, manner)
        yield number
