"""Where in the sound there is a voice: silero v6 (MIT), in the media process, a tenth of a millisecond per 32 ms of sound."""

from collections import deque
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agent.onnx import open_session
from media.frames import Pcm, Samples
from media.level import FLOOR_DBOV, GateChange, level_dbov
from media.resample import FrameResampler

RATE_HZ = 16_000
WINDOW = 512
"""Samples that are judged at once."""
CONTEXT = 64
"""Samples before them that the model sees again."""
STARTS, GOES_ON = 0.5, 0.35
"""A voice starts in a window of at least the first probability, followed by one of at least the second, which keeps it going."""
STARTS_AT_ONCE = 0.7
"""A window as sure as that needs none behind it: clicks, noise and tones stay below 0.15."""
_LEADS_IN = 0.15
_LEAD_IN_WINDOWS = 4

State = npt.NDArray[np.float32]


class SileroModel:
    """The weights, one for all calls. Safe to call from several threads."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds the weights. Raises `Refused` without them."""
        self._session = open_session(folder / "silero_vad.onnx")
        self._rate = np.array(RATE_HZ, np.int64)

    def start(self) -> State:
        """What it remembers of a stream that begins."""
        return np.zeros((2, 1, 128), np.float32)

    def probability(self, samples: Samples, state: State) -> tuple[float, State]:
        """Of a voice in the last 512 of 576 samples (16 kHz, −1..1), 0..1; and the state for the next 512."""
        output, following = self._session.run(None, {"input": samples[None], "state": state, "sr": self._rate})
        return float(output[0, 0]), following


class SileroGate:
    """One call's gate on the voice: opens on a voice, closes after a hang-over, as `media.level.LevelGate` does on loudness.

    Windows of 32 ms do not fall together with frames of 20 ms: what is newer than the last whole window counts as quiet until
    it is judged. An onset is dated back over the windows (128 ms at most) in which the voice was about to come.
    """

    def __init__(self, model: SileroModel, rate_hz: int, hang_over_ms: int = 200) -> None:
        """Rate: a multiple of 50 Hz; raises ValueError otherwise."""
        self._model, self._state = model, model.start()
        self._resampler = FrameResampler(rate_hz, RATE_HZ)
        self._rate_hz = rate_hz
        self._hang_over = hang_over_ms * rate_hz // 1000
        self.speaking = False
        self.level_dbov = FLOOR_DBOV
        self._unjudged = np.zeros(CONTEXT, np.float32)  # with the context in front
        self._taken = 0  # samples at 16 kHz, as all positions
        self._judged = self._voiced_until = 0
        self._before: deque[float] = deque(maxlen=_LEAD_IN_WINDOWS + 1)  # probabilities while closed, latest last
        self._power, self._voiced_windows = 0.0, 0

    @property
    def quiet_samples(self) -> int:
        """While speaking: samples of the line from the last that is known to be voiced to the end of the last frame."""
        return self._ago(self._voiced_until) if self.speaking else 0

    def step(self, pcm: Pcm) -> GateChange | None:
        """Take the next 20 ms (ValueError otherwise)."""
        resampled = self._resampler.push(pcm)
        self.level_dbov = level_dbov(pcm)
        self._unjudged = np.concatenate((self._unjudged, resampled * np.float32(1 / 32768)))
        self._taken += len(resampled)
        change: GateChange | None = None
        while len(self._unjudged) >= CONTEXT + WINDOW:
            change = self._judge(self._unjudged[: CONTEXT + WINDOW]) or change
            self._unjudged = self._unjudged[WINDOW:]
        if self.speaking and self.quiet_samples >= self._hang_over:
            change = GateChange(False, self.quiet_samples, self._mean_level())
            self._close()
        return change

    def _judge(self, samples: Samples) -> GateChange | None:
        probability, self._state = self._model.probability(samples, self._state)
        self._judged += WINDOW
        if probability >= GOES_ON:
            window = samples[CONTEXT:]
            self._power, self._voiced_windows = self._power + float(window @ window) / WINDOW, self._voiced_windows + 1
            self._voiced_until = self._judged
        if self.speaking:
            return None
        before = self._before[-1] if self._before else 0.0
        self._before.append(probability)
        if probability < STARTS_AT_ONCE and (before < STARTS or probability < GOES_ON):
            if probability < STARTS:
                self._power, self._voiced_windows = 0.0, 0
            return None
        self.speaking = True
        return GateChange(True, self._ago(self._onset()), self._mean_level())

    def _onset(self) -> int:
        """Where the first of the windows begins that led to the one just judged."""
        windows = 1
        while windows < len(self._before) and self._before[-1 - windows] >= _LEADS_IN:
            windows += 1
        return self._judged - windows * WINDOW

    def _close(self) -> None:
        self.speaking = False
        self._before.clear()
        self._power, self._voiced_windows = 0.0, 0

    def _ago(self, position: int) -> int:
        """Samples of the line from there to the end of the last frame: what the resampler holds back is counted in."""
        return (self._taken - position + self._resampler.delay_samples) * self._rate_hz // RATE_HZ

    def _mean_level(self) -> float:
        rms = (self._power / self._voiced_windows) ** 0.5
        return max(FLOOR_DBOV, 20 * float(np.log10(max(rms, 1e-9))))
