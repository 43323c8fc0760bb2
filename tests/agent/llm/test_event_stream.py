"""Server-sent events from bytes cut anywhere."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.llm.base import UnusableAnswer
from agent.llm.event_stream import LONGEST_EVENT, EventStream

pytestmark = pytest.mark.unit

STREAM = (
    b"\xef\xbb\xbf: a comment\r\n\r\ndata: one\r\n\r\ndata:two\n\nevent: x\rid: 7\rdata: thr\xc3\xa9e\rdata:  lines\r\r"
    b"retry: 5\n\ndata\n\ndata: \xff\xfe\n\n:\n\ndatum: no\n\ndata: [DONE]\n\ndata: cut off"
)
EVENTS = ["one", "two", "thrée\n lines", "", "��", "[DONE]"]


def read(*parts: bytes) -> list[str]:
    stream = EventStream()
    return [event for part in parts for event in stream.feed(part)]


def test_lines_fields_comments_and_all_three_line_ends() -> None:
    assert read(STREAM) == EVENTS


def test_cut_at_every_byte() -> None:
    for at in range(len(STREAM) + 1):
        assert read(STREAM[:at], b"", STREAM[at:]) == EVENTS
    assert read(*(STREAM[at : at + 1] for at in range(len(STREAM)))) == EVENTS


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=8))
def test_whatever_the_bytes_the_cuts_make_no_difference(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(data)]
    parts = [data[start:end] for start, end in pairwise(edges)]
    assert read(*parts) == read(data[: edges[-2]] + data[edges[-2] :])


@given(st.lists(st.sampled_from([b"\r", b"\n", b"data:", b"data: a", b":", b"x"]), max_size=12))
def test_line_ends_next_to_each_other(parts: list[bytes]) -> None:
    assert read(*parts) == read(b"".join(parts))


def test_a_gigantic_line_is_refused_before_it_ends() -> None:
    stream = EventStream()
    for _ in range(LONGEST_EVENT // 4_096):
        stream.feed(b"x" * 4_096)
    with pytest.raises(UnusableAnswer, match="more than 262144 bytes"):
        stream.feed(b"x")


@pytest.mark.parametrize("line", [b"data: " + b"x" * 1_000 + b"\n", b"data:\n"])
def test_an_event_of_endless_lines_is_refused(line: bytes) -> None:
    stream = EventStream()
    with pytest.raises(UnusableAnswer, match="more than 262144 bytes"):
        stream.feed(line * (LONGEST_EVENT // (len(line) - len(b"data:")) + 1))


def test_a_line_as_long_as_allowed_is_read() -> None:
    assert read(b"data:" + b"x" * (LONGEST_EVENT - 6) + b"\n\n") == ["x" * (LONGEST_EVENT - 6)]
