"""The worker's side of `frontend.proto`: hosts any frontend and any ears for other processes on this machine.

    python -m agent.frontends.server --script FILE --listen unix:/path --slots N

starts a worker with the scripted frontend; it prints `ready ADDRESS` once it can be reached, and drains on SIGTERM and SIGINT.
"""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import grpc
import grpc.aio

from agent.errors import Capacity, Gone, Refused, Timeout, VenusError
from agent.frontends import base, wire
from agent.frontends import frontend_pb2 as pb
from agent.frontends import frontend_pb2_grpc as rpc
from agent.frontends.address import SERVER_OPTIONS, check_address, check_unused
from agent.frontends.base import Brief, Ears, EarsSession, Frontend
from agent.frontends.script import load_script
from agent.frontends.scripted import ScriptedEars, ScriptedFrontend

BRIEF_WITHIN_S = 5.0
"""A stream that has not said what it wants by then is ended."""
LONGEST_DRAIN_S = 3600.0
RETRY_AFTER_S = 5

Request = TypeVar("Request", pb.FrontendInput, pb.EarsInput)
FrontendContext: TypeAlias = "grpc.aio.ServicerContext[pb.FrontendInput, pb.FrontendOutput]"
EarsContext: TypeAlias = "grpc.aio.ServicerContext[pb.EarsInput, pb.EarsOutput]"


class Slots:
    """How many sessions are open, of how many. `name` is what a refusal calls them."""

    def __init__(self, name: str, slots: int) -> None:
        self._name, self._slots = name, slots
        self._changed = asyncio.Event()
        self.open = 0
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

    def __init__(self, address: str, frontend: Slots, ears: Slots, slots: int) -> None:
        self.address = address
        self._frontend, self._ears, self._slots = frontend, ears, slots

    def health(self) -> pb.HealthReport:
        """How many slots there are and how many are free."""
        free = {"frontend_free": self._frontend.free, "ears_free": self._ears.free}
        return pb.HealthReport(slots=self._slots, draining=self._frontend.draining, **free)

    async def drain(self, deadline_s: float) -> int:
        """Take no new sessions, wait for the open ones at most so long; how many are still open."""
        self._frontend.draining = self._ears.draining = True
        return await self.emptied(deadline_s)

    async def emptied(self, deadline_s: float) -> int:
        """Wait for the open sessions at most so long; how many are still open."""
        try:
            async with asyncio.timeout(deadline_s):
                await self._frontend.emptied()
                await self._ears.emptied()
        except TimeoutError:
            pass
        return self._frontend.open + self._ears.open


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

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def Health(self, request: pb.HealthRequest, context: object) -> pb.HealthReport:
        """Slots and how many are free."""
        return self._worker.health()

    async def Drain(self, request: pb.DrainRequest, context: object) -> pb.DrainReport:
        """Refuse new sessions and wait for the open ones."""
        deadline_s = min(max(request.deadline_ms / 1000, 0.0), LONGEST_DRAIN_S)
        return pb.DrainReport(still_open=await self._worker.drain(deadline_s))


@asynccontextmanager
async def serve_worker(frontend: Frontend, ears: Ears | None, address: str, slots: int) -> AsyncIterator[Worker]:
    """Serve on `address` (`unix:/path`, or a loopback `host:port`; port 0 takes a free one) until the block is left.

    `slots` frontend sessions and as many recognisers at once. Leaving ends sessions that are still open: drain first to wait for
    them. Raises `Refused` when the address cannot be used.
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
    worker = Worker(address, *leases, slots)
    rpc.add_WorkerServicer_to_server(WorkerService(worker), server)
    await server.start()
    if address.startswith("unix:"):
        os.chmod(address.removeprefix("unix:"), 0o600)
    try:
        yield worker
    finally:
        await server.stop(None)
        await worker.emptied(2.0)


async def _serve_script(path: Path, address: str, slots: int) -> None:
    script = load_script(path)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serve_worker(ScriptedFrontend(script, slots), ScriptedEars(script, slots), address, slots) as worker:
        print(f"ready {worker.address}", flush=True)
        await stop.wait()
        await worker.drain(10.0)


def main(arguments: list[str]) -> int:
    """The worker process; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m agent.frontends.server", description="Serve the scripted frontend.")
    parser.add_argument("--script", type=Path, required=True, help="the rehearsal script")
    parser.add_argument("--listen", required=True, help="unix:/path or 127.0.0.1:port")
    parser.add_argument("--slots", type=int, default=4, help="sessions at once (4)")
    options = parser.parse_args(arguments)
    try:
        asyncio.run(_serve_script(options.script, options.listen, options.slots))
    except Refused as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
