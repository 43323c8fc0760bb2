"""A frontend that says one thing, with a sound and words that the measuring code knows to the sample."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import numpy as np

from agent.frontends.base import BackendMessage, Brief, FrontendInfo, Listening, Speech, Step, Unit
from agent.line import Pcm
from agent.timeline.kinds import Alignment, Span, Word


def even_words(count: int, every_ms: int) -> tuple[Word, ...]:
    """`count` words of equal length without gaps."""
    return tuple(Word(f"word{n}", n * every_ms * 1000, (n + 1) * every_ms * 1000) for n in range(count))


@dataclass(frozen=True, slots=True)
class Plain:
    """What is said: at the first unit, all at once."""

    pcm: Pcm
    words: tuple[Word, ...]
    rate_hz: int
    unit_us: int = 100_000
    alignment: Alignment = Alignment.EXACT


PIECE_S = 30


class PlainFrontend:
    """Says `plain` once per session, as soon as it hears the first unit."""

    def __init__(self, plain: Plain) -> None:
        self._plain = plain

    @property
    def info(self) -> FrontendInfo:
        return FrontendInfo("plain", self._plain.unit_us, self._plain.rate_hz)

    async def open(self, brief: Brief) -> "_PlainSession":
        return _PlainSession(self._plain, brief)


class _PlainSession:
    def __init__(self, plain: Plain, brief: Brief) -> None:
        self._plain = plain
        self._epoch = brief.epoch
        self._out: asyncio.Queue[Step | None] = asyncio.Queue()
        self._said = False

    async def feed(self, unit: Unit) -> None:
        self._out.put_nowait(Listening(unit.covers))
        if not self._said:
            self._said = True
            for piece in self._pieces(unit.covers):
                self._out.put_nowait(piece)

    def _pieces(self, covers: Span) -> Iterator[Speech]:
        """The whole utterance, half a minute a step."""
        plain, size = self._plain, PIECE_S * self._plain.rate_hz
        for start in range(0, len(plain.pcm), size):
            until = start + size
            from_us, to_us = (at * 1_000_000 // plain.rate_hz for at in (start, until))
            words = tuple(word for word in plain.words if from_us <= word.start_us < to_us)
            text, final = " ".join(word.text for word in words), until >= len(plain.pcm)
            yield Speech(covers, "u1", self._epoch, text, plain.pcm[start:until], words, plain.alignment, final=final)

    async def steps(self) -> AsyncIterator[Step]:
        while (step := await self._out.get()) is not None:
            yield step

    async def inject(self, message: BackendMessage) -> None:
        """Nothing is ever delegated here."""

    async def yield_floor(self, at_us: int, epoch: int) -> None:
        self._epoch = epoch

    async def acknowledge(self, utterance_id: str, samples: int) -> None:
        """Not needed: everything is said at once."""

    async def close(self) -> None:
        self._out.put_nowait(None)


def steady(samples: int, value: int = 8_000) -> Pcm:
    """A sound without a single zero, so that what was heard of it can be counted."""
    return np.full(samples, value, np.int16)
