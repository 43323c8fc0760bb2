"""The codecs a simulated wire speaks: L16 (RFC 3551, section 4.5.11) and G.711."""

from collections.abc import Callable

import numpy as np

from agent.line import Pcm
from media.g711 import decode_alaw, decode_ulaw, encode_alaw, encode_ulaw
from media.jitter import Decoder, G711Decoder, L16Decoder
from transports.memory.settings import Codec

BIG_ENDIAN = np.dtype(">i2")


def _l16_encode(pcm: Pcm) -> bytes:
    return pcm.astype(BIG_ENDIAN).tobytes()


def _l16_decode(payload: bytes) -> Pcm:
    return np.frombuffer(payload, BIG_ENDIAN).astype(np.int16)


def encode_of(codec: Codec) -> Callable[[Pcm], bytes]:
    """Samples to payload."""
    return {"l16": _l16_encode, "ulaw": encode_ulaw, "alaw": encode_alaw}[codec]


def decode_of(codec: Codec) -> Callable[[bytes], Pcm]:
    """Payload to samples, for payloads that `encode_of` made."""
    return {"l16": _l16_decode, "ulaw": decode_ulaw, "alaw": decode_alaw}[codec]


def decoder_of(codec: Codec, rate_hz: int) -> Decoder:
    """What a jitter buffer decodes with, whatever the payload."""
    return L16Decoder(rate_hz) if codec == "l16" else G711Decoder(codec)
