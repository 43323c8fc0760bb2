"""Whether the turn model tells a finished sentence from one that was broken off."""

import numpy as np
import pytest

from agent.ears.turn_model import TurnModel
from agent.weights.store import models_folder
from tests.voice_sounds import Samples, phone_prompts, silence, telephone_band

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def model() -> TurnModel:
    return TurnModel(models_folder() / "smart-turn")


def said(pcm: Samples, part: float = 1.0) -> Samples:
    """The first part of what is said, and the 200 ms of silence after which one would ask."""
    voice = telephone_band(pcm)
    loud = np.flatnonzero(np.abs(voice) > 0.03)
    voice = voice[max(0, loud[0] - 1_600) : loud[-1] + 1_600]
    return np.concatenate((voice[: int(len(voice) * part)], silence(0.2)))


def test_most_finished_prompts_are_taken_for_finished(model: TurnModel) -> None:
    over = [model.probability(said(pcm)) > 0.5 for _, pcm, _ in phone_prompts()]
    assert sum(over) >= 21


def test_a_finished_prompt_is_likelier_to_be_over_than_a_broken_one(model: TurnModel) -> None:
    whole = [model.probability(said(pcm)) for _, pcm, _ in phone_prompts()]
    broken = [model.probability(said(pcm, 0.6)) for _, pcm, _ in phone_prompts()]
    assert np.mean(whole) - np.mean(broken) > 0.25


@pytest.mark.parametrize("samples", [0, 1, 16_000, 200_000])
def test_any_length_gives_a_probability(model: TurnModel, samples: int) -> None:
    assert 0 <= model.probability(np.zeros(samples, np.float32)) <= 1
