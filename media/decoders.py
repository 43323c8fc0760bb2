"""What the jitter buffer asks of a codec, and the codecs that are plain samples, with concealment in the manner of G.711
Appendix I: the last pitch period is repeated and faded."""

from collections import deque
from typing import Protocol

import numpy as np
import numpy.typing as npt

from media.frames import Pcm, silence
from media.g711 import Law, decode_alaw, decode_ulaw
from media.splice import faded_into


class Decoder(Protocol):
    """One stream of packets, in order. Gaps are told by `conceal` and `recover`, which also keep the joins smooth."""

    def decode(self, payload: bytes) -> Pcm:
        """The packet's samples. Raises ValueError when it can not be read."""

    def conceal(self, samples: int) -> Pcm:
        """Exactly `samples` to stand in for what is missing; fades to silence as the gap goes on."""

    def recover(self, next_payload: bytes, samples: int) -> Pcm | None:
        """The `samples` before `next_payload` from redundancy inside it (Opus FEC); None when there is none."""


class G711Decoder:
    """PCMU or PCMA at 8 kHz."""

    def __init__(self, law: Law) -> None:
        self._table = decode_ulaw if law == "ulaw" else decode_alaw
        self._gaps = Concealment(8000)

    def decode(self, payload: bytes) -> Pcm:
        """One sample a byte; every payload can be read."""
        return self._gaps.heard(self._table(payload))

    def conceal(self, samples: int) -> Pcm:
        """See `Concealment.fill`."""
        return self._gaps.fill(samples)

    def recover(self, next_payload: bytes, samples: int) -> Pcm | None:
        """None: the codec has no redundancy."""
        return None


class L16Decoder:
    """16-bit samples in network order, mono (RFC 3551, section 4.5.11)."""

    def __init__(self, rate_hz: int) -> None:
        self._gaps = Concealment(rate_hz)

    def decode(self, payload: bytes) -> Pcm:
        """Raises ValueError on an odd number of bytes."""
        return self._gaps.heard(np.frombuffer(payload, ">i2").astype(np.int16))

    def conceal(self, samples: int) -> Pcm:
        """See `Concealment.fill`."""
        return self._gaps.fill(samples)

    def recover(self, next_payload: bytes, samples: int) -> Pcm | None:
        """None: the codec has no redundancy."""
        return None


class Concealment:
    """Fills gaps in a stream of samples: full level for 10 ms, silent from 60 ms on, joined over 5 ms when sound returns."""

    def __init__(self, rate_hz: int) -> None:
        """Any rate from 8 kHz up; raises ValueError below."""
        if rate_hz < 8000:
            raise ValueError(f"{rate_hz} Hz is below telephone quality; use 8000 or more")
        self._rate = rate_hz
        self._recent: deque[Pcm] = deque(maxlen=8)  # 40 ms even of 5 ms packets
        self._period: npt.NDArray[np.float32] | None = None
        self._offset = np.float32(0)
        self._filled = 0

    def heard(self, pcm: Pcm) -> Pcm:
        """Note samples that came; the first after a gap are blended with what the gap would have gone on with."""
        if self._period is not None and len(pcm):
            pcm = self._joined(pcm)
            self._period = None
        self._recent.append(pcm)
        return pcm

    def fill(self, samples: int) -> Pcm:
        """The next `samples` of the gap."""
        period = self._begin_gap() if self._period is None else self._period
        at = np.arange(self._filled, self._filled + samples)
        self._filled += samples
        gain = np.clip((self._rate * 60 // 1000 - at) / (self._rate * 50 // 1000), 0.0, 1.0)
        if not gain.any():
            return silence(samples)
        sound = period[at % len(period)] + self._offset * np.clip(1 - at / (self._rate * 5 // 2000), 0.0, 1.0)
        return np.clip(np.rint(sound * gain), -32768, 32767).astype(np.int16)

    def _joined(self, pcm: Pcm) -> Pcm:
        return faded_into(self.fill(min(len(pcm), self._rate // 200)), pcm)

    def _begin_gap(self) -> npt.NDArray[np.float32]:
        history = np.concatenate((np.zeros(self._rate // 25, np.int16), *self._recent))[-(self._rate // 25) :].astype(np.float32)
        period = self._pitch(history)
        cycle = history[-period:].copy()
        # The cycle's end is bent towards what came before its beginning, so that repeating it has no seam.
        seam = max(period // 4, 1)
        bend = np.arange(1, seam + 1, dtype=np.float32) / seam
        cycle[-seam:] = cycle[-seam:] * (1 - bend) + history[-period - seam : -period] * bend
        self._period, self._filled = cycle, 0
        # The step from the last sample heard into the cycle is spread over 2.5 ms.
        self._offset = history[-1] - history[-period - 1]
        return cycle

    def _pitch(self, history: npt.NDArray[np.float32]) -> int:
        """The lag of 2.5 to 15 ms (400 to 66 Hz) at which the last 10 ms resemble the past most, searched at about 8 kHz."""
        step = self._rate // 8000
        coarse = history[::-1][::step][::-1]
        width, shortest, longest = 80, 20, 120
        template, past = coarse[-width:], coarse[-width - longest : -shortest]
        power = np.convolve(past * past, np.ones(width, np.float32), "valid")
        likeness = np.correlate(past, template, "valid") / np.sqrt(power + 1)
        return (longest - int(likeness.argmax())) * step
