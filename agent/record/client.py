"""The media process's side of the recorder: everything is handed to one process, nothing waits for it.

What the recorder has not taken yet stands in a bounded buffer. When that is full, audio is left out first (the recorder writes
silence there, for audio is placed by media time); when lines of the timeline do not fit either, the timeline ends there.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import structlog

from agent.clock import Clock
from agent.errors import Gone, Refused, Timeout, VenusError
from agent.line import Pcm
from agent.record import folder as at
from agent.record.recorder import OnFailure
from agent.record.wire import AGENT, CALLER, LINES, TICK, FrameReader, Kind, frame

BATCH_TICKS = 5
"""Ticks that one message carries: a call costs the media process ten messages a second."""

BUFFER_BYTES = 8 << 20
"""What may wait for the recorder before audio is left out; lines may take as much again."""

WRITTEN_WITHIN_S = 60.0
"""Bound of `CallRecorder.written`, seconds."""

_LINES_BYTES = 32_768
_RECEIVE_BYTES = 65_536
_POLL_US = 10_000
_KILLED_WITHIN_S = 1.0
_DIED = "the recorder process died"
_CLOSED_EARLY = "the recorder was closed before the record was finished"

log = structlog.get_logger("venus.record")


class RecorderClient:
    """Starts one recorder process for all calls and a new one when it dies; use it as an async context manager.

    The records of calls that were running when it died are marked as failed; later calls are recorded again.
    """

    def __init__(
        self, calls_dir: Path, clock: Clock, *, audio: bool = True, report: bool = True, buffer_bytes: int = BUFFER_BYTES
    ) -> None:
        self.calls_dir = calls_dir.absolute()
        self._clock = clock
        self._options = [name for name, wanted in (("--no-audio", audio), ("--no-report", report)) if not wanted]
        self.room_for_audio = buffer_bytes
        """Bytes that may wait before audio is left out."""
        self.room_for_lines = 2 * buffer_bytes
        """Bytes that may wait before the timeline is given up."""
        self.room_for_orders = sys.maxsize
        """Orders to open and close always pass: there are two a call."""
        self._handles = count(1)
        self._calls: dict[int, ProcessCall] = {}
        self._out: deque[memoryview] = deque()
        self._queued = 0
        self._frames = FrameReader()
        self._sock: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._dead: list[subprocess.Popen[bytes]] = []
        self._closed = False

    async def __aenter__(self) -> "RecorderClient":
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    @property
    def pid(self) -> int | None:
        """The recorder process, None while there is none."""
        return self._process.pid if self._process is not None else None

    @property
    def queued_bytes(self) -> int:
        """What the recorder has not taken yet."""
        return self._queued

    async def start(self) -> None:
        """Start the process. Raises `Refused` when no records can be made in the folder."""
        at.check_calls_dir(self.calls_dir)
        self._loop = asyncio.get_running_loop()
        self._spawn()

    def open(self, call_id: str, rate_hz: int, on_failure: OnFailure) -> "ProcessCall":
        """As `Recorder.open`. That a folder is taken or cannot be made is known later, and told by `on_failure`."""
        if self._closed:
            raise Refused("the recorder is closed: no further call can be recorded")
        call = ProcessCall(self, self._loop, at.check_call_id(call_id), next(self._handles), rate_hz, on_failure)
        try:
            if self._sock is None:
                self._spawn()
        except OSError as error:
            call.lost(f"the call is not recorded: the recorder cannot be started ({at.reason(error)})")
            return call
        self._calls[call.handle] = call
        self.send(frame(Kind.OPEN, call.handle, call.order()), self.room_for_orders)
        return call

    async def close(self, within_s: float = 15.0) -> None:
        """Let the recorder finish, at most so long, then kill it. Calls that are still open end as incomplete.

        Cancelling the wait leaves the recorder to finish alone.
        """
        self._closed = True
        deadline_us = self._clock.now_us() + round(within_s * 1e6)
        try:
            await self._until(self._all_written, deadline_us)
            if self._sock is not None:
                with suppress(OSError):
                    self._sock.shutdown(socket.SHUT_WR)
            await self._until(lambda: self._sock is None, deadline_us)
            await self._until(self._all_reaped, deadline_us)
        except asyncio.CancelledError:  # nobody waits any more: it finishes the records by itself, then it ends
            self._lose(_CLOSED_EARLY)
            self._dead.clear()
            raise
        finally:
            self._lose(_CLOSED_EARLY)
            for process in self._dead:
                process.kill()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_KILLED_WITHIN_S)
            self._dead.clear()

    def _all_written(self) -> bool:
        return not self._queued and not any(call.closing for call in self._calls.values())

    async def _until(self, met: Callable[[], bool], deadline_us: int) -> None:
        while not met() and self._clock.now_us() < deadline_us:
            await self._clock.sleep_until(self._clock.now_us() + _POLL_US)

    # --- the process ------------------------------------------------------------------------------------------------------

    def _spawn(self) -> None:
        """Fork and exec: about a millisecond. Raises `OSError`."""
        self._all_reaped()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        command = [sys.executable, "-m", "agent.record", "--fd", str(theirs.fileno()), "--calls-dir", str(self.calls_dir)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        environment["OPENBLAS_NUM_THREADS"] = "1"
        ours.setblocking(False)
        try:
            self._loop.add_reader(ours, self._readable)
            self._process = subprocess.Popen(
                [*command, *self._options],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=environment,
                start_new_session=True,  # Ctrl-C ends the calls first, and the recorder by the end of its socket
            )
        except OSError:
            self._loop.remove_reader(ours)
            ours.close()
            raise
        except VenusError:  # a virtual loop takes no sockets
            ours.close()
            raise
        finally:
            theirs.close()
        self._sock = ours
        self._frames = FrameReader()

    def _lose(self, why: str) -> None:
        """The process is gone or given up: free what belonged to it, tell every call."""
        if self._sock is not None:
            self._loop.remove_reader(self._sock)
            self._loop.remove_writer(self._sock)
            self._sock.close()
            self._sock = None
        if self._process is not None:
            if not self._closed:
                self._process.kill()
            self._dead.append(self._process)
            self._process = None
        self._out.clear()
        self._queued = 0
        calls, self._calls = self._calls, {}
        if calls or not self._closed:
            log.error("the recorder is gone", detail=why, calls_not_recorded=len(calls))
        for call in calls.values():
            call.lost(f"the record is incomplete: {why}")

    def _all_reaped(self) -> bool:
        self._dead = [process for process in self._dead if process.poll() is None]
        return not self._dead

    # --- the socket -------------------------------------------------------------------------------------------------------

    def send(self, message: bytes, room: int) -> bool:
        """Send or queue a whole frame if then at most `room` bytes wait; False: nothing of it was sent."""
        if self._sock is None or self._queued + len(message) > room:
            return False
        rest = memoryview(message)
        if not self._out:
            sent = self._push(rest)
            if sent < 0:
                return False
            rest = rest[sent:]
            if rest:
                self._loop.add_writer(self._sock, self._writable)
        if rest:
            self._out.append(rest)
            self._queued += len(rest)
        return True

    def _push(self, data: memoryview) -> int:
        """Bytes taken by the system; −1: the process is gone."""
        assert self._sock is not None
        try:
            return self._sock.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            self._lose(_DIED)
            return -1

    def _writable(self) -> None:
        while self._out:
            sent = self._push(self._out[0])
            if sent <= 0:
                return
            self._queued -= sent
            if sent < len(self._out[0]):
                self._out[0] = self._out[0][sent:]
            else:
                self._out.popleft()
        if self._sock is not None:
            self._loop.remove_writer(self._sock)

    def _readable(self) -> None:
        assert self._sock is not None
        try:
            data = self._sock.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose(_CLOSED_EARLY if self._closed else _DIED)
            return
        for message in self._frames.feed(data):
            call = self._calls.get(message.handle)
            if call is not None:
                self._told(call, message.kind, message.payload.decode(errors="replace"))

    def _told(self, call: "ProcessCall", kind: Kind, sentence: str) -> None:
        if sentence:
            log.warning("a record is not whole", call_id=call.call_id, detail=sentence)
        if kind is Kind.FAILED:
            call.failed(sentence)
            return
        del self._calls[call.handle]
        if sentence:
            call.lost(sentence)
        else:
            call.done()


class ProcessCall:
    """A `CallRecorder` of `RecorderClient`."""

    def __init__(
        self,
        client: RecorderClient,
        loop: asyncio.AbstractEventLoop,
        call_id: str,
        handle: int,
        rate_hz: int,
        on_failure: OnFailure,
    ) -> None:
        self.call_id = call_id
        self.handle = handle
        self.closing = False
        """Closed on this side, not yet on disk."""
        self._client = client
        self._loop = loop
        self._rate_hz = rate_hz
        self._frame_bytes = rate_hz // 50 * 2
        self._on_failure: OnFailure | None = on_failure
        self._lines: list[bytes] = []
        self._lines_bytes = 0
        self._audio: list[bytes] = []
        self._ticks_left = 1 + handle % BATCH_TICKS  # not all calls send in the same tick
        self._t_us = 0
        self._left_out: dict[str, str] = {}
        self._over = False
        self._gone = ""
        self._written = asyncio.Event()

    def order(self) -> bytes:
        """The payload that opens the call."""
        return json.dumps({"call_id": self.call_id, "rate_hz": self._rate_hz}).encode()

    def entry(self, line: bytes) -> None:
        """As `CallRecorder.entry`."""
        if self._over or at.TIMELINE in self._left_out:
            return
        self._lines.append(line)
        self._lines_bytes += len(line)
        if self._lines_bytes > _LINES_BYTES:
            self._flush()

    def audio(self, t_us: int, caller_ago_us: int, caller: Pcm | None, agent: Pcm | None) -> None:
        """As `CallRecorder.audio`."""
        if self._over:
            return
        self._t_us = t_us
        for side in (caller, agent):
            if side is not None and side.nbytes != self._frame_bytes:
                self._leave_out(at.AUDIO, f"a frame of {side.nbytes} bytes came where {self._frame_bytes} are due")
                return
        if caller is not None and agent is not None:
            self._audio += (TICK.pack(t_us, caller_ago_us, CALLER | AGENT), caller.tobytes(), agent.tobytes())
        elif caller is not None:
            self._audio += (TICK.pack(t_us, caller_ago_us, CALLER), caller.tobytes())
        elif agent is not None:
            self._audio += (TICK.pack(t_us, caller_ago_us, AGENT), agent.tobytes())
        else:  # told as well, so that long silence is encoded as it passes and not all at once
            self._audio.append(TICK.pack(t_us, caller_ago_us, 0))
        self._ticks_left -= 1
        if self._ticks_left <= 0:
            self._flush()

    def close(self, end_us: int) -> None:
        """As `CallRecorder.close`."""
        if self._over:
            return
        self._flush()
        if self._over:  # the process was found dead
            return
        self._over = self.closing = True
        order = json.dumps({"end_us": end_us, "lost": list(self._left_out.values())}).encode()
        self._client.send(frame(Kind.CLOSE, self.handle, order), self._client.room_for_orders)

    async def written(self) -> Path:
        """As `CallRecorder.written`; the bound is `WRITTEN_WITHIN_S`."""
        try:
            async with asyncio.timeout(WRITTEN_WITHIN_S):
                await self._written.wait()
        except TimeoutError:
            raise Timeout(f"the record of {self.call_id} is not written after {WRITTEN_WITHIN_S:.0f} s") from None
        if self._gone:
            raise Gone(self._gone)
        return self._client.calls_dir / self.call_id

    def done(self) -> None:
        """Everything is on disk."""
        self.closing = False
        self._on_failure = None
        self._written.set()

    def lost(self, sentence: str) -> None:
        """Nothing more of this call will be written."""
        self._over, self.closing = True, False
        self._gone = sentence
        self._lines.clear()
        self._audio.clear()
        self._written.set()
        self.failed(sentence)

    def failed(self, sentence: str) -> None:
        """The record is not whole: tell the call, once, and from the loop."""
        if self._on_failure is not None:
            self._loop.call_soon(self._on_failure, self.call_id, sentence)
            self._on_failure = None

    def _flush(self) -> None:
        lines, audio = self._lines, self._audio
        size, self._lines_bytes = self._lines_bytes, 0
        self._lines, self._audio, self._ticks_left = [], [], BATCH_TICKS
        if not (lines or audio):
            return
        client, head = self._client, LINES.pack(size)
        if client.send(frame(Kind.BATCH, self.handle, head, *lines, *audio), client.room_for_audio):
            return
        if audio:
            self._leave_out(at.AUDIO, "the recorder does not keep up, sound is left out")
        if lines and not client.send(frame(Kind.BATCH, self.handle, head, *lines), client.room_for_lines):
            self._leave_out(at.TIMELINE, "the recorder does not keep up, the timeline stops")

    def _leave_out(self, part: str, why: str) -> None:
        if not self._over and part not in self._left_out:
            self._left_out[part] = at.incomplete(f"{part}: {why}", self._t_us)
            self.failed(self._left_out[part])
