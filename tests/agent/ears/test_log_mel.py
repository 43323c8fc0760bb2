"""The features of the turn model, against values of the reference implementation."""

import numpy as np
import pytest

from agent.ears.log_mel import FRAMES, MELS, log_mel, slaney_filters

pytestmark = pytest.mark.unit


def chirp(samples: int) -> np.ndarray:
    """A tone that rises from 100 Hz by 500 Hz a second and swells, the same on every machine."""
    seconds = np.arange(samples) / 16_000
    return (0.4 * np.sin(2 * np.pi * (100 + 250 * seconds) * seconds) * (0.55 + 0.45 * np.sin(9 * seconds))).astype(np.float32)


PLACES = [(0, 0), (3, 799), (10, 700), (20, 600), (35, 790), (60, 500), (79, 799), (40, 10)]
REFERENCE = {
    # samples: the features at PLACES, their mean and deviation, by transformers 4's WhisperFeatureExtractor in the form that
    # pipecat-ai 1.14.0 ships (audio/turn/smart_turn/_whisper_features.py)
    0: ([-1.5] * 8, -1.5, 0.0),
    1: ([-1.5] * 8, -1.5, 0.0),
    48_000: ([-0.12746, 0.56802, -0.12746, -0.02168, 0.84124, -0.08337, 0.07976, -0.12746], -0.06631, 0.26423),
    127_900: ([1.143, 0.10016, -0.23046, -0.23046, -0.23046, -0.23046, 0.11813, -0.23046], -0.11947, 0.35444),
    128_000: ([1.58585, -0.23116, -0.23116, -0.23116, -0.23116, -0.23116, -0.23116, -0.23116], -0.12091, 0.35448),
    160_000: ([0.76359, -0.02543, -0.2682, -0.2682, -0.2682, 1.4103, 0.17121, -0.2682], -0.18109, 0.32524),
}


@pytest.mark.parametrize("samples", REFERENCE)
def test_features_are_those_of_the_reference(samples: int) -> None:
    features = log_mel(chirp(samples))
    places, mean, deviation = REFERENCE[samples]
    assert features.shape == (MELS, FRAMES)
    assert features.dtype == np.float32
    assert [features[place] for place in PLACES] == pytest.approx(places, abs=1e-4)
    assert (features.mean(), features.std()) == pytest.approx((mean, deviation), abs=1e-4)


@pytest.mark.parametrize("silent", [1, 159, 160, 200, 201, 359, 360, 361, 64_000])
def test_silence_in_front_is_the_same_whether_given_or_missing(silent: int) -> None:
    sound = chirp(128_000 - silent)
    np.testing.assert_array_equal(log_mel(sound), log_mel(np.concatenate((np.zeros(silent, np.float32), sound))))


def test_only_the_last_eight_seconds_count() -> None:
    sound = chirp(200_000)
    np.testing.assert_array_equal(log_mel(sound), log_mel(sound[-128_000:]))


def test_filters_cover_the_band_with_triangles_of_equal_area() -> None:
    filters = slaney_filters(201, 80, 16_000)
    peaks = filters.argmax(axis=0) * 40
    assert filters.shape == (201, 80)
    assert (filters >= 0).all()
    assert (np.diff(peaks) >= 0).all()
    assert peaks[-1] < 8_000
    np.testing.assert_allclose(filters[:, 50:].sum(axis=0) * 40, 1, atol=0.03)
