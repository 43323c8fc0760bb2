"""Ogg Opus on disk (RFC 7845): written while a call runs, read back sample for sample.

FFmpeg (through PyAV) encodes and lays out the pages, and sets pre-skip and granule positions so that decoded sample k is written
sample k. Encoding takes about 3 ms per second of stereo sound: do it outside the media process.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from types import TracebackType
from typing import Literal, Self

import av
import numpy as np
import numpy.typing as npt

from media.frames import samples_of

Frames = npt.NDArray[np.int16]
"""Sound of one or two channels, shape (n, channels)."""

RATES_HZ = (8000, 12000, 16000, 24000, 48000)
"""The rates Opus itself works at."""

_LAYOUTS: dict[int, Literal["mono", "stereo"]] = {1: "mono", 2: "stereo"}

_STREAMED = {"flush_packets": "1", "page_duration": "500000"}
"""Half-second pages, each written to the file at once: FFmpeg keeps one finished page back, so the file is less than a second and
a frame behind."""


class OggOpusWriter:
    """Streams int16 sound into an Ogg Opus file.

    A process that is killed leaves a file that plays up to the last second. Every method raises OSError when the file can not be
    written (ENOSPC, EFBIG, EIO, …); the writer is closed then, and what was written before still plays.
    """

    def __init__(self, path: str | PathLike[str], rate_hz: int, channels: int = 2, bitrate_bps: int = 32_000) -> None:
        """Creates or overwrites `path`. `bitrate_bps` is for all channels together. ValueError: rate or number of channels."""
        if rate_hz not in RATES_HZ:
            raise ValueError(f"Opus has no rate of {rate_hz} Hz; use one of {', '.join(map(str, RATES_HZ))}")
        if channels not in _LAYOUTS:
            raise ValueError(f"a recording has one or two channels, not {channels}")
        self.rate_hz, self.channels = rate_hz, channels
        self.samples = 0
        self._closed = False
        self._container = av.open(fspath(path), "w", format="ogg", options=_STREAMED)
        # Left at full complexity: below it, sound of one channel leaks into the other at −30 to −45 dB instead of −57.
        self._stream = self._container.add_stream("libopus", rate_hz, layout=_LAYOUTS[channels], format="s16")
        self._stream.bit_rate = bitrate_bps
        self._container.start_encoding()

    def write(self, pcm: Frames) -> None:
        """Append `pcm`, any length, shape (n, channels). ValueError: another shape or type, or a closed writer."""
        if self._closed:
            raise ValueError("this recording is closed")
        if pcm.ndim != 2 or pcm.shape[1] != self.channels or pcm.dtype != np.int16:
            raise ValueError(f"expected int16 of shape (n, {self.channels}), got {pcm.dtype} of shape {pcm.shape}")
        if not len(pcm):
            return
        interleaved = np.ascontiguousarray(pcm).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(interleaved, "s16", _LAYOUTS[self.channels])
        frame.sample_rate, frame.pts = self.rate_hz, self.samples
        self._encode(frame)
        self.samples += len(pcm)

    def close(self) -> None:
        """Write the rest and end the stream. Safe to repeat; OSError as above, once."""
        if self._closed:
            return
        self._encode(None)
        self._closed = True
        self._container.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _encode(self, frame: av.AudioFrame | None) -> None:
        try:
            self._container.mux(self._stream.encode(frame))
        except OSError:
            self._abandon()
            raise

    def _abandon(self) -> None:
        """Give the file back after an error; the trailer would fail for the same reason."""
        self._closed = True
        try:
            self._container.close()
        except OSError:
            return


@dataclass(frozen=True, slots=True)
class OggOpusFormat:
    """What the header of a file says: the rate of the recorded sound (48,000 when it is not one of Opus) and the channels."""

    rate_hz: int
    channels: int


def ogg_opus_format(path: str | PathLike[str]) -> OggOpusFormat:
    """Read the header. OSError: no such file. ValueError: not Ogg Opus, or more than two channels."""
    with open(path, "rb") as file:
        page = file.read(47)
    # RFC 3533, section 6: the first page's one packet follows 28 bytes of page header. RFC 7845, section 5.1: its fields.
    if page[:4] != b"OggS" or page[28:36] != b"OpusHead" or len(page) < 47 or page[37] not in _LAYOUTS:
        raise ValueError(f"{fspath(path)} is not an Ogg Opus file of one or two channels")
    recorded_hz = int.from_bytes(page[40:44], "little")
    return OggOpusFormat(recorded_hz if recorded_hz in RATES_HZ else 48_000, page[37])


def iter_ogg_opus(path: str | PathLike[str]) -> Iterator[Frames]:
    """The sound in pieces of about 20 ms, shape (n, channels), at the recorded rate.

    A file cut short (its writer was killed) ends with its last whole page. Errors as `ogg_opus_format`, and ValueError where a
    packet is damaged.
    """
    recorded = ogg_opus_format(path)
    try:
        container = av.open(fspath(path), "r", format="ogg")
    except EOFError:
        return  # a header and nothing else
    with container:
        convert = av.AudioResampler("s16", _LAYOUTS[recorded.channels], recorded.rate_hz)
        for decoded in container.decode(container.streams.audio[0]):
            decoded.pts = None  # a time rounded by the container would make the converter fill in or drop a sample
            yield from _pieces(convert.resample(decoded), recorded.channels)
        yield from _pieces(convert.resample(None), recorded.channels)


def read_ogg_opus(path: str | PathLike[str]) -> tuple[int, Frames]:
    """A whole file: its rate and its sound, shape (n, channels); 16 kHz stereo takes 3.8 MB a minute. Errors as above."""
    recorded = ogg_opus_format(path)
    pieces = list(iter_ogg_opus(path))
    return recorded.rate_hz, np.concatenate(pieces) if pieces else np.zeros((0, recorded.channels), np.int16)


def _pieces(converted: list[av.AudioFrame], channels: int) -> Iterator[Frames]:
    for frame in converted:
        if frame.samples:
            yield samples_of(frame).reshape(-1, channels)
