"""Frames sent, gathered into spans: one `Sent` or `Underrun` event a stretch instead of one a tick. Pure."""

from dataclasses import dataclass

from agent.playout import Pulled
from agent.settings import TICK_US
from agent.timeline.events import Event, Sent, Underrun
from agent.timeline.kinds import Span

LONGEST_US = 1_000_000
"""A span is told after one second at the latest, so that listeners are never further behind."""


@dataclass(slots=True)
class _Open:
    pulled: Pulled
    from_us: int
    to_us: int
    samples: int

    def continues(self, t: int, pulled: Pulled) -> bool:
        """Whether the frame sent in the tick before `t` goes on where this span stops."""
        return (
            self.to_us == t - TICK_US
            and t - self.from_us <= LONGEST_US
            and pulled.utterance_id == self.pulled.utterance_id
            and pulled.underrun == self.pulled.underrun
            and pulled.gain_db == self.pulled.gain_db
            and (pulled.underrun or (pulled.count > 0 and pulled.start == self.pulled.start + self.samples))
        )


class SentSpans:
    """The open span of one call."""

    def __init__(self) -> None:
        self._open: _Open | None = None

    def add(self, t: int, pulled: Pulled) -> list[Event]:
        """The frame `pulled` went out in the tick that ends at `t`. Returns the span it closed, if any."""
        if self._open and self._open.continues(t, pulled):
            self._open.to_us = t
            self._open.samples += pulled.count
            return []
        closed = self.close()
        if pulled.count or pulled.underrun:
            self._open = _Open(pulled, t - TICK_US, t, pulled.count)
        return closed

    def close(self) -> list[Event]:
        """End the open span and return it."""
        span, self._open = self._open, None
        if span is None:
            return []
        covers, utterance_id = Span(span.from_us, span.to_us), span.pulled.utterance_id or ""
        if span.pulled.underrun:
            return [Underrun(covers, utterance_id)]
        return [Sent(covers, utterance_id, span.pulled.epoch, span.pulled.start, span.samples, span.pulled.gain_db)]
