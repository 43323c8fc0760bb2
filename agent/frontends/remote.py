"""The media process's side of `frontend.proto`: a frontend and ears in another process, behind the same interfaces.

Whatever way a worker dies, its sessions raise `Gone`; a full or draining worker is `Capacity`; every wait has a bound.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc
import grpc.aio

from agent.errors import Gone, Refused
from agent.frontends import frontend_pb2 as pb
from agent.frontends import frontend_pb2_grpc as rpc
from agent.frontends import wire
from agent.frontends.address import CLIENT_OPTIONS, check_address
from agent.frontends.base import BackendMessage, Brief, FrontendInfo, Heard, Step, Unit
from agent.frontends.stream import BROKEN, WorkerStream
from agent.frontends.unit_order import UnitOrder
from agent.speech import SpokenLine
from agent.timeline.kinds import Role

WITHIN_S = 5.0
"""Bound of connecting, and of asking a worker how it is."""


class RemoteSession:
    """A session in a worker (`agent.frontends.base.Session`)."""

    def __init__(self, stream: WorkerStream[pb.FrontendInput, pb.FrontendOutput, Step], unit_us: int) -> None:
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
        stream: WorkerStream[pb.FrontendInput, pb.FrontendOutput, Step] = WorkerStream(self._stub.Session(), wire.read_step)
        await stream.open(pb.FrontendInput(open=wire.brief_to_wire(brief)))
        return RemoteSession(stream, self._info.unit_us)


class RemoteEarsSession:
    """A recogniser's session in a worker (`agent.frontends.base.EarsSession`)."""

    def __init__(self, stream: WorkerStream[pb.EarsInput, pb.EarsOutput, Heard], unit_us: int) -> None:
        self._stream = stream
        self._units = UnitOrder(unit_us, gaps=True)

    async def feed(self, unit: Unit) -> None:
        self._stream.box.check()
        self._units.check(unit)
        await self._stream.send(pb.EarsInput(unit=wire.unit_to_wire(unit)))

    async def evidence(self) -> AsyncIterator[Heard]:
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
        stream: WorkerStream[pb.EarsInput, pb.EarsOutput, Heard] = WorkerStream(self._stub.Session(), wire.read_heard)
        await stream.open(pb.EarsInput(open=wire.brief_to_wire(brief)))
        return RemoteEarsSession(stream, self._unit_us)


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """How a worker is doing. A draining worker has nothing free.

    `up_s` seconds it can be reached, and in that time it `served` so many calls. `version` is that of the package.
    """

    slots: int
    frontend_free: int
    ears_free: int
    draining: bool
    up_s: float = 0.0
    served: int = 0
    version: str = ""


class RemoteWorker:
    """The connection to one worker, made by `connect_worker`."""

    def __init__(self, channel: grpc.aio.Channel, info: FrontendInfo) -> None:
        self._worker = rpc.WorkerStub(channel)
        self.frontend = RemoteFrontend(rpc.FrontendStub(channel), info)
        self.ears = RemoteEars(rpc.EarsStub(channel), info.unit_us)

    async def health(self, within_s: float = WITHIN_S) -> WorkerHealth:
        """Ask how it is. Raises `Gone` when it does not answer within the bound."""
        try:
            report = await self._worker.Health(pb.HealthRequest(), timeout=within_s)
        except BROKEN as error:
            raise _lost(error) from None
        free = report.frontend_free, report.ears_free
        return WorkerHealth(report.slots, *free, report.draining, report.up_ms / 1000, report.served, report.version)

    async def line(self, text: str, role: Role = Role.NOTICE, must_hear: bool = False) -> SpokenLine:
        """A line in the worker's voice (`agent.frontends.base.LineVoice`)."""
        try:
            rendered = await self._worker.Render(pb.RenderRequest(text=text), timeout=WITHIN_S)
        except grpc.aio.AioRpcError as error:
            if error.code() in (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.INVALID_ARGUMENT):
                raise Refused(error.details() or "the worker has no voice for lines") from None
            raise _lost(error) from None
        except BROKEN as error:
            raise _lost(error) from None
        return wire.read_line(rendered, text, role, must_hear)

    async def drain(self, deadline_s: float) -> int:
        """Let it take no new sessions and wait for the open ones, at most so long; how many are still open."""
        request = pb.DrainRequest(deadline_ms=round(deadline_s * 1000))
        try:
            return (await self._worker.Drain(request, timeout=deadline_s + WITHIN_S)).still_open
        except BROKEN as error:
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
        except BROKEN as error:
            silent = isinstance(error, grpc.aio.AioRpcError) and error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            why = f"nothing answered there within {WITHIN_S:g} s" if silent else _lost(error)
            raise Gone(f"no worker at {address}: {why}; start one with `venus worker --listen {address}`") from None
        yield RemoteWorker(channel, wire.read_info(info))
    finally:
        await channel.close(None)
