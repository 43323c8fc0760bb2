"""The far end's RTP sender, good and bad."""

import random
from collections.abc import Callable

from agent.errors import Refused
from agent.line import Pcm
from transports.memory.wire import MAX_UNDER_WAY, Packet, Wire

GARBAGE_BYTES = 400
"""Longest payload of a garbage packet."""


class Sender:
    """Makes packets of sound and puts them on the wire. Its timestamps count samples, its sequence packets (RFC 3550, 5.1)."""

    def __init__(self, wire: Wire, encode: Callable[[Pcm], bytes]) -> None:
        self._wire = wire
        self._encode = encode
        self._random = random.Random(f"{wire.settings.seed}:sender")
        self._quiet: tuple[int, bytes] = (0, b"")
        self._paused = True
        self._withheld_until_us = 0
        self.restart()

    def restart(self, sequence: int | None = None, timestamp: int | None = None) -> None:
        """Begin a new stream at the given or at random numbers."""
        self._sequence = self._random.randrange(1 << 16) if sequence is None else sequence & 0xFFFF
        self._timestamp = self._random.randrange(1 << 32) if timestamp is None else timestamp & 0xFFFFFFFF

    def withhold(self, until_us: int) -> None:
        """Everything sent before `until_us` gets on its way then, at once."""
        self._withheld_until_us = max(self._withheld_until_us, until_us)

    def send(self, at_us: int, pcm: Pcm) -> None:
        """One packet."""
        self._packet(at_us, self._encode(pcm), len(pcm))

    def send_quiet(self, at_us: int, samples: int, silence: Pcm) -> None:
        """One packet of digital silence."""
        if self._quiet[0] != samples:
            self._quiet = (samples, self._encode(silence))
        self._packet(at_us, self._quiet[1], samples)

    def pause(self, samples: int) -> None:
        """Send nothing for so many samples; the next packet bears the marker of a new talkspurt (RFC 3551, 4.1)."""
        self._timestamp = (self._timestamp + samples) & 0xFFFFFFFF
        self._paused = True

    def garbage(self, at_us: int, packets: int) -> None:
        """Packets of random numbers and random bytes, all at once."""
        if not 0 < packets <= MAX_UNDER_WAY:
            raise Refused(f"a flood of {packets} packets: give 1 to {MAX_UNDER_WAY}; more do not fit on the wire")
        for _ in range(packets):
            noise = self._random.randbytes(self._random.randrange(GARBAGE_BYTES))
            packet = Packet(self._random.randrange(1 << 16), self._random.randrange(1 << 32), noise, False)
            self._wire.inward.put(at_us + self._wire.inward_fate.delay_us(), packet)

    def _packet(self, at_us: int, payload: bytes, samples: int) -> None:
        wire = self._wire
        if not wire.inward_fate.lost():
            leaves_us = max(at_us, self._withheld_until_us)
            packet = Packet(self._sequence, self._timestamp, payload, self._paused)
            wire.inward.put(leaves_us + wire.inward_fate.delay_us(), packet)
        self._sequence = (self._sequence + 1) & 0xFFFF
        self._timestamp = (self._timestamp + samples) & 0xFFFFFFFF
        self._paused = False
