"""What the far end says: queued audio or a source, cut into packets' worth of samples."""

from collections import deque
from collections.abc import Callable

import numpy as np

from agent.errors import Refused
from agent.line import Pcm

Source = Callable[[int], Pcm]
"""Gives so many samples of audio, whenever asked."""

LONGEST_QUEUE_S = 4 * 3600
"""More audio than a call may last is refused."""


class Mouth:
    """A queue of audio; while it is empty, the source speaks, if there is one."""

    def __init__(self, rate_hz: int) -> None:
        self.source: Source | None = None
        self._queue: deque[Pcm] = deque()
        self._offset = 0
        self._queued = 0
        self._limit = LONGEST_QUEUE_S * rate_hz

    @property
    def queued(self) -> int:
        """Samples waiting to be said."""
        return self._queued

    def say(self, pcm: Pcm) -> None:
        """Queue a copy of `pcm`."""
        if pcm.dtype != np.int16 or pcm.ndim != 1:
            raise Refused(f"audio is {pcm.dtype} with {pcm.ndim} axes; give mono int16 samples at the line's rate")
        if self._queued + len(pcm) > self._limit:
            raise Refused(f"the far end already has {self._queued} samples to say; use a source for endless audio")
        if len(pcm):
            self._queue.append(pcm.copy())
            self._queued += len(pcm)

    def take(self, samples: int) -> Pcm | None:
        """The next `samples` samples, silence after the end of the queue; None: there is nothing to say."""
        if not self._queued:
            return None if self.source is None else self._from(self.source, samples)
        head, start = self._queue[0], self._offset
        if len(head) - start > samples:
            self._offset += samples
            self._queued -= samples
            return head[start : start + samples]
        return self._across(samples)

    def stop(self) -> None:
        """Say nothing of what is queued, and ask the source no more."""
        self.source = None
        self._queue.clear()
        self._offset = self._queued = 0

    def _across(self, samples: int) -> Pcm:
        out = np.zeros(samples, np.int16)
        filled = 0
        while filled < samples and self._queue:
            head = self._queue[0]
            piece = head[self._offset : self._offset + samples - filled]
            out[filled : filled + len(piece)] = piece
            filled += len(piece)
            self._offset += len(piece)
            if self._offset == len(head):
                self._queue.popleft()
                self._offset = 0
        self._queued -= filled
        return out

    def _from(self, source: Source, samples: int) -> Pcm:
        pcm = source(samples)
        if pcm.dtype != np.int16 or pcm.shape != (samples,):
            raise Refused(f"the source gave {pcm.dtype} {pcm.shape} where {samples} int16 samples are due")
        return pcm
