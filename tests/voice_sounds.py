"""Human speech to test with, read from the Debian packages that carry it; nothing of it is in this repository.

The telephone prompts are Allison Smith's (asterisk-core-sounds-en-wav, CC-BY-SA 3.0), 8 kHz; the sentences from LibriVox
(pocketsphinx-testdata, BSD-2-Clause) come with their transcripts, 16 kHz.
"""

import re
import wave
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.signal import butter, sosfilt  # type: ignore[import-untyped]

from media.frames import Pcm, Samples
from media.g711 import decode_ulaw, encode_ulaw
from media.resample import Resampler

RATE_HZ = 16_000
"""Mono, 16 kHz, −1..1."""

PROMPTS = Path("/usr/share/asterisk/sounds/en_US_f_Allison")
LIBRIVOX = Path("/usr/share/pocketsphinx/test/data/librivox")

TRANSCRIPTS = {
    "agent-incorrect": "login incorrect please enter your agent number followed by the pound key",
    "agent-newlocation": "please enter a new extension followed by pound",
    "agent-pass": "please enter your password followed by the pound key",
    "agent-user": "agent login please enter your agent number followed by the pound key",
    "all-circuits-busy-now": "all circuits are busy now",
    "auth-incorrect": "password incorrect please enter your password followed by the pound key",
    "cannot-complete-as-dialed": "your call cannot be completed as dialed",
    "check-number-dial-again": "please check the number and dial again",
    "conf-getconfno": "please enter your conference number followed by the pound key",
    "conf-getpin": "please enter the conference pin number",
    "conf-invalid": "that is not a valid conference number please try again",
    "conf-invalidpin": "that pin is invalid for this conference",
    "conf-onlyperson": "you are currently the only person in this conference",
    "conf-waitforleader": "the conference will begin when the leader arrives",
    "demo-thanks": "goodbye thank you for trying out the asterisk open source pbx",
    "dir-nomatch": "no directory entries match your search",
    "pbx-invalid": "i am sorry but that's not a valid extension please try again",
    "ss-noservice": "the number you have dialed is not in service please check the number and try again",
    "vm-intro": "please leave your message after the tone when done hang up or press the pound key",
    "vm-mismatch": "the passwords you entered and re entered did not match please try again",
    "vm-newpassword": "please enter your new password followed by the pound key",
    "vm-passchanged": "your passwords have been changed",
    "vm-sorry": "i am sorry i did not understand your response",
}
"""What the prompts say, by name, as `spoken` writes it."""


@lru_cache(maxsize=1)
def phone_prompts() -> list[tuple[str, Samples, str]]:
    """Name, sound and transcript of each prompt. Fails the test when the package is missing."""
    return [(name, prompt(name), words) for name, words in TRANSCRIPTS.items()]


def prompt(name: str) -> Samples:
    """A prompt of the package, with or without a transcript here."""
    return _read(PROMPTS / f"{name}.wav", "asterisk-core-sounds-en-wav")


@lru_cache(maxsize=1)
def librivox() -> list[tuple[str, Samples, str]]:
    """Name, sound and transcript of each sentence. Fails the test when the package is missing."""
    _check(LIBRIVOX / "transcription", "pocketsphinx-testdata")
    lines = (LIBRIVOX / "transcription").read_text("utf-8").splitlines()
    found = [re.fullmatch(r"<s> (.*) </s> \((.*)\)", line.strip()) for line in lines]
    corrected = [(line[2], line[1].replace("a more a amiable", "a more amiable")) for line in found if line]
    return [(name, _read(LIBRIVOX / f"{name}.wav", "pocketsphinx-testdata"), words) for name, words in corrected]


def telephone_band(pcm: Samples) -> Samples:
    """The sound as a G.711 call brings it: 300 to 3,400 Hz, µ-law at 8 kHz."""
    narrow = to_rate(pcm, RATE_HZ, 8_000)
    band = butter(4, [300, 3_400], "bandpass", fs=8_000, output="sos")
    coded = decode_ulaw(encode_ulaw(_int16(sosfilt(band, narrow))))
    return to_rate(_float32(coded), 8_000, RATE_HZ)


def to_rate(pcm: Samples, from_hz: int, to_hz: int) -> Samples:
    """The sound at another rate, as the media core converts it."""
    resampler = Resampler(from_hz, to_hz)
    return _float32(np.concatenate((resampler.push(_int16(pcm)), resampler.flush())))


def frames_of(pcm: Samples, rate_hz: int) -> list[Pcm]:
    """The sound as a line at `rate_hz` gives it: whole frames of 20 ms; what is left of the last one is dropped."""
    samples, size = _int16(to_rate(pcm, RATE_HZ, rate_hz)), rate_hz // 50
    return [samples[start : start + size] for start in range(0, len(samples) - size + 1, size)]


def silence(seconds: float) -> Samples:
    """Nothing, for so long."""
    return np.zeros(int(seconds * RATE_HZ), np.float32)


def noise(seconds: float, rms: float, seed: int = 0) -> Samples:
    """White noise; the same each time."""
    return (np.random.default_rng(seed).standard_normal(int(seconds * RATE_HZ)) * rms).astype(np.float32)


def spoken(text: str) -> str:
    """The words of a text in one spelling, to count errors of hearing and none of writing."""
    words = re.sub(r"[^a-z0-9' ]+", " ", text.lower().replace("-", " "))
    words = f" {' '.join(words.split())} "
    for written, said in (("log in", "login"), ("good bye", "goodbye"), ("i'm", "i am"), ("mr", "mister"), ("that is", "that's")):
        words = words.replace(f" {written} ", f" {said} ")
    return words.strip()


def _read(path: Path, package: str) -> Samples:
    _check(path, package)
    with wave.open(str(path)) as file:
        rate_hz = file.getframerate()
        pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.int16)
    return _float32(pcm) if rate_hz == RATE_HZ else to_rate(_float32(pcm), rate_hz, RATE_HZ)


def _check(path: Path, package: str) -> None:
    if not path.is_file():
        raise AssertionError(f"the test needs recorded speech that is not here: install the Debian package {package}")


def _int16(pcm: npt.NDArray[np.floating]) -> Pcm:
    return np.clip(np.round(pcm * 32768), -32768, 32767).astype(np.int16)


def _float32(pcm: Pcm) -> Samples:
    return pcm.astype(np.float32) / np.float32(32768)
