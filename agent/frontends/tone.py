"""A voice without weights: every word a short hummed sound. And sound files, read at the rate that is needed."""

import re
from functools import lru_cache
from itertools import chain
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt

from agent.errors import Refused
from agent.line import Pcm
from agent.timeline.kinds import Word

PEAK = round(32767 * 10 ** (-12 / 20))
"""The loudest sample of everything spoken: −12 dBFS."""

_BASE_MS, _LETTER_MS, _GAP_MS, _PAUSE_MS = 60, 45, 60, 200
_LONGEST_WORD_MS = 1_200
_ATTACK_MS, _RELEASE_MS = 12, 35
_HIGHEST_HZ = 3_400
"""Nothing above the telephone band, so that one voice sounds the same on every line."""

_FORMANTS_HZ = {"a": (750, 1250), "e": (520, 1800), "i": (330, 2200), "o": (480, 900), "u": (350, 800), "y": (330, 2000)}
_MURMUR_HZ = (300, 1000)
_VOWELS = re.compile(r"[aeiouy]")

LONGEST_FILE_S = 600
"""Longest sound file that is read."""


class ToneVoice:
    """Speaks in hums. The same text gives the same samples in every run.

    `rate_hz`: 8,000 to 48,000. `pitch_hz`: 60 to 500, so that two voices can be told apart. `speed`: 0.25 to 4 times the usual.
    Raises `Refused` on anything outside these ranges.
    """

    def __init__(self, rate_hz: int, pitch_hz: float = 130.0, speed: float = 1.0) -> None:
        if not (8_000 <= rate_hz <= 48_000 and 60 <= pitch_hz <= 500 and 0.25 <= speed <= 4):
            raise Refused(
                f"no voice at {rate_hz} Hz, pitch {pitch_hz} Hz, speed {speed}: "
                "the rate must lie in 8000..48000 Hz, the pitch in 60..500 Hz, the speed in 0.25..4"
            )
        self.rate_hz = rate_hz
        self._pitch_hz, self._speed = float(pitch_hz), float(speed)

    def speak(self, text: str) -> tuple[Pcm, tuple[Word, ...]]:
        """Sound (read-only, peak −12 dBFS, no silence at either end) and its words, split at white space.

        Word times are whole milliseconds, so at 8, 16, 24 and 48 kHz they are exact to the sample. A word lasts 60 ms and 45 ms
        a letter; 60 ms of silence separate words, 200 ms follow a comma or a full stop. A text without words is no samples.
        """
        return _speak(text, self.rate_hz, self._pitch_hz, self._speed)


@lru_cache(maxsize=512)
def _speak(text: str, rate_hz: int, pitch_hz: float, speed: float) -> tuple[Pcm, tuple[Word, ...]]:
    words = _timed(text, speed)
    if not words:
        return _frozen(np.zeros(0, np.int16)), ()
    sound = np.zeros(_samples(words[-1].end_us, rate_hz), np.float64)
    for place, word in enumerate(words):
        start, end = _samples(word.start_us, rate_hz), _samples(word.end_us, rate_hz)
        sound[start:end] = _hum(word.text, end - start, rate_hz, _contour(words, place, pitch_hz))
    peak = float(np.abs(sound).max())
    return _frozen(np.round(sound * (PEAK / peak)).astype(np.int16)), words


def _frozen(pcm: Pcm) -> Pcm:
    pcm.setflags(write=False)
    return pcm


def _samples(at_us: int, rate_hz: int) -> int:
    return at_us * rate_hz // 1_000_000


def _timed(text: str, speed: float) -> tuple[Word, ...]:
    words: list[Word] = []
    at_ms = 0
    for token in text.split():
        letters = sum(character.isalnum() for character in token)
        lasts_ms = round(min(_BASE_MS + _LETTER_MS * max(1, letters), _LONGEST_WORD_MS) / speed)
        words.append(Word(token, at_ms * 1000, (at_ms + lasts_ms) * 1000))
        pause_ms = _PAUSE_MS if token.rstrip("\"')»”")[-1:] in set(",.;:!?…") else _GAP_MS
        at_ms += lasts_ms + round(pause_ms / speed)
    return tuple(words)


def _contour(words: tuple[Word, ...], place: int, pitch_hz: float) -> tuple[float, float]:
    """Pitch at the start and the end of a word: sinking slowly through the text, clearly (or rising: a question) at its end."""
    high, low = 1.06 - 0.1 * place / len(words), 1.06 - 0.1 * (place + 1) / len(words)
    mark = words[place].text.rstrip("\"')»”")[-1:]
    if mark == "?":
        return pitch_hz * high, pitch_hz * 1.3
    if mark in set(".!") or place == len(words) - 1:
        return pitch_hz * high, pitch_hz * 0.8
    return pitch_hz * high, pitch_hz * low


def _hum(word: str, samples: int, rate_hz: int, contour: tuple[float, float]) -> npt.NDArray[np.float64]:
    """Harmonics under two formants that move through the vowels of the word."""
    along = np.linspace(0.0, 1.0, samples)
    pitch = contour[0] + (contour[1] - contour[0]) * along
    phase = np.cumsum(pitch) * (2 * np.pi / rate_hz)
    vowels = [_FORMANTS_HZ[vowel] for vowel in _VOWELS.findall(word.lower())] or [_MURMUR_HZ]
    track = np.linspace(0.0, 1.0, len(vowels))
    sound = np.zeros(samples)
    for harmonic in range(1, int(_HIGHEST_HZ / max(contour)) + 1):
        at_hz = harmonic * sum(contour) / 2
        gains = [
            0.15 / harmonic + sum(np.exp(-(((at_hz - formant) / 220) ** 2)) / harmonic**0.5 for formant in pair)
            for pair in vowels
        ]
        sound += np.interp(along, track, gains) * np.sin(harmonic * phase)
    loudness = float(np.sqrt(np.mean(np.square(sound))))  # all words alike, whatever their vowels
    return sound * (_envelope(samples, rate_hz, len(vowels)) / loudness)


def _envelope(samples: int, rate_hz: int, syllables: int) -> npt.NDArray[np.float64]:
    """Soft at both ends; between two syllables it dips, but not so far that a level gate would hear a pause."""
    attack, release = (min(ms * rate_hz // 1000, samples // 2) for ms in (_ATTACK_MS, _RELEASE_MS))
    envelope = 0.8 - 0.2 * np.cos(2 * np.pi * syllables * (np.arange(samples) + 0.5) / samples)
    envelope[:attack] *= np.sin(np.linspace(0, np.pi / 2, attack, endpoint=False)) ** 2
    envelope[samples - release :] *= np.cos(np.linspace(0, np.pi / 2, release)) ** 2
    return envelope


def load_wav(path: Path, rate_hz: int) -> Pcm:
    """A WAV or FLAC file as mono at `rate_hz` (channels are mixed). Raises `Refused` with what is wrong with the file."""
    if not path.is_file():
        raise Refused(f"no sound file {path}: give the path of a WAV or FLAC file")
    # The allow-lists keep a file that calls itself .wav from being read as a playlist of other files and addresses.
    allowed = {"format_whitelist": "wav,w64,flac", "protocol_whitelist": "file"}
    try:
        with av.open(str(path.resolve()), options=allowed) as container:
            pcm = _decoded(container, rate_hz, path)
    except (av.FFmpegError, OSError, ValueError, IndexError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Refused(f"cannot read {path} as WAV or FLAC ({reason}): convert it to 16 bit PCM WAV") from None
    if not len(pcm):
        raise Refused(f"{path} holds no sound")
    return pcm


def _decoded(container: av.container.InputContainer, rate_hz: int, path: Path) -> Pcm:
    if not container.streams.audio:
        raise Refused(f"{path} holds no sound")
    resampler = av.AudioResampler(format="s16", layout="mono", rate=rate_hz)
    pieces: list[Pcm] = []
    total = 0
    for frame in chain(container.decode(audio=0), (None,)):
        for piece in resampler.resample(frame):
            pieces.append(np.asarray(piece.to_ndarray()[0], np.int16))
            total += len(pieces[-1])
        if total > LONGEST_FILE_S * rate_hz:
            raise Refused(f"{path} is longer than {LONGEST_FILE_S // 60} minutes: cut it")
    return np.concatenate(pieces) if pieces else np.zeros(0, np.int16)
