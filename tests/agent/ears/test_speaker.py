"""Whether two pieces of speech are one voice."""

from pathlib import Path

import numpy as np
import pytest

from agent.ears.speaker import SAME_VOICE, SIZE, SpeakerModel, similarity
from agent.errors import Refused
from agent.weights.store import models_folder
from tests.voice_sounds import librivox, phone_prompts, telephone_band

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def model() -> SpeakerModel:
    return SpeakerModel(models_folder() / "resemblyzer")


def test_one_voice_is_alike_and_two_are_not(model: SpeakerModel) -> None:
    one = [model.embed(telephone_band(pcm)) for _, pcm, _ in phone_prompts() if len(pcm) > 32_000]
    other = [model.embed(telephone_band(pcm)) for _, pcm, _ in librivox()]
    within = [similarity(a, b) for group in (one, other) for a in group for b in group if a is not b]
    across = [similarity(a, b) for a in one for b in other]
    assert np.quantile(within, 0.05) > SAME_VOICE > max(across)


def test_a_vector_has_unit_length_and_does_not_depend_on_loudness(model: SpeakerModel) -> None:
    pcm = phone_prompts()[0][1]
    whole = model.embed(pcm)
    assert whole.shape == (SIZE,)
    assert whole.dtype == np.float32
    assert similarity(whole, whole) == pytest.approx(1, abs=1e-5)
    assert similarity(whole, model.embed(pcm * np.float32(0.01))) > 0.99


def test_half_a_second_is_enough_to_be_like_oneself(model: SpeakerModel) -> None:
    pcm = phone_prompts()[3][1]
    assert similarity(model.embed(pcm), model.embed(pcm[8_000:16_000])) > 0.6


@pytest.mark.parametrize("samples", [0, 1, 1_000, 40_000])
def test_silence_is_like_nobody(model: SpeakerModel, samples: int) -> None:
    nobody = model.embed(np.zeros(samples, np.float32))
    assert similarity(nobody, model.embed(phone_prompts()[0][1])) == 0


def test_missing_or_foreign_weights_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="venus models install"):
        SpeakerModel(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    with pytest.raises(Refused, match="venus models install"):
        SpeakerModel(tmp_path)
