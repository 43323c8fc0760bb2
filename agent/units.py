"""Units: the continuous input of a frontend, cut into equal stretches, and the window of units under way. Pure."""

from collections import deque

import numpy as np

from agent.frontends.base import UNIT_RATE_HZ, Evidence, Unit
from agent.line import Pcm
from agent.settings import TICK_US
from agent.timeline.events import Transcript
from agent.timeline.kinds import Span

EVIDENCE_BOUND = 1000
"""Evidence waiting for the next unit, at most; older evidence goes first."""
EVIDENCE_CHARACTERS = 200_000
"""Characters of it, at most: a unit must fit into one message to a worker."""


class UnitCutter:
    """Cuts 16 kHz frames into units of `unit_us`, a multiple of the tick. Every sample is in exactly one unit."""

    def __init__(self, unit_us: int, t: int) -> None:
        self._unit_us = unit_us
        self._size = unit_us * UNIT_RATE_HZ // 1_000_000
        self._from_us = t
        self._frames: list[Pcm] = []
        self._samples = 0
        self._evidence: deque[Evidence] = deque()
        self._characters = 0

    def learn(self, evidence: Evidence) -> None:
        """Goes with the unit that is completed next."""
        self._evidence.append(evidence)
        self._characters += _characters(evidence)
        while len(self._evidence) > EVIDENCE_BOUND or self._characters > EVIDENCE_CHARACTERS:
            self._characters -= _characters(self._evidence.popleft())

    def push(self, pcm: Pcm) -> list[Unit]:
        """Add samples; returns the units that are complete with them."""
        self._frames.append(pcm)
        self._samples += len(pcm)
        if self._samples < self._size:
            return []
        whole = np.concatenate(self._frames).astype(np.float32) / np.float32(32768)
        units = [self._unit(whole[i : i + self._size]) for i in range(0, len(whole) - self._size + 1, self._size)]
        rest = np.concatenate(self._frames)[len(units) * self._size :]
        self._frames, self._samples = ([rest] if len(rest) else []), len(rest)
        return units

    def skip(self, ticks: int) -> list[Unit]:
        """The ticker jumped: the missing stretch is silence."""
        return self.push(np.zeros(ticks * TICK_US * UNIT_RATE_HZ // 1_000_000, np.int16))

    def _unit(self, pcm: np.ndarray[tuple[int], np.dtype[np.float32]]) -> Unit:
        covers = Span(self._from_us, self._from_us + self._unit_us)
        self._from_us += self._unit_us
        evidence = tuple(self._evidence)
        self._evidence.clear()
        self._characters = 0
        return Unit(covers, pcm, evidence)


def _characters(evidence: Evidence) -> int:
    return len(evidence.text) if isinstance(evidence, Transcript) else 0


class FlightWindow:
    """How much input is under way: at most two units or one second, whichever is more."""

    def __init__(self, unit_us: int) -> None:
        self._limit_us = max(2 * unit_us, 1_000_000)
        self._given_us = self._read_us = 0
        self._lag_us = 0

    def start(self, t: int) -> None:
        """The first unit begins at `t`."""
        self._given_us = self._read_us = t

    def open_for(self, unit: Unit) -> bool:
        """Whether `unit` may be sent now."""
        return unit.covers.to_us - self._read_us <= self._limit_us

    def given(self, unit: Unit) -> None:
        """`unit` was sent."""
        self._given_us = unit.covers.to_us

    def read(self, covers: Span) -> None:
        """A step says that input up to `covers.to_us` was read. Never moves back, never past what was given."""
        self._read_us = max(self._read_us, min(covers.to_us, self._given_us))

    def lag(self, t: int) -> int | None:
        """The declared lag, µs, when it changed: whole seconds of input at `t` that are not read, less the second allowed."""
        behind = max(0, t - self._read_us - self._limit_us)
        lag_us = behind // 1_000_000 * 1_000_000
        if lag_us == self._lag_us:
            return None
        self._lag_us = lag_us
        return lag_us
