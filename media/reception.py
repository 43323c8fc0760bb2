"""The receiving side of a jitter buffer: what a packet is before it is played. Order, duplicates, restarts, arrival times."""

from typing import NamedTuple

from media.arrivals import Arrivals
from media.sequence import SequenceWindow, signed

_MOST_BYTES = 8192
"""No audio packet of 60 ms is longer (48 kHz L16: 5760)."""

_MOST_AHEAD, _MOST_BEHIND = 3000, 100
"""RFC 3550, A.1: a sequence number further off is a sender that restarted, once a second packet confirms it."""

_JUMP_S = 2
"""A timestamp so far from where the clock says it should be is a restart as well."""


class Incoming(NamedTuple):
    """A packet as it came."""

    sequence: int
    timestamp: int
    payload: bytes
    arrival_us: int
    marker: bool


class Packet(NamedTuple):
    """A packet that is new and plausible, in order of its unwrapped sequence number.

    `position`: of its first sample, in samples of media time. `earliness`: samples from its arrival until a pull would play that
    sample, had playing begun with media time 0. `restarts`: what came before belongs to another stream.
    """

    sequence: int
    position: int
    payload: bytes
    marker: bool
    earliness: int
    restarts: bool


class Reception:
    """Judges packets and measures their arrival against our clock, which counts the samples that were pulled."""

    def __init__(self, rate_hz: int, timestamp_rate_hz: int, frame: int, arrivals: Arrivals) -> None:
        self._rate, self._timestamp_rate, self._frame = rate_hz, timestamp_rate_hz, frame
        self._arrivals = arrivals
        self.window = SequenceWindow()
        self._timestamp = 0  # of the highest sequence number, unwrapped
        self._suspect: Incoming | None = None  # fits nothing; the next packet says whether its sender restarted
        self.pulled = 0
        """Samples handed out or skipped: our clock."""
        self._pull_us: int | None = None  # when it last moved
        self._transit_us: int | None = None
        self.jitter_us = 0.0
        """Interarrival jitter, RFC 3550, 6.4.1."""
        self.received = self.duplicate = self.reordered = self.dropped = 0

    @property
    def held(self) -> int:
        """Packets kept until the next one explains them, 0 or 1."""
        return int(self._suspect is not None)

    def tick(self, now_us: int, samples: int) -> None:
        """A pull at `now_us` moves the clock by `samples`."""
        self._pull_us = now_us
        self.pulled += samples

    def skip(self, samples: int) -> None:
        """The clock jumped."""
        self.pulled += samples
        if self._pull_us is not None:
            self._pull_us += samples * 1_000_000 // self._rate

    def start(self, now_us: int) -> int:
        """The first pull is about to come: samples by which the clock is behind (ahead, if negative).

        Packets that came earlier were measured as if a pull had come just before the first of them.
        """
        if self._pull_us is None:
            return 0
        return (now_us - self._pull_us) * self._rate // 1_000_000 - self._frame

    def note_silent(self, sequence: int) -> None:
        """A packet without audio came: its number is not missing."""
        distance = self.window.distance(sequence)
        if -_MOST_BEHIND <= distance <= _MOST_AHEAD:
            self.window.mark(sequence, distance)

    def accept(self, packet: Incoming) -> list[Packet]:
        """What becomes of it: nothing, itself, or a kept one and itself."""
        self.received += 1
        if len(packet.payload) > _MOST_BYTES:
            self.dropped += 1
            return []
        return self._judge(packet, False)

    def _judge(self, packet: Incoming, restarts: bool) -> list[Packet]:
        distance = self.window.distance(packet.sequence)
        timestamp = packet.timestamp
        if self.window.highest is not None:
            timestamp = self._timestamp + signed(timestamp - self._timestamp, 32)
        position = timestamp * self._rate // self._timestamp_rate
        elapsed = self._elapsed(packet.arrival_us)
        earliness = position - self.pulled + self._frame - elapsed
        if not -_MOST_BEHIND <= distance <= _MOST_AHEAD or self._jumped(earliness):
            return self._doubt(packet)
        if self._suspect is not None:
            self._suspect = None
            self.dropped += 1
        number = self.window.mark(packet.sequence, distance)
        if number is None:
            self.duplicate += 1
            return []
        if distance > 0:
            self._timestamp = timestamp
        else:
            self.reordered += 1
        self._measure(packet.arrival_us - position * 1_000_000 // self._rate, elapsed, earliness)
        return [Packet(number, position, packet.payload, packet.marker, earliness, restarts)]

    def _elapsed(self, arrival_us: int) -> int:
        if self._pull_us is None:
            self._pull_us = arrival_us
        return (arrival_us - self._pull_us) * self._rate // 1_000_000

    def _jumped(self, earliness: int) -> bool:
        return len(self._arrivals) > 0 and abs(earliness - self._arrivals.earliest) > _JUMP_S * self._rate

    def _doubt(self, packet: Incoming) -> list[Packet]:
        """Start anew when two packets in a row agree with each other and not with what was before."""
        first, self._suspect = self._suspect, packet
        if first is None:
            return []
        step = signed(packet.timestamp - first.timestamp, 32)
        if (packet.sequence - first.sequence) & 0xFFFF != 1 or abs(step) > _JUMP_S * self._timestamp_rate:
            self.dropped += 1
            return []
        self._suspect = None
        self.window = SequenceWindow()
        self._arrivals.forget()
        self._transit_us = None
        return self._judge(first, True) + self._judge(packet, False)

    def _measure(self, transit_us: int, elapsed: int, earliness: int) -> None:
        if self._transit_us is not None:
            self.jitter_us += (abs(transit_us - self._transit_us) - self.jitter_us) / 16
        self._transit_us = transit_us
        # Two frames after a pull it is the next pull that is late, and the arrival says nothing about the network.
        if elapsed <= 2 * self._frame or not len(self._arrivals):
            self._arrivals.note(self.pulled, earliness)
