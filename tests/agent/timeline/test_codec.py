import json
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.errors import Gone, Refused
from agent.settings import TICK_US
from agent.timeline.codec import HEADER, LONGEST_LINE, SCHEMA, decode, encode, read, write
from agent.timeline.events import CATALOGUE, DigitReceived, Event, LineAnswered, Transcript, UtteranceEnded
from agent.timeline.kinds import Span
from agent.timeline.log import Entry
from tests.agent.core_driver import sample_call

pytestmark = pytest.mark.unit

SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type hint, built from the hint alone."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return values(args[0])
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple:
        return st.lists(values(args[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(values(args[0]), values(args[1]), max_size=3)
    if origin is not None:
        return st.one_of(*(values(arg) for arg in args))
    if is_dataclass(hint):
        return built(hint)  # type: ignore[arg-type]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    plain: dict[Any, st.SearchStrategy[Any]] = {
        int: st.integers(-(2**63), 2**63),
        str: st.text(),
        bool: st.booleans(),
        type(None): st.none(),
        float: st.floats(allow_nan=False, allow_infinity=False),
    }
    return plain[hint]


def built(kind: type[Any]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind, include_extras=True)
    return st.builds(kind, **{field.name: values(hints[field.name]) for field in fields(kind)})


def stored(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "timeline.jsonl"
    path.write_bytes(content)
    return path


def a_few() -> list[Entry]:
    return [
        Entry(0, 0, None, LineAnswered()),
        Entry(1, TICK_US, 0, DigitReceived("5", "memory")),
        Entry(2, TICK_US, None, Transcript(Span(0, TICK_US), "grüß \u2028\x00 \N{GRINNING FACE}", True, 0.25)),
        Entry(3, 3 * TICK_US, 2, DigitReceived("#", "memory")),
    ]


def lines_of(entries: list[Entry]) -> list[bytes]:
    return [HEADER, *(encode(entry) for entry in entries)]


def read_all(path: Path) -> tuple[list[Entry], str]:
    """The entries up to the first line that is refused, and what was said of it."""
    got: list[Entry] = []
    try:
        for entry in read(path):
            got.append(entry)
    except Refused as refused:
        return got, str(refused)
    return got, ""


@pytest.mark.parametrize("kind", sorted(CATALOGUE))
@given(data=st.data())
@settings(max_examples=25)
def test_every_event_comes_back_as_it_was(kind: str, data: st.DataObject) -> None:
    event: Event = data.draw(built(CATALOGUE[kind]))
    seq, t = data.draw(st.integers(0, 2**40)), data.draw(st.integers(0, 2**50))
    cause = data.draw(st.none() | st.integers(0, 2**40))
    entry = Entry(seq, t, cause, event)
    line = encode(entry)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == entry
    assert encode(decode(line)) == line, "equal entries, equal bytes"
    assert set(json.loads(line)) == {"seq", "t", "cause", "kind", "event"}


def test_the_stored_form_is_this() -> None:
    assert HEADER == b'{"venus_timeline": 1}\n'
    entry = Entry(7, 40_000, 3, Transcript(Span(0, 20_000), 'a "b" ü\n', False, 1.0))
    assert (
        encode(entry)
        == (
            '{"seq":7,"t":40000,"cause":3,"kind":"evidence.transcript","event":'
            '{"covers":{"from_us":0,"to_us":20000},"text":"a \\"b\\" ü\\n","final":false,"confidence":1.0}}\n'
        ).encode()
    )
    assert encode(Entry(0, 0, None, LineAnswered())) == b'{"seq":0,"t":0,"cause":null,"kind":"line.answered","event":{}}\n'


def test_a_whole_call_comes_back(tmp_path: Path) -> None:
    entries = sample_call().entries
    assert any(isinstance(entry.event, UtteranceEnded) for entry in entries)
    path = tmp_path / "timeline.jsonl"
    write(path, entries)
    assert list(read(path)) == entries


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"", "not a timeline entry"),
        (b"[]", "not a timeline entry"),
        (b'"text"', "not a timeline entry"),
        (b"\xff\xfe{", "not a timeline entry"),
        (b"[" * 100_000, "not a timeline entry"),
        (b'{"seq":1}', "not a timeline entry"),
        (b'{"seq":0,"t":0,"cause":null,"kind":"no.such","event":{}}', "unknown event 'no.such'"),
        (b'{"seq":0,"t":0,"cause":null,"kind":["x"],"event":{}}', "not a timeline entry"),
        (b'{"seq":0.0,"t":0,"cause":null,"kind":"line.answered","event":{}}', "whole numbers"),
        (b'{"seq":true,"t":0,"cause":null,"kind":"line.answered","event":{}}', "whole numbers"),
        (b'{"seq":0,"t":"0","cause":null,"kind":"line.answered","event":{}}', "whole numbers"),
        (b'{"seq":0,"t":0,"cause":false,"kind":"line.answered","event":{}}', "whole numbers"),
        (b'{"seq":0,"t":0,"cause":null,"kind":"line.answered","event":7}', "line.answered: field"),
        (b'{"seq":0,"t":0,"cause":null,"kind":"dtmf.received","event":{"digit":"1"}}', "dtmf.received: field 'via'"),
        (
            b'{"seq":0,"t":0,"cause":null,"kind":"evidence.voice_stopped","event":{"covers":{"from_us":"x","to_us":1}}}',
            "field 'covers.from_us'",
        ),
    ],
)
def test_a_line_that_is_no_entry_is_refused_with_what_is_wrong(line: bytes, says: str) -> None:
    with pytest.raises(Refused, match="^" + ".*" + says.replace("(", r"\(").replace(".", r"\.")):
        decode(line)


@SAME_FOLDER
@given(
    at=st.integers(0, 10_000),
    cut=st.integers(0, 20),
    put=st.binary(max_size=20) | st.sampled_from([b"\n", b"{}\n", b'"', b"1e999", b"NaN", b"\xed\xa0\x80", b"9" * 5000]),
)
def test_corrupt_bytes_of_any_kind_are_refused_by_line(tmp_path: Path, at: int, cut: int, put: bytes) -> None:
    whole = b"".join(lines_of(a_few()))
    at %= len(whole)
    path = stored(tmp_path, whole[:at] + put + whole[at + cut :])
    got, said = read_all(path)
    assert [entry.seq for entry in got] == list(range(len(got)))
    assert not said or said.startswith(f"{path}, line {len(got) + 2}: " if got else str(path))
    before = max(0, whole[:at].count(b"\n") - 1)
    assert got[:before] == a_few()[:before], "what lies before the damage is given"


@SAME_FOLDER
@given(st.binary(max_size=200))
def test_any_bytes_behind_the_header(tmp_path: Path, noise: bytes) -> None:
    path = stored(tmp_path, HEADER + noise)
    if b"\n" not in noise:
        assert list(read(path)) == [], "a last line that was not finished"
        return
    with pytest.raises(Refused, match="line 2: "):
        list(read(path))


@pytest.mark.parametrize("kept", [0, 1, 40, -1])
def test_a_last_line_that_was_not_finished_ends_the_stream(tmp_path: Path, kept: int) -> None:
    *before, last = lines_of(a_few())
    path = stored(tmp_path, b"".join(before) + last[:kept])
    assert list(read(path)) == a_few()[:-1]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda lines: lines[:2] + lines[3:], "line 3: seq 2 where 1 is due: lines are missing or doubled"),
        (lambda lines: lines[:3] + lines[2:], "line 4: seq 1 where 2 is due: lines are missing or doubled"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "line 2: seq 1 where 0 is due"),
        (lambda lines: [*lines[:3], b"\n", *lines[3:]], "line 4: not a timeline entry"),
        (lambda lines: [*lines[:4], lines[4].replace(b'"t":60000', b'"t":0')], "line 5: .* never fall"),
        (lambda lines: [*lines[:4], lines[4].replace(b'"cause":2', b'"cause":3')], "line 5: .* does not come before it"),
        (lambda lines: [*lines[:3], lines[3].replace(b'"to_us":20000', b'"to_us":20001'), lines[4]], "line 4: .* not its past"),
    ],
    ids=["missing", "doubled", "swapped", "blank", "time falls", "own cause", "future"],
)
def test_lines_that_do_not_belong_together(tmp_path: Path, change: Any, says: str) -> None:
    path = stored(tmp_path, b"".join(change(lines_of(a_few()))))
    with pytest.raises(Refused, match=says):
        list(read(path))


def test_entries_before_the_corrupt_line_are_given(tmp_path: Path) -> None:
    lines = lines_of(a_few())
    reader = read(stored(tmp_path, b"".join([*lines[:3], b"?\n"])))
    assert [next(reader), next(reader)] == a_few()[:2]
    with pytest.raises(Refused, match="line 4"):
        next(reader)


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (b'{"venus_timeline": %d}\n' % (SCHEMA + 1), "schema 2, this version reads 1: open it with the version of venus-line"),
        (b'{"venus_timeline": 0}\n', "schema 0"),
        (b'{"venus_timeline": "1"}\n', "schema '1', this version reads 1"),
        (b"", "is not a timeline: its first line must be"),
        (b"\n", "is not a timeline"),
        (b"[]\n", "is not a timeline"),
        (b"\x00\xff\n", "is not a timeline"),
        (b"[" * 100_000, "is not a timeline"),
    ],
)
def test_a_header_of_another_kind_or_version(tmp_path: Path, header: bytes, says: str) -> None:
    path = stored(tmp_path, header + b"".join(lines_of(a_few())[1:]))
    with pytest.raises(Refused, match=says):
        list(read(path))


def test_an_empty_call_is_only_a_header(tmp_path: Path) -> None:
    assert list(read(stored(tmp_path, HEADER))) == []


def test_a_line_without_an_end(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="line 2: longer than 1000000 bytes"):
        list(read(stored(tmp_path, HEADER + b"x" * (LONGEST_LINE + 1))))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Gone, match=r"cannot read .*no\.jsonl: No such file"):
        list(read(tmp_path / "no.jsonl"))
    with pytest.raises(Gone, match="Is a directory"):
        list(read(tmp_path))
