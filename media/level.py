"""How loud sound is, and a plain voice gate on it.

The gate stands in for a voice activity model: it knows loudness and duration, not what a voice is.
"""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from media.frames import Pcm

FLOOR_DBOV = -127.0
"""The quietest level RFC 6464 and RFC 6465 can say; digital silence."""

_OVERLOAD = 32767.0**2
"""Power of the loudest square wave: 0 dBov (RFC 6464, section 3)."""

_MARGIN = 10**1.2
"""A loud block stands 12 dB above the noise floor."""

_CLOSE_RATIO = 10**-0.4
"""An open gate takes 4 dB less."""

_LEARNT_AT_MOST_DBOV = -25.0

_Samples = npt.NDArray[np.float64]


def level_dbov(pcm: Pcm) -> float:
    """Root mean square in dBov, −127 to 0: 0 is a square wave at full scale, −3.01 a sine (RFC 6464, RFC 6465)."""
    if not len(pcm):
        return FLOOR_DBOV
    samples = pcm.astype(np.float64)
    return _dbov(float(samples.dot(samples)) / len(samples))


@dataclass(frozen=True, slots=True)
class GateChange:
    """The gate opened (`speaking`) or closed.

    `samples_ago` counts back from the end of the frame that was just given: to the first loud sample when it opened, to just
    behind the last loud one when it closed. `level_dbov` is the mean over the loud blocks since that onset.
    """

    speaking: bool
    samples_ago: int
    level_dbov: float


class LevelGate:
    """Opens on sustained loudness, closes after a hang-over. A pure state machine over blocks of 10 ms.

    A block is loud above both `threshold_dbov` and the noise floor + 12 dB; while the gate is open, 4 dB less will do. The
    noise floor is the quietest block of the last five to six seconds (minimum statistics, Martin 2001): noise that sets in
    opens the gate, and has closed it again after that time. It never lifts the threshold above −25 dBov, so loud steady sound
    stays loud. The gate opens after `attack_ms` of loud blocks with no pause of more than 10 ms between them (the first may be
    part of a block); a click of up to `attack_ms` − 20 ms can not open it.
    """

    def __init__(self, rate_hz: int, threshold_dbov: float = -45.0, attack_ms: int = 60, hang_over_ms: int = 200) -> None:
        """Rate: a multiple of 100 Hz; times: multiples of 10 ms. Raises ValueError otherwise."""
        if rate_hz <= 0 or rate_hz % 100:
            raise ValueError(f"{rate_hz} Hz has no whole number of samples in 10 ms; use a multiple of 100 Hz")
        if min(attack_ms, hang_over_ms) < 10 or attack_ms % 10 or hang_over_ms % 10:
            raise ValueError("attack and hang-over are multiples of 10 ms, at least 10")
        self._block = rate_hz // 100
        self._attack, self._hang_over = attack_ms // 10, hang_over_ms // 10
        self._noise = _NoiseFloor(_power(threshold_dbov))
        self.speaking = False
        self._frame_power = 0.0
        self._loud = self._quiet = 0  # blocks: loud ones in this run, quiet ones since the last of them
        self._since_onset = 0  # samples
        self._run_power = 0.0  # of the loud blocks, summed
        self._last_loud: _Samples = np.zeros(0)
        self._last_threshold = 0.0

    @property
    def level_dbov(self) -> float:
        """Level of the last frame given, dBov; −127 before the first."""
        return _dbov(self._frame_power)

    @property
    def quiet_samples(self) -> int:
        """While speaking: samples from the last loud block to the end of the last frame, in whole blocks; 0 in a loud one."""
        return self._quiet * self._block

    def step(self, pcm: Pcm) -> GateChange | None:
        """Take the next 10 to 60 ms, in whole 10 ms (ValueError otherwise)."""
        blocks, rest = divmod(len(pcm), self._block)
        if rest or not 1 <= blocks <= 6:
            raise ValueError(f"got {len(pcm)} samples; the gate takes 10 to 60 ms in multiples of {self._block} samples")
        change: GateChange | None = None
        self._frame_power = 0.0
        samples = pcm.astype(np.float64)  # a copy: the gate keeps a block of it
        for start in range(0, len(pcm), self._block):
            block = samples[start : start + self._block]
            power = float(block.dot(block)) / self._block  # sums of whole numbers below 2^53: the same on every machine
            self._frame_power += power / blocks
            threshold = self._noise.threshold(power)
            samples_ago = (
                self._while_open(block, power, threshold) if self.speaking else self._while_closed(block, power, threshold)
            )
            if samples_ago is not None:
                later = len(pcm) - start - self._block
                change = GateChange(self.speaking, samples_ago + later, _dbov(self._run_power / self._loud))
                if not self.speaking:
                    self._forget_run()
        return change

    def _while_closed(self, block: _Samples, power: float, threshold: float) -> int | None:
        if self._loud:
            self._since_onset += self._block
        if power <= threshold:
            self._quiet += 1
            if self._loud and self._quiet > 1:
                self._forget_run()
            return None
        if not self._loud:
            self._since_onset = self._block - int((block * block > threshold).argmax())
        self._note_loud(block, power, threshold * _CLOSE_RATIO)
        self.speaking = self._loud >= self._attack
        return self._since_onset if self.speaking else None

    def _while_open(self, block: _Samples, power: float, threshold: float) -> int | None:
        if power > threshold * _CLOSE_RATIO:
            self._note_loud(block, power, threshold * _CLOSE_RATIO)
            return None
        self._quiet += 1
        if self._quiet < self._hang_over:
            return None
        self.speaking = False
        behind_last_loud = int((self._last_loud[::-1] ** 2 > self._last_threshold).argmax())
        return behind_last_loud + self._quiet * self._block

    def _note_loud(self, block: _Samples, power: float, threshold: float) -> None:
        self._loud += 1
        self._quiet = 0
        self._run_power += power
        self._last_loud, self._last_threshold = block, threshold

    def _forget_run(self) -> None:
        self._loud = self._quiet = self._since_onset = 0
        self._run_power = 0.0


class _NoiseFloor:
    """The quietest of the last 500 to 600 blocks, and the threshold that follows from it. Starts at digital silence."""

    def __init__(self, absolute: float) -> None:
        self._absolute = absolute
        self._highest = max(absolute, _power(_LEARNT_AT_MOST_DBOV))
        self._past: deque[float] = deque([0.0] * 5, maxlen=5)
        self._past_minimum = 0.0
        self._minimum, self._blocks = math.inf, 0

    def threshold(self, power: float) -> float:
        """Power above which a block is loud, after hearing of one more block."""
        self._minimum = min(self._minimum, power)
        self._blocks += 1
        if self._blocks == 100:
            self._past.append(self._minimum)
            self._past_minimum = min(self._past)
            self._minimum, self._blocks = math.inf, 0
        above_noise = _MARGIN * min(self._past_minimum, self._minimum)
        return min(max(self._absolute, above_noise), self._highest)


def _dbov(power: float) -> float:
    if power <= 0:
        return FLOOR_DBOV
    return min(0.0, max(FLOOR_DBOV, 10 * math.log10(power / _OVERLOAD)))


def _power(level: float) -> float:
    return float(_OVERLOAD * 10 ** (level / 10))
