"""Listing, finding and deleting records."""

import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from agent.app.calls import CallRow, delete_call, find_call, list_calls
from agent.errors import Gone, Refused
from agent.record.writer import CallWriter
from tests.agent.record.small_calls import lines, short_call

pytestmark = pytest.mark.unit


def record(calls_dir: Path, call_id: str, seconds: int = 1) -> Path:
    writer = CallWriter(calls_dir / call_id, 8000, audio=False, report=False)
    for line in lines(short_call(call_id, seconds=seconds)):
        writer.lines(line)
    writer.close(seconds * 1_000_000)
    return calls_dir / call_id


def test_a_list_with_whole_half_and_running_calls(tmp_path: Path) -> None:
    whole = record(tmp_path, "b-whole", 2)
    later = record(tmp_path, "c-later")
    summary = json.loads((later / "summary.json").read_text())
    summary |= {"started": "2026-02-01T00:00:00+00:00", "record": {"state": "failed", "detail": "the record is incomplete: …"}}
    (later / "summary.json").write_text(json.dumps(summary))
    (tmp_path / "a-killed").mkdir()
    running = CallWriter(tmp_path / "d-running", 8000, audio=False)
    (tmp_path / "file").touch()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "link").symlink_to(whole)
    rows = list_calls(tmp_path)
    running.close(0)
    assert [(row.call_id, row.state) for row in rows] == [
        ("c-later", "failed"),
        ("b-whole", "complete"),
        ("a-killed", "incomplete"),
        ("d-running", "recording"),
    ]
    assert rows[0].detail == "the record is incomplete: …"
    assert rows[1] == CallRow("b-whole", whole, "complete", "", "2026-01-01T00:00:00+00:00", "memory", 2.0, "caller_hung_up", 0)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff", b"null", b'{"a": 1}', b"[" * 5000, b'{"venus_summary": 1, "x": "' + b"y" * (1 << 20) + b'"}'],
)
def test_a_broken_summary_is_an_incomplete_call(tmp_path: Path, content: bytes) -> None:
    (record(tmp_path, "call") / "summary.json").write_bytes(content)
    assert [row.state for row in list_calls(tmp_path)] == ["incomplete"]


def test_a_summary_with_strange_values(tmp_path: Path) -> None:
    strange = b'{"venus_summary": 1, "started": 5, "lasted_s": Infinity, "turns": NaN, "record": [], "end": {}}'
    (record(tmp_path, "call") / "summary.json").write_bytes(strange)
    assert list_calls(tmp_path) == [CallRow("call", tmp_path / "call", "failed", "", None, None, None, None, 0)]


def test_strange_things_in_the_folder(tmp_path: Path) -> None:
    """Pipes that block a reader, devices without an end, folders where files belong: none of it stops the list."""
    for name in ("pipes", "endless", "folders"):
        (tmp_path / name).mkdir()
    for name in ("summary.json", "timeline.jsonl"):
        os.mkfifo(tmp_path / "pipes" / name)
        (tmp_path / "endless" / name).symlink_to("/dev/zero")
        (tmp_path / "folders" / name).mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "itself").symlink_to("itself")
    assert [(row.call_id, row.state) for row in list_calls(tmp_path)] == [
        ("endless", "incomplete"),
        ("folders", "incomplete"),
        ("pipes", "incomplete"),
    ]


def test_a_thousand_records(tmp_path: Path) -> None:
    source = record(tmp_path, "call")
    for number in range(1000):
        shutil.copytree(source, tmp_path / f"call-{number:04}")
    assert Counter(row.state for row in list_calls(tmp_path)) == Counter(complete=1001)
    assert find_call(tmp_path, "call-0999").call_id == "call-0999"
    with pytest.raises(Refused, match="and 997 more"):
        find_call(tmp_path, "call-")


def test_find(tmp_path: Path) -> None:
    for call_id in ("ab", "abc", "abd", "abe", "abf", "x1"):
        record(tmp_path, call_id)
    assert find_call(tmp_path, "ab").call_id == "ab"
    assert find_call(tmp_path, "x").call_id == "x1"
    for missing in ("y", "", "../ab", "."):
        with pytest.raises(Gone, match="`venus calls` lists them"):
            find_call(tmp_path, missing)
    with pytest.raises(Refused, match=r"'a' could be ab, abc, abd and 2 more: give more of the id"):
        find_call(tmp_path, "a")
    with pytest.raises(Refused, match="no calls were recorded there"):
        find_call(tmp_path / "missing", "a")


def test_delete(tmp_path: Path) -> None:
    folder = record(tmp_path, "call")
    (folder / ".summary.json.new").touch()
    assert delete_call(tmp_path, "call") == folder
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_deleted(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    kept = record(outside, "kept")
    calls = tmp_path / "calls"
    calls.mkdir()
    (calls / "link").symlink_to(kept)
    foreign = record(calls, "foreign")
    (foreign / "thesis.doc").touch()
    running = CallWriter(calls / "running", 8000, audio=False, report=False)
    for call_id, error, said in (
        ("../outside/kept", Refused, "cannot be a call id"),
        ("link", Gone, "there is no call"),
        ("for", Gone, "there is no call"),
        ("foreign", Refused, "also holds 'thesis.doc'"),
        ("running", Refused, "is being recorded"),
    ):
        with pytest.raises(error, match=said):
            delete_call(calls, call_id)
    running.close(0)
    assert (kept / "timeline.jsonl").exists()
    assert (foreign / "timeline.jsonl").exists()
    assert (calls / "running" / "timeline.jsonl").exists()
