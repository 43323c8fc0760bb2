"""Plays the call's part: one `receive`, one `send`, one look at the events each 20 ms of virtual time."""

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from agent.clock import LoopClock
from agent.line import LineEvent, MediaFrame, MediaState, Pcm
from agent.settings import TICK_US
from transports.memory import FarEnd, MemoryLine, Options, WireSettings

Speaker = Callable[[int], Pcm | None]


class Ticks:
    """Both ends of a line, and everything our end was given."""

    def __init__(self, wire: WireSettings | None = None, **options: Unpack[Options]) -> None:
        self.clock = LoopClock()
        self.line = MemoryLine(self.clock, wire, **options)
        self.far: FarEnd = self.line.far_end
        self.frames: list[MediaFrame] = []
        self.events: list[LineEvent] = []
        self.frame_samples = self.line.info.sample_rate_hz // 50
        self.number = 0

    async def run(self, ticks: int, speaker: Speaker = lambda number: None) -> "Ticks":
        """So many ticks, from now on; `speaker` gives what we send in each."""
        start_us = self.clock.now_us()
        for tick in range(1, ticks + 1):
            await self.clock.sleep_until(start_us + tick * TICK_US)
            self.frames.append(self.line.receive())
            self.line.send(speaker(self.number))
            self.events += self.line.events()
            self.number += 1
        return self

    async def stall(self, ticks: int) -> None:
        """The ticker stands still, then tells the line."""
        await self.clock.sleep_until(self.clock.now_us() + ticks * TICK_US)
        self.line.skip(ticks)

    def received(self, since: int = 0) -> Pcm:
        """All samples our end was given since frame `since`."""
        return np.concatenate([frame.pcm for frame in self.frames[since:]])

    def states(self, since: int = 0) -> list[MediaState]:
        return [frame.state for frame in self.frames[since:]]

    def told(self, kind: type[LineEvent]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


async def answered(wire: WireSettings | None = None, **options: Unpack[Options]) -> Ticks:
    """An answered call at its first moment."""
    ticks = Ticks(wire, **options)
    await ticks.line.accept()
    return ticks


def speech(samples: int, seed: int = 1) -> Pcm:
    """Something without a silent or a repeated stretch, about −20 dBov."""
    return np.random.default_rng(seed).integers(1000, 6000, samples).astype(np.int16)


def tone(samples: int, rate_hz: int, amplitude: float = 8000.0, hz: float = 440.0) -> Pcm:
    """A sine."""
    sine: Pcm = np.rint(amplitude * np.sin(2 * np.pi * hz / rate_hz * np.arange(samples))).astype(np.int16)
    return sine


def place_of(piece: Pcm, sound: Pcm) -> int:
    """The first sample of `sound` at which `piece` stands, exactly; −1: nowhere."""
    starts = np.flatnonzero(sound[: len(sound) - len(piece) + 1] == piece[0])
    return next((int(start) for start in starts if np.array_equal(sound[start : start + len(piece)], piece)), -1)
