"""One open stream to a worker: what is sent and what comes back, whatever way the worker dies."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any, Generic, TypeVar

import grpc
import grpc.aio

from agent.errors import Capacity, Gone, Refused, VenusError
from agent.frontends.outbox import Outbox
from agent.tasks import is_cancelled

WITHIN_S = 5.0
"""Bound of every single exchange over a stream: opening, handing over a message."""
CLOSE_WITHIN_S = 0.8
"""A worker that has not given the slot back by then is left alone with it."""
WAITING = 256
"""Steps that may wait for the reader; beyond it the worker is made to wait."""
STEP_BYTES = 16_384
"""A longer message counts as several steps: what waits is never more than 4 MiB and one message."""
LONGEST_RETRY_S = 3_600

Sent = TypeVar("Sent")
Received = TypeVar("Received")
Item = TypeVar("Item")

_EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]  # the stubs lack it
BROKEN = (grpc.aio.AioRpcError, grpc.aio.UsageError, grpc.aio.InternalError, asyncio.InvalidStateError)
"""What a call raises when the other side is gone, depending on when and where it is noticed."""


class WorkerStream(Generic[Sent, Received, Item]):
    """One open stream. A task reads it into a bounded box; writes go one after the other."""

    def __init__(self, call: "grpc.aio.StreamStreamCall[Sent, Received]", read: Callable[[Received], Item]) -> None:
        self._call, self._read = call, read
        self._writing = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None
        self.box: Outbox[Item] = Outbox(WAITING)

    async def open(self, first: Sent) -> None:
        """Send the brief and wait for the slot. Raises `Capacity`, `Refused` or `Gone`."""
        with ExitStack() as unless_opened:
            unless_opened.callback(self._call.cancel)
            try:
                async with asyncio.timeout(WITHIN_S):
                    await self._call.write(first)
                    reply: Any = await self._call.read()
            except TimeoutError:
                raise Gone(f"the worker did not open a session within {WITHIN_S:g} s") from None
            except BROKEN:
                raise await _ended(self._call) from None
            except asyncio.CancelledError:
                if is_cancelled():
                    raise
                raise Gone("the connection to the worker was closed") from None
            if reply is _EOF:
                raise await _ended(self._call)
            if reply.WhichOneof("output") != "opened":
                raise Gone("the worker did not answer the brief: use media process and worker of the same version")
            unless_opened.pop_all()
        self._reader = asyncio.create_task(self._receive())

    async def _receive(self) -> None:
        lost = Gone("the worker ended the session")
        try:
            while (message := await self._next()) is not None:
                with suppress(Gone):  # closed by us: read on to the end of the stream, keep nothing
                    await self.box.room()
                self.box.put((self._read(message),), weight=1 + _size(message) // STEP_BYTES)
            lost = Gone(f"the session was lost: {await _ended(self._call)}")
        except BROKEN:
            lost = Gone(f"the session was lost: {await _ended(self._call)}")
        except Refused as error:
            lost = Gone(f"the session was lost: the worker sent {error}")
            self._call.cancel()
        finally:
            self.box.end(lost)

    async def _next(self) -> Received | None:
        message: Any = await self._call.read()
        return None if message is _EOF else message

    async def send(self, message: Sent) -> None:
        """Hand a message over. Raises `Gone` once the session is lost or closed, also when the worker takes nothing any more.

        Cancelling the task that sends ends the session: gRPC cannot take half a message back.
        """
        self.box.check()
        try:
            async with asyncio.timeout(WITHIN_S), self._writing:
                await self._call.write(message)
            return
        except TimeoutError:
            self._call.cancel()
            self.box.end(Gone(f"the worker took nothing for {WITHIN_S:g} s"))
        except BROKEN:
            await self.box.ended_within(CLOSE_WITHIN_S)  # the reader learns the reason
        except asyncio.CancelledError:
            # gRPC raises this in every writer when the call was cancelled elsewhere; our own cancellation goes on.
            if is_cancelled():
                raise
        self.box.check()
        raise Gone("the worker is gone")

    async def close(self) -> None:
        """Give the slot back: when this returns the worker has it, unless it is dead or does not answer."""
        self.box.end()
        reader, self._reader = self._reader, None
        if reader is None:
            return
        try:
            with suppress(TimeoutError, *BROKEN):
                async with asyncio.timeout(CLOSE_WITHIN_S):
                    async with self._writing:
                        await self._call.done_writing()
                    await asyncio.wait((reader,))
        finally:
            self._call.cancel()
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)


def _size(message: Any) -> int:
    size: int = message.ByteSize()
    return size


async def _ended(call: "grpc.aio.StreamStreamCall[Any, Any]") -> VenusError:
    """Why a stream has ended, from its status."""
    try:
        async with asyncio.timeout(CLOSE_WITHIN_S):
            code, details, trailing = await call.code(), await call.details(), await call.trailing_metadata()
    except TimeoutError:
        return Gone("the worker is gone")
    return error_of(code, details, dict(trailing or ()))


def error_of(code: grpc.StatusCode, details: str | None, trailing: dict[str, Any]) -> VenusError:
    """gRPC itself says RESOURCE_EXHAUSTED as well, to messages that are too long; a worker adds when to try again."""
    retry = str(trailing.get("retry-after", ""))
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and retry.isascii() and retry.isdigit() and len(retry) < 10:
        return Capacity(details or "the worker is full", min(int(retry), LONGEST_RETRY_S))
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        return Refused(details or "the worker does not accept this")
    if code is grpc.StatusCode.OK:
        return Gone("the worker ended the session")
    return Gone(f"{details or 'the worker is gone'} ({code.name})")
