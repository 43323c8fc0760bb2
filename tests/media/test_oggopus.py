"""What is written is what is read, in its place; killed writers and full disks leave playable files and a clear error."""

import errno
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from media.oggopus import RATES_HZ, Frames, OggOpusWriter, iter_ogg_opus, ogg_opus_format, read_ogg_opus

pytestmark = pytest.mark.unit


def clicks(rate: int, seconds: int, every_s: float) -> tuple[Frames, list[int]]:
    """Short bursts of 1 kHz, left and right half a period apart, and where the left ones begin."""
    sound = np.zeros((rate * seconds, 2), np.int16)
    burst = (12_000 * np.sin(2 * np.pi * 1000 * np.arange(rate // 100) / rate)).astype(np.int16)
    starts = [round(k * every_s * rate) + rate // 10 for k in range(int(seconds / every_s) - 1)]
    for start in starts:
        sound[start : start + len(burst), 0] = burst
        sound[start + rate // 4 : start + rate // 4 + len(burst), 1] = burst
    return sound, starts


def shift(written: Frames, read: Frames, start: int, span: int, reach: int) -> int:
    """By how many samples `read` is late around `start`, from the best correlation."""
    reference = written[start : start + span].astype(float)
    scores = [reference.dot(read[start + lag : start + lag + span]) for lag in range(-reach, reach + 1)]
    return int(np.argmax(scores)) - reach


@pytest.mark.parametrize("rate", RATES_HZ)
def test_every_sample_is_in_its_place(tmp_path: Path, rate: int) -> None:
    sound, starts = clicks(rate, 6, 0.5)
    with OggOpusWriter(tmp_path / "a.opus", rate) as writer:
        writer.write(sound)
    read_rate, read = read_ogg_opus(tmp_path / "a.opus")
    assert (read_rate, read.shape) == (rate, sound.shape)
    for channel, offset in ((0, 0), (1, rate // 4)):
        for start in starts:
            assert abs(shift(sound[:, channel], read[:, channel], start + offset, rate // 100, rate // 200)) <= rate // 1000


def test_places_hold_over_minutes_and_any_cut(tmp_path: Path) -> None:
    rate, minutes = 16_000, 3
    sound, starts = clicks(rate, 60 * minutes, 1.0)
    lengths = np.random.default_rng(5).integers(0, 2000, 4000)
    with OggOpusWriter(tmp_path / "a.opus", rate) as writer:
        at = 0
        for length in lengths:
            writer.write(sound[at : at + length])
            at += int(length)
        writer.write(sound[at:])
        assert writer.samples == len(sound)
    _, read = read_ogg_opus(tmp_path / "a.opus")
    assert len(read) == len(sound)
    late = [shift(sound[:, 0], read[:, 0], start, rate // 100, rate // 200) for start in starts]
    assert max(map(abs, late)) <= rate // 1000
    assert abs(np.mean(late[:30]) - np.mean(late[-30:])) < 1


def test_channels_stay_apart(tmp_path: Path) -> None:
    rate = 16_000
    voice = (np.random.default_rng(3).normal(0, 3000, rate * 4)).clip(-32767, 32767).astype(np.int16)
    with OggOpusWriter(tmp_path / "a.opus", rate) as writer:
        writer.write(np.stack((voice, np.zeros_like(voice)), axis=1))
    _, read = read_ogg_opus(tmp_path / "a.opus")
    assert 20 * np.log10(read[:, 1].std() / read[:, 0].std() + 1e-9) < -40


def test_mono_and_odd_length(tmp_path: Path) -> None:
    sound = np.full((12_345, 1), 2000, np.int16)
    with OggOpusWriter(tmp_path / "a.opus", 8000, channels=1, bitrate_bps=16_000) as writer:
        writer.write(sound)
    assert read_ogg_opus(tmp_path / "a.opus")[1].shape == (12_345, 1)
    assert sum(len(piece) for piece in iter_ogg_opus(tmp_path / "a.opus")) == 12_345


def test_nothing_written_is_an_empty_file_that_reads(tmp_path: Path) -> None:
    OggOpusWriter(tmp_path / "a.opus", 8000).close()
    rate, sound = read_ogg_opus(tmp_path / "a.opus")
    assert (rate, sound.shape) == (8000, (0, 2))


def child(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False)


WRITE_AND_DIE = """
import os, signal, sys, numpy as np
from media.oggopus import OggOpusWriter
writer = OggOpusWriter(sys.argv[1], 16000)
sound = np.random.default_rng(1).normal(0, 3000, (320, 2)).astype(np.int16)
for _ in range(int(sys.argv[2])):
    writer.write(sound)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("frames", [100, 251, 500])
def test_a_killed_writer_loses_less_than_a_second(tmp_path: Path, frames: int) -> None:
    assert child(WRITE_AND_DIE, str(tmp_path / "a.opus"), str(frames)).returncode == -signal.SIGKILL
    _, sound = read_ogg_opus(tmp_path / "a.opus")
    assert frames * 320 - 16_500 < len(sound) <= frames * 320


@pytest.mark.parametrize("keep", [0.999, 0.7, 0.31])
def test_a_file_cut_anywhere_reads_up_to_the_cut(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "a.opus"
    with OggOpusWriter(path, 16_000) as writer:
        writer.write(np.random.default_rng(1).normal(0, 3000, (16_000 * 10, 2)).astype(np.int16))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep)])
    _, sound = read_ogg_opus(path)
    assert keep * 10 - 1.5 < len(sound) / 16_000 <= 10


def test_a_full_disk_is_an_os_error() -> None:
    """/dev/full answers every write with ENOSPC."""
    writer = OggOpusWriter("/dev/full", 16_000)
    with pytest.raises(OSError, match="No space left") as caught:
        writer.write(np.zeros((32_000, 2), np.int16))
    assert caught.value.errno == errno.ENOSPC
    writer.close()


def test_a_full_disk_at_the_end_is_an_os_error_once() -> None:
    writer = OggOpusWriter("/dev/full", 16_000)
    with pytest.raises(OSError, match="No space left"):
        writer.close()
    writer.close()


WRITE_UNTIL_FULL = """
import resource, sys, numpy as np
from media.oggopus import OggOpusWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
writer = OggOpusWriter(sys.argv[1], 16000)
sound = np.random.default_rng(1).normal(0, 3000, (320, 2)).astype(np.int16)
try:
    for frame in range(3000):
        writer.write(sound)
except OSError as error:
    print(error.errno)
writer.close()
try:
    writer.write(sound)
except ValueError as error:
    print(error)
"""


def test_a_file_that_may_not_grow_fails_once_and_keeps_what_it_has(tmp_path: Path) -> None:
    result = child(WRITE_UNTIL_FULL, str(tmp_path / "a.opus"))
    assert result.stdout.splitlines() == [str(errno.EFBIG), "this recording is closed"], result.stderr
    _, sound = read_ogg_opus(tmp_path / "a.opus")
    assert len(sound) > 16_000


def test_missing_folder_and_foreign_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        OggOpusWriter(tmp_path / "none" / "a.opus", 16_000)
    with pytest.raises(FileNotFoundError):
        read_ogg_opus(tmp_path / "none.opus")
    for content in ("", "not sound at all " * 100, "OggS"):
        (tmp_path / "text.opus").write_text(content)
        with pytest.raises(ValueError, match="not an Ogg Opus"):
            ogg_opus_format(tmp_path / "text.opus")


@pytest.mark.parametrize("sound", [np.zeros(10, np.int16), np.zeros((10, 1), np.int16), np.zeros((10, 2), np.float32)])
def test_wrong_shapes_are_refused(tmp_path: Path, sound: Frames) -> None:
    with OggOpusWriter(tmp_path / "a.opus", 16_000) as writer, pytest.raises(ValueError, match="expected int16"):
        writer.write(sound)


def test_wrong_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no rate of 44100"):
        OggOpusWriter(tmp_path / "a.opus", 44_100)
    with pytest.raises(ValueError, match="one or two channels"):
        OggOpusWriter(tmp_path / "a.opus", 16_000, channels=3)
