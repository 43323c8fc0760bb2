import numpy as np
import pytest

from agent.mouth.sound import LEVEL_DBFS, PEAK_DBFS, Timed, last_sound, levelled, loud_span, trimmed
from media.frames import Samples

pytestmark = pytest.mark.unit

RATE_HZ = 8_000
MS = RATE_HZ // 1_000


def silence(ms: int) -> Samples:
    return np.zeros(ms * MS, np.float32)


def tone(ms: int, peak: float = 0.1) -> Samples:
    return (peak * np.sin(np.arange(ms * MS) * 2 * np.pi * 400 / RATE_HZ)).astype(np.float32)


def dbfs(pcm: np.ndarray) -> float:
    return float(10 * np.log10(np.mean(np.square(pcm / 32768))))


def test_silence_is_cut_to_10_ms_in_front_and_60_behind_and_the_words_move_along() -> None:
    pcm, words = trimmed(np.concatenate([silence(300), tone(200), silence(400)]), [Timed(0, 340 * MS, 450 * MS)], RATE_HZ)
    assert len(pcm) == (10 + 200 + 60) * MS
    assert loud_span(pcm, RATE_HZ) == (10 * MS, 210 * MS)
    assert words == [Timed(0, 10 * MS, 160 * MS)]


def test_no_word_reaches_beyond_the_sound() -> None:
    _, words = trimmed(
        np.concatenate([silence(50), tone(100), silence(300)]), [Timed(0, 0, 60 * MS), Timed(1, 70 * MS, 440 * MS)], RATE_HZ
    )
    assert [word.end for word in words] == [20 * MS, 110 * MS]
    assert words[0].start == 10 * MS


def test_a_soft_beginning_is_kept() -> None:
    soft = tone(50, peak=0.1 * 10 ** (-35 / 20))
    pcm, _ = trimmed(np.concatenate([silence(100), soft, tone(100), silence(100)]), [], RATE_HZ)
    assert len(pcm) == (10 + 50 + 100 + 60) * MS


def test_the_cut_ends_are_faded() -> None:
    pcm, _ = trimmed(np.full(100 * MS, 0.5, np.float32), [], RATE_HZ)
    assert pcm[0] == pcm[-1] == 0
    assert pcm[len(pcm) // 2] == 0.5


@pytest.mark.parametrize("pcm", [silence(0), silence(5), silence(500)])
def test_silence_alone_becomes_nothing(pcm: Samples) -> None:
    assert len(trimmed(pcm, [Timed(0, 0, 1)], RATE_HZ)[0]) == 0
    assert not levelled(pcm, RATE_HZ).any()


@pytest.mark.parametrize("peak", [0.001, 0.05, 1.0, 30.0])
def test_whatever_the_level_it_comes_out_at_minus_20(peak: float) -> None:
    pcm = levelled(np.concatenate([tone(500, peak), silence(500)]), RATE_HZ)
    assert dbfs(pcm[: 500 * MS]) == pytest.approx(LEVEL_DBFS, abs=0.1)


def test_peaks_are_rounded_off_below_minus_1() -> None:
    sharp = tone(500, 0.01)
    sharp[::400] = 1.0
    pcm = levelled(sharp, RATE_HZ)
    assert -3 < 20 * np.log10(np.abs(pcm).max() / 32768) < PEAK_DBFS
    assert pcm.dtype == np.int16


def test_a_word_before_a_pause_ends_with_its_sound() -> None:
    pcm = np.concatenate([tone(100), silence(200), tone(100)])
    assert last_sound(pcm, 0, 300 * MS, RATE_HZ) == 100 * MS
    assert last_sound(pcm, 120 * MS, 280 * MS, RATE_HZ) == 280 * MS
    assert last_sound(pcm, 5, 5, RATE_HZ) == 5
