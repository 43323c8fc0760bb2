"""Plain sample codecs: what they read, and what a gap in them sounds like."""

import itertools

import numpy as np
import pytest

from media.decoders import Concealment, Decoder, G711Decoder, L16Decoder
from media.frames import Pcm
from media.g711 import encode_alaw, encode_ulaw

pytestmark = pytest.mark.unit

RATE = 8000
FRAME = 160


def voiced(samples: int, rate: int = RATE, pitch_hz: float = 130.0) -> Pcm:
    """A periodic sound with overtones, like a vowel."""
    phase = 2 * np.pi * pitch_hz * np.arange(samples) / rate
    return np.round(3000 * sum(np.sin(k * phase) / k for k in range(1, 8))).astype(np.int16)


def with_gap(sound: Pcm, frame: int, lost: range, rate: int = RATE) -> Pcm:
    gaps, out = Concealment(rate), []
    for index, part in enumerate(sound.reshape(-1, frame)):
        out.append(gaps.fill(frame) if index in lost else gaps.heard(part))
    return np.concatenate(out)


def largest_step(sound: Pcm) -> int:
    return int(np.abs(np.diff(sound.astype(int))).max())


def test_l16_is_network_order() -> None:
    assert L16Decoder(RATE).decode(b"\x01\x02\xff\xfe").tolist() == [0x0102, -2]


def test_l16_refuses_half_a_sample() -> None:
    with pytest.raises(ValueError, match="multiple of element size"):
        L16Decoder(RATE).decode(b"\x01\x02\x03")


def test_g711_laws() -> None:
    sound = voiced(FRAME)
    for law, encode in (("ulaw", encode_ulaw), ("alaw", encode_alaw)):
        decoder: Decoder = G711Decoder(law)  # type: ignore[arg-type]
        assert np.abs(decoder.decode(encode(sound)).astype(int) - sound).max() < 300
        assert decoder.recover(b"", FRAME) is None


@pytest.mark.parametrize(("rate", "pitch_hz"), [(8000, 90), (8000, 130), (8000, 250), (16_000, 130), (48_000, 200)])
def test_a_lost_frame_of_a_vowel_goes_on_with_it(rate: int, pitch_hz: float) -> None:
    frame = rate // 50
    sound = voiced(frame * 10, rate, pitch_hz)
    heard = with_gap(sound, frame, range(5, 6), rate)
    gap = slice(5 * frame, 5 * frame + rate // 100)
    error = heard[gap].astype(float) - sound[gap]
    assert error.std() < 0.35 * sound[gap].std()
    assert largest_step(heard) < 1.5 * largest_step(sound)


@pytest.mark.parametrize("lost", [range(5, 6), range(5, 7), range(5, 10)])
def test_joins_make_no_click(lost: range) -> None:
    sound = voiced(FRAME * 20, pitch_hz=117.3)
    assert largest_step(with_gap(sound, FRAME, lost)) < 1.5 * largest_step(sound)


def test_a_gap_fades_over_sixty_milliseconds() -> None:
    gaps = Concealment(RATE)
    for part in voiced(FRAME * 5, pitch_hz=200).reshape(-1, FRAME):
        gaps.heard(part)
    levels = [np.abs(gaps.fill(80)).max() for _ in range(8)]
    assert levels[0] > 4000
    assert all(later <= earlier for earlier, later in itertools.pairwise(levels))
    assert levels[6:] == [0, 0]


def test_a_gap_before_any_sound_is_silent() -> None:
    assert not Concealment(RATE).fill(FRAME).any()


def test_the_first_frame_after_a_long_gap_fades_in() -> None:
    gaps = Concealment(RATE)
    gaps.fill(FRAME * 10)
    back = gaps.heard(np.full(FRAME, 10_000, np.int16))
    assert back[0] < 500
    assert (back[40:] == 10_000).all()
    assert (gaps.heard(np.full(FRAME, 9_000, np.int16)) == 9_000).all()


def test_a_gap_in_sound_that_swells_begins_and_repeats_without_a_step() -> None:
    gaps = Concealment(RATE)
    for part in (50 * np.arange(2 * FRAME)).astype(np.int16).reshape(-1, FRAME):
        last = gaps.heard(part)
    assert largest_step(np.concatenate((last, gaps.fill(FRAME)))) < 400  # its period is at least 20 samples, 1000 from end to end


@pytest.mark.parametrize("step", [37, 80, 160, 480])
def test_a_gap_asked_for_in_pieces_is_the_same_gap(step: int) -> None:
    def gap(piece: int) -> Pcm:
        gaps = Concealment(RATE)
        for part in voiced(FRAME * 5).reshape(-1, FRAME):
            gaps.heard(part)
        return np.concatenate([gaps.fill(piece) for _ in range(-(-480 // piece))])[:480]

    assert np.array_equal(gap(step), gap(1))


def test_loud_sound_does_not_wrap() -> None:
    square = np.tile(np.repeat(np.array([32767, -32768], np.int16), 40), 20)
    heard = with_gap(square, FRAME, range(4, 6))
    assert heard[4 * FRAME : 4 * FRAME + 80].max() > 30_000
    assert largest_step(heard) <= 65_535


def test_rates_below_telephone_quality_are_refused() -> None:
    with pytest.raises(ValueError, match="8000 or more"):
        Concealment(4000)
