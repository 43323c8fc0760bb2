"""Both sides of a call, each placed by its own media time, as one stereo stream. Pure.

The caller's sound is placed where it reached us, not where the jitter buffer played it, so the same stretch may come twice
(concealed, then as it was) or leave a hole; a side may be some 100 ms behind the other. Samples are therefore kept for a
window until nothing can change them any more; what comes later still is left out.
"""

from collections.abc import Iterator

import numpy as np

from agent.record.wire import Mono, Stereo

WINDOW_S = 0.25
"""How far behind the newest sample a side may be: more than any jitter buffer holds."""
BLOCK_S = 0.1
"""Finished samples are handed on in blocks of at least this length."""


class Placement:
    """The open window of one record at `rate_hz`."""

    def __init__(self, rate_hz: int) -> None:
        self._window = round(WINDOW_S * rate_hz)
        self._block = round(BLOCK_S * rate_hz)
        self._held = np.zeros((4 * (self._window + self._block), 2), np.int16)
        self._from = self._until = 0

    def reach(self, index: int) -> Iterator[tuple[int, Stereo]]:
        """The record is `index` samples long by now, silent where nothing is put; yields what is finished, with its index."""
        if index > self._from + len(self._held):
            yield from self.flush()
            self._from = self._until = max(self._from, index - self._window)
        self._until = max(self._until, index)
        finished = self._until - self._window - self._from
        if finished >= self._block:
            yield self._take(finished)

    def put(self, channel: int, index: int, pcm: Mono) -> Iterator[tuple[int, Stereo]]:
        """Place `pcm` of a side from sample `index` on; what is there already is replaced. Yields as `reach`."""
        yield from self.reach(index + len(pcm))
        start = max(index, self._from)
        rest = pcm[start - index :]
        self._held[start - self._from : start - self._from + len(rest), channel] = rest

    def flush(self) -> Iterator[tuple[int, Stereo]]:
        """Everything that is held."""
        if self._until > self._from:
            yield self._take(self._until - self._from)

    def _take(self, count: int) -> tuple[int, Stereo]:
        block = self._from, self._held[:count].copy()
        left = self._until - self._from - count
        self._held[:left] = self._held[count : count + left]
        self._held[left : left + count] = 0
        self._from += count
        return block
