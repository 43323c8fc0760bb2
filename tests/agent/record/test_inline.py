"""The recorder without a process, on virtual time."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from agent.errors import Gone, Refused
from agent.record import recorder as contract
from agent.record.inline import InlineRecorder
from agent.timeline import codec
from media.oggopus import read_ogg_opus
from tests.agent.record.small_calls import lines, short_call, summary_of, ticks

pytestmark = pytest.mark.unit


def told(call_id: str, sentence: str) -> None:
    raise AssertionError(f"{call_id}: {sentence}")


async def test_a_call(tmp_path: Path) -> None:
    recorder: contract.Recorder = InlineRecorder(tmp_path, report=False)
    call = recorder.open("call", 8000, told)
    for line in lines(short_call(seconds=2)):
        call.entry(line)
    for t_us, pcm in ticks(8000, 100):
        call.audio(t_us, 0, pcm, None)
    call.close(2_000_000)
    call.audio(2_000_000, 0, np.zeros(160, np.int16), None)
    call.entry(b"too late")
    call.close(9_000_000)
    folder = await call.written()
    await recorder.close()
    assert folder == tmp_path / "call"
    assert (folder / "timeline.jsonl").read_bytes() == codec.HEADER + b"".join(lines(short_call(seconds=2)))
    assert len(read_ogg_opus(folder / "audio.ogg")[1]) == 16_000
    assert summary_of(folder)["record"]["state"] == "complete"


async def test_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="create it or name another one"):
        InlineRecorder(tmp_path / "missing")
    recorder = InlineRecorder(tmp_path, audio=False, report=False)
    with pytest.raises(Refused, match="cannot be a call id"):
        recorder.open("../call", 8000, told)
    recorder.open("call", 8000, told).close(0)
    with pytest.raises(Refused, match="used once"):
        recorder.open("call", 8000, told)
    await recorder.close()


async def test_a_call_that_nobody_closed(tmp_path: Path) -> None:
    failures: list[tuple[str, str]] = []
    recorder = InlineRecorder(tmp_path, audio=False, report=False)
    call = recorder.open("call", 8000, lambda *failure: failures.append(failure))
    call.entry(lines(short_call())[0])
    await recorder.close()
    await recorder.close()
    assert failures == []  # told from the loop, never from inside a call of the recorder
    await call.written()
    record = summary_of(tmp_path / "call")["record"]
    assert record["lost"] == [
        "the record is incomplete: timeline.jsonl: the recorder was closed before the call ended at 00:00:00"
    ]


async def test_a_folder_that_is_taken_away(tmp_path: Path) -> None:
    told_of: list[str] = []
    recorder = InlineRecorder(tmp_path)
    call = recorder.open("call", 8000, lambda call_id, sentence: told_of.append(sentence))
    for line in lines(short_call()):
        call.entry(line)
    shutil.rmtree(tmp_path / "call")
    call.close(1_000_000)
    with pytest.raises(Gone, match=r"summary\.json: no such file or directory"):
        await call.written()
