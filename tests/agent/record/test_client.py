"""The recorder process and the media process's side of it."""

import asyncio
import os
import resource
import shutil
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest
import structlog

from agent.clock import LoopClock
from agent.errors import Gone, Refused
from agent.record import recorder as contract
from agent.record.client import BUFFER_BYTES, RecorderClient
from agent.record.inline import InlineRecorder
from agent.timeline import codec
from agent.virtual import VirtualTimeError, run_virtual
from media.oggopus import read_ogg_opus
from tests.agent.record.small_calls import clicks_at_ms, lines, short_call, summary_of, ticks

pytestmark = pytest.mark.peer

RATE_HZ = 8000


class Failures(list[tuple[str, str]]):
    """What `on_failure` was told."""

    def __call__(self, call_id: str, sentence: str) -> None:
        self.append((call_id, sentence))


@asynccontextmanager
async def recording(calls_dir: Path, buffer_bytes: int = BUFFER_BYTES) -> AsyncIterator[RecorderClient]:
    async with RecorderClient(calls_dir, LoopClock(), report=False, buffer_bytes=buffer_bytes) as client:
        yield client


def states(calls_dir: Path) -> Counter[str]:
    return Counter(summary_of(folder)["record"]["state"] for folder in calls_dir.iterdir())


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not met():  # noqa: ASYNC110  another process makes it true
            await asyncio.sleep(0.01)


def play(call: contract.CallRecorder, seconds: int, clicks_ms: tuple[int, ...] = ()) -> None:
    """A short call at once, sound on the left and its events."""
    waiting = [(codec.decode(line).t, line) for line in lines(short_call(seconds=seconds))]
    for t_us, pcm in ticks(RATE_HZ, seconds * 50, clicks_ms):
        while waiting and waiting[0][0] <= t_us:
            call.entry(waiting.pop(0)[1])
        call.audio(t_us, 0, pcm, None)
    for _, line in waiting:
        call.entry(line)


async def test_process_and_inline_write_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    sides = [rng.integers(-8000, 8000, 160, np.int16) for _ in range(4)] + [None]
    failures = Failures()
    inline = InlineRecorder(tmp_path, report=False)
    async with recording(tmp_path) as client:
        for call in (client.open("process", RATE_HZ, failures), inline.open("inline", RATE_HZ, failures)):
            for line in lines(short_call(seconds=3)):
                call.entry(line)
            for number in [*range(-1, 60), *range(75, 100), *range(98, 140)]:
                call.audio(number * 20_000, 0, sides[number % 5], sides[number % 3 + 2])
            call.close(3_000_000)
            await call.written()
    one, other = tmp_path / "process", tmp_path / "inline"
    assert (one / "timeline.jsonl").read_bytes() == (other / "timeline.jsonl").read_bytes()
    assert (one / "peaks.json").read_bytes() == (other / "peaks.json").read_bytes()
    assert np.array_equal(read_ogg_opus(one / "audio.ogg")[1], read_ogg_opus(other / "audio.ogg")[1])
    assert len(read_ogg_opus(one / "audio.ogg")[1]) == 24_000
    assert summary_of(one) | {"call_id": ""} == summary_of(other) | {"call_id": ""}
    assert failures == []


async def test_media_time_decides_not_arrival(tmp_path: Path) -> None:
    """A burst of a second at once, a real stall without a hole in media time, then a hole without a stall."""
    async with recording(tmp_path) as client:
        call = client.open("call", RATE_HZ, Failures())
        for t_us, pcm in ticks(RATE_HZ, 50, [300]):
            call.audio(t_us, 0, pcm, None)
        await asyncio.sleep(0.3)
        for t_us, pcm in ticks(RATE_HZ, 50, [1700], first_us=1_000_000):
            call.audio(t_us, 0, pcm, pcm)
        for t_us, pcm in ticks(RATE_HZ, 50, [9010], first_us=9_000_000):
            call.audio(t_us, 0, None, pcm)
        call.close(10_000_000)
        folder = await call.written()
    assert clicks_at_ms(folder / "audio.ogg", 0) == [pytest.approx(300, abs=1), pytest.approx(1700, abs=1)]
    assert clicks_at_ms(folder / "audio.ogg", 1) == [pytest.approx(1700, abs=1), pytest.approx(9010, abs=1)]
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


async def test_the_report_is_made_in_the_recorder(tmp_path: Path) -> None:
    async with RecorderClient(tmp_path, LoopClock()) as client:
        call = client.open("call", RATE_HZ, Failures())
        play(call, 1)
        call.close(1_000_000)
        folder = await call.written()
    assert summary_of(folder)["record"] == {"state": "complete", "detail": "", "lost": [], "report": "written"}
    assert (folder / "report.html").stat().st_mode & 0o777 == 0o600


async def test_a_full_disk_is_told_once_and_the_rest_goes_on(tmp_path: Path) -> None:
    failures = Failures()
    rng = np.random.default_rng(1)
    async with recording(tmp_path) as client:
        assert client.pid is not None
        resource.prlimit(client.pid, resource.RLIMIT_FSIZE, (12_000, 12_000))
        call = client.open("call", RATE_HZ, failures)
        play(call, 1)
        for number in range(50, 500):
            call.audio(number * 20_000, 0, rng.integers(-9000, 9000, 160, np.int16), None)
        await until(lambda: len(failures) == 1)
        call.close(10_000_000)
        folder = await call.written()
    assert len(failures) == 1
    assert failures[0][1].startswith("the record is incomplete: audio.ogg: file too large at 00:00:0")
    summary = summary_of(folder)
    assert summary["record"]["state"] == "failed"
    assert summary["record"]["detail"] == failures[0][1]
    assert summary["end"] == "caller_hung_up"
    assert list(codec.read(folder / "timeline.jsonl")) == [codec.decode(line) for line in lines(short_call())]
    assert 0 < len(read_ogg_opus(folder / "audio.ogg")[1]) < 80_000


async def test_a_killed_recorder(tmp_path: Path) -> None:
    """What was written plays, running calls are told, later calls are recorded."""
    failures = Failures()
    async with recording(tmp_path) as client:
        first = client.open("first", RATE_HZ, failures)
        play(first, 10, (500, 8500))
        for number in range(500, 505):
            first.audio(number * 20_000, 0, None, None)
        timeline = tmp_path / "first" / "timeline.jsonl"
        await until(lambda: timeline.exists() and b'"call.ended"' in timeline.read_bytes())
        await asyncio.sleep(0.1)
        pid = client.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await until(lambda: failures != [])
        first.audio(10_000_000, 0, np.zeros(160, np.int16), None)
        first.close(10_000_000)
        with pytest.raises(Gone, match="the recorder process died"):
            await first.written()
        second = client.open("second", RATE_HZ, failures)
        assert client.pid not in (None, pid)
        play(second, 1)
        second.close(1_000_000)
        await second.written()
    assert failures == [("first", "the record is incomplete: the recorder process died")]
    assert len(list(codec.read(timeline))) == len(short_call(seconds=10))
    assert len(read_ogg_opus(tmp_path / "first" / "audio.ogg")[1]) >= 8.5 * RATE_HZ
    assert clicks_at_ms(tmp_path / "first" / "audio.ogg", 0) == [pytest.approx(500, abs=1), pytest.approx(8500, abs=1)]
    assert summary_of(tmp_path / "second")["record"]["state"] == "complete"


async def test_a_killed_recorder_is_logged(tmp_path: Path) -> None:
    failures = Failures()
    with structlog.testing.capture_logs() as logged:
        async with recording(tmp_path) as client:
            for call_id in ("one", "two"):
                client.open(call_id, RATE_HZ, failures)
            assert client.pid is not None
            os.kill(client.pid, signal.SIGKILL)
            await until(lambda: len(failures) == 2)
    assert [(entry["log_level"], entry["event"], entry["calls_not_recorded"]) for entry in logged] == [
        ("error", "the recorder is gone", 2)
    ]


async def test_a_folder_that_is_taken_away(tmp_path: Path) -> None:
    """Nobody can read in the folder what is missing, so whoever waits for the record is told."""
    failures = Failures()
    async with recording(tmp_path) as client:
        call = client.open("call", RATE_HZ, failures)
        play(call, 1)
        await until((tmp_path / "call" / "timeline.jsonl").exists)
        shutil.rmtree(tmp_path / "call")
        with structlog.testing.capture_logs() as logged:
            call.close(1_000_000)
            with pytest.raises(Gone, match=r"summary\.json: no such file or directory at 00:00:01"):
                await call.written()
    assert len(failures) == 1
    assert {entry["call_id"] for entry in logged} == {"call"}


async def test_death_noticed_while_sending(tmp_path: Path) -> None:
    """Nothing of it raises into the tick, and the loop has not yet seen the end of the socket."""
    failures = Failures()
    async with recording(tmp_path) as client:
        call = client.open("call", RATE_HZ, failures)
        assert client.pid is not None
        process = psutil.Process(client.pid)
        process.kill()
        while process.status() != psutil.STATUS_ZOMBIE:
            pass
        play(call, 2)
        call.close(2_000_000)
        assert failures == []  # never from inside a call of the recorder
        await asyncio.sleep(0)
        assert failures == [("call", "the record is incomplete: the recorder process died")]


async def test_a_recorder_that_stands_still_costs_sound_first(tmp_path: Path) -> None:
    failures = Failures()
    limit = 100_000
    async with recording(tmp_path, buffer_bytes=limit) as client:
        call = client.open("call", RATE_HZ, failures)
        play(call, 1)
        assert client.pid is not None
        await until((tmp_path / "call" / "timeline.jsonl").exists)
        os.kill(client.pid, signal.SIGSTOP)
        loud = np.full(160, 9000, np.int16)
        for number in range(50, 3000):
            call.audio(number * 20_000, 0, loud, loud)
            assert client.queued_bytes <= limit
        await asyncio.sleep(0)
        assert len(failures) == 1
        os.kill(client.pid, signal.SIGCONT)
        await until(lambda: client.queued_bytes == 0)
        for t_us, pcm in ticks(RATE_HZ, 50, [61_500], first_us=61_000_000):
            call.audio(t_us, 0, pcm, None)
        call.close(62_000_000)
        folder = await call.written()
    assert len(failures) == 1
    assert failures[0][1].startswith(
        "the record is incomplete: audio.ogg: the recorder does not keep up, sound is left out at 00:00:"
    )
    assert summary_of(folder)["record"]["lost"] == [failures[0][1]]
    assert summary_of(folder)["end"] == "caller_hung_up"
    assert len(read_ogg_opus(folder / "audio.ogg")[1]) == 62 * RATE_HZ
    assert clicks_at_ms(folder / "audio.ogg", 0)[-1] == pytest.approx(61_500, abs=1)


async def test_a_timeline_that_does_not_fit_ends_whole(tmp_path: Path) -> None:
    """Lines may take the reserve; then the timeline stops, and what is there can be read."""
    failures = Failures()
    limit = 50_000
    async with recording(tmp_path, buffer_bytes=limit) as client:
        call = client.open("call", RATE_HZ, failures)
        assert client.pid is not None
        os.kill(client.pid, signal.SIGSTOP)
        for line in lines(short_call(seconds=200)):
            call.entry(line)
            assert client.queued_bytes <= 2 * limit
        os.kill(client.pid, signal.SIGCONT)
        call.close(1_000_000)
        folder = await call.written()
    assert failures == [
        ("call", "the record is incomplete: timeline.jsonl: the recorder does not keep up, the timeline stops at 00:00:00")
    ]
    assert summary_of(folder)["record"]["lost"] == [failures[0][1]]
    assert 100 < len(list(codec.read(folder / "timeline.jsonl"))) < 10_000


async def test_two_hundred_calls_leave_nothing_in_the_recorder(tmp_path: Path) -> None:
    async with recording(tmp_path) as client:

        async def calls(first: int, count: int) -> tuple[int, int]:
            """Descriptors and resident bytes of the recorder after so many more calls."""
            for start in range(first, first + count, 10):
                opened = [client.open(f"call-{number}", RATE_HZ, Failures()) for number in range(start, start + 10)]
                for call in opened:
                    play(call, 1)
                    call.close(1_000_000)
                for call in opened:
                    await call.written()
            process = psutil.Process(client.pid)
            return process.num_fds(), process.memory_info().rss

        early_files, early_rss = await calls(0, 60)
        late_files, late_rss = await calls(60, 140)
        assert late_files == early_files
        assert late_rss - early_rss < 140 * 16 * 1024
    assert states(tmp_path) == Counter(complete=200)


async def test_a_folder_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "call").mkdir()
    failures = Failures()
    async with recording(tmp_path) as client:
        call = client.open("call", RATE_HZ, failures)
        play(call, 1)
        call.close(1_000_000)
        with pytest.raises(Gone, match="a call id is used once"):
            await call.written()
        with pytest.raises(Refused, match="cannot be a call id"):
            client.open("../call", RATE_HZ, failures)
    assert [call_id for call_id, _ in failures] == ["call"]
    assert failures[0][1].startswith("the call is not recorded: there is already a record at ")
    assert list((tmp_path / "call").iterdir()) == []


async def test_no_folder_for_the_calls(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="create it or name another one"):
        await RecorderClient(tmp_path / "missing", LoopClock()).start()


async def test_a_frame_of_the_wrong_size_is_left_out(tmp_path: Path) -> None:
    failures = Failures()
    async with recording(tmp_path) as client:
        call = client.open("call", RATE_HZ, failures)
        call.audio(0, 0, np.zeros(161, np.int16), None)
        call.audio(20_000, 0, np.zeros(160, np.int16), None)
        call.close(40_000)
        folder = await call.written()
    assert failures == [("call", "the record is incomplete: audio.ogg: a frame of 322 bytes came where 320 are due at 00:00:00")]
    assert len(read_ogg_opus(folder / "audio.ogg")[1]) == 320


async def test_signals_to_the_group_do_not_end_it(tmp_path: Path) -> None:
    async with recording(tmp_path) as client:
        call = client.open("call", RATE_HZ, Failures())
        play(call, 1)
        assert client.pid is not None
        await until((tmp_path / "call" / "timeline.jsonl").exists)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(client.pid, number)
        call.close(1_000_000)
        await call.written()
    assert summary_of(tmp_path / "call")["record"]["state"] == "complete"


async def test_closing_ends_open_calls_as_incomplete(tmp_path: Path) -> None:
    failures = Failures()
    async with recording(tmp_path) as client:
        call = client.open("call", RATE_HZ, failures)
        play(call, 1)
    with pytest.raises(Refused, match="the recorder is closed"):
        client.open("other", RATE_HZ, failures)
    sentence = "the record is incomplete: timeline.jsonl: nobody told the recorder that the call ended at 00:00:00"
    assert summary_of(await call.written())["record"]["lost"] == [sentence]
    assert failures == [("call", sentence)]
    await client.close()


async def test_a_recorder_that_nobody_waits_for_finishes_alone(tmp_path: Path) -> None:
    """Interrupted twice: the second time it is not the record that pays."""
    client = RecorderClient(tmp_path, LoopClock())
    await client.start()
    call = client.open("call", RATE_HZ, Failures())
    play(call, 20)
    assert client.pid is not None
    process = psutil.Process(client.pid)
    process.suspend()
    call.close(20_000_000)
    closing = asyncio.ensure_future(client.close())
    await asyncio.sleep(0.05)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    process.resume()
    await until((tmp_path / "call" / "report.html").exists)
    await asyncio.to_thread(process.wait, 10)
    assert client.pid is None


async def test_closing_has_a_bound(tmp_path: Path) -> None:
    client = RecorderClient(tmp_path, LoopClock(), report=False)
    await client.start()
    assert client.pid is not None
    os.kill(client.pid, signal.SIGSTOP)
    failures = Failures()
    call = client.open("call", RATE_HZ, failures)
    call.close(0)
    await client.close(within_s=0.1)
    assert client.pid is None
    await asyncio.sleep(0)
    assert failures == [("call", "the record is incomplete: the recorder was closed before the record was finished")]


def test_virtual_time_starts_no_process(tmp_path: Path) -> None:
    async def main() -> None:
        client = RecorderClient(tmp_path, LoopClock())
        with pytest.raises(VirtualTimeError, match="a socket cannot be used"):
            await client.start()
        await client.close()

    run_virtual(main())
