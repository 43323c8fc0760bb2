"""RTP sequence numbers and timestamps without their wrap (RFC 3550, appendix A.1)."""

_REMEMBERED = 256
"""Sequence numbers behind the highest for which it is known whether they came."""

_MASK = (1 << _REMEMBERED) - 1


def signed(difference: int, bits: int) -> int:
    """The difference of two wrapping counters as the shorter way round, −2^(bits−1) to 2^(bits−1)−1."""
    half = 1 << (bits - 1)
    return ((difference + half) & ((1 << bits) - 1)) - half


class SequenceWindow:
    """Which sequence numbers came. `highest` is unwrapped; None before the first."""

    def __init__(self) -> None:
        self.highest: int | None = None
        self._came = 0  # bit k: `highest - k` came

    def distance(self, sequence: int) -> int:
        """How far a 16-bit number lies ahead of the highest; 1 before the first."""
        if self.highest is None:
            return 1
        return ((sequence - self.highest + 0x8000) & 0xFFFF) - 0x8000

    def mark(self, sequence: int, distance: int) -> int | None:
        """Note that the number came; its unwrapped value, or None when it had come before."""
        if self.highest is None:
            self.highest, self._came = sequence, 1
            return sequence
        if distance > 0:
            self.highest += distance
            self._came = ((self._came << distance) | 1) & _MASK if distance < _REMEMBERED else 1
            return self.highest
        bit = 1 << -distance
        if self._came & bit or -distance >= _REMEMBERED:
            return None
        self._came |= bit
        return self.highest + distance

    def missing(self, after: int, before: int) -> int:
        """How many numbers strictly between two unwrapped ones have not come; those no longer remembered count as missing."""
        between = before - after - 1
        if between <= 0 or self.highest is None:
            return 0
        oldest = self.highest - before + 1  # bit of `before - 1`
        came = (self._came >> oldest) & ((1 << min(between, _REMEMBERED)) - 1)
        return between - came.bit_count()
