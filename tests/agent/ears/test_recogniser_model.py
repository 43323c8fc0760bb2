"""How well recorded speech is read in telephone quality."""

from concurrent.futures import ThreadPoolExecutor

import jiwer
import numpy as np
import pytest

from agent.ears.recogniser import Reading, Recogniser
from agent.weights.store import models_folder
from tests.voice_sounds import RATE_HZ, Samples, librivox, noise, phone_prompts, silence, spoken, telephone_band

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def recogniser() -> Recogniser:
    return Recogniser(models_folder() / "moonshine-tiny-en")


@pytest.fixture(scope="module")
def readings(recogniser: Recogniser) -> list[Reading]:
    return [recogniser.read(telephone_band(pcm)) for _, pcm, _ in phone_prompts()]


def word_error_rate(transcripts: list[str], readings: list[Reading]) -> float:
    return float(jiwer.wer([spoken(one) for one in transcripts], [spoken(one.text) for one in readings]))


def with_noise(pcm: Samples, db: float) -> Samples:
    """White noise `db` below the sound."""
    level = float(np.sqrt(np.mean(pcm**2))) * 10 ** (-db / 20)
    return pcm + noise(len(pcm) / RATE_HZ + 0.1, level)[: len(pcm)]


def test_telephone_prompts_are_read(readings: list[Reading]) -> None:
    assert word_error_rate([words for *_, words in phone_prompts()], readings) <= 0.05


def test_a_quiet_caller_is_read(recogniser: Recogniser) -> None:
    quiet = [recogniser.read(telephone_band(pcm * np.float32(0.01))) for _, pcm, _ in phone_prompts()]
    assert word_error_rate([words for *_, words in phone_prompts()], quiet) <= 0.05


def test_read_books_are_read(recogniser: Recogniser) -> None:
    found = [recogniser.read(pcm) for _, pcm, _ in librivox()]
    assert word_error_rate([words for *_, words in librivox()], found) <= 0.05


def test_finished_sentences_look_finished(readings: list[Reading]) -> None:
    assert sum(reading.end.mark == "." for reading in readings) >= 21
    assert float(np.median([reading.end.final for reading in readings])) > 0.8


def test_confidence_tells_right_readings_from_wrong(recogniser: Recogniser, readings: list[Reading]) -> None:
    scored = list(zip(readings, (words for *_, words in phone_prompts()), strict=True))
    for _, pcm, words in phone_prompts():
        scored.append((recogniser.read(with_noise(telephone_band(pcm), 5)), words))
    errors = [jiwer.wer(spoken(words), spoken(reading.text) or "-") for reading, words in scored]
    right = [reading.confidence for (reading, _), error in zip(scored, errors, strict=True) if not error]
    wrong = [reading.confidence for (reading, _), error in zip(scored, errors, strict=True) if error > 0.15]
    assert min(len(right), len(wrong)) >= 10
    assert np.mean([one > other for one in right for other in wrong]) >= 0.9


@pytest.mark.parametrize("seconds", [2, 5, 9, 15])
def test_what_is_read_into_noise_has_no_confidence(recogniser: Recogniser, seconds: int) -> None:
    reading = recogniser.read(telephone_band(noise(seconds, 0.003 * (1 + seconds % 4), seed=seconds)))
    assert reading.confidence < 0.3


def test_the_longest_sound_is_read_to_its_end(recogniser: Recogniser) -> None:
    several = np.concatenate([pcm for _, pcm, _ in phone_prompts()[5:11]])
    assert len(several) > 15 * RATE_HZ
    assert spoken(recogniser.read(several).text).endswith(phone_prompts()[10][2][-20:])


def test_silence_is_nothing(recogniser: Recogniser) -> None:
    assert recogniser.read(silence(3)) == Reading()


def test_several_threads_read_the_same(recogniser: Recogniser, readings: list[Reading]) -> None:
    some = [telephone_band(pcm) for _, pcm, _ in phone_prompts()[:6]]
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(recogniser.read, some))
    assert [reading.text for reading in found] == [reading.text for reading in readings[:6]]
