"""What every voice's sound goes through: silence cut off at both ends, one steady level, word times inside the sound."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agent.line import Pcm
from media.frames import Samples

"""Mono, −1..1."""

BLOCKS_PER_SECOND = 100
LOUD_DB = 40.0
"""A block of 10 ms is loud when it is at most so far below the loudest one: soft "f" and "h" count, the voices' own floor not."""
LEVEL_DBFS = -20.0
"""RMS of the loud blocks of every clause."""
PEAK_DBFS = -1.0
_KNEE = 10 ** (-4.0 / 20)
_CEILING = 10 ** ((PEAK_DBFS - 0.1) / 20)  # the rest is for what rounding and resampling add
_LEAD_S = 0.010
_TAIL_S = 0.060
_FADE_S = 0.004


@dataclass(frozen=True, slots=True)
class Timed:
    """The sound of the written word number `word`, in samples, half open."""

    word: int
    start: int
    end: int


def loud_span(pcm: Samples, rate_hz: int) -> tuple[int, int] | None:
    """First sample of the first loud block and the sample after the last one, or None when there is no sound at all."""
    block = rate_hz // BLOCKS_PER_SECOND
    power = _block_power(pcm, block)
    if not len(power) or power.max() <= 1e-10:
        return None
    loud = np.flatnonzero(power >= power.max() * 10 ** (-LOUD_DB / 10))
    return int(loud[0]) * block, min(len(pcm), (int(loud[-1]) + 1) * block)


def trimmed(pcm: Samples, words: Sequence[Timed], rate_hz: int) -> tuple[Samples, list[Timed]]:
    """The sound with 10 ms before its first loud block and 60 ms after its last, and the words moved with it.

    The first word starts where the sound does and no word ends after it. No sound at all: nothing.
    """
    span = loud_span(pcm, rate_hz)
    if span is None:
        return pcm[:0], []
    start = max(0, span[0] - int(_LEAD_S * rate_hz))
    cut = pcm[start : span[1] + int(_TAIL_S * rate_hz)].copy()
    fade = np.linspace(0, 1, min(int(_FADE_S * rate_hz), len(cut)), dtype=np.float32)
    cut[: len(fade)] *= fade
    cut[len(cut) - len(fade) :] *= fade[::-1]
    first, last = span[0] - start, span[1] - start
    moved = [Timed(word.word, _within(word.start - start, first, last), _within(word.end - start, first, last)) for word in words]
    if moved:
        moved[0] = Timed(moved[0].word, first, moved[0].end)
    return cut, moved


def levelled(pcm: Samples, rate_hz: int) -> Pcm:
    """As 16 bit, its loud blocks at −20 dBFS RMS; peaks that would pass −1 dBFS are rounded off below it."""
    power = _block_power(pcm, rate_hz // BLOCKS_PER_SECOND)
    if not len(power) or power.max() <= 1e-10:
        return np.zeros(len(pcm), np.int16)
    loud = power[power >= power.max() * 10 ** (-LOUD_DB / 10)]
    louder = pcm * np.float32(10 ** (LEVEL_DBFS / 20) / np.sqrt(loud.mean()))
    above = np.abs(louder) > _KNEE
    over = np.abs(louder[above]) - _KNEE
    louder[above] = np.sign(louder[above]) * (_KNEE + (_CEILING - _KNEE) * np.tanh(over / (_CEILING - _KNEE)))
    return np.round(louder * 32767).astype(np.int16)


def last_sound(pcm: Samples, start: int, end: int, rate_hz: int) -> int:
    """Where the sound between `start` and `end` ceases: the sample after its last loud block, `end` when there is none."""
    block = rate_hz // BLOCKS_PER_SECOND
    all_power, power = _block_power(pcm, block), _block_power(pcm[start:end], block)
    if not len(power):
        return end
    loud = np.flatnonzero(power >= all_power.max() * 10 ** (-LOUD_DB / 10))
    return min(end, start + (int(loud[-1]) + 1) * block) if len(loud) else end


def _block_power(pcm: Samples, block: int) -> npt.NDArray[np.float64]:
    """Mean power of each block; a last short block counts as a whole one."""
    if not len(pcm):
        return np.zeros(0)
    starts = np.arange(0, len(pcm), block)
    sums = np.add.reduceat(np.square(pcm, dtype=np.float64), starts)
    return np.asarray(sums / np.diff(np.append(starts, len(pcm))))


def _within(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)
