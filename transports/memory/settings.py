"""What the simulated wire between two ends does to their packets."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from agent.errors import Refused
from agent.timeline.kinds import TransferState

Codec = Literal["l16", "ulaw", "alaw"]
Loss = float | Collection[int] | Callable[[int], bool]
"""Which packets of one direction are lost: a fraction, their numbers (counted from 0), or a function of the number."""

PACKET_LENGTHS_MS = (10, 20, 30, 40, 60)
RATES_HZ = (8000, 16000, 24000, 48000)
MAX_SKEW_PPM = 1000
MAX_DELAY_MS = 10_000


@dataclass(frozen=True, slots=True)
class WireSettings:
    """The wire, the same in both directions unless a field says otherwise. Equal settings give equal calls.

    Packets that we send always hold one tick (20 ms). The far end plays them through an ideal buffer: every one at the constant
    delay `delay_ms + jitter_ms`, or never. Packets of the far end reach us each after a delay of its own, out of order where
    `jitter_ms` allows it. Raises `Refused` on values that no wire has.
    """

    codec: Codec = "l16"
    rate_hz: int = 16_000
    """8000, 16000, 24000 or 48000; µ-law and A-law: 8000 only."""
    packet_ms: int = 20
    """Length of the far end's packets."""
    delay_ms: float = 30.0
    jitter_ms: float = 0.0
    """Added to the delay of each packet: 0 to this much."""
    jitter_shape: Literal["uniform", "normal"] = "uniform"
    """`normal`: around `jitter_ms / 2`, deviation a quarter of `jitter_ms`, cut off at both ends."""
    loss: Loss = 0.0
    outward_loss: Loss | None = None
    """Loss of what we send; None: as `loss`."""
    loss_burst: float = 1.0
    """Mean length of a run of lost packets where the loss is a fraction (Gilbert model); 1: every packet by itself."""
    skew_ppm: float = 0.0
    """How much faster the far end's clock runs than ours, −1000 to 1000; telephones keep to ±100."""
    echo_db: float | None = None
    """The far end returns what it hears at this gain (below 0); None: no echo."""
    echo_ms: float = 40.0
    """From the far end's ear back into its microphone."""
    seed: int = 0

    def __post_init__(self) -> None:
        self._check_format()
        for name in ("delay_ms", "jitter_ms", "echo_ms"):
            if not 0 <= getattr(self, name) <= MAX_DELAY_MS:
                raise Refused(f"{name} is {getattr(self, name)}; give 0 to {MAX_DELAY_MS} ms")
        if abs(self.skew_ppm) > MAX_SKEW_PPM:
            raise Refused(f"skew_ppm is {self.skew_ppm}; clocks differ by {-MAX_SKEW_PPM} to {MAX_SKEW_PPM} ppm")
        if self.echo_db is not None and self.echo_db > 0:
            raise Refused(f"echo_db is {self.echo_db}; an echo is not louder than its source: give 0 or less")
        self._check_loss(self.loss)
        if self.outward_loss is not None:
            self._check_loss(self.outward_loss)

    def _check_format(self) -> None:
        if self.codec not in ("l16", "ulaw", "alaw"):
            raise Refused(f"codec is {self.codec!r}; give l16, ulaw or alaw")
        if self.rate_hz not in RATES_HZ:
            raise Refused(f"rate_hz is {self.rate_hz}; give one of {', '.join(map(str, RATES_HZ))}")
        if self.codec != "l16" and self.rate_hz != 8000:
            raise Refused(f"{self.codec} runs at 8000 Hz only, not at {self.rate_hz}: set rate_hz=8000 or codec='l16'")
        if self.packet_ms not in PACKET_LENGTHS_MS:
            raise Refused(f"packet_ms is {self.packet_ms}; give one of {', '.join(map(str, PACKET_LENGTHS_MS))}")
        if self.jitter_shape not in ("uniform", "normal"):
            raise Refused(f"jitter_shape is {self.jitter_shape!r}; give uniform or normal")

    def _check_loss(self, loss: Loss) -> None:
        if not isinstance(loss, float | int):
            return
        if not 0 <= loss <= 1:
            raise Refused(f"loss is {loss}; a fraction lies between 0 and 1")
        if self.loss_burst < 1 or (loss < 1 and loss > self.loss_burst * (1 - loss) and self.loss_burst > 1):
            raise Refused(f"loss_burst is {self.loss_burst}: runs of that length cannot give a loss of {loss}; give a longer one")

    @property
    def far_end_delay_us(self) -> int:
        """From our `send` until the far end hears the first sample, µs."""
        return round((self.delay_ms + self.jitter_ms) * 1000)


@dataclass(frozen=True, slots=True)
class TransferScript:
    """How somebody who is called behaves: rings for `ring_ms`, then does `then` (anything but RINGING)."""

    ring_ms: int = 0
    then: TransferState = TransferState.ANSWERED

    def __post_init__(self) -> None:
        if self.ring_ms < 0 or self.then is TransferState.RINGING:
            raise Refused(f"{self}: ring_ms must be 0 or more, and `then` an end (anything but RINGING)")
