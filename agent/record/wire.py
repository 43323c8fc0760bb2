"""What the media process and the recorder process say to each other: frames on a stream socket of one machine.

    length u32 │ kind u8 │ handle u32 │ payload        length counts the payload; numbers big-endian, samples native

    OPEN    → {"call_id", "rate_hz"}                    begin the record of a call; later frames name it by its handle
    BATCH   → lines u32 │ lines of the timeline │ ticks of audio
    CLOSE   → {"end_us", "lost": [sentence, …]}
    FAILED  ← sentence                                  a part of the record stopped
    CLOSED  ← sentence                                  everything of the call is on disk; else why it has no summary
    REFUSED ← sentence                                  the call is not recorded at all

A tick of audio is `t_us i64 │ caller_ago_us u32 │ sides u8 │ caller samples? │ agent samples?`; a side that is not there is
silent. The caller's first sample belongs `caller_ago_us` before `t_us`.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agent.errors import Refused

HEADER = struct.Struct("!IBI")
LINES = struct.Struct("!I")
TICK = struct.Struct("!qIB")
CALLER, AGENT = 1, 2
LONGEST_PAYLOAD = 16 << 20
"""No side sends a longer one, bytes."""

Mono = npt.NDArray[np.int16]
"""Samples of one side."""
Stereo = npt.NDArray[np.int16]
"""Samples of both sides, shape [n, 2]: caller, agent."""


class Kind(IntEnum):
    """See above."""

    OPEN = 1
    BATCH = 2
    CLOSE = 3
    FAILED = 4
    CLOSED = 5
    REFUSED = 6


class Frame(NamedTuple):
    """One message about the call behind `handle`."""

    kind: Kind
    handle: int
    payload: bytes


def frame(kind: Kind, handle: int, *payload: bytes) -> bytes:
    """The bytes of one message; the payload may come in pieces."""
    return b"".join((HEADER.pack(sum(map(len, payload)), kind, handle), *payload))


class FrameReader:
    """Cuts a byte stream into frames; keeps at most one unfinished frame and what came with it."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete with `data`. Raises `Refused` when the stream is none of ours."""
        self._data += data
        at = 0
        try:
            while len(self._data) - at >= HEADER.size:
                length, kind, handle = HEADER.unpack_from(self._data, at)
                if length > LONGEST_PAYLOAD or kind not in Kind.__members__.values():
                    raise Refused(f"not a frame of the recorder: kind {kind}, {length} bytes; both sides must be of one version")
                end = at + HEADER.size + length
                if len(self._data) < end:
                    return
                payload = bytes(memoryview(self._data)[at + HEADER.size : end])
                at = end
                yield Frame(Kind(kind), handle, payload)
        finally:
            del self._data[:at]


def split_batch(payload: bytes) -> tuple[bytes, memoryview]:
    """The lines and the audio of a BATCH. Raises `Refused` when it is cut short."""
    if len(payload) < LINES.size or len(payload) < LINES.size + LINES.unpack_from(payload)[0]:
        raise Refused("a batch for the recorder is cut short")
    audio_at = LINES.size + LINES.unpack_from(payload)[0]
    return payload[LINES.size : audio_at], memoryview(payload)[audio_at:]


class Tick(NamedTuple):
    """20 ms of both sides; None is silence. The caller's first sample belongs `caller_ago_us` before `t_us`."""

    t_us: int
    caller_ago_us: int
    caller: Mono | None
    agent: Mono | None


def ticks(audio: memoryview, samples: int) -> Iterator[Tick]:
    """The ticks in a BATCH's audio; each has `samples`. Raises `Refused` when it is cut short."""
    at = 0
    while at < len(audio):
        if len(audio) - at < TICK.size:
            raise Refused("a tick of audio for the recorder is cut short")
        t_us, caller_ago_us, present = TICK.unpack_from(audio, at)
        at += TICK.size
        sides: list[Mono | None] = [None, None]
        for channel, flag in enumerate((CALLER, AGENT)):
            if present & flag:
                if len(audio) - at < 2 * samples:
                    raise Refused("a tick of audio for the recorder is cut short")
                sides[channel] = np.frombuffer(audio, np.int16, samples, at)
                at += 2 * samples
        yield Tick(t_us, caller_ago_us, sides[0], sides[1])
