"""What the far end hears of us."""

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from agent.line import Pcm
from agent.settings import TICK_US
from transports.memory.wire import Sound

KEPT_FRAMES = 500
"""Frames an ear remembers unless told to keep all: ten seconds."""


class HeardState(StrEnum):
    """What became of 20 ms of ours: it arrived, it was lost, or we sent nothing."""

    RECEIVED = "received"
    LOST = "lost"
    SILENT = "silent"


class HeardFrame(NamedTuple):
    """20 ms at the far end's ear, its first sample heard at `at_us` of our clock. `pcm` is read-only silence unless received."""

    at_us: int
    pcm: Pcm
    state: HeardState


class Ear:
    """Decodes what arrives, remembers it, and gives it back as an echo. `echo_gain` 0: without one."""

    def __init__(self, decode: Callable[[bytes], Pcm], rate_hz: int, *, keep_all: bool, echo_gain: float) -> None:
        self.frames: deque[HeardFrame] = deque(maxlen=None if keep_all else KEPT_FRAMES)
        self._decode = decode
        self._rate = rate_hz
        self._gain = np.float32(echo_gain)
        self._silence = np.zeros(rate_hz * TICK_US // 1_000_000, np.int16)
        self._silence.flags.writeable = False
        self._echoes: deque[tuple[int, Pcm]] = deque()

    def hear(self, at_us: int, sound: Sound) -> HeardFrame:
        """20 ms have arrived, or should have."""
        if sound.payload is None:
            frame = HeardFrame(at_us, self._silence, HeardState.LOST if sound.lost else HeardState.SILENT)
        else:
            frame = HeardFrame(at_us, self._decode(sound.payload), HeardState.RECEIVED)
            if self._gain:
                self._echoes.append((self._position(at_us), frame.pcm))
        self.frames.append(frame)
        return frame

    def heard(self) -> Pcm:
        """All remembered frames in a row."""
        return np.concatenate([frame.pcm for frame in self.frames]) if self.frames else np.zeros(0, np.int16)

    def echo(self, until_us: int, samples: int) -> Pcm | None:
        """The attenuated `samples` samples heard until `until_us`; None: nothing was heard then.

        The place is rounded to a sample, so a far end with a skewed clock skips or repeats single samples of its echo.
        """
        first = self._position(until_us) - samples
        while self._echoes and self._echoes[0][0] + len(self._echoes[0][1]) <= first:
            self._echoes.popleft()
        out = np.zeros(samples, np.float32)
        found = False
        for position, pcm in self._echoes:
            start, end = max(first, position), min(first + samples, position + len(pcm))
            if start < end:
                out[start - first : end - first] = pcm[start - position : end - position]
                found = True
        return np.rint(out * self._gain).astype(np.int16) if found else None

    def _position(self, at_us: int) -> int:
        return at_us * self._rate // 1_000_000
