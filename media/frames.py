"""The shape of sound in this project: one-dimensional arrays, int16 on a line and float32 for models, and the 20 ms frame."""

from functools import lru_cache

import av
import numpy as np
import numpy.typing as npt

Pcm = npt.NDArray[np.int16]
"""Mono samples, 16 bit, shape (n,)."""
Samples = npt.NDArray[np.float32]
"""Mono samples in −1..1, shape (n,): what models take and give."""

FRAMES_PER_SECOND = 50
"""Every frame that is pulled, pushed or gated is a fiftieth of a second."""


@lru_cache(maxsize=64)
def silence(samples: int) -> Pcm:
    """`samples` zeros. The array is shared by all callers and read-only: copy before writing."""
    zeros = np.zeros(samples, np.int16)
    zeros.flags.writeable = False
    return zeros


def frame_samples(rate_hz: int) -> int:
    """Samples in 20 ms. Raises ValueError when that is no whole number (11,025 Hz: resample first)."""
    if rate_hz <= 0 or rate_hz % FRAMES_PER_SECOND:
        raise ValueError(f"{rate_hz} Hz has no whole number of samples in 20 ms; use a multiple of {FRAMES_PER_SECOND} Hz")
    return rate_hz // FRAMES_PER_SECOND


def samples_of(frame: av.AudioFrame) -> Pcm:
    """The samples of a packed 16-bit frame, channels interleaved: a view of its memory, which it keeps alive. Writable."""
    # Through memoryview, because the type of a plane does not say before Python 3.12 that it is a buffer.
    return np.frombuffer(memoryview(frame.planes[0]), np.int16, frame.samples * frame.layout.nb_channels)
