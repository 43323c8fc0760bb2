"""The recorder process: takes what the media process sends and writes the records of all its calls.

It blocks on the disk and on encoders so that the media process does not. It ends when its socket does, whatever ended that, and
then finishes what is open; signals meant for the whole process group are not for it.
"""

import json
import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog

from agent import logs
from agent.errors import Refused, VenusError
from agent.record import folder as at
from agent.record.wire import Frame, FrameReader, Kind, frame, split_batch, ticks
from agent.record.writer import CallWriter

_READ_BYTES = 1 << 18
_NICENESS = 5

log = structlog.get_logger("venus.recorder")


class _OpenCall:
    """A record being written, and the samples of one tick."""

    def __init__(self, writer: CallWriter, tick_samples: int) -> None:
        self.writer = writer
        self.tick_samples = tick_samples

    def batch(self, payload: bytes) -> None:
        lines, audio = split_batch(payload)
        if lines:
            self.writer.lines(lines)
        for tick in ticks(audio, self.tick_samples):
            self.writer.audio(*tick)
        self.writer.flush()


class RecorderServer:
    """Serves one media process over `sock` until that is closed.

    Encoding happens in the thread of `run`; peaks, summary and report of calls that are over in a second one, so that a long
    report keeps nobody's audio waiting.
    """

    def __init__(self, sock: socket.socket, calls_dir: Path, *, audio: bool = True, report: bool = True) -> None:
        self._sock = sock
        self._calls_dir = calls_dir
        self._audio, self._report = audio, report
        self._calls: dict[int, _OpenCall] = {}
        self._sending = threading.Lock()

    def run(self) -> None:
        """Returns when the other side has closed and every record is finished."""
        frames = FrameReader()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="finish") as self._finisher:
            while data := self._receive():
                for message in frames.feed(data):
                    self._take(message)
            for handle, call in list(self._calls.items()):
                call.writer.fail(at.TIMELINE, "nobody told the recorder that the call ended")
                self._close(handle, {"end_us": 0, "lost": []})

    def _receive(self) -> bytes:
        try:
            return self._sock.recv(_READ_BYTES)
        except ConnectionError:
            return b""

    def _take(self, message: Frame) -> None:
        """One call's trouble, of whatever kind, ends the record of that call alone."""
        try:
            self._dispatch(message)
        except VenusError as error:
            self._give_up(message.handle, str(error))
        except Exception as error:
            log.exception("the recorder failed")
            self._give_up(message.handle, f"fault of the recorder ({type(error).__name__})")

    def _dispatch(self, message: Frame) -> None:
        if message.kind is Kind.OPEN:
            self._open(message.handle, json.loads(message.payload))
        elif message.handle not in self._calls:
            return  # refused, and not yet known as such on the other side
        elif message.kind is Kind.BATCH:
            self._calls[message.handle].batch(message.payload)
        elif message.kind is Kind.CLOSE:
            self._close(message.handle, json.loads(message.payload))

    def _open(self, handle: int, order: dict[str, Any]) -> None:
        writer = CallWriter(
            self._calls_dir / at.check_call_id(order["call_id"]),
            order["rate_hz"],
            audio=self._audio,
            report=self._report,
            on_failure=lambda sentence: self._send(Kind.FAILED, handle, sentence.encode()),
        )
        self._calls[handle] = _OpenCall(writer, order["rate_hz"] // 50)

    def _close(self, handle: int, order: dict[str, Any]) -> None:
        writer = self._calls.pop(handle).writer
        writer.stop(order["end_us"])
        self._finisher.submit(self._finish, handle, writer, order["lost"])

    def _finish(self, handle: int, writer: CallWriter, lost: list[str]) -> None:
        try:
            missing = writer.finish(lost)
        except Exception as error:
            log.exception("a record could not be finished")
            missing = f"the record could not be finished: {type(error).__name__}"
        self._send(Kind.CLOSED, handle, missing.encode())

    def _give_up(self, handle: int, why: str) -> None:
        call = self._calls.get(handle)
        if call is None:
            self._send(Kind.REFUSED, handle, f"the call is not recorded: {why}".encode())
        else:
            call.writer.fail(at.AUDIO, why)

    def _send(self, kind: Kind, handle: int, payload: bytes = b"") -> None:
        with self._sending, suppress(ConnectionError):  # a peer that left is noticed on reading
            self._sock.sendall(frame(kind, handle, payload))


def serve(descriptor: int, calls_dir: Path, *, audio: bool = True, report: bool = True) -> int:
    """Run the recorder on an inherited socket; the exit status of the process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o077)
    os.nice(_NICENESS)
    logs.configure_from_environment()
    with socket.socket(fileno=descriptor) as sock:
        try:
            RecorderServer(sock, calls_dir, audio=audio, report=report).run()
        except Refused as error:
            log.error("the recorder ends", detail=str(error))
            return 1
    return 0
