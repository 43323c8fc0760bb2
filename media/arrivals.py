"""How early packets arrive, and the playout delay that follows from it.

Earliness counts in samples against our own pulls, so jitter, a route that changes and a far clock that runs fast or slow are
all seen in the one measure that matters: will the sample be there when it is pulled?
"""

from collections import deque

_SPAN_S = 5
"""Arrivals are remembered for so long."""

_IGNORED = 50
"""One packet in so many may be too late without the delay growing for it: the 98th percentile of the spread."""


class Arrivals:
    """The recent past of one stream, in samples.

    `earliest`: earliness of the fastest recent packet. `target`: how long that packet is to wait before it is played, which is
    the spread between it and the 98th percentile, plus one frame (packets need not begin where frames do), plus 5 ms (what the
    delay may be off by), within bounds. The target grows at once and shrinks by 5 ms a second.
    """

    def __init__(self, rate_hz: int, frame: int, least: int, most: int) -> None:
        self._span = _SPAN_S * rate_hz
        self._least, self._most = least, most
        self._shrink = rate_hz * 5 // 1000
        self._margin = frame + rate_hz * 5 // 1000
        # 512: five seconds of 10 ms packets; a flood pushes older ones out.
        self._recent: deque[tuple[int, int]] = deque(maxlen=512)
        self.earliest = 0
        self.target = least

    def __len__(self) -> int:
        return len(self._recent)

    def note(self, clock: int, earliness: int) -> None:
        """A packet arrived when `clock` samples had been pulled."""
        if earliness > self.earliest or not self._recent:
            self.earliest = earliness
        self._recent.append((clock, earliness))

    def review(self, clock: int, may_shrink: bool) -> None:
        """Forget what is older than five seconds and set `earliest` and `target` anew. Once a second, and after a late packet."""
        recent = self._recent
        while recent and recent[0][0] < clock - self._span:
            recent.popleft()
        if not recent:
            return
        ordered = sorted(earliness for _, earliness in recent)
        self.earliest = ordered[-1]
        wanted = self.earliest - ordered[len(ordered) // _IGNORED] + self._margin
        wanted = min(max(wanted, self._least), self._most)
        if wanted > self.target:
            self.target = wanted
        elif may_shrink:
            self.target = max(wanted, self.target - self._shrink)

    def forget(self) -> None:
        """The sender started anew: what its packets did before says nothing. The target stays."""
        self._recent.clear()
