"""Writes the record of one call as it streams in, in bounded memory.

It blocks on the disk and on the encoder, so it is never used under a loop that carries calls in real time.

Each part (timeline, audio, peaks, summary, report) may fail alone: it stops there, a sentence says so, the others go on.
"""

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from agent.errors import Refused, VenusError
from agent.line import Pcm
from agent.record import folder as at
from agent.record.peaks import Peaks
from agent.record.placement import Placement
from agent.record.summary import CallSummary, encoded
from agent.record.wire import Stereo
from agent.settings import TICK_US
from agent.timeline import codec
from media.oggopus import RATES_HZ, OggOpusWriter


def _ignore(sentence: str) -> None:
    """Nobody asked."""


class AudioTrack:
    """An audio file in which every sample stands at its media time: gaps become silence, what is already written stays."""

    def __init__(self, path: Path, rate_hz: int) -> None:
        """Raises `OSError`, and `Refused` for a rate that the encoder does not take."""
        if rate_hz not in RATES_HZ:
            raise Refused(f"a line at {rate_hz} Hz cannot be recorded: use one of {', '.join(map(str, RATES_HZ))} Hz")
        at.create_file(path).close()  # the encoder opens it again and keeps the mode
        self._rate_hz = rate_hz
        self._writer = OggOpusWriter(path, rate_hz, channels=2)
        self.samples = 0
        """Written so far, per channel."""

    def place(self, index: int, stereo: Stereo) -> None:
        """Write `stereo` from sample `index` on; what lies before the end of the file is dropped. Raises `OSError`."""
        self.extend(index)
        rest = stereo[self.samples - index :]
        if len(rest):
            self._writer.write(rest)
            self.samples += len(rest)

    def extend(self, samples: int) -> None:
        """Silence up to so many samples. Raises `OSError`."""
        while self.samples < samples:
            quiet = min(self._rate_hz, samples - self.samples)
            self._writer.write(np.zeros((quiet, 2), np.int16))
            self.samples += quiet

    def close(self) -> None:
        """Finish the file. Raises `OSError`."""
        self._writer.close()


class CallWriter:
    """One call's folder. Give it lines and audio, then `close`; it never raises after it was made.

    `on_failure(sentence)` is called in place for each part that stops.
    """

    def __init__(
        self,
        folder: Path,
        rate_hz: int,
        *,
        audio: bool = True,
        report: bool = True,
        on_failure: Callable[[str], None] = _ignore,
    ) -> None:
        """Makes the folder. Raises `Refused` when it exists, cannot be named after a call or cannot be written."""
        if rate_hz < 50 or rate_hz % 50:
            raise Refused(f"audio at {rate_hz} Hz cannot be recorded: 20 ms must be a whole number of samples")
        call_id = at.check_call_id(folder.name)
        at.create_folder(folder)
        self.folder = folder
        self.failures: dict[str, str] = {}
        """Sentences by the part that stopped."""
        self._rate_hz = rate_hz
        self._with_report = report
        self._on_failure = on_failure
        self._t_us = 0
        self._lines_seen = 0
        self._summary = CallSummary(call_id)
        self._peaks = Peaks(rate_hz) if audio else None
        self._placement = Placement(rate_hz)
        self._timeline: BinaryIO | None = None
        self._mark: int | None = None
        self._track: AudioTrack | None = None
        with self._part(at.TIMELINE):
            self._timeline = at.create_file(folder / at.TIMELINE)
            self._mark = at.lock(self._timeline)
            self._timeline.write(codec.HEADER)
        if audio:
            with self._part(at.AUDIO):
                self._track = AudioTrack(folder / at.AUDIO, rate_hz)

    # --- while the call runs --------------------------------------------------------------------------------------------

    def lines(self, data: bytes) -> None:
        """One or more whole lines of the timeline, in order."""
        if self._timeline is not None:
            with self._part(at.TIMELINE):
                self._timeline.write(data)
        for line in data.splitlines(keepends=True):
            self._lines_seen += 1
            try:
                entry = codec.decode(line)
            except Refused as error:
                self.fail(at.SUMMARY, f"line {self._lines_seen + 1} of the timeline cannot be read ({error})")
                continue
            self._t_us = max(self._t_us, entry.t)
            self._summary.add(entry)

    def audio(self, t_us: int, caller_ago_us: int, caller: Pcm | None, agent: Pcm | None) -> None:
        """The agent's sound from media time `t_us` on, the caller's from `caller_ago_us` earlier; None is silence."""
        if self._peaks is None:
            return
        if not 0 <= t_us <= at.LONGEST_US:
            if caller is not None or agent is not None:
                self.fail(at.AUDIO, f"sound came for {t_us} µs, which is no time of a call")
            return
        self._t_us = max(self._t_us, t_us)
        for channel, from_us, side in ((0, max(0, t_us - caller_ago_us), caller), (1, t_us, agent)):
            if side is not None:
                self._write(self._placement.put(channel, from_us * self._rate_hz // 1_000_000, side))
        self._write(self._placement.reach((t_us + TICK_US) * self._rate_hz // 1_000_000))

    def _write(self, blocks: Iterator[tuple[int, Stereo]]) -> None:
        for index, stereo in blocks:
            if self._peaks is not None:
                self._peaks.add(index, stereo)
            if self._track is not None:
                with self._part(at.AUDIO):
                    self._track.place(index, stereo)

    def flush(self) -> None:
        """Hand to the system what of the timeline is still in memory. Call it at least every second of a running call."""
        if self._timeline is not None:
            with self._part(at.TIMELINE):
                self._timeline.flush()

    def fail(self, part: str, why: str) -> None:
        """`part` is not whole from now on, because of `why`; only the first reason of a part counts."""
        if part in self.failures:
            return
        self.failures[part] = at.incomplete(f"{part}: {why}", self._t_us)
        self._on_failure(self.failures[part])

    # --- the end ----------------------------------------------------------------------------------------------------------

    def close(self, end_us: int, lost: Sequence[str] = ()) -> str:
        """`stop`, then `finish`."""
        self.stop(end_us)
        return self.finish(lost)

    def stop(self, end_us: int) -> None:
        """The call ended at `end_us`: the audio is made as long, timeline and audio are closed."""
        if end_us > at.LONGEST_US:
            self.fail(at.AUDIO, f"the call ended at {end_us} µs, which is no time of a call")
        else:
            self._t_us = max(self._t_us, end_us)
        samples = self._t_us * self._rate_hz // 1_000_000
        self._write(self._placement.flush())
        if self._peaks is not None:
            self._peaks.extend_to(samples)
        track = self._track
        if track is not None:
            with self._part(at.AUDIO):
                track.extend(samples)
                self._track = None
                track.close()
        timeline, self._timeline = self._timeline, None
        if timeline is not None:
            with self._part(at.TIMELINE):
                timeline.close()

    def finish(self, lost: Sequence[str] = ()) -> str:
        """Write peaks, summary and report; `lost` says what never reached this writer. Only after `stop`; any thread.

        Returns "", or why there is no summary: then nothing in the folder says what the record lacks.
        """
        try:
            return self._finish(lost)
        finally:
            if self._mark is not None:
                os.close(self._mark)
                self._mark = None

    def _finish(self, lost: Sequence[str]) -> str:
        if self._peaks is not None:
            with self._part(at.PEAKS):
                at.write_whole(self.folder / at.PEAKS, self._peaks.encode())
        figures = self._summary.figures(self._t_us)
        if not self._write_summary(figures, lost, "not made yet" if self._with_report else "off"):
            return self.failures[at.SUMMARY]
        if self._with_report:
            report = _render(self.folder)
            if report != "written":
                figures["faults"]["report_failed"] = 1
            self._write_summary(figures, lost, report)
        return ""

    def _write_summary(self, figures: dict[str, Any], lost: Sequence[str], report: str) -> bool:
        sentences = [*lost, *self.failures.values()]
        state = "failed" if sentences else "complete"
        record = {"state": state, "detail": "; ".join(sentences), "lost": sentences, "report": report}
        try:
            at.write_whole(self.folder / at.SUMMARY, encoded({**figures, "record": record}))
        except OSError as error:
            self.fail(at.SUMMARY, at.reason(error))
            return False
        return True

    # --- parts that fail alone --------------------------------------------------------------------------------------------

    @contextmanager
    def _part(self, part: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._drop(part)
            self.fail(part, at.reason(error))
        except VenusError as error:
            self._drop(part)
            self.fail(part, str(error))

    def _drop(self, part: str) -> None:
        """Close what failed; that it fails again on closing says nothing new."""
        with suppress(OSError, VenusError):
            if part == at.AUDIO and self._track is not None:
                track, self._track = self._track, None
                track.close()
            elif part == at.TIMELINE and self._timeline is not None:
                timeline, self._timeline = self._timeline, None
                timeline.close()


def _render(folder: Path) -> str:
    """Make the report; the value of `record.report`. Messages of foreign errors may quote the call and are left out."""
    try:
        from agent.record.report import render_report

        render_report(folder)
    except OSError as error:
        return f"report.html could not be made: {at.reason(error)}"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"report.html could not be made: {type(error).__name__} in {Path(where.filename).name}, line {where.lineno}"
    (folder / at.REPORT).chmod(0o600)
    return "written"
