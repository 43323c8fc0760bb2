"""The media process's side of `frontend.proto`: a frontend and ears in another process, behind the same interfaces.

Whatever way a worker dies, its sessions raise `Gone`; a full or draining worker is `Capacity`; every wait has a bound.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import grpc
import grpc.aio

from agent.errors import Capacity, Gone, Refused, VenusError
from agent.frontends import frontend_pb2 as pb
from agent.frontends import frontend_pb2_grpc as rpc
from agent.frontends import wire
from agent.frontends.address import CLIENT_OPTIONS, check_address
from agent.frontends.base import BackendMessage, Brief, FrontendInfo, Step, Unit
from agent.frontends.outbox import Outbox
from agent.frontends.unit_order import UnitOrder
from agent.timeline.events import Transcript, TurnProbability

WITHIN_S = 5.0
"""Bound of every single exchange with a worker: connecting, opening, handing over a message."""
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
_BROKEN = (grpc.aio.AioRpcError, grpc.aio.UsageError, grpc.aio.InternalError, asyncio.InvalidStateError)
"""What a call raises when the other side is gone, depending on when and where it is noticed."""


class _Stream(Generic[Sent, Received, Item]):
    """One open stream. A task reads it into a bounded box; writes go one after the other."""

    def __init__(self, call: "grpc.aio.StreamStreamCall[Sent, Received]", read: Callable[[Received], Item]) -> None:
        self._call, self._read = call, read
        self._writing = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None
        self.box: Outbox[Item] = Outbox(WAITING)

    async def open(self, first: Sent) -> None:
        """Send the brief and wait for the slot. Raises `Capacity`, `Refused` or `Gone`."""
        try:
            async with asyncio.timeout(WITHIN_S):
                await self._call.write(first)
                reply: Any = await self._call.read()
        except TimeoutError:
            self._call.cancel()
            raise Gone(f"the worker did not open a session within {WITHIN_S:g} s") from None
        except _BROKEN:
            raise await _reason(self._call) from None
        except BaseException:
            self._call.cancel()
            raise
        if reply is _EOF:
            raise await _reason(self._call)
        if reply.WhichOneof("output") != "opened":
            self._call.cancel()
            raise Gone("the worker did not answer the brief: use media process and worker of the same version")
        self._reader = asyncio.create_task(self._receive())

    async def _receive(self) -> None:
        lost = Gone("the worker ended the session")
        try:
            while (message := await self._next()) is not None:
                with suppress(Gone):  # closed by us: read on to the end of the stream, keep nothing
                    await self.box.room()
                self.box.put((self._read(message),), weight=1 + _size(message) // STEP_BYTES)
            lost = Gone(f"the session was lost: {await _reason(self._call)}")
        except _BROKEN:
            lost = Gone(f"the session was lost: {await _reason(self._call)}")
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
        except _BROKEN:
            await self.box.ended_within(CLOSE_WITHIN_S)  # the reader learns the reason
        except asyncio.CancelledError:
            # gRPC raises this in every writer when the call was cancelled elsewhere; our own cancellation goes on.
            task = asyncio.current_task()
            if task is None or task.cancelling():
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
            with suppress(TimeoutError, *_BROKEN):
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


async def _reason(call: "grpc.aio.StreamStreamCall[Any, Any]") -> VenusError:
    """Why a stream has ended, from its status."""
    try:
        async with asyncio.timeout(CLOSE_WITHIN_S):
            code, details, trailing = await call.code(), await call.details(), await call.trailing_metadata()
    except TimeoutError:
        return Gone("the worker is gone")
    return _error(code, details, dict(trailing or ()))


def _error(code: grpc.StatusCode, details: str | None, trailing: dict[str, Any]) -> VenusError:
    """gRPC itself says RESOURCE_EXHAUSTED as well, to messages that are too long; a worker adds when to try again."""
    retry = str(trailing.get("retry-after", ""))
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and retry.isascii() and retry.isdigit() and len(retry) < 10:
        return Capacity(details or "the worker is full", min(int(retry), LONGEST_RETRY_S))
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        return Refused(details or "the worker does not accept this")
    if code is grpc.StatusCode.OK:
        return Gone("the worker ended the session")
    return Gone(f"{details or 'the worker is gone'} ({code.name})")


class RemoteSession:
    """A session in a worker (`agent.frontends.base.Session`)."""

    def __init__(self, stream: _Stream[pb.FrontendInput, pb.FrontendOutput, Step], unit_us: int) -> None:
        self._stream = stream
        self._units = UnitOrder(unit_us)

    async def feed(self, unit: Unit) -> None:
        self._stream.box.check()
        self._units.check(unit)
        await self._stream.send(pb.FrontendInput(unit=wire.unit_to_wire(unit)))

    async def steps(self) -> AsyncIterator[Step]:
        async for step in self._stream.box:
            yield step

    async def inject(self, message: BackendMessage) -> None:
        await self._stream.send(pb.FrontendInput(inject=wire.message_to_wire(message)))

    async def yield_floor(self, at_us: int, epoch: int) -> None:
        await self._stream.send(pb.FrontendInput(yield_floor=pb.YieldFloor(at_us=at_us, epoch=epoch)))

    async def acknowledge(self, utterance_id: str, samples: int) -> None:
        acknowledge = pb.Acknowledge(utterance_id=utterance_id, samples=samples)
        await self._stream.send(pb.FrontendInput(acknowledge=acknowledge))

    async def close(self) -> None:
        await self._stream.close()


class RemoteFrontend:
    """The frontend of a worker (`agent.frontends.base.Frontend`)."""

    def __init__(self, stub: rpc.FrontendStub, info: FrontendInfo) -> None:
        self._stub, self._info = stub, info

    @property
    def info(self) -> FrontendInfo:
        return self._info

    async def open(self, brief: Brief) -> RemoteSession:
        """Raises `Capacity` when the worker is full or draining, `Gone` when it is not reached (at once) or is silent (5 s)."""
        stream: _Stream[pb.FrontendInput, pb.FrontendOutput, Step] = _Stream(self._stub.Session(), wire.read_step)
        await stream.open(pb.FrontendInput(open=wire.brief_to_wire(brief)))
        return RemoteSession(stream, self._info.unit_us)


class RemoteEarsSession:
    """A recogniser's session in a worker (`agent.frontends.base.EarsSession`)."""

    def __init__(self, stream: _Stream[pb.EarsInput, pb.EarsOutput, Transcript | TurnProbability], unit_us: int) -> None:
        self._stream = stream
        self._units = UnitOrder(unit_us, gaps=True)

    async def feed(self, unit: Unit) -> None:
        self._stream.box.check()
        self._units.check(unit)
        await self._stream.send(pb.EarsInput(unit=wire.unit_to_wire(unit)))

    async def evidence(self) -> AsyncIterator[Transcript | TurnProbability]:
        async for heard in self._stream.box:
            yield heard

    async def close(self) -> None:
        await self._stream.close()


class RemoteEars:
    """The ears of a worker (`agent.frontends.base.Ears`), fed with the units of its frontend."""

    def __init__(self, stub: rpc.EarsStub, unit_us: int) -> None:
        self._stub, self._unit_us = stub, unit_us

    async def open(self, brief: Brief) -> RemoteEarsSession:
        """Raises `Capacity` when the worker is full or draining, `Gone` when it is not reached (at once) or is silent (5 s)."""
        stream: _Stream[pb.EarsInput, pb.EarsOutput, Transcript | TurnProbability] = _Stream(
            self._stub.Session(), wire.read_heard
        )
        await stream.open(pb.EarsInput(open=wire.brief_to_wire(brief)))
        return RemoteEarsSession(stream, self._unit_us)


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """How a worker is doing. A draining worker has nothing free."""

    slots: int
    frontend_free: int
    ears_free: int
    draining: bool


class RemoteWorker:
    """The connection to one worker, made by `connect_worker`."""

    def __init__(self, channel: grpc.aio.Channel, info: FrontendInfo) -> None:
        self._worker = rpc.WorkerStub(channel)
        self.frontend = RemoteFrontend(rpc.FrontendStub(channel), info)
        self.ears = RemoteEars(rpc.EarsStub(channel), info.unit_us)

    async def health(self) -> WorkerHealth:
        """Ask how it is. Raises `Gone` when it does not answer."""
        try:
            report = await self._worker.Health(pb.HealthRequest(), timeout=WITHIN_S)
        except _BROKEN as error:
            raise _lost(error) from None
        return WorkerHealth(report.slots, report.frontend_free, report.ears_free, report.draining)

    async def drain(self, deadline_s: float) -> int:
        """Let it take no new sessions and wait for the open ones, at most so long; how many are still open."""
        request = pb.DrainRequest(deadline_ms=round(deadline_s * 1000))
        try:
            return (await self._worker.Drain(request, timeout=deadline_s + WITHIN_S)).still_open
        except _BROKEN as error:
            raise _lost(error) from None


def _lost(error: Exception) -> Gone:
    if isinstance(error, grpc.aio.AioRpcError):
        return Gone(f"{error.details() or 'the worker is gone'} ({error.code().name})")
    return Gone("the worker is gone")


@asynccontextmanager
async def connect_worker(address: str) -> AsyncIterator[RemoteWorker]:
    """Connect to a worker (`unix:/path` or a loopback `host:port`) that is running or starting.

    Raises `Gone` when it does not answer within 5 s. Leaving the block ends what is still open. A worker that was restarted is
    found again by the same connection.
    """
    channel = grpc.aio.insecure_channel(check_address(address), options=CLIENT_OPTIONS)
    try:
        try:
            info = await rpc.FrontendStub(channel).Info(pb.InfoRequest(), timeout=WITHIN_S, wait_for_ready=True)
        except _BROKEN as error:
            raise Gone(f"no worker at {address}: {_lost(error)}") from None
        yield RemoteWorker(channel, wire.read_info(info))
    finally:
        await channel.close(None)
