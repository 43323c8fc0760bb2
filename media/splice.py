"""Takes a few milliseconds out of sound, or puts them in, with a crossfade (the overlap-add of WSOLA, Verhelst 1993)."""

from collections import deque

import numpy as np
import numpy.typing as npt

from media.frames import Pcm, frame_samples

Fade = npt.NDArray[np.float32]

_QUIET_PEAK = 300
"""Splicing starts with frames below this (−41 dBFS); the limit doubles with every half second of waiting."""

_DOUBLING_FRAMES, _MOST_DOUBLINGS = 25, 7

_APART_FRAMES = 5
"""At most one splice in 100 ms: 5 % faster or slower."""


class SampleQueue:
    """Decoded samples that wait for their pull, in order."""

    def __init__(self) -> None:
        self._parts: deque[Pcm] = deque()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, pcm: Pcm) -> None:
        """Add at the end; the queue keeps the array, which must not change any more."""
        self._parts.append(pcm)
        self._length += len(pcm)

    def peek(self, samples: int) -> Pcm:
        """The first `samples` of at least so many, left in place."""
        if len(self._parts[0]) < samples:
            whole = np.concatenate(self._parts)
            self._parts.clear()
            self._parts.append(whole)
        return self._parts[0][:samples]

    def discard(self, samples: int) -> None:
        """Drop the first `samples` of at least so many."""
        self._length -= samples
        while samples:
            first = self._parts.popleft()
            if len(first) > samples:
                self._parts.appendleft(first[samples:])
                return
            samples -= len(first)

    def take(self, samples: int) -> Pcm:
        """Remove and return the first `samples` of at least so many."""
        self._length -= samples
        first = self._parts.popleft()
        if len(first) == samples:
            return first
        if len(first) < samples:
            first = np.concatenate((first, *self._parts))
            self._parts.clear()
            if len(first) == samples:
                return first
        self._parts.appendleft(first[samples:])
        return first[:samples]


class Splicer:
    """Hands out frames and, when the delay is off its target, up to 5 ms of it at a time within them.

    Quiet frames are preferred; the longer one does not come, the louder may the frame be (any after 3.5 s). A delay that is more
    than 10 ms too short is mended at once in every frame, because packets are coming too late meanwhile.
    """

    def __init__(self, rate_hz: int) -> None:
        self._frame = frame_samples(rate_hz)
        self.deadband = rate_hz * 5 // 1000
        """Samples by which the delay may be off, and the most that one splice moves."""
        self._fade = _fade_out(rate_hz * 5 // 2000)
        self._waited = self._since = 0

    def take(self, queue: SampleQueue, excess: int) -> tuple[Pcm, int]:
        """The next frame of a queue that holds at least one, and by how many samples the delay shrank (grew, if negative).

        `excess`: by how much the delay is too long, in samples. Shrinking needs 5 ms more than a frame in the queue.
        """
        self._since += 1
        urgent = excess <= -2 * self.deadband
        if abs(excess) < self.deadband:
            self._waited = 0
        elif urgent or self._since >= _APART_FRAMES:
            return self._try(queue, excess, urgent)
        return queue.take(self._frame), 0

    def _try(self, queue: SampleQueue, excess: int, urgent: bool) -> tuple[Pcm, int]:
        by = self.deadband
        reach = self._frame + by if excess > 0 else self._frame
        if len(queue) < reach:
            return queue.take(self._frame), 0
        sound = queue.peek(reach)
        peak = max(int(sound.max()), -int(sound.min()))
        if peak > _QUIET_PEAK << min(self._waited // _DOUBLING_FRAMES, _MOST_DOUBLINGS) and not urgent:
            self._waited += 1
            return queue.take(self._frame), 0
        self._waited = self._since = 0
        at = self._frame // 4
        if peak > _QUIET_PEAK:
            by = _best_distance(sound, at, by // 2, by, len(self._fade))
        if excess > 0:
            spliced = _shortened(sound[: self._frame + by], at, by, self._fade)
            queue.discard(self._frame + by)
            return spliced, by
        spliced = _lengthened(sound[: self._frame - by], at, by, self._fade)
        queue.discard(self._frame - by)
        return spliced, -by


def _fade_out(samples: int) -> Fade:
    return (1 - np.arange(1, samples + 1, dtype=np.float32) / (samples + 1)).astype(np.float32)


def faded_into(first: Pcm, second: Pcm) -> Pcm:
    """`second`, the beginning of it blended with `first`, over the length of the shorter one."""
    samples = min(len(first), len(second))
    return np.concatenate((_blend(first[:samples], second[:samples], _fade_out(samples)), second[samples:]))


def _shortened(pcm: Pcm, at: int, by: int, fade: Fade) -> Pcm:
    """`pcm` without `by` samples from `at` on."""
    here, there = pcm[at : at + len(fade)], pcm[at + by : at + by + len(fade)]
    return np.concatenate((pcm[:at], _blend(here, there, fade), pcm[at + by + len(fade) :]))


def _lengthened(pcm: Pcm, at: int, by: int, fade: Fade) -> Pcm:
    """`pcm` with the `by` samples from `at` on heard twice."""
    here, there = pcm[at : at + len(fade)], pcm[at + by : at + by + len(fade)]
    return np.concatenate((pcm[: at + by], _blend(there, here, fade), pcm[at + len(fade) :]))


def _best_distance(pcm: Pcm, at: int, shortest: int, longest: int, width: int) -> int:
    """The distance from `shortest` to `longest` at which `width` samples are most like those at `at`."""
    sound = pcm[at : at + longest + width].astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(sound[shortest:], width)
    return shortest + int(np.square(windows - sound[:width]).sum(axis=1).argmin())


def _blend(first: Pcm, second: Pcm, fade: Fade) -> Pcm:
    return np.rint(first * fade + second * (1 - fade)).astype(np.int16)
