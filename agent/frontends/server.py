"""The worker's side of `frontend.proto`: hosts any frontend and any ears for other processes on this machine."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from typing import Any, TypeAlias, TypeVar

import grpc
import grpc.aio

from agent.clock import Clock, LoopClock
from agent.errors import Capacity, Gone, Refused, Timeout, VenusError
from agent.frontends import base, wire
from agent.frontends import frontend_pb2 as pb
from agent.frontends import frontend_pb2_grpc as rpc
from agent.frontends.address import SERVER_OPTIONS, check_address, check_unused
from agent.frontends.base import Brief, Ears, EarsSession, Frontend, LineVoice
from agent.speech import SpokenLine

BRIEF_WITHIN_S = 5.0
"""A stream that has not said what it wants by then is ended."""
LONGEST_DRAIN_S = 3600.0
REPLY_WITHIN_S = 0.5
"""A worker that leaves with no session open lets answers that are under way get through."""
RETRY_AFTER_S = 5

Request = TypeVar("Request", pb.FrontendInput, pb.EarsInput)
FrontendContext: TypeAlias = "grpc.aio.ServicerContext[pb.FrontendInput, pb.FrontendOutput]"
RenderContext: TypeAlias = "grpc.aio.ServicerContext[pb.RenderRequest, pb.RenderedLine]"
EarsContext: TypeAlias = "grpc.aio.ServicerContext[pb.EarsInput, pb.EarsOutput]"


class Slots:
    """How many sessions are open, of how many. `name` is what a refusal calls them."""

    def __init__(self, name: str, slots: int) -> None:
        self._name, self._slots = name, slots
        self._changed = asyncio.Event()
        self.open = self.served = 0
        self.draining = False

    @property
    def free(self) -> int:
        """Sessions that could be opened now."""
        return 0 if self.draining else self._slots - self.open

    @contextmanager
    def lease(self) -> Iterator[None]:
        """Hold a slot. Raises `Capacity` when none is free or the worker is draining."""
        if self.draining:
            raise Capacity("the worker is draining and takes no new calls", RETRY_AFTER_S)
        if self.free <= 0:
            raise Capacity(f"all {self._slots} {self._name} of the worker are taken", RETRY_AFTER_S)
        self.open += 1
        self.served += 1
        try:
            yield
        finally:
            self.open -= 1
            self._changed.set()

    async def emptied(self) -> None:
        """Return when no session is open."""
        while self.open:
            self._changed.clear()
            await self._changed.wait()


class Worker:
    """A worker that is being served."""

    def __init__(self, address: str, frontend: Slots, ears: Slots, slots: int, clock: Clock) -> None:
        self.address = address
        self._frontend, self._ears, self._slots = frontend, ears, slots
        self._clock, self._since_us = clock, clock.now_us()
        self._version = version("venus-line")
        self._draining = asyncio.Event()

    @property
    def open_sessions(self) -> int:
        """Of frontend and ears together."""
        return self._frontend.open + self._ears.open

    def health(self) -> pb.HealthReport:
        """How many slots there are and how many are free, since when it is up and what it has done."""
        return pb.HealthReport(
            slots=self._slots,
            frontend_free=self._frontend.free,
            ears_free=self._ears.free,
            draining=self._draining.is_set(),
            up_ms=(self._clock.now_us() - self._since_us) // 1000,
            served=self._frontend.served,
            version=self._version,
        )

    async def drain(self, deadline_s: float) -> int:
        """Take no new sessions, wait for the open ones at most so long; how many are still open."""
        self._frontend.draining = self._ears.draining = True
        self._draining.set()
        return await self.emptied(deadline_s)

    async def drained(self) -> None:
        """Return when somebody had it drained and the last session is over."""
        await self._draining.wait()
        await self._frontend.emptied()
        await self._ears.emptied()

    async def emptied(self, deadline_s: float) -> int:
        """Wait for the open sessions at most so long; how many are still open."""
        try:
            async with asyncio.timeout(deadline_s):
                await self._frontend.emptied()
                await self._ears.emptied()
        except TimeoutError:
            pass
        return self.open_sessions


_CODES = (
    (Capacity, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (Refused, grpc.StatusCode.INVALID_ARGUMENT),
    (Timeout, grpc.StatusCode.DEADLINE_EXCEEDED),
    (Gone, grpc.StatusCode.UNAVAILABLE),
    (VenusError, grpc.StatusCode.INTERNAL),
)


async def _answered(context: "grpc.aio.ServicerContext[Any, Any]", session: Awaitable[None]) -> None:
    """Run a session; our errors become status codes. Anything else is a bug: gRPC logs it and answers UNKNOWN."""
    try:
        await session
    except VenusError as error:
        code = next(code for kind, code in _CODES if isinstance(error, kind))
        retry = (("retry-after", str(error.retry_after_s)),) if isinstance(error, Capacity) else ()
        await context.abort(code, str(error), retry)


async def _brief(requests: "AsyncIterator[Request]") -> Brief:
    try:
        async with asyncio.timeout(BRIEF_WITHIN_S):
            first = await anext(requests, None)
    except TimeoutError:
        raise Timeout(f"no brief within {BRIEF_WITHIN_S:g} s of the stream's start") from None
    if first is None or first.WhichOneof("input") != "open":
        raise Refused("the first message of a stream must be the brief (`open`)")
    return wire.read_brief(first.open)


async def _both(reading: Coroutine[Any, Any, None], writing: Awaitable[None], close: Callable[[], Awaitable[None]]) -> None:
    """Read and write at once. Reading ends with the client and then closes the session, which ends the writing.

    Raises what broke it: a lost session from the writing, a bad message from the reading.
    """

    async def read() -> None:
        try:
            await reading
        finally:
            await close()

    reader = asyncio.create_task(read())
    try:
        await writing
    finally:
        reader.cancel()
        (outcome,) = await asyncio.gather(reader, return_exceptions=True)
    if isinstance(outcome, Exception):
        raise outcome


class FrontendService(rpc.FrontendServicer):
    """`service Frontend` over any `Frontend`."""

    def __init__(self, frontend: Frontend, slots: Slots) -> None:
        self._frontend, self._slots = frontend, slots

    async def Info(self, request: pb.InfoRequest, context: object) -> pb.FrontendInfo:
        """What the frontend declares."""
        return wire.info_to_wire(self._frontend.info)

    async def Session(self, requests: AsyncIterator[pb.FrontendInput], context: FrontendContext) -> None:
        """One session."""
        await _answered(context, self._session(requests, context))

    async def _session(self, requests: AsyncIterator[pb.FrontendInput], context: FrontendContext) -> None:
        requests = aiter(requests)
        brief = await _brief(requests)
        with self._slots.lease():
            session = await self._frontend.open(brief)
            try:
                await context.write(pb.FrontendOutput(opened=pb.Opened()))
                await _both(self._read(requests, session), self._write(session, context), session.close)
            finally:
                await session.close()

    async def _read(self, requests: AsyncIterator[pb.FrontendInput], session: base.Session) -> None:
        async for request in requests:
            match request.WhichOneof("input"):
                case "unit":
                    await session.feed(wire.read_unit(request.unit))
                case "inject":
                    await session.inject(wire.read_message(request.inject))
                case "yield_floor":
                    await session.yield_floor(request.yield_floor.at_us, request.yield_floor.epoch)
                case "acknowledge":
                    await session.acknowledge(request.acknowledge.utterance_id, request.acknowledge.samples)
                case other:
                    raise Refused(f"a message {other or 'of an unknown kind'} in an open session")

    async def _write(self, session: base.Session, context: FrontendContext) -> None:
        async for step in session.steps():
            for message in wire.step_to_wire(step):
                await context.write(message)


class EarsService(rpc.EarsServicer):
    """`service Ears` over any `Ears`."""

    def __init__(self, ears: Ears, slots: Slots) -> None:
        self._ears, self._slots = ears, slots

    async def Session(self, requests: AsyncIterator[pb.EarsInput], context: EarsContext) -> None:
        """One session."""
        await _answered(context, self._session(requests, context))

    async def _session(self, requests: AsyncIterator[pb.EarsInput], context: EarsContext) -> None:
        requests = aiter(requests)
        brief = await _brief(requests)
        with self._slots.lease():
            session = await self._ears.open(brief)
            try:
                await context.write(pb.EarsOutput(opened=pb.Opened()))
                await _both(self._read(requests, session), self._write(session, context), session.close)
            finally:
                await session.close()

    async def _read(self, requests: AsyncIterator[pb.EarsInput], session: EarsSession) -> None:
        async for request in requests:
            if request.WhichOneof("input") != "unit":
                raise Refused("only units follow the brief")
            await session.feed(wire.read_unit(request.unit))

    async def _write(self, session: EarsSession, context: EarsContext) -> None:
        async for heard in session.evidence():
            await context.write(wire.heard_to_wire(heard))


class WorkerService(rpc.WorkerServicer):
    """`service Worker`."""

    def __init__(self, worker: Worker, voice: LineVoice | None) -> None:
        self._worker, self._voice = worker, voice

    async def Render(self, request: pb.RenderRequest, context: RenderContext) -> pb.RenderedLine:
        """A line in the worker's voice."""
        if self._voice is None:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "this worker has no voice for lines")
        if not 0 < len(request.text) <= wire.LONGEST_LINE:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"a line has 1 to {wire.LONGEST_LINE} characters")
        lines: list[SpokenLine] = []

        async def render() -> None:
            assert self._voice is not None
            lines.append(await self._voice.line(request.text))

        await _answered(context, render())
        return wire.line_to_wire(lines[0])

    async def Health(self, request: pb.HealthRequest, context: object) -> pb.HealthReport:
        """Slots and how many are free."""
        return self._worker.health()

    async def Drain(self, request: pb.DrainRequest, context: object) -> pb.DrainReport:
        """Refuse new sessions and wait for the open ones."""
        deadline_s = min(max(request.deadline_ms / 1000, 0.0), LONGEST_DRAIN_S)
        return pb.DrainReport(still_open=await self._worker.drain(deadline_s))


@asynccontextmanager
async def serve_worker(
    frontend: Frontend, ears: Ears | None, address: str, slots: int, voice: LineVoice | None = None
) -> AsyncIterator[Worker]:
    """Serve on `address` (`unix:/path`, or a loopback `host:port`; port 0 takes a free one) until the block is left.

    `slots` frontend sessions and as many recognisers at once; `voice` renders lines for whoever carries calls. Leaving ends
    sessions that are still open: drain first to wait for them. Raises `Refused` when the address cannot be used.
    """
    check_address(address)
    check_unused(address)
    server = grpc.aio.server(options=SERVER_OPTIONS)
    if slots < 1:
        raise Refused(f"a worker with {slots} slots serves nobody: give it at least 1")
    leases = Slots("sessions", slots), Slots("recognisers", slots if ears is not None else 0)
    rpc.add_FrontendServicer_to_server(FrontendService(frontend, leases[0]), server)
    if ears is not None:
        rpc.add_EarsServicer_to_server(EarsService(ears, leases[1]), server)
    try:
        port = server.add_insecure_port(address)
    except RuntimeError:
        raise Refused(f"cannot listen on {address}: it is in use or not allowed; choose another address") from None
    if not address.startswith("unix:"):
        address = f"{address.rpartition(':')[0]}:{port}"
    worker = Worker(address, *leases, slots, LoopClock())
    rpc.add_WorkerServicer_to_server(WorkerService(worker, voice), server)
    await server.start()
    if address.startswith("unix:"):
        os.chmod(address.removeprefix("unix:"), 0o600)
    try:
        yield worker
    finally:
        await server.stop(None if worker.open_sessions else REPLY_WITHIN_S)
        await worker.emptied(2.0)
