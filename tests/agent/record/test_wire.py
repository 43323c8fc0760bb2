"""Frames between the media process and the recorder."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import Refused
from agent.record.wire import AGENT, CALLER, LINES, TICK, Frame, FrameReader, Kind, frame, split_batch, ticks

pytestmark = pytest.mark.unit

messages = st.lists(st.builds(Frame, st.sampled_from(Kind), st.integers(0, 2**32 - 1), st.binary(max_size=50)), max_size=8)


@given(messages, st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_frames_survive_any_cut_of_the_stream(sent: list[Frame], cuts: list[int]) -> None:
    stream = b"".join(frame(*message) for message in sent)
    reader, received, at = FrameReader(), [], 0
    for size in cuts:
        received += reader.feed(stream[at : at + size])
        at += size
    received += reader.feed(stream[at:])
    assert received == sent


@pytest.mark.parametrize("stream", [b"GET / HTTP/1.1\r\n", frame(Kind.BATCH, 1)[:4] + b"\x63" + bytes(4)])
def test_a_foreign_stream_is_refused(stream: bytes) -> None:
    with pytest.raises(Refused, match="not a frame of the recorder"):
        list(FrameReader().feed(stream))


def _tick(t_us: int, caller: int | None, agent: int | None) -> bytes:
    sides = (CALLER if caller is not None else 0) | (AGENT if agent is not None else 0)
    present = [np.full(2, value, np.int16).tobytes() for value in (caller, agent) if value is not None]
    return TICK.pack(t_us, 700, sides) + b"".join(present)


def test_ticks_come_out_as_they_went_in() -> None:
    audio = _tick(0, 1, 2) + _tick(20_000, None, 3) + _tick(60_000, 4, None)
    got = [
        (tick.t_us, tick.caller_ago_us, *(None if side is None else side.tolist() for side in (tick.caller, tick.agent)))
        for tick in ticks(memoryview(audio), 2)
    ]
    assert got == [(0, 700, [1, 1], [2, 2]), (20_000, 700, None, [3, 3]), (60_000, 700, [4, 4], None)]
    assert list(ticks(memoryview(b""), 2)) == []


@given(st.integers(1, 30))
def test_audio_that_is_cut_short_is_refused(missing: int) -> None:
    audio = _tick(0, 1, 2) + _tick(20_000, 3, 4)
    cut = audio[: len(audio) - missing]
    if len(cut) == len(_tick(0, 1, 2)):
        assert len(list(ticks(memoryview(cut), 2))) == 1
    else:
        with pytest.raises(Refused, match="cut short"):
            list(ticks(memoryview(cut), 2))


def test_batches() -> None:
    lines, audio = split_batch(LINES.pack(3) + b"abcXY")
    assert (lines, bytes(audio)) == (b"abc", b"XY")
    for short in (b"", LINES.pack(3) + b"ab"):
        with pytest.raises(Refused, match="cut short"):
            split_batch(short)
