"""Whose voice it is: the speaker encoder of Resemblyzer (Wan et al. 2018, arXiv 1710.10467; Apache-2.0), in numpy.

A vector says who spoke without saying what: it is personal, and belongs to no timeline, log or disk.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file

from agent.ears.log_mel import slaney_filters
from agent.errors import Refused
from media.frames import Samples

RATE_HZ = 16_000
SIZE = 256
"""Length of a vector."""
LONGEST_S = 8.0
"""Longer sound loses its beginning, seconds."""
SAME_VOICE = 0.77
"""Similarity at which as many pairs of one voice are missed as pairs of two are taken for one, on seven telephone voices."""
_MELS, _LAYERS = 40, 3
_WINDOW, _HOP = 400, 160
_STRETCH, _STEP = 160, 80  # frames: 1.6 s, half overlapped
_LEVEL = 10 ** (
    -30 / 20
)  # root mean square that all sound is brought to; the original lifts quiet sound only, and hears loudness

Vector = npt.NDArray[np.float32]
_Array = npt.NDArray[np.float32]

_FILTERS: _Array = slaney_filters(_WINDOW // 2 + 1, _MELS, RATE_HZ).astype(np.float32)
_HANN: _Array = np.hanning(_WINDOW + 1)[:-1].astype(np.float32)


def similarity(a: Vector, b: Vector) -> float:
    """Of two vectors of unit length: 1 for the same direction; about 0.5 to 0.7 for two people."""
    return float(a @ b)


class SpeakerModel:
    """Safe to call from several threads."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds model.safetensors, named as in the original. Raises `Refused` without it."""
        path = folder / "model.safetensors"
        if not path.is_file():
            raise Refused(f"there is no {path.name} in the models folder: run `venus models install`")
        try:
            weights = load_file(path)
            self._layers = [_Layer(*(weights[f"lstm.{name}_l{layer}"] for name in _OF_LAYER)) for layer in range(_LAYERS)]
            self._linear, self._bias = weights["linear.weight"].T.copy(), weights["linear.bias"]
        except (SafetensorError, KeyError, OSError) as error:
            raise Refused(f"{path} holds no speaker encoder: run `venus models install` again") from error

    def embed(self, pcm: Samples) -> Vector:
        """The voice in `pcm` (16 kHz, −1..1; speech without pauses, best 1.6 s and more), shape (256,), unit length.

        Zeros for sound without any signal: similar to nobody.
        """
        pcm = pcm[-int(LONGEST_S * RATE_HZ) :]
        level = float(np.sqrt(np.mean(pcm**2))) if len(pcm) else 0.0
        if level == 0:
            return np.zeros(SIZE, np.float32)
        sequence = _stretches(_mels(pcm * np.float32(_LEVEL / level)))
        for layer in self._layers:
            sequence = layer.run(sequence)
        vectors = np.maximum(sequence[-1] @ self._linear + self._bias, 0)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-6
        mean: Vector = vectors.mean(0)
        return mean / (np.linalg.norm(mean) + np.float32(1e-6))


_OF_LAYER = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class _Layer:
    """A layer of long short-term memory; gates in the order input, forget, cell, output."""

    def __init__(self, of_input: _Array, of_state: _Array, input_bias: _Array, state_bias: _Array) -> None:
        # The logistic function is (1 + tanh(x / 2)) / 2: halving its weights lets one tanh serve all four gates.
        half = np.repeat(np.array([0.5, 0.5, 1.0, 0.5], np.float32), SIZE)
        self._of_input = (of_input * half[:, None]).T.copy()
        self._of_state = of_state * half[:, None]
        self._bias = (input_bias + state_bias) * half

    def run(self, sequence: _Array) -> _Array:
        """Shape (frames, stretches, inputs) to (frames, stretches, 256)."""
        frames, stretches, inputs = sequence.shape
        given = (sequence.reshape(-1, inputs) @ self._of_input + self._bias).reshape(frames, stretches, -1)
        output = np.empty((frames, stretches, SIZE), np.float32)
        state = cell = np.zeros((stretches, SIZE), np.float32)
        for frame, gates in enumerate(given):
            # Vector by vector: as one product of matrices it takes twice as long.
            gates += (self._of_state @ state[:, :, None])[:, :, 0]
            np.tanh(gates, out=gates)
            take, keep, new, show = (gates[:, start : start + SIZE] for start in range(0, 4 * SIZE, SIZE))
            cell = ((keep + 1) * cell + (take + 1) * new) * np.float32(0.5)
            state = output[frame] = (show + 1) * np.tanh(cell) * np.float32(0.5)
        return output


def _mels(pcm: Samples) -> _Array:
    """Mel power, shape (frames, 40), a frame every 10 ms."""
    padded = np.pad(pcm, _WINDOW // 2)
    spectrum = np.fft.rfft(np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP] * _HANN)
    power: _Array = (spectrum.real**2 + spectrum.imag**2).astype(np.float32, copy=False)
    return power @ _FILTERS


def _stretches(mels: _Array) -> _Array:
    """Overlapping stretches of 1.6 s side by side, shape (160, stretches, 40); shorter sound is repeated to fill one."""
    if len(mels) < _STRETCH:
        mels = np.resize(mels, (_STRETCH, _MELS))
    starts = [*range(0, len(mels) - _STRETCH + 1, _STEP)]
    if len(mels) - _STRETCH - starts[-1] >= _STEP // 2:
        starts.append(len(mels) - _STRETCH)
    return np.stack([mels[start : start + _STRETCH] for start in starts], axis=1)
