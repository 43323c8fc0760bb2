"""What any line can do. A transport implements `Line`; the Call knows nothing else about how a caller is reached.

Media is pulled and pushed by the call's tick: one frame of 20 ms each way, never awaited. Everything that takes time
(answering, transfer, hold) is a coroutine beside it, and what the line learns comes back as events of the catalogue.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from agent.timeline.events import (
    DigitReceived,
    FaultReported,
    LineAnswered,
    LineClosed,
    LineHeld,
    LineQuality,
    LineResumed,
    TransferProgressed,
)

Pcm = npt.NDArray[np.int16]
"""Mono samples, 16 bit."""

LineEvent = LineAnswered | LineHeld | LineResumed | LineClosed | LineQuality | DigitReceived | FaultReported


class MediaState(StrEnum):
    """Where the samples of a frame came from."""

    RECEIVED = "received"
    CONCEALED = "concealed"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class MediaFrame:
    """20 ms from the far end, `rate // 50` samples. `pcm` is silence where `state` is SILENT.

    `delay_us`: how long ago the first sample reached us, had it come as fast as the fastest ones do. What is known about the
    sound (evidence, the record) is placed by that, so a jitter buffer that grows moves nothing on the timeline.
    """

    pcm: Pcm
    state: MediaState
    delay_us: int = 0


@dataclass(frozen=True, slots=True)
class LineInfo:
    """What is known of a line before it is answered. `remote` is personal. `far_end_delay_us`: assumed until measured."""

    kind: str
    direction: Literal["inbound", "outbound"]
    sample_rate_hz: int
    remote: str
    far_end_delay_us: int = 100_000


class Line(Protocol):
    """One leg to one far end."""

    @property
    def info(self) -> LineInfo: ...

    async def accept(self) -> None:
        """Answer. Raises `Gone` when the caller has already left."""

    async def refuse(self, reason: str, retry_after_s: int | None) -> None:
        """Turn an unanswered call away: busy (486/503) when `retry_after_s` is given, declined otherwise."""

    def receive(self) -> MediaFrame:
        """The next 20 ms from the far end; called once a tick, never blocks."""

    def send(self, pcm: Pcm | None) -> None:
        """Send 20 ms (exactly `rate // 50` samples); None: nothing is said. Called once a tick, never blocks."""

    def skip(self, ticks: int) -> None:
        """The ticker stood still for so many ticks: move the media clock on, drop what was due in them."""

    def events(self) -> list[LineEvent]:
        """What happened since the last call, in order."""

    def transfer(self, target: str) -> AsyncIterator[TransferProgressed]:
        """Hand the far end over to `target`; the stream ends with anything but RINGING."""

    async def send_digits(self, digits: str) -> None:
        """Send keypad digits. Raises `Refused` on anything but 0-9 * # A-D."""

    async def hold(self) -> None:
        """Put the far end on hold."""

    async def resume(self) -> None:
        """Take it back."""

    async def hang_up(self, reason: str) -> None:
        """End it from our side; a no-op on a line that is gone."""

    async def close(self) -> None:
        """Give everything back. Always safe, any number of times."""
