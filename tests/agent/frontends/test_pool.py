"""Calls over several workers: where they go, what is waited for, and what is refused."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from structlog.testing import capture_logs

from agent.clock import LoopClock
from agent.errors import Capacity, Gone, Refused
from agent.frontends import frontend_pb2 as pb
from agent.frontends import frontend_pb2_grpc as rpc
from agent.frontends import pool as pool_module
from agent.frontends.base import Brief, Ears, Frontend
from agent.frontends.pool import WorkerPool, connect_pool
from agent.frontends.roster import Roster
from agent.frontends.script import load_script
from agent.frontends.scripted import ScriptedEars, ScriptedFrontend
from agent.frontends.server import RETRY_AFTER_S, Worker, serve_worker

pytest.register_assert_rewrite("tests.agent.frontends.contract")

from tests.agent.frontends.contract import EarsContract, FrontendContract, Host, listened, script, take, unit  # noqa: E402

pytestmark = pytest.mark.peer


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """The contract, with a pool of one worker between."""

    @asynccontextmanager
    async def worker(frontend: Frontend, ears: Ears | None = None, slots: int = 4) -> AsyncIterator[tuple[Frontend, Ears]]:
        address = f"unix:{tmp_path}/w.sock"
        async with serve_worker(frontend, ears, address, slots), connect_pool(Roster(address), LoopClock(), wait_s=5) as pool:
            yield pool, pool.ears

    return worker  # type: ignore[return-value]


class TestFrontendOverAPool(FrontendContract):
    pass


class TestEarsOverAPool(EarsContract):
    pass


class Workers:
    """Workers of this process, each with its own socket, and the roster that lists them."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self.roster = Roster()
        self.served: list[Worker] = []
        self._folder, self._stack = folder, stack

    def address(self, number: int) -> str:
        return f"unix:{self._folder}/{number}.sock"

    async def start(self, slots: int = 2, agent: str = "") -> Worker:
        """One more worker, not on the roster yet."""
        made = script(agent)
        hosted = serve_worker(ScriptedFrontend(made), ScriptedEars(made), self.address(len(self.served)), slots)
        self.served.append(await self._stack.enter_async_context(hosted))
        return self.served[-1]

    @property
    def sessions(self) -> list[int]:
        """Open sessions (frontend and ears) at each worker."""
        return [worker.open_sessions for worker in self.served]


@asynccontextmanager
async def pooled(folder: Path, *slots: int, expected: int = 0, wait_s: float = 5.0) -> AsyncIterator[tuple[WorkerPool, Workers]]:
    """A pool that is connected to workers with these slots."""
    async with AsyncExitStack() as stack:
        workers = Workers(folder, stack)
        for number in slots:
            workers.roster.add((await workers.start(number)).address)
        workers.roster.expected = max(expected, len(slots))
        pool = await stack.enter_async_context(connect_pool(workers.roster, LoopClock(), wait_s))
        await until(lambda: len(pool._members) == len(slots))
        yield pool, workers


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not met():  # noqa: ASYNC110 (gRPC)
            await asyncio.sleep(0.01)


# --- where a call goes ------------------------------------------------------------------------------------------------------


async def test_calls_are_spread_and_both_sessions_of_one_go_to_the_same_worker(tmp_path: Path) -> None:
    async with pooled(tmp_path, 4, 4) as (pool, workers):
        calls = [Brief(f"c{number}") for number in range(4)]
        frontends = [await pool.open(brief) for brief in calls]
        assert workers.sessions == [2, 2]
        ears = [await pool.ears.open(brief) for brief in reversed(calls)]
        assert workers.sessions == [4, 4]
        assert [(one.health().frontend_free, one.health().ears_free) for one in workers.served] == [(2, 2), (2, 2)]
        for number in (0, 2):  # two calls of one worker
            await frontends[number].close()
            await frontends[number].close()
            await ears[3 - number].close()
        await until(lambda: sorted(workers.sessions) == [0, 4])
        for number in range(2):
            await pool.open(Brief(f"d{number}"))
        assert sorted(workers.sessions) == [2, 4], "where the fewest are"


async def test_both_sessions_go_to_the_same_worker_when_they_are_opened_at_once(tmp_path: Path) -> None:
    async with pooled(tmp_path, 8, 8) as (pool, workers):
        for number in range(6):
            brief = Brief(f"c{number}")
            await asyncio.gather(pool.open(brief), pool.ears.open(brief))
        assert [(one.health().frontend_free, one.health().ears_free) for one in workers.served] == [(5, 5), (5, 5)]


async def test_when_one_is_full_the_others_are_asked_and_when_all_are_it_says_when_to_try_again(tmp_path: Path) -> None:
    async with pooled(tmp_path, 1, 2, wait_s=60) as (pool, workers):
        sessions = [await pool.open(Brief(f"c{number}")) for number in range(3)]
        assert workers.sessions == [1, 2]
        with pytest.raises(Capacity, match="are taken") as full:
            await pool.open(Brief("d"))
        assert full.value.retry_after_s == RETRY_AFTER_S
        await sessions[0].close()
        await pool.open(Brief("d"))
        assert workers.sessions == [1, 2]


async def test_a_draining_worker_gets_no_new_calls_and_keeps_those_it_has(tmp_path: Path) -> None:
    async with pooled(tmp_path, 2, 2) as (pool, workers):
        sessions = [await pool.open(Brief(f"c{number}")) for number in range(2)]
        await workers.served[0].drain(0)
        await pool.open(Brief("d"))
        assert workers.sessions == [1, 2]
        await sessions[0].feed(unit(0))
        assert len(await take(aiter(sessions[0].steps()), listened(1))) == 1


async def test_what_a_worker_refuses_is_refused(tmp_path: Path) -> None:
    class Strict(ScriptedFrontend):
        async def open(self, brief: Brief) -> Any:
            raise Refused("no such language: use en")

    address = f"unix:{tmp_path}/w.sock"
    strict = serve_worker(Strict(script()), None, address, 2)
    async with strict, connect_pool(Roster(address), LoopClock(), wait_s=60) as pool:
        with pytest.raises(Refused, match="no such language"):
            await pool.open(Brief("c"))


# --- who is missing ---------------------------------------------------------------------------------------------------------


async def test_a_worker_that_is_missing_is_waited_for(tmp_path: Path) -> None:
    async with pooled(tmp_path, 1, expected=2, wait_s=60) as (pool, workers):
        await pool.open(Brief("c"))
        opening = asyncio.create_task(pool.open(Brief("d")))
        await asyncio.sleep(0.3)
        assert not opening.done()
        workers.roster.add((await workers.start()).address)
        await opening
        assert workers.sessions == [1, 1]


async def test_none_in_time_is_gone_and_only_full_ones_are_full(tmp_path: Path) -> None:
    async with pooled(tmp_path, 1, expected=2, wait_s=0.3) as (pool, workers):
        await pool.open(Brief("c"))
        with pytest.raises(Capacity):
            await pool.open(Brief("d"))
        workers.roster.remove(workers.served[0].address)
        await until(lambda: not pool._members)
        with pytest.raises(Gone, match=r"no worker came up within 0\.3 s"):
            await pool.open(Brief("d"))


async def test_the_callers_bound_counts_and_leaves_nothing(tmp_path: Path) -> None:
    async with pooled(tmp_path, 1, expected=2, wait_s=60) as (pool, workers):
        session = await pool.open(Brief("c"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await pool.open(Brief("d"))
        (member,) = pool._members.values()
        assert dict(member.calls) == {"c": 1}
        await session.close()
        assert dict(member.calls) == {}
        await until(lambda: workers.sessions == [0])


async def test_a_worker_of_a_fixed_list_is_found_again_where_it_was(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/w.sock"
    made = script()
    async with connect_pool_when(address) as pool:
        with pytest.raises(Gone):
            async with asyncio.timeout(5):
                await pool.open(Brief("c"))
        async with serve_worker(ScriptedFrontend(made), ScriptedEars(made), address, 1):
            await (await pool.open(Brief("c"))).close()


@asynccontextmanager
async def connect_pool_when(address: str) -> AsyncIterator[WorkerPool]:
    """A pool whose only worker has left."""
    async with AsyncExitStack() as stack:
        async with serve_worker(ScriptedFrontend(script()), None, address, 1):
            pool = await stack.enter_async_context(connect_pool(Roster(address), LoopClock(), wait_s=2))
        yield pool


async def test_sessions_of_a_worker_that_leaves_the_roster_are_lost(tmp_path: Path) -> None:
    async with pooled(tmp_path, 2, 2) as (pool, workers):
        session, ears = await pool.open(Brief("c")), await pool.ears.open(Brief("c"))
        (at,) = [number for number, count in enumerate(workers.sessions) if count]
        workers.roster.remove(workers.served[at].address)
        with pytest.raises(Gone):
            await take(aiter(session.steps()), lambda _: False)
        with pytest.raises(Gone):
            await take(aiter(ears.evidence()), lambda _: False)
        await session.close()
        await ears.close()
        await pool.open(Brief("c"))
        assert workers.sessions[1 - at] == 1


async def test_where_no_worker_comes_up_there_is_no_pool(tmp_path: Path) -> None:
    with pytest.raises(Gone, match=r"no worker came up within 0\.2 s"):
        async with connect_pool(Roster(f"unix:{tmp_path}/none.sock"), LoopClock(), wait_s=0.2):
            pytest.fail("connected to nothing")


# --- who is strange ---------------------------------------------------------------------------------------------------------


async def test_a_worker_with_another_frontend_gets_no_calls_and_is_told_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "CONNECT_AGAIN_US", 1_000)
    other = ScriptedFrontend(load_script("name: other\nagent: {unit_ms: 40}\n"))
    strange = serve_worker(other, None, f"unix:{tmp_path}/other.sock", 9)
    with capture_logs() as logged:
        async with pooled(tmp_path, 1, wait_s=0.3) as (pool, workers), strange as served:
            workers.roster.add(served.address)
            await pool.open(Brief("c"))
            await asyncio.sleep(0.2)
            with pytest.raises(Capacity):
                await pool.open(Brief("d"))
            assert served.open_sessions == 0
    (told,) = [line for line in logged if line["event"] == "a worker gets no calls"]
    assert told["detail"] == "its frontend is 'scripted other', the others' 'scripted contract': start all workers alike"


class Mute(rpc.FrontendServicer):
    """Declares what the others do and then opens nothing."""

    async def Info(self, request: pb.InfoRequest, context: object) -> pb.FrontendInfo:
        info = ScriptedFrontend(script()).info
        return pb.FrontendInfo(
            name=info.name, unit_us=info.unit_us, output_rate_hz=info.output_rate_hz, languages=info.languages, voice=info.voice
        )

    async def Session(self, requests: object, context: object) -> None:
        await asyncio.sleep(3600)


async def test_a_worker_that_opens_nothing_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "ATTEMPT_S", 0.2)
    peer = grpc.aio.server()
    rpc.add_FrontendServicer_to_server(Mute(), peer)
    peer.add_insecure_port(f"unix:{tmp_path}/mute.sock")
    await peer.start()
    try:
        async with pooled(tmp_path, 2) as (pool, workers):
            workers.roster.add(f"unix:{tmp_path}/mute.sock")
            await until(lambda: len(pool._members) == 2)
            for number in range(2):
                await pool.open(Brief(f"c{number}"))
            assert workers.sessions == [2]
            with pytest.raises(Capacity):  # the mute one may yet come to itself: it is waited for, in vain
                async with asyncio.timeout(20):
                    await pool.open(Brief("d"))
    finally:
        await peer.stop(None)
