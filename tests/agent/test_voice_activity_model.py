"""The voice activity model on recorded speech and on what is no voice."""

import numpy as np
import pytest

from agent.voice_activity import SileroGate, SileroModel
from agent.weights.store import models_folder
from tests.voice_sounds import RATE_HZ, Samples, frames_of, noise, phone_prompts, prompt, silence, telephone_band

pytestmark = pytest.mark.model

AUDIBLE = 0.02


@pytest.fixture(scope="module")
def model() -> SileroModel:
    return SileroModel(models_folder() / "silero-vad")


def changes(model: SileroModel, pcm: Samples, rate: int = 8_000) -> list[tuple[float, float, bool]]:
    """Each change: where it lies in the sound and when it was told, in ms, and whether it opened."""
    gate, found = SileroGate(model, rate), []
    for frame, one in enumerate(frames_of(pcm, rate), 1):
        if change := gate.step(one):
            found.append((frame * 20 - change.samples_ago * 1000 / rate, frame * 20.0, change.speaking))
    return found


def audible(pcm: Samples) -> Samples:
    loud = np.flatnonzero(np.abs(pcm) > AUDIBLE)
    return pcm[loud[0] : loud[-1] + 1]


@pytest.mark.parametrize("rate", [8_000, 16_000, 48_000])
def test_every_prompt_is_found_soon_and_ended_in_time(model: SileroModel, rate: int) -> None:
    onsets, told, ends = [], [], []
    for _, pcm, _ in phone_prompts():
        voice = audible(telephone_band(pcm))
        sound = np.concatenate((silence(0.5), voice, silence(0.8)))
        sound += noise(len(sound) / RATE_HZ + 0.1, 1e-4)[: len(sound)]
        found = changes(model, sound, rate)
        opened, closed = [one for one in found if one[2]], [one for one in found if not one[2]]
        assert len(opened) == len(closed) > 0
        onsets.append(opened[0][0] - 500)
        told.append(opened[0][1] - 500)
        ends.append(closed[-1][0] - 500 - len(voice) / 16)
    assert np.median(told) <= 100
    assert abs(np.median(onsets)) <= 35
    assert abs(np.median(ends)) <= 65
    assert max(np.abs(ends)) <= 120


@pytest.mark.parametrize("rms", [0.001, 0.01, 0.05, 0.2])
def test_noise_is_no_voice(model: SileroModel, rms: float) -> None:
    assert changes(model, noise(20, rms), 16_000) == []
    assert changes(model, telephone_band(noise(20, rms, seed=1))) == []


@pytest.mark.parametrize("name", ["beep", "ascending-2tone", "descending-2tone"])
def test_a_tone_is_no_voice(model: SileroModel, name: str) -> None:
    assert changes(model, telephone_band(prompt(name))) == []


@pytest.mark.parametrize("samples", [8, 160, 480])
def test_a_click_is_no_voice(model: SileroModel, samples: int) -> None:
    click = np.full(samples, 0.5, np.float32)
    assert changes(model, np.concatenate((silence(0.513), click, silence(0.5)))) == []


@pytest.mark.parametrize("rms", [0.0, 0.003, 0.02])
def test_two_minutes_without_a_voice_make_it_no_slower(model: SileroModel, rms: float) -> None:
    voice = audible(telephone_band(phone_prompts()[4][1]))
    found = changes(model, np.concatenate((noise(120, rms), voice, silence(0.5))))
    assert [speaking for *_, speaking in found] == [True, False]
    assert found[0][1] - 120_000 <= 120
