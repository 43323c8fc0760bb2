"""The features of Whisper (Radford et al. 2022, section 2.1) on 8 s of sound, as smart-turn takes them.

As `transformers.WhisperFeatureExtractor(chunk_length=8)` with `do_normalize` computes them, to 1e-4.
"""

import numpy as np
import numpy.typing as npt

from media.frames import Samples

RATE_HZ = 16_000
SECONDS = 8
MELS = 80
FRAMES = 800
_WINDOW = 400
_HOP = 160
_SAMPLES = SECONDS * RATE_HZ
_VARIANCE_AT_LEAST = 1e-7
_POWER_AT_LEAST = 1e-10
_DYNAMIC_RANGE = 8.0  # decades below the loudest value

Features = npt.NDArray[np.float32]
_Matrix = npt.NDArray[np.float64]


def slaney_filters(bins: int, filters: int, rate_hz: int) -> _Matrix:
    """Triangular filters of equal area, evenly spaced on Slaney's mel scale from 0 Hz to half the rate; shape (bins, filters).

    The scale is linear up to 1,000 Hz (15 mel) and logarithmic above (Auditory Toolbox, 1998).
    """
    step = np.log(6.4) / 27
    highest = 15 + np.log(rate_hz / 2 / 1000) / step
    mels = np.linspace(0, highest, filters + 2)
    edges = np.where(mels < 15, mels * 200 / 3, 1000 * np.exp(step * (mels - 15)))
    distance = edges[None, :] - np.linspace(0, rate_hz / 2, bins)[:, None]
    widths = np.diff(edges)
    rising, falling = -distance[:, :-2] / widths[:-1], distance[:, 2:] / widths[1:]
    area: _Matrix = 2 / (edges[2:] - edges[:-2])
    return np.maximum(0, np.minimum(rising, falling)) * area


_FILTERS = slaney_filters(_WINDOW // 2 + 1, MELS, RATE_HZ)
_HANN: _Matrix = np.hanning(_WINDOW + 1)[:-1]


def log_mel(pcm: Samples) -> Features:
    """The last 8 s of `pcm` (16 kHz, −1..1), silence before it where it is shorter; shape (80, 800), about −1..1.

    Frames of the silence are all alike: only one of them is computed.
    """
    sound = pcm[-_SAMPLES:]
    padding = _SAMPLES - len(sound)
    whole = np.zeros(_SAMPLES, np.float32)
    whole[padding:] = sound
    normal = ((whole - whole.mean()) / np.sqrt(whole.var() + _VARIANCE_AT_LEAST)).astype(np.float64)
    padded = np.pad(normal, _WINDOW // 2, mode="reflect")
    alike = max(0, (padding - _WINDOW // 2) // _HOP)  # frames 0 .. alike lie in the silence, mirrored edge included
    frames = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP][alike:FRAMES]
    spectrum = np.fft.rfft(frames * _HANN)
    power = spectrum.real**2 + spectrum.imag**2
    decades = np.log10(np.maximum(power @ _FILTERS, _POWER_AT_LEAST))
    decades = np.concatenate((np.broadcast_to(decades[:1], (alike, MELS)), decades))
    features: Features = ((np.maximum(decades, decades.max() - _DYNAMIC_RANGE) + 4) / 4).T.astype(np.float32)
    return features
