"""The envelope of both sides for drawing: one number every 50 ms and channel."""

import json
from array import array

import numpy as np
import numpy.typing as npt

STEP_US = 50_000
"""Length of one step, µs."""

FULL_SCALE = 1000
"""A step at full scale; values are linear, 0 to this."""


class Peaks:
    """Greatest absolute value of each step, 2 bytes a step and channel (an hour: 288 kB), wherever the samples fall."""

    def __init__(self, rate_hz: int) -> None:
        self._step = rate_hz * STEP_US // 1_000_000
        self._channels = (array("H"), array("H"))

    def add(self, index: int, stereo: npt.NDArray[np.int16]) -> None:
        """Account for `stereo`, shape [n, 2], whose first sample is number `index` of the call."""
        if not len(stereo):
            return
        first, inside = divmod(index, self._step)
        starts = np.concatenate(([0], np.arange(self._step - inside, len(stereo), self._step)))
        tops = np.maximum.reduceat(np.abs(stereo.astype(np.int32)), starts, axis=0) * FULL_SCALE // 32768
        self.extend(first + len(starts))
        for channel, column in zip(self._channels, tops.T.tolist(), strict=True):
            for step, top in enumerate(column, start=first):
                if top > channel[step]:
                    channel[step] = top

    def extend(self, steps: int) -> None:
        """Make it at least so many steps long; the new ones are silent."""
        for channel in self._channels:
            missing = steps - len(channel)
            if missing > 0:
                channel.frombytes(bytes(2 * missing))

    def extend_to(self, samples: int) -> None:
        """Make it cover so many samples."""
        self.extend(-(-samples // self._step))

    def encode(self) -> bytes:
        """The content of `peaks.json`."""
        caller, agent = (channel.tolist() for channel in self._channels)
        stored = {"venus_peaks": 1, "step_us": STEP_US, "full_scale": FULL_SCALE, "caller": caller, "agent": agent}
        return json.dumps(stored, separators=(",", ":")).encode()
