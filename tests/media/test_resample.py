"""Counts, places, stop bands and memory of the resamplers."""

from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from media.frames import Pcm, frame_samples, samples_of, silence
from media.resample import FrameResampler, Resampler

pytestmark = pytest.mark.unit

PAIRS = [(8000, 16_000), (16_000, 8000), (24_000, 8000), (24_000, 16_000), (48_000, 16_000), (16_000, 48_000), (44_100, 16_000)]


def tone(hz: float, rate: int, seconds: float = 1.0, amplitude: float = 10_000) -> Pcm:
    return np.round(amplitude * np.sin(2 * np.pi * hz * np.arange(round(rate * seconds)) / rate)).astype(np.int16)


def through_frames(sound: Pcm, from_hz: int, to_hz: int) -> tuple[list[Pcm], int]:
    resampler, frame = FrameResampler(from_hz, to_hz), frame_samples(from_hz)
    return [resampler.push(sound[at : at + frame]) for at in range(0, len(sound), frame)], resampler.delay_samples


@pytest.mark.parametrize(("from_hz", "to_hz"), PAIRS)
def test_every_frame_is_a_frame_and_an_impulse_comes_out_in_its_place(from_hz: int, to_hz: int) -> None:
    sound = np.zeros(from_hz * 2, np.int16)
    sound[from_hz // 2] = 20_000
    frames, delay = through_frames(sound, from_hz, to_hz)
    assert {len(frame) for frame in frames} == {to_hz // 50}
    assert abs(int(np.abs(np.concatenate(frames)).argmax()) - delay - to_hz // 2) <= 1
    assert 0 < delay <= 16 * max(1, to_hz // from_hz)
    assert not frames[0][:delay].any()


@pytest.mark.parametrize(("from_hz", "to_hz"), PAIRS)
def test_frames_equal_the_whole_behind_their_delay(from_hz: int, to_hz: int) -> None:
    sound = np.random.default_rng(7).normal(0, 3000, from_hz).astype(np.int16)
    frames, delay = through_frames(sound, from_hz, to_hz)
    stream = Resampler(from_hz, to_hz)
    whole = np.concatenate((stream.push(sound), stream.flush()))
    assert len(whole) == to_hz
    assert np.array_equal(np.concatenate(frames)[delay:], whole[: to_hz - delay])


@given(st.lists(st.integers(0, 700), min_size=1, max_size=30), st.sampled_from(PAIRS))
@settings(max_examples=40)
def test_any_cut_of_the_input_gives_the_same_stream(lengths: list[int], pair: tuple[int, int]) -> None:
    assume(sum(lengths) >= 200)
    sound = np.random.default_rng(3).normal(0, 3000, sum(lengths)).astype(np.int16)
    cut, whole = Resampler(*pair), Resampler(*pair)
    ends = np.cumsum(lengths)
    pieces = [cut.push(sound[end - length : end]) for length, end in zip(lengths, ends, strict=True)]
    expected = np.concatenate((whole.push(sound), whole.flush()))
    assert np.array_equal(np.concatenate((*pieces, cut.flush())), expected)
    assert abs(len(expected) - len(sound) * pair[1] / pair[0]) <= 1


def decibels(hz: float, from_hz: int, to_hz: int) -> float:
    frames, _ = through_frames(tone(hz, from_hz), from_hz, to_hz)
    heard = np.concatenate(frames)[to_hz // 4 :].astype(float)
    return float(20 * np.log10(max(heard.std(), 1e-3) / (10_000 / np.sqrt(2))))


@pytest.mark.parametrize(
    ("hz", "from_hz", "to_hz"), [(300, 8000, 16_000), (3400, 24_000, 8000), (3000, 16_000, 8000), (3400, 8000, 16_000)]
)
def test_the_telephone_band_passes(hz: float, from_hz: int, to_hz: int) -> None:
    assert decibels(hz, from_hz, to_hz) == pytest.approx(0, abs=0.5)


@pytest.mark.parametrize(
    ("hz", "from_hz", "to_hz"), [(5000, 24_000, 8000), (7000, 24_000, 8000), (6000, 16_000, 8000), (11_000, 48_000, 16_000)]
)
def test_what_the_new_rate_cannot_carry_is_gone(hz: float, from_hz: int, to_hz: int) -> None:
    assert decibels(hz, from_hz, to_hz) < -60


def test_equal_rates_pass_through() -> None:
    sound = tone(440, 8000)[:160]
    resampler = FrameResampler(8000, 8000)
    assert resampler.delay_samples == 0
    assert np.array_equal(resampler.push(sound), sound)
    stream = Resampler(8000, 8000)
    assert np.array_equal(stream.push(sound), sound)
    assert len(stream.flush()) == 0


def test_a_reused_input_buffer_does_no_harm() -> None:
    sound = np.random.default_rng(1).normal(0, 3000, 16_000).astype(np.int16)
    frames, _ = through_frames(sound, 16_000, 8000)
    resampler, buffer, again = FrameResampler(16_000, 8000), np.zeros(320, np.int16), []
    for at in range(0, len(sound), 320):
        buffer[:] = sound[at : at + 320]
        again.append(resampler.push(buffer))
        buffer[:] = 32_767
    assert np.array_equal(np.concatenate(again), np.concatenate(frames))


def test_flush_begins_a_new_stream() -> None:
    stream, sound = Resampler(8000, 16_000), tone(440, 8000, 0.1)
    first = np.concatenate((stream.push(sound), stream.flush()))
    second = np.concatenate((stream.push(sound), stream.flush()))
    assert np.array_equal(first, second)
    assert len(stream.flush()) == 0


def resident_kib() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def test_a_hundred_thousand_frames_take_no_memory() -> None:
    resampler, frame = FrameResampler(8000, 16_000), tone(440, 8000)[:160]
    for _ in range(5_000):
        resampler.push(frame)
    before = resident_kib()
    for _ in range(100_000):
        resampler.push(frame)
    assert resident_kib() - before < 1024  # one leaked frame header each would be 30 MiB


@pytest.mark.parametrize("rates", [(0, 8000), (8000, -1)])
def test_rates_must_be_positive(rates: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="positive"):
        Resampler(*rates)


def test_frames_must_be_whole() -> None:
    with pytest.raises(ValueError, match="no whole number of samples"):
        FrameResampler(11_025, 8000)
    with pytest.raises(ValueError, match="got 159 samples"):
        FrameResampler(8000, 16_000).push(np.zeros(159, np.int16))


def test_shared_silence_can_not_be_written() -> None:
    assert silence(160) is silence(160)
    with pytest.raises(ValueError, match="read-only"):
        silence(160)[0] = 1


def test_samples_of_a_frame_are_interleaved() -> None:
    frame = av.AudioFrame.from_ndarray(np.array([[1, 2, 3, 4]], np.int16), "s16", "stereo")
    assert samples_of(frame).tolist() == [1, 2, 3, 4]
