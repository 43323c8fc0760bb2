"""Streaming conversion of the sample rate, on FFmpeg's resampler (PyAV).

Chosen by measurement: the first output is ready in the frame of its input, and a tone above the new band is gone (soxr's quick
mode lets it pass; its better modes hold back 20 to 80 ms).
"""

from functools import lru_cache

import av
import numpy as np

from media.frames import Pcm, frame_samples, samples_of, silence


class Resampler:
    """Mono, any length in, what is ready out.

    The sound is not shifted: output sample k is the input at second k / `to_hz`. Only its delivery lags, by about 16 samples
    of the lower of the two rates (2 ms at 8 kHz).
    """

    def __init__(self, from_hz: int, to_hz: int) -> None:
        """Any two positive rates; raises ValueError on others."""
        if from_hz <= 0 or to_hz <= 0:
            raise ValueError(f"cannot resample from {from_hz} Hz to {to_hz} Hz: both rates must be positive")
        self.from_hz, self.to_hz = from_hz, to_hz
        self._graph = av.AudioResampler("s16", "mono", to_hz)
        self._input = av.AudioFrame("s16", "mono", 1)
        self._samples = np.empty(0, np.int16)

    def push(self, pcm: Pcm) -> Pcm:
        """What these samples complete, possibly nothing; at equal rates `pcm` itself."""
        if self.from_hz == self.to_hz or not len(pcm):
            return pcm
        if len(pcm) != len(self._samples):
            self._reshape_input(len(pcm))
        self._samples[:] = pcm
        return _joined(self._graph.resample(self._input))

    def flush(self) -> Pcm:
        """The rest; the next `push` starts a new stream. A stream shorter than the filter, 2 ms at 8 kHz, may give nothing."""
        rest = _joined(self._graph.resample(None))
        self._graph = av.AudioResampler("s16", "mono", self.to_hz)
        return rest

    def _reshape_input(self, samples: int) -> None:
        """One input frame is written over and over: the filter graph copies what it keeps, and making a frame a call doubles
        the cost."""
        self._input = av.AudioFrame("s16", "mono", samples)
        self._input.sample_rate = self.from_hz
        self._samples = samples_of(self._input)


class FrameResampler:
    """Exactly 20 ms in, exactly 20 ms out, each time.

    `delay_samples` (at `to_hz`) of silence come first and stand for what the filter holds back: the sound is late by that much
    and no more, 2 ms where 8 kHz is one of the rates. Equal rates pass through, delay 0.
    """

    def __init__(self, from_hz: int, to_hz: int) -> None:
        """Rates must be multiples of 50 Hz; raises ValueError otherwise."""
        self._in, self._out = frame_samples(from_hz), frame_samples(to_hz)
        self.delay_samples = _held_back(from_hz, to_hz)
        self._resampler = Resampler(from_hz, to_hz)
        self._same = from_hz == to_hz
        self._ready: Pcm = silence(self.delay_samples)

    def push(self, pcm: Pcm) -> Pcm:
        """One frame for one frame. Raises ValueError when `pcm` is not 20 ms."""
        if len(pcm) != self._in:
            raise ValueError(f"got {len(pcm)} samples; a frame of 20 ms has {self._in}")
        if self._same:
            return pcm
        ready = np.concatenate((self._ready, self._resampler.push(pcm)))
        # Copied, so that a caller keeping one frame does not keep the next one's samples alive with it.
        self._ready = ready[self._out :].copy()
        return ready[: self._out]


@lru_cache(maxsize=64)
def _held_back(from_hz: int, to_hz: int) -> int:
    """Most output samples by which the filter ever lags behind its input, measured over half a second of frames."""
    if from_hz == to_hz:
        return 0
    probe, frame = Resampler(from_hz, to_hz), silence(frame_samples(from_hz))
    owed = most = 0
    for _ in range(25):
        owed += frame_samples(to_hz) - len(probe.push(frame))
        most = max(most, owed)
    return most


def _joined(frames: list[av.AudioFrame]) -> Pcm:
    if len(frames) == 1:
        return samples_of(frames[0])
    return np.concatenate([samples_of(frame) for frame in frames]) if frames else silence(0)
