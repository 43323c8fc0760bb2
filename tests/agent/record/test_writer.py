"""One call's folder, written in this process."""

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.errors import Refused
from agent.record import folder as at
from agent.record.writer import CallWriter
from agent.timeline import codec
from media.oggopus import read_ogg_opus
from tests.agent.record.small_calls import SECRET, click, clicks_at_ms, lines, short_call, summary_of, ticks

pytestmark = pytest.mark.unit


def fill(writer: CallWriter, seconds: int) -> None:
    for line in lines(short_call(seconds=seconds)):
        writer.lines(line)
    for t_us, pcm in ticks(8000, seconds * 50):
        writer.audio(t_us, 0, pcm, None)


def test_everything_of_a_short_call(tmp_path: Path) -> None:
    failures: list[str] = []
    writer = CallWriter(tmp_path / "call", 8000, report=False, on_failure=failures.append)
    fill(writer, 2)
    writer.close(2_000_000)
    folder = tmp_path / "call"
    entries = list(codec.read(folder / "timeline.jsonl"))
    assert [codec.encode(entry) for entry in entries] == lines(short_call(seconds=2))
    assert read_ogg_opus(folder / "audio.ogg")[1].shape == (16_000, 2)
    assert len(json.loads((folder / "peaks.json").read_text())["agent"]) == 40
    summary = summary_of(folder)
    assert summary["record"] == {"state": "complete", "detail": "", "lost": [], "report": "off"}
    assert (summary["end"], summary["lasted_s"]) == ("caller_hung_up", 2.0)
    assert SECRET not in (folder / "summary.json").read_text()
    assert failures == []
    assert {path.name for path in folder.iterdir()} == {"timeline.jsonl", "audio.ogg", "peaks.json", "summary.json"}
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("rate_hz", [8000, 16000, 48000])
def test_sound_stands_at_its_media_time(tmp_path: Path, rate_hz: int) -> None:
    """A stall of 3.2 s, a late start of the agent, and a hole in one side only."""
    writer = CallWriter(tmp_path / "call", rate_hz, report=False)
    for t_us, pcm in ticks(rate_hz, 50, [120, 700], first_us=40_000):
        writer.audio(t_us, 0, pcm, None)
    for t_us, pcm in ticks(rate_hz, 50, [4500], first_us=4_240_000):
        writer.audio(t_us, 0, None, pcm)
    writer.close(6_000_000)
    audio = tmp_path / "call" / "audio.ogg"
    assert clicks_at_ms(audio, 0) == [pytest.approx(120, abs=1), pytest.approx(700, abs=1)]
    assert clicks_at_ms(audio, 1) == [pytest.approx(4500, abs=1)]
    assert len(read_ogg_opus(audio)[1]) == 6 * rate_hz


def test_what_is_written_stays(tmp_path: Path) -> None:
    writer = CallWriter(tmp_path / "call", 8000, report=False)
    for first_us in (0, 0, 10_000):
        for t_us, pcm in ticks(8000, 25, [200], first_us=first_us):
            writer.audio(t_us, 0, pcm, None)
    writer.close(0)
    audio = tmp_path / "call" / "audio.ogg"
    assert clicks_at_ms(audio, 0) == [pytest.approx(200, abs=1)]
    assert len(read_ogg_opus(audio)[1]) == 8000 * 51 // 100


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=st.lists(st.tuples(st.integers(-5, 60), st.integers(1, 20)), min_size=1, max_size=8))
def test_length_is_the_furthest_time(tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[int, int]]) -> None:
    """Jumps forwards and backwards: the file is as long as the furthest sample, and never longer."""
    folder = tmp_path_factory.mktemp("calls") / "call"
    writer = CallWriter(folder, 8000, report=False)
    at = furthest = 0
    for jump, count in moves:
        at = max(0, at + jump)
        for number in range(at, at + count):
            writer.audio(number * 20_000, 0, click(160, 0), None)
        at += count
        furthest = max(furthest, at)
    writer.close(0)
    assert len(read_ogg_opus(folder / "audio.ogg")[1]) == furthest * 160
    assert writer.failures == {}


def test_a_time_that_is_none(tmp_path: Path) -> None:
    writer = CallWriter(tmp_path / "call", 8000, report=False)
    writer.audio(10**15, 0, np.zeros(160, np.int16), None)
    writer.close(10**15)
    assert summary_of(tmp_path / "call")["record"]["state"] == "failed"
    assert "sound came for 1000000000000000 µs, which is no time of a call" in writer.failures["audio.ogg"]
    assert len(read_ogg_opus(tmp_path / "call" / "audio.ogg")[1]) == 0


def test_silence_of_both_sides_is_written_as_it_passes(tmp_path: Path) -> None:
    """The first tick of a call hands over the 20 ms before it: they are no part of the record."""
    writer = CallWriter(tmp_path / "call", 8000, report=False)
    for number in range(-1, 300):
        writer.audio(number * 20_000, 0, None, None)
    grown = (tmp_path / "call" / "audio.ogg").stat().st_size
    writer.close(0)
    assert grown > 500
    assert len(read_ogg_opus(tmp_path / "call" / "audio.ogg")[1]) == 300 * 160


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file of this process may pass `size` bytes: a full disk without being root. No fixture: the runner writes as well."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_stops_each_part_alone(tmp_path: Path) -> None:
    failures: list[str] = []
    writer = CallWriter(tmp_path / "call", 8000, report=False, on_failure=failures.append)
    rng = np.random.default_rng(1)
    sent = lines(short_call(seconds=4))
    with largest_file(3000):
        for number, line in enumerate(sent):
            writer.lines(line)
            writer.flush()
            writer.audio(number * 20_000, 0, rng.integers(-9000, 9000, 160, np.int16), None)
        writer.close(4_200_000)
    folder = tmp_path / "call"
    record = summary_of(folder)["record"]
    assert record["state"] == "failed"
    assert sorted(record["lost"]) == sorted(failures)
    assert [sentence.split(": ")[1:] for sentence in sorted(failures)] == [
        ["audio.ogg", f"file too large at 00:00:0{sorted(failures)[0][-1]}"],
        ["timeline.jsonl", "file too large at 00:00:00"],
    ]
    kept = (folder / "timeline.jsonl").read_bytes()
    assert kept == (codec.HEADER + b"".join(sent))[:3000]
    assert 0 < len(list(codec.read(folder / "timeline.jsonl"))) < len(sent)
    assert len(json.loads((folder / "peaks.json").read_text())["caller"]) == 84
    assert summary_of(folder)["end"] == "caller_hung_up"


def test_a_record_counts_as_being_written_until_all_of_it_is_there(tmp_path: Path) -> None:
    """Also when its timeline stopped early: the sound goes on."""
    writer = CallWriter(tmp_path / "call", 8000, report=False)
    with largest_file(10):
        fill(writer, 1)
        writer.flush()
    assert "timeline.jsonl" in writer.failures
    assert at.is_being_written(tmp_path / "call")
    writer.stop(1_000_000)
    assert at.is_being_written(tmp_path / "call")
    writer.finish()
    assert not at.is_being_written(tmp_path / "call")


def test_no_room_even_for_the_summary(tmp_path: Path) -> None:
    failures: list[str] = []
    writer = CallWriter(tmp_path / "call", 8000, audio=False, on_failure=failures.append)
    fill(writer, 1)
    writer.stop(1_000_000)
    with largest_file(10):
        missing = writer.finish()
    sentence = "the record is incomplete: summary.json: file too large at 00:00:01"
    assert missing == sentence
    assert failures == [sentence]
    assert [path.name for path in (tmp_path / "call").iterdir()] == ["timeline.jsonl"]


def test_a_report_that_cannot_be_made_is_a_counted_fault(tmp_path: Path) -> None:
    writer = CallWriter(tmp_path / "call", 8000, audio=False)
    writer.lines(b'{"seq":0}\n')
    writer.close(0)
    summary = summary_of(tmp_path / "call")
    assert summary["faults"] == {"report_failed": 1}
    assert summary["record"]["report"].startswith("report.html could not be made: Refused in ")
    assert summary["record"]["lost"] == [writer.failures["summary.json"]]
    assert "line 2 of the timeline cannot be read" in writer.failures["summary.json"]


def test_no_audio_no_audio_files(tmp_path: Path) -> None:
    writer = CallWriter(tmp_path / "call", 8000, audio=False, report=False)
    fill(writer, 1)
    writer.close(1_000_000)
    assert {path.name for path in (tmp_path / "call").iterdir()} == {"timeline.jsonl", "summary.json"}


@pytest.mark.parametrize("rate_hz", [44_100, 11_025, 0, -8000])
def test_rates_that_cannot_be_recorded(tmp_path: Path, rate_hz: int) -> None:
    if rate_hz == 44_100:  # whole ticks, but no rate of Opus: the timeline is kept
        writer = CallWriter(tmp_path / "call", rate_hz, report=False)
        assert "use one of 8000, 12000, 16000, 24000, 48000 Hz" in writer.failures["audio.ogg"]
        writer.close(0)
        return
    with pytest.raises(Refused, match="whole number of samples"):
        CallWriter(tmp_path / "call", rate_hz)


def test_folders_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    for folder, said in (
        ("taken", "used once"),
        (".hidden", "cannot be a call id"),
        ("no/call", "create it or name another one"),
    ):
        with pytest.raises(Refused, match=said):
            CallWriter(tmp_path / folder, 8000)
