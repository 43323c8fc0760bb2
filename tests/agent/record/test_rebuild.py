"""A record whose recorder did not finish it gets its summary, its waveform and its report afterwards."""

import json
import shutil
from pathlib import Path

import pytest

from agent.errors import Gone, Refused
from agent.record.rebuild import rebuild
from agent.record.writer import CallWriter
from agent.timeline import codec
from tests.agent.record.small_calls import SECRET, lines, short_call, summary_of, ticks

pytestmark = pytest.mark.unit

RATE_HZ = 8000


def whole(folder: Path, seconds: int = 3, report: bool = True) -> Path:
    writer = CallWriter(folder, RATE_HZ, report=report)
    for line in lines(short_call(folder.name, seconds=seconds)):
        writer.lines(line)
    for t_us, pcm in ticks(RATE_HZ, seconds * 50, [500, 2500]):
        writer.audio(t_us, 0, pcm, None)
    assert writer.close(seconds * 1_000_000) == ""
    return folder


def killed(folder: Path, audio: bytes, timeline: bytes) -> Path:
    """What a recorder leaves that was killed: two files, cut anywhere."""
    folder.mkdir()
    (folder / "audio.ogg").write_bytes(audio)
    (folder / "timeline.jsonl").write_bytes(timeline)
    return folder


def test_cut_anywhere(tmp_path: Path) -> None:
    source = whole(tmp_path / "source")
    audio, timeline = (source / "audio.ogg").read_bytes(), (source / "timeline.jsonl").read_bytes()
    for number, share in enumerate((1.0, 0.9, 0.5)):
        folder = killed(tmp_path / f"cut{number}", audio[: round(len(audio) * share)], timeline[: round(len(timeline) * share)])
        assert rebuild(folder) == folder / "report.html"
        entries = list(codec.read(folder / "timeline.jsonl"))
        summary = summary_of(folder)
        state = "call ended at 00:00:03" if share == 1.0 else f"timeline stops at 00:00:0{entries[-1].t // 1_000_000}"
        sentence = f"the record is incomplete: its recorder did not finish it; the {state}"
        assert summary["record"] == {"state": "failed", "detail": sentence, "lost": [sentence], "report": "written"}
        assert summary["end"] == ("caller_hung_up" if share == 1.0 else None)
        assert summary["recorded_s"] * 1_000_000 >= entries[-1].t
        assert sentence[1:] in (folder / "report.html").read_text()
        assert json.loads((folder / "peaks.json").read_text())["caller"][10] > 100
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir() if path.name not in ("audio.ogg", "timeline.jsonl")} == {
            0o600
        }
        assert SECRET not in (folder / "summary.json").read_text()


def test_the_figures_are_those_of_the_recorder(tmp_path: Path) -> None:
    folder = whole(tmp_path / "call")
    before = summary_of(folder)
    peaks = json.loads((folder / "peaks.json").read_text())
    for name in ("summary.json", "peaks.json", "report.html"):
        (folder / name).unlink()
    rebuild(folder)
    assert summary_of(folder) | {"record": ""} == before | {"record": ""}
    again = json.loads((folder / "peaks.json").read_text())
    assert len(again["caller"]) == len(peaks["caller"])
    assert again["agent"] == peaks["agent"]


def test_what_the_recorder_said_stays(tmp_path: Path) -> None:
    folder = whole(tmp_path / "call", report=False)
    stored = summary_of(folder)
    stored["record"] = {"state": "failed", "detail": "it was full", "lost": ["it was full"], "report": "no space left on device"}
    stored["faults"] = {"report_failed": 1, "frontend": 2}
    (folder / "summary.json").write_text(json.dumps(stored))
    peaks = (folder / "peaks.json").read_bytes()
    rebuild(folder)
    rebuild(folder)
    after = summary_of(folder)
    assert after["record"] == {"state": "failed", "detail": "it was full", "lost": ["it was full"], "report": "written"}
    assert after["faults"] == {"frontend": 2}
    assert (folder / "peaks.json").read_bytes() == peaks


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"record": 1}', b'{"record": {}, "faults": []}', b"[" * 5000])
def test_a_broken_summary_is_made_anew(tmp_path: Path, broken: bytes) -> None:
    folder = whole(tmp_path / "call", seconds=1)
    (folder / "summary.json").write_bytes(broken)
    rebuild(folder)
    assert summary_of(folder)["record"]["report"] == "written"


@pytest.mark.parametrize("audio", [None, b"", b"OggS", b"no sound at all" * 10])
def test_without_sound(tmp_path: Path, audio: bytes | None) -> None:
    source = whole(tmp_path / "source", seconds=1)
    folder = killed(tmp_path / "call", audio or b"", (source / "timeline.jsonl").read_bytes())
    if audio is None:
        (folder / "audio.ogg").unlink()
    assert rebuild(folder).is_file()
    assert not (folder / "peaks.json").exists()
    assert summary_of(folder)["recorded_s"] == 1.0


def test_what_cannot_be_rebuilt(tmp_path: Path) -> None:
    running = CallWriter(tmp_path / "running", RATE_HZ)
    with pytest.raises(Refused, match="the record of running is being written: it gets its report when the call has ended"):
        rebuild(tmp_path / "running")
    running.close(0)
    (tmp_path / "empty").mkdir()
    with pytest.raises(Gone, match=r"cannot read .*timeline\.jsonl: No such file or directory"):
        rebuild(tmp_path / "empty")
    with pytest.raises(Gone, match="cannot read"):
        rebuild(tmp_path / "missing")
    header = killed(tmp_path / "header", b"", codec.HEADER)
    with pytest.raises(Refused):
        rebuild(header)
    shutil.rmtree(header)
    corrupt = killed(tmp_path / "corrupt", b"", codec.HEADER + b"{}\n")
    with pytest.raises(Refused, match="line 2"):
        rebuild(corrupt)
    assert [path.name for path in corrupt.iterdir() if path.name not in ("audio.ogg", "timeline.jsonl")] == []
