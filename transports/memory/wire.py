"""The wire itself: what is under way in each direction, and what is lost or late."""

import random
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Generic, NamedTuple, TypeVar

from agent.line import LineEvent
from transports.memory.settings import Loss, WireSettings

MAX_UNDER_WAY = 2048
"""Packets under way in one direction at most; more are dropped as a full network queue would."""


class Packet(NamedTuple):
    """What the jitter buffer needs of an RTP packet (RFC 3550, section 5.1): 16 bit sequence, 32 bit timestamp."""

    sequence: int
    timestamp: int
    payload: bytes
    marker: bool


class Sound(NamedTuple):
    """20 ms under way to the far end; None: nothing was sent, or it was lost."""

    payload: bytes | None
    lost: bool


Item = TypeVar("Item")


class UnderWay(Generic[Item]):
    """Things that arrive later, in the order of their arrival and, at one moment, of their sending."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Item]] = []
        self._serial = 0
        self.dropped = 0
        """Things that found the queue full."""

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, arrival_us: int, item: Item, *, always: bool = False) -> None:
        """Send something on its way; dropped and counted when the queue is full, unless `always`."""
        if len(self._heap) >= MAX_UNDER_WAY and not always:
            self.dropped += 1
            return
        self._serial += 1
        heappush(self._heap, (arrival_us, self._serial, item))

    def due(self, now_us: int) -> Iterator[tuple[int, Item]]:
        """Take what has arrived by `now_us`, with the times of arrival."""
        heap = self._heap
        while heap and heap[0][0] <= now_us:
            arrival_us, _, item = heappop(heap)
            yield arrival_us, item

    def clear(self) -> None:
        self._heap.clear()


class Fate:
    """Decides for the packets of one direction, in the order of their sending, which are lost and how late the others are."""

    def __init__(self, settings: WireSettings, loss: Loss, direction: str) -> None:
        self._random = random.Random(f"{settings.seed}:{direction}")
        self._delay_us = round(settings.delay_ms * 1000)
        self._jitter_us = settings.jitter_ms * 1000
        self._normal = settings.jitter_shape == "normal"
        self._number = 0
        self._is_lost = self._rule(loss, settings.loss_burst)

    def lost(self) -> bool:
        """Whether the next packet is lost."""
        number = self._number
        self._number += 1
        return self._is_lost is not None and self._is_lost(number)

    def delay_us(self) -> int:
        """How long a packet takes."""
        if not self._jitter_us:
            return self._delay_us
        share = self._random.random()
        if self._normal:
            share = self._random.gauss(0.5, 0.25)
            while not 0 <= share <= 1:
                share = self._random.gauss(0.5, 0.25)
        return self._delay_us + round(share * self._jitter_us)

    def _rule(self, loss: Loss, burst: float) -> Callable[[int], bool] | None:
        if isinstance(loss, float | int):
            if loss == 0:
                return None
            if burst == 1 or loss == 1:
                return lambda number: self._random.random() < loss
            return _Gilbert(self._random, float(loss), burst)
        if callable(loss):
            return loss
        return frozenset(loss).__contains__


class _Gilbert:
    """Loss in runs of mean length `burst`: a two-state chain whose bad state loses everything."""

    def __init__(self, generator: random.Random, loss: float, burst: float) -> None:
        self._random = generator
        self._leave = 1 / burst
        self._enter = self._leave * loss / (1 - loss)
        self._bad = generator.random() < loss

    def __call__(self, number: int) -> bool:
        lost = self._bad
        change = self._leave if lost else self._enter
        if self._random.random() < change:
            self._bad = not lost
        return lost


class Wire:
    """Both directions. `inward` carries packets and signals to us, `outward` our sound to the far end."""

    def __init__(self, settings: WireSettings) -> None:
        self.settings = settings
        self.inward: UnderWay[Packet | LineEvent] = UnderWay()
        self.outward: UnderWay[Sound] = UnderWay()
        self.inward_fate = Fate(settings, settings.loss, "inward")
        outward_loss = settings.loss if settings.outward_loss is None else settings.outward_loss
        self.outward_fate = Fate(settings, outward_loss, "outward")

    def signal(self, at_us: int, event: LineEvent) -> None:
        """The far end lets us know something; signalling is late like the media but never lost."""
        self.inward.put(at_us + round(self.settings.delay_ms * 1000), event, always=True)

    def clear(self) -> None:
        """Forget what is under way."""
        self.inward.clear()
        self.outward.clear()
