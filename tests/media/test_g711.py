"""Every code of both laws, against CPython's own tables where they exist and against the definition everywhere."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest

from media import g711
from media.frames import Pcm

pytestmark = pytest.mark.unit

ALL = np.arange(-32768, 32768).astype(np.int16)
CODES = bytes(range(256))


def test_ulaw_is_the_nearest_code_of_the_definition() -> None:
    """G.711 table 2b: decision values 0, 1, 3, ... 8159 of a 14-bit scale; here in 16-bit units, four to a step."""
    decoded = g711.decode_ulaw(CODES).astype(int)
    assert decoded[0xFF] == 0
    assert decoded[0x80] == 32124
    assert decoded[0x00] == -32124
    assert sorted(decoded[0x80:], reverse=True) == list(decoded[0x80:])
    error = np.abs(g711.decode_ulaw(g711.encode_ulaw(ALL)).astype(int) - ALL)
    inside = np.abs(ALL.astype(int)) <= 32635
    # Half a step is a 32nd of the biased magnitude at most; the two lowest bits are rounded down before.
    assert np.all(error[inside] <= (np.abs(ALL.astype(int))[inside] + 135) / 32 + 3)


def test_alaw_is_the_nearest_code_of_the_definition() -> None:
    """G.711 table 1b: the smallest step is 16 in 16-bit units, so no sample is further than 8 from its code there."""
    decoded = g711.decode_alaw(CODES).astype(int)
    assert decoded[0xD5] == 8
    assert decoded[0x55] == -8
    assert decoded[0xAA] == 32256
    error = np.abs(g711.decode_alaw(g711.encode_alaw(ALL)).astype(int) - ALL)
    assert np.all(error[np.abs(ALL.astype(int)) < 512] <= 8)
    assert np.all(error <= np.abs(ALL.astype(int)) / 32 + 8)


@pytest.mark.parametrize(("encode", "decode"), [(g711.encode_ulaw, g711.decode_ulaw), (g711.encode_alaw, g711.decode_alaw)])
def test_every_code_survives_decoding_and_encoding(encode: Callable[[Pcm], bytes], decode: Callable[[bytes], Pcm]) -> None:
    again = encode(decode(CODES))
    # µ-law has two zeros (0x7F and 0xFF); the negative one comes back as the positive one.
    assert [(a, b) for a, b in zip(CODES, again, strict=True) if a != b] in ([], [(0x7F, 0xFF)])


def test_equal_to_audioop() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        audioop = pytest.importorskip("audioop", reason="left CPython in 3.13")
    assert g711.encode_ulaw(ALL) == audioop.lin2ulaw(ALL.tobytes(), 2)
    assert g711.encode_alaw(ALL) == audioop.lin2alaw(ALL.tobytes(), 2)
    assert g711.decode_ulaw(CODES).tobytes() == audioop.ulaw2lin(CODES, 2)
    assert g711.decode_alaw(CODES).tobytes() == audioop.alaw2lin(CODES, 2)
