"""The second voice with its real weights."""

from pathlib import Path

import numpy as np
import pytest

from agent.compute import never
from agent.ears.recogniser import Recogniser
from agent.errors import Refused
from agent.mouth.espeak_symbols import espeak_symbols
from agent.mouth.phonemes import Pronouncer
from agent.mouth.piper_voice import CONFIG, PiperOptions, PiperVoice
from agent.timeline.kinds import Alignment
from agent.weights.store import model_file, models_folder
from tests.agent.mouth.reading_back import CALL_CENTRE, converted, heard, telephone, word_errors

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def folder() -> Path:
    return model_file("piper-joe", CONFIG).parent


@pytest.fixture(scope="module")
def pronouncer() -> Pronouncer:
    return Pronouncer()


@pytest.fixture(scope="module")
def voice(folder: Path, pronouncer: Pronouncer) -> PiperVoice:
    return PiperVoice(folder, pronouncer)


def test_it_is_understood_at_full_band_and_over_the_telephone(voice: PiperVoice) -> None:
    recogniser = Recogniser(models_folder() / "moonshine-tiny-en")
    rendered = [voice.render(text, never) for text in CALL_CENTRE]
    wide = [heard(recogniser, converted(one.pcm, voice.rate_hz, 16_000)) for one in rendered]
    narrow = [heard(recogniser, telephone(one.pcm, voice.rate_hz)) for one in rendered]
    assert word_errors(list(CALL_CENTRE), wide) <= 0.05
    assert word_errors(list(CALL_CENTRE), narrow) <= 0.05


def test_the_same_text_is_the_same_bytes_and_its_words_are_estimated(voice: PiperVoice) -> None:
    one, again = (voice.render("Only $35 today.", never) for _ in range(2))
    assert np.array_equal(one.pcm, again.pcm)
    assert one.alignment is Alignment.ESTIMATED
    assert [word.text for word in one.words] == ["Only", "$35", "today."]
    only, price, _ = one.words
    assert price.end_us - price.start_us > only.end_us - only.start_us


def test_every_phoneme_of_the_sentences_has_a_symbol(voice: PiperVoice) -> None:
    for text in CALL_CENTRE:
        for phrase in voice.pronouncer.pronounce(text).phrases:
            assert set("".join(espeak_symbols(phrase.phonemes))) <= voice._ids.keys()


def test_callers_differ_and_come_again(folder: Path, pronouncer: Pronouncer) -> None:
    def caller(options: PiperOptions) -> np.ndarray:
        return PiperVoice(folder, pronouncer, options).render("Yes, that is right.", never).pcm

    lively = PiperOptions(length_scale=1.2, noise_scale=0.667, noise_w=0.8, seed=7)
    assert np.array_equal(caller(lively), caller(lively))
    assert not np.array_equal(caller(lively), caller(PiperOptions(length_scale=1.2, noise_scale=0.667, noise_w=0.8, seed=8)))
    assert len(caller(PiperOptions(length_scale=1.5))) > 1.2 * len(caller(PiperOptions()))


def test_a_higher_voice_is_a_higher_rate(folder: Path, pronouncer: Pronouncer) -> None:
    assert PiperVoice(folder, pronouncer, PiperOptions(pitch_x=1.1)).rate_hz == 24_255


@pytest.mark.parametrize("text", ["", "😀", "...", "\x00"])
def test_without_a_speakable_character_there_is_no_sound(voice: PiperVoice, text: str) -> None:
    assert len(voice.render(text, never).pcm) == 0


@pytest.mark.parametrize("text", ["I", "Mm-hm.", "9" * 60, "xkcd " * 20, "naïve “quotes” (and more) — so…"])
def test_odd_texts_are_said(voice: PiperVoice, text: str) -> None:
    assert [word.text for word in voice.render(text, never).words] == text.split()


@pytest.mark.parametrize("config", [None, b"", b"{}", b'{"audio": {"sample_rate": 22050}, "phoneme_id_map": {"^": [1]}}'])
def test_missing_or_broken_weights_are_refused(tmp_path: Path, pronouncer: Pronouncer, config: bytes | None) -> None:
    if config is not None:
        (tmp_path / CONFIG).write_bytes(config)
    with pytest.raises(Refused, match="venus models install"):
        PiperVoice(tmp_path, pronouncer)
