"""The recorder without a process, for rehearsals on virtual time and for tests: the same writer, called in place."""

import asyncio
from pathlib import Path

from agent.errors import Gone
from agent.line import Pcm
from agent.record import folder as at
from agent.record.recorder import OnFailure
from agent.record.writer import CallWriter

_FLUSH_TICKS = 25


class InlineRecorder:
    """Writes records under `calls_dir` from inside the loop, so only where blocking on the disk does no harm.

    `audio`: also `audio.ogg` and `peaks.json`. `report`: also `report.html`.
    """

    def __init__(self, calls_dir: Path, audio: bool = True, report: bool = True) -> None:
        """Raises `Refused` unless records can be made there."""
        at.check_calls_dir(calls_dir)
        self._calls_dir = calls_dir
        self._audio, self._report = audio, report
        self._open: dict[str, InlineCall] = {}

    def open(self, call_id: str, rate_hz: int, on_failure: OnFailure) -> "InlineCall":
        """As `Recorder.open`; needs a running loop."""
        call = InlineCall(self, at.check_call_id(call_id), rate_hz, on_failure)
        self._open[call_id] = call
        return call

    async def close(self) -> None:
        """Records still open are ended as incomplete."""
        for call in list(self._open.values()):
            call.abandon()

    def writer(self, call: "InlineCall", rate_hz: int) -> CallWriter:
        """The writer behind `call`."""
        folder = self._calls_dir / call.call_id
        return CallWriter(folder, rate_hz, audio=self._audio, report=self._report, on_failure=call.failed)

    def forget(self, call_id: str) -> None:
        """The record is finished."""
        self._open.pop(call_id, None)


class InlineCall:
    """A `CallRecorder` of `InlineRecorder`."""

    def __init__(self, recorder: InlineRecorder, call_id: str, rate_hz: int, on_failure: OnFailure) -> None:
        self.call_id = call_id
        self._loop = asyncio.get_running_loop()
        self._on_failure: OnFailure | None = on_failure
        self._recorder = recorder
        self._ticks = 0
        self._closed = False
        self._gone = ""
        self._writer = recorder.writer(self, rate_hz)

    def entry(self, line: bytes) -> None:
        """As `CallRecorder.entry`."""
        if not self._closed:
            self._writer.lines(line)

    def audio(self, t_us: int, caller_ago_us: int, caller: Pcm | None, agent: Pcm | None) -> None:
        """As `CallRecorder.audio`."""
        if self._closed:
            return
        self._writer.audio(t_us, caller_ago_us, caller, agent)
        self._ticks += 1
        if self._ticks % _FLUSH_TICKS == 0:
            self._writer.flush()

    def close(self, end_us: int) -> None:
        """As `CallRecorder.close`; everything is on disk when it returns."""
        if not self._closed:
            self._closed = True
            self._gone = self._writer.close(end_us)
            self._recorder.forget(self.call_id)
            self._on_failure = None

    def abandon(self) -> None:
        """End the record of a call that nobody closed."""
        self._writer.fail(at.TIMELINE, "the recorder was closed before the call ended")
        self.close(0)

    async def written(self) -> Path:
        """As `CallRecorder.written`."""
        if self._gone:
            raise Gone(self._gone)
        return self._writer.folder

    def failed(self, sentence: str) -> None:
        """A part stopped: tell the call, once, and from the loop."""
        if self._on_failure is not None:
            self._loop.call_soon(self._on_failure, self.call_id, sentence)
            self._on_failure = None
