"""A sender, a network and our ticker, all on one simulated clock, for tests of the jitter buffer."""

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from media.frames import Pcm
from media.jitter import JitterBuffer, Pulled

FRAME_US = 20_000
RATE, FRAME = 8000, 160


class CountingDecoder:
    """Samples that carry their own place in the media: sample k of the stream is `k % 30_000 + 1`; made up ones are 0 and −1.

    A payload is the media position of its first sample and its length, both as 4 bytes; anything else can not be read.
    """

    def __init__(self, redundant: bool = False) -> None:
        self.redundant = redundant

    def decode(self, payload: bytes) -> Pcm:
        if len(payload) != 8:
            raise ValueError("not a packet of this codec")
        start, samples = int.from_bytes(payload[:4], "big"), int.from_bytes(payload[4:], "big")
        return (np.arange(start, start + samples) % 30_000 + 1).astype(np.int16)

    def conceal(self, samples: int) -> Pcm:
        return np.full(samples, -1, np.int16)

    def recover(self, next_payload: bytes, samples: int) -> Pcm | None:
        start = int.from_bytes(next_payload[:4], "big")
        return (np.arange(start - samples, start) % 30_000 + 1).astype(np.int16) if self.redundant else None


def counted(start: int, samples: int) -> bytes:
    """A payload for `CountingDecoder`."""
    return start.to_bytes(4, "big") + samples.to_bytes(4, "big")


@dataclass
class Wire:
    """Sends packets of `packet_ms` through a network into `buffer`, and pulls it every 20 ms.

    `delay_s(index)` is the network's delay for a packet, None when it is lost. `ppm`: how much faster the sender's clock runs.
    """

    buffer: JitterBuffer
    rate: int = 8000
    packet_ms: int = 20
    ppm: float = 0.0
    delay_s: Callable[[int], float | None] = field(default=lambda index: 0.03)
    payload: Callable[[int, int], bytes] = field(default=counted)
    first_sequence: int = 65_500
    first_timestamp: int = 2**32 - 4000

    def __post_init__(self) -> None:
        self.samples = self.rate * self.packet_ms // 1000
        self._interval_us = self.packet_ms * 1000 * (1 - self.ppm * 1e-6)
        self._index, self._now_us = 0, 0
        self._under_way: list[tuple[float, int]] = []

    def run(self, pulls: int) -> Iterator[tuple[int, Pulled]]:
        """(now in µs, frame) of each pull."""
        for _ in range(pulls):
            self._now_us += FRAME_US
            while self._index * self._interval_us <= self._now_us:
                delay = self.delay_s(self._index)
                if delay is not None:
                    heapq.heappush(self._under_way, (self._index * self._interval_us + delay * 1e6, self._index))
                self._index += 1
            while self._under_way and self._under_way[0][0] <= self._now_us:
                arrival_us, index = heapq.heappop(self._under_way)
                self.put(index, int(arrival_us))
            yield self._now_us, self.buffer.pull(self._now_us)

    def put(self, index: int, arrival_us: int) -> None:
        """Hand packet `index` to the buffer."""
        self.buffer.put(
            (self.first_sequence + index) & 0xFFFF,
            (self.first_timestamp + index * self.samples) & 0xFFFFFFFF,
            self.payload(index * self.samples, self.samples),
            arrival_us,
        )


def random_delay(seed: int, least_s: float, most_s: float, loss: float = 0.0) -> Callable[[int], float | None]:
    """Uniform delay and independent loss."""
    chance = random.Random(seed)

    def delay(_: int) -> float | None:
        return None if chance.random() < loss else chance.uniform(least_s, most_s)

    return delay


def buffer(**arguments: int) -> JitterBuffer:
    """A buffer at 8 kHz for counted packets."""
    return JitterBuffer(CountingDecoder(), RATE, **arguments)


def real(frames: list[Pulled]) -> list[int]:
    """The media places of the samples that were received, in the order they were played; jumps below 15,000 are followed."""
    values = np.concatenate([frame.pcm for frame in frames]).astype(np.int64)
    values = values[values > 0] - 1
    steps = (np.diff(values) + 15_000) % 30_000 - 15_000
    return np.concatenate((values[:1], values[:1] + np.cumsum(steps))).tolist() if len(values) else []


def frames_of(wire: Wire, pulls: int) -> list[Pulled]:
    """The frames of the next pulls."""
    return [frame for _, frame in wire.run(pulls)]


def feed(jitter: JitterBuffer, indices: list[int], at_us: int, samples: int = FRAME) -> None:
    """Hand over packets by their place in the stream, all arriving at once."""
    for index in indices:
        jitter.put(index & 0xFFFF, index * samples & 0xFFFFFFFF, counted(index * samples, samples), at_us)
