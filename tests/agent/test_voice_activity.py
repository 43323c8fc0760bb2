"""The gate on a model's probabilities, with a model that says what it is told."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from agent.errors import Refused
from agent.voice_activity import CONTEXT, WINDOW, SileroGate, SileroModel
from media.level import GateChange

pytestmark = pytest.mark.unit


class ToldModel(SileroModel):
    """Judges window after window as told, then finds no voice; keeps what it was given."""

    def __init__(self, probabilities: Iterable[float]) -> None:
        self._told = iter(probabilities)
        self.windows: list[np.ndarray] = []

    def probability(self, samples: np.ndarray, state: np.ndarray) -> tuple[float, np.ndarray]:
        self.windows.append(samples.copy())
        return next(self._told, 0.0), state + 1


def changes(
    probabilities: Iterable[float], frames: int = 60, rate: int = 16_000, dbov_of: int = 3277
) -> list[tuple[float, int, bool]]:
    """Each change: where it lies in the sound, when it was told (both in ms), and whether it opened."""
    gate = SileroGate(ToldModel(probabilities), rate)
    found = []
    for frame in range(1, frames + 1):
        if change := gate.step(np.full(rate // 50, dbov_of, np.int16)):
            found.append((frame * 20 - change.samples_ago * 1000 / rate, frame * 20, change.speaking))
    return found


def test_a_sure_window_opens_at_once_and_the_hang_over_closes() -> None:
    assert changes([0, 0, 0.9, 0.9]) == [(64.0, 100, True), (128.0, 340, False)]


def test_a_doubtful_window_needs_another() -> None:
    assert changes([0, 0.5, 0.34, 0.69, 0.2, 0.49, 0.69]) == []
    assert changes([0, 0.5, 0.35])[0] == (32.0, 100, True)


def test_less_keeps_it_open_than_opens_it() -> None:
    assert changes([0.9, *[0.35] * 10])[1][0] == 11 * 32.0
    assert changes([0.9, *[0.34] * 10])[1][0] == 32.0


def test_a_breath_shorter_than_the_hang_over_closes_nothing() -> None:
    assert len(changes([0.9, 0, 0, 0, 0, 0, 0.4])) == 2


@pytest.mark.parametrize(("before", "onset_ms"), [([0.2], 64), ([0.15, 0.2], 32), ([0.14, 0.2], 64), ([0.3, 0.1, 0.2], 64)])
def test_an_onset_is_dated_back_to_where_the_voice_was_about_to_come(before: list[float], onset_ms: int) -> None:
    late = [0.0] * (3 - len(before))
    assert changes([*late, *before, 0.9])[0][0] == onset_ms


def test_it_is_dated_back_by_four_windows_at_most_and_never_into_the_voice_before() -> None:
    assert changes([0.2] * 9 + [0.9])[0][0] == 5 * 32
    (_, _, _), (_, closed, _), (onset, _, _), *_ = changes([0.9, *[0.2] * 6, 0.9])
    assert onset >= closed - 20


def test_what_the_resampler_holds_back_moves_nothing() -> None:
    for rate in (8_000, 24_000, 48_000):
        gate = SileroGate(ToldModel([0, 0, 0.9]), rate)
        frames = [np.zeros(rate // 50, np.int16)] * 3 + [np.full(rate // 50, 8000, np.int16)] * 3
        (frame, change), *_ = [(frame, change) for frame, pcm in enumerate(frames, 1) if (change := gate.step(pcm))]
        assert frame * 20 - change.samples_ago * 1000 / rate == pytest.approx(64, abs=2.5)


def test_windows_follow_each_other_with_their_context() -> None:
    model = ToldModel([])
    gate = SileroGate(model, 16_000)
    sound = np.arange(320 * 8, dtype=np.int16)
    for start in range(0, len(sound), 320):
        gate.step(sound[start : start + 320])
    padded = np.concatenate((np.zeros(CONTEXT), sound)).astype(np.float32) / 32768
    assert len(model.windows) == 5
    for number, window in enumerate(model.windows):
        np.testing.assert_array_equal(window, padded[number * WINDOW : number * WINDOW + CONTEXT + WINDOW])


def test_it_says_how_long_it_has_been_quiet() -> None:
    gate = SileroGate(ToldModel([0.9]), 16_000)
    quiet = []
    for _ in range(12):
        gate.step(np.zeros(320, np.int16))
        quiet.append(gate.quiet_samples // 16)
    assert quiet == [0, 8, 28, 48, 68, 88, 108, 128, 148, 168, 188, 0]
    assert gate.speaking is False


def test_levels_are_those_of_the_frame_and_of_the_voice() -> None:
    gate = SileroGate(ToldModel([0.0, 0.9]), 16_000)
    assert gate.level_dbov == -127.0
    found: list[GateChange | None] = [gate.step(np.full(320, level, np.int16)) for level in (0, 3277, 3277, 3277)]
    assert gate.level_dbov == pytest.approx(-20, abs=0.1)
    assert found[3] is not None
    assert found[3].level_dbov == pytest.approx(-20, abs=0.1)


@pytest.mark.parametrize("samples", [0, 319, 321])
def test_only_whole_frames_are_taken(samples: int) -> None:
    with pytest.raises(ValueError, match="20 ms"):
        SileroGate(ToldModel([]), 48_000).step(np.zeros(samples, np.int16))


def test_missing_weights_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="venus models install"):
        SileroModel(tmp_path)
