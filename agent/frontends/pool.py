"""A frontend and ears over several workers that come and go: a call is opened where there is room.

The pool is connected to every worker of a `Roster`. The two sessions of a call go to the same worker as long as that has room, so
that a worker which dies takes as few calls along as can be.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any, TypeVar

from agent.clock import Clock
from agent.errors import Capacity, Gone, Refused, VenusError
from agent.frontends.base import BackendMessage, Brief, EarsSession, FrontendInfo, Heard, Session, Step, Unit
from agent.frontends.limits import check_info
from agent.frontends.remote import RemoteWorker, connect_worker
from agent.frontends.roster import Changes, Roster
from agent.logs import get_logger
from agent.speech import SpokenLine
from agent.tasks import is_cancelled
from agent.timeline.kinds import Role

WAIT_S = 30.0
"""How long a worker that is missing is waited for, where whoever opens a session has no shorter bound."""
ATTEMPT_S = 2.0
"""A worker that has not opened a session by then is passed over."""
AGAIN_S = 0.1
"""Between two rounds over the workers, unless one comes sooner."""
CONNECT_AGAIN_US = 500_000
"""Between two attempts to connect to a worker that does not answer."""

log = get_logger("venus.pool")

Opened = TypeVar("Opened")


class _Member:
    """A worker that is connected, how many sessions each call has there, and what is just being opened."""

    def __init__(self, worker: RemoteWorker) -> None:
        self.worker = worker
        self.calls: Counter[str] = Counter()
        self._openings: set[asyncio.Task[Any]] = set()

    async def opened(self, opening: Coroutine[Any, Any, Opened]) -> Opened:
        """What `opening` returns or raises; `Gone` when the worker leaves meanwhile, or after a bound."""
        task = asyncio.ensure_future(opening)
        self._openings.add(task)
        task.add_done_callback(self._openings.discard)
        try:
            async with asyncio.timeout(ATTEMPT_S):
                return await task
        except TimeoutError:
            raise Gone(f"the worker did not open a session within {ATTEMPT_S:g} s") from None
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            raise Gone("the worker left") from None

    def leave(self) -> None:
        """The worker is gone. gRPC leaves a stream hanging whose channel is closed while it is opened, so that is ended here."""
        for task in self._openings:
            task.cancel()


class _Place:
    """A session's place at a member from the attempt to open it on; given back once."""

    def __init__(self, member: _Member, call_id: str) -> None:
        self._member: _Member | None = member
        self._call_id = call_id
        member.calls[call_id] += 1

    def leave(self) -> None:
        member, self._member = self._member, None
        if member:
            member.calls[self._call_id] -= 1
            if not member.calls[self._call_id]:
                del member.calls[self._call_id]


class PoolSession:
    """A session at one of the workers (`agent.frontends.base.Session`)."""

    def __init__(self, session: Session, place: _Place) -> None:
        self._session, self._place = session, place

    async def feed(self, unit: Unit) -> None:
        await self._session.feed(unit)

    def steps(self) -> AsyncIterator[Step]:
        return self._session.steps()

    async def inject(self, message: BackendMessage) -> None:
        await self._session.inject(message)

    async def yield_floor(self, at_us: int, epoch: int) -> None:
        await self._session.yield_floor(at_us, epoch)

    async def acknowledge(self, utterance_id: str, samples: int) -> None:
        await self._session.acknowledge(utterance_id, samples)

    async def close(self) -> None:
        self._place.leave()
        await self._session.close()


class PoolEarsSession:
    """A recogniser's session at one of the workers (`agent.frontends.base.EarsSession`)."""

    def __init__(self, session: EarsSession, place: _Place) -> None:
        self._session, self._place = session, place

    async def feed(self, unit: Unit) -> None:
        await self._session.feed(unit)

    def evidence(self) -> AsyncIterator[Heard]:
        return self._session.evidence()

    async def close(self) -> None:
        self._place.leave()
        await self._session.close()


class PoolEars:
    """The ears of the workers (`agent.frontends.base.Ears`)."""

    def __init__(self, pool: "WorkerPool") -> None:
        self._pool = pool

    async def open(self, brief: Brief) -> PoolEarsSession:
        """As `WorkerPool.open`."""
        return PoolEarsSession(*await self._pool.opened(brief.call_id, lambda worker: worker.ears.open(brief)))


class WorkerPool:
    """The frontend of the workers of a roster (`agent.frontends.base.Frontend`), made by `connect_pool`."""

    def __init__(self, roster: Roster, clock: Clock, wait_s: float) -> None:
        self.ears = PoolEars(self)
        self._roster, self._clock, self._wait_s = roster, clock, wait_s
        self._members: dict[str, _Member] = {}
        self._changes = Changes()
        self._tried: set[str] = set()
        self._info: FrontendInfo | None = None

    @property
    def info(self) -> FrontendInfo:
        """What the frontend of every worker declares; a worker that declares something else gets no calls."""
        assert self._info is not None, "made by connect_pool"
        return self._info

    async def open(self, brief: Brief) -> PoolSession:
        """A session where there is room.

        Waits for a worker that is missing. Raises `Capacity` when all are full, `Refused` when a worker refuses the brief, `Gone`
        when none comes up in time.
        """
        return PoolSession(*await self.opened(brief.call_id, lambda worker: worker.frontend.open(brief)))

    async def line(self, text: str, role: Role = Role.NOTICE, must_hear: bool = False) -> SpokenLine:
        """A line in the voice of the workers (`agent.frontends.base.LineVoice`)."""
        for member in tuple(self._members.values()):
            with suppress(Gone):
                return await member.worker.line(text, role, must_hear)
        raise Gone("no worker is there that could say a line")

    async def opened(self, call_id: str, opening: Callable[[RemoteWorker], Coroutine[Any, Any, Opened]]) -> tuple[Opened, _Place]:
        """What `opening` makes at the first worker that has room, and its place there. Raises as `open`."""
        deadline_us = self._clock.now_us() + round(self._wait_s * 1e6)
        while True:
            failures: list[VenusError] = []
            for member in self._by_preference(call_id):
                try:
                    return await _attempt(member, call_id, opening)
                except (Capacity, Gone) as error:
                    failures.append(error)
            full = next((error for error in failures if isinstance(error, Capacity)), None)
            all_full = full and len(failures) >= self._roster.expected and all(isinstance(error, Capacity) for error in failures)
            if all_full or self._clock.now_us() >= deadline_us:
                why = f": {failures[-1]}" if failures else ""
                raise full or Gone(f"no worker came up within {self._wait_s:g} s{why}")
            await self._another_chance()

    def _by_preference(self, call_id: str) -> list[_Member]:
        """Where the call is already, then where the fewest sessions are."""
        return sorted(self._members.values(), key=lambda member: (call_id not in member.calls, member.calls.total()))

    async def _another_chance(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(AGAIN_S):
                await self._changes.next()

    # --- the connections ---

    async def connected(self) -> None:
        """Return when a worker is, and every other one was tried. Raises `Gone` when none is in time."""
        try:
            async with asyncio.timeout(self._wait_s):
                while self._info is None or not self._tried.issuperset(self._roster.addresses):
                    await self._changes.next()
        except TimeoutError:
            if self._info is None:
                raise Gone(f"no worker came up within {self._wait_s:g} s: see its log, and whether it listens there") from None

    async def follow(self) -> None:
        """Keep a connection to every worker of the roster until this is cancelled."""
        connections: dict[str, asyncio.Task[None]] = {}
        leaving: set[asyncio.Task[None]] = set()
        try:
            while True:
                for address in self._roster.addresses:
                    if address not in connections:
                        connections[address] = asyncio.create_task(self._connection(address))
                for address in connections.keys() - set(self._roster.addresses):
                    task = connections.pop(address)
                    self._tried.discard(address)
                    task.cancel()
                    leaving.add(task)
                    task.add_done_callback(leaving.discard)
                await self._roster.changed()
        finally:
            for task in connections.values():
                task.cancel()
            await asyncio.gather(*connections.values(), *leaving, return_exceptions=True)

    async def _connection(self, address: str) -> None:
        told = ""
        while True:
            try:
                async with connect_worker(address) as worker:
                    self._check(worker.frontend.info)
                    await self._serve(address, _Member(worker))
            except (Gone, Refused) as error:
                if str(error) != told:
                    told = str(error)
                    log.error("a worker gets no calls", address=address, detail=told)
                self._was_tried(address)
            await self._clock.sleep_until(self._clock.now_us() + CONNECT_AGAIN_US)

    async def _serve(self, address: str, member: _Member) -> None:
        self._members[address] = member
        self._was_tried(address)
        try:
            await asyncio.Event().wait()  # until the address leaves the roster
        finally:
            del self._members[address]
            member.leave()

    def _was_tried(self, address: str) -> None:
        self._tried.add(address)
        self._changes.tell()

    def _check(self, info: FrontendInfo) -> None:
        check_info(info)
        if self._info is None:
            self._info = info
        elif info != self._info:
            raise Refused(f"its frontend is {info.name!r}, the others' {self._info.name!r}: start all workers alike")


async def _attempt(
    member: _Member, call_id: str, opening: Callable[[RemoteWorker], Coroutine[Any, Any, Opened]]
) -> tuple[Opened, _Place]:
    place = _Place(member, call_id)
    with ExitStack() as unless_opened:
        unless_opened.callback(place.leave)
        opened = await member.opened(opening(member.worker))
        unless_opened.pop_all()
    return opened, place


@asynccontextmanager
async def connect_pool(roster: Roster, clock: Clock, wait_s: float = WAIT_S) -> AsyncIterator[WorkerPool]:
    """A pool over the workers of `roster`, connected to at least one. Leaving the block ends what is still open.

    `wait_s`: how long a missing worker is waited for. Raises `Gone` when none is there by then.
    """
    pool = WorkerPool(roster, clock, wait_s)
    following = asyncio.create_task(pool.follow())
    try:
        await pool.connected()
        yield pool
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
