"""Workers as other processes: how they die, drain, refuse and are found again."""

import asyncio
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from agent.errors import Capacity, Gone, Refused
from agent.frontends import frontend_pb2 as pb
from agent.frontends import frontend_pb2_grpc as rpc
from agent.frontends import remote, server, stream
from agent.frontends.address import check_address, check_unused
from agent.frontends.base import Brief, Listening, Session, Speech
from agent.frontends.remote import WorkerHealth, connect_worker
from agent.frontends.script import load_script
from agent.frontends.scripted import ScriptedEars, ScriptedFrontend
from agent.frontends.server import serve_worker

pytest.register_assert_rewrite("tests.agent.frontends.contract")

from tests.agent.frontends.contract import Puppet, listened, play, script, started, stopped, take, unit  # noqa: E402

pytestmark = pytest.mark.peer

ROOT = Path(__file__).parents[3]
SLOTS = ("--slots", "4")
SCRIPT = "name: worker\nagent: {turns: [{on: open, say: Good morning}]}\ncaller: {says: [{at_ms: 0, say: hello}]}\n"


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"unix:{tmp_path}/w.sock"


@asynccontextmanager
async def worker_process(address: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A real worker, reachable when the block is entered; killed when it is left."""
    path = Path(address.removeprefix("unix:")).with_suffix(".yaml")
    path.write_text(SCRIPT)
    command = [sys.executable, "-m", "agent.app.worker", "--script", str(path), "--listen", address, *(arguments or SLOTS)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(20):
            said = (await process.stdout.readline()).decode().split()
        assert said == ["ready", address, "slots", (arguments or SLOTS)[1]]
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]


async def test_a_killed_worker_loses_its_sessions_and_its_successor_is_found(address: str) -> None:
    async with connect_worker_when(address) as (remote_worker, first):
        session, ears = await remote_worker.frontend.open(Brief("c")), await remote_worker.ears.open(Brief("c"))
        reading = asyncio.create_task(take(session.steps(), lambda _: False))
        hearing = asyncio.create_task(take(ears.evidence(), lambda _: False))
        await session.feed(unit(0))
        await ears.feed(unit(0))
        os.kill(first.pid, signal.SIGKILL)
        for lost in (reading, hearing):
            with pytest.raises(Gone):
                await lost
        with pytest.raises(Gone):
            await session.feed(unit(1))
        with pytest.raises(Gone):
            await ears.feed(unit(1))
        await session.close()
        await ears.close()
        await first.wait()
        with pytest.raises(Gone):
            await remote_worker.frontend.open(Brief("c"))
        with pytest.raises(Gone):
            await remote_worker.health()
        async with worker_process(address):
            again = await reopened(remote_worker)
            assert [step.text for step in await play(again, 8) if isinstance(step, Speech)] == ["Good", "morning"]
            await again.close()


@asynccontextmanager
async def connect_worker_when(address: str) -> AsyncIterator[tuple[remote.RemoteWorker, asyncio.subprocess.Process]]:
    async with worker_process(address, "--slots", "2") as process, connect_worker(address) as remote_worker:
        yield remote_worker, process


async def reopened(remote_worker: remote.RemoteWorker) -> remote.RemoteSession:
    """Try again as a call does: the channel needs a moment to see that the worker is back."""
    async with asyncio.timeout(10):
        while True:
            try:
                return await remote_worker.frontend.open(Brief("c"))
            except Gone:
                await asyncio.sleep(0.05)


async def test_sigterm_drains_and_ends_the_worker(address: str) -> None:
    async with connect_worker_when(address) as (remote_worker, process):
        session = await remote_worker.frontend.open(Brief("c"))
        process.terminate()
        async with asyncio.timeout(10):
            while not (await remote_worker.health()).draining:  # noqa: ASYNC110 (another process)
                await asyncio.sleep(0.02)
        with pytest.raises(Capacity):
            await remote_worker.frontend.open(Brief("d"))
        await session.feed(unit(0))
        await take(session.steps(), listened(1))
        await session.close()
        async with asyncio.timeout(10):
            assert await process.wait() == 0


async def test_drain_waits_for_open_sessions_and_no_longer_than_asked(address: str) -> None:
    async with serve_worker(ScriptedFrontend(script()), ScriptedEars(script()), address, 2), connect_worker(address) as worker:
        session = await worker.frontend.open(Brief("c"))
        assert _slots(await worker.health()) == (2, 1, 2, False)
        assert await worker.drain(0.05) == 1
        assert _slots(await worker.health()) == (2, 0, 0, True)
        with pytest.raises(Capacity) as draining:
            await worker.frontend.open(Brief("d"))
        assert "draining" in str(draining.value)
        assert draining.value.retry_after_s == server.RETRY_AFTER_S
        with pytest.raises(Capacity):
            await worker.ears.open(Brief("d"))
        drained = asyncio.create_task(worker.drain(10))
        await session.feed(unit(0))
        await take(session.steps(), listened(1))
        await session.close()
        assert await drained == 0


def _slots(health: WorkerHealth) -> tuple[int, int, int, bool]:
    return health.slots, health.frontend_free, health.ears_free, health.draining


async def test_a_worker_says_since_when_it_is_up_and_what_it_has_served(address: str) -> None:
    async with serve_worker(ScriptedFrontend(script()), ScriptedEars(script()), address, 2), connect_worker(address) as worker:
        for _ in range(3):
            session, ears = await worker.frontend.open(Brief("c")), await worker.ears.open(Brief("c"))
            await session.close()
            await ears.close()
        first = await worker.health()
        assert (first.served, first.version) == (3, version("venus-line"))
        await asyncio.sleep(0.02)
        assert first.up_s < (await worker.health()).up_s


async def test_the_same_units_give_the_same_steps_here_and_there(address: str) -> None:
    made = load_script(ROOT / "examples" / "rehearsals" / "table.yaml")
    evidence = {
        3: (started(300_000),),
        20: (stopped(300_000, 2_000_000),),
        40: (started(4_000_000),),
        50: (stopped(0, 5_000_000),),
    }
    here = await ScriptedFrontend(made).open(Brief("c"))
    steps_here = await play(here, 80, dict(evidence))
    async with serve_worker(ScriptedFrontend(made), None, address, 1), connect_worker(address) as worker:
        there = await worker.frontend.open(Brief("c"))
        steps_there = await play(there, 80, dict(evidence))
        await there.close()
    assert len([step for step in steps_here if isinstance(step, Speech)]) > 4
    assert list(map(_comparable, steps_there)) == list(map(_comparable, steps_here))


def _comparable(step: object) -> str:
    sound = step.pcm.tobytes().hex() if isinstance(step, Speech) else ""
    return f"{step!r}{sound}"


async def test_a_client_that_vanishes_frees_its_slot(address: str) -> None:
    scripted = ScriptedFrontend(script())
    async with serve_worker(scripted, None, address, 1) as served:
        async with grpc.aio.insecure_channel(address) as channel:
            call = rpc.FrontendStub(channel).Session()
            await call.write(pb.FrontendInput(open=pb.Brief(call_id="c")))
            await call.read()
            assert served.health().frontend_free == 0
        assert await served.emptied(5) == 0
        assert scripted.sessions == []


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([pb.FrontendInput(unit=pb.Unit())], "first message of a stream must be the brief"),
        ([pb.FrontendInput()], "first message of a stream must be the brief"),
        ([], "first message of a stream must be the brief"),
        ([pb.FrontendInput(open=pb.Brief()), pb.FrontendInput(open=pb.Brief())], "a message open in an open session"),
        ([pb.FrontendInput(open=pb.Brief()), pb.FrontendInput()], "unknown kind"),
        ([pb.FrontendInput(open=pb.Brief()), pb.FrontendInput(unit=pb.Unit(pcm=bytes(3)))], "two bytes each"),
        (
            [
                pb.FrontendInput(open=pb.Brief()),
                pb.FrontendInput(unit=pb.Unit(covers=pb.Span(from_us=0, to_us=20_000), pcm=bytes(640))),
            ],
            "must be 100000 µs long",
        ),
    ],
)
async def test_a_client_that_breaks_the_rules_is_told_so(address: str, messages: list[pb.FrontendInput], reason: str) -> None:
    scripted = ScriptedFrontend(script())
    async with serve_worker(scripted, None, address, 1), grpc.aio.insecure_channel(address) as channel:
        call = rpc.FrontendStub(channel).Session()
        for message in messages:
            await call.write(message)
        await call.done_writing()
        code, details = await status(call)
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert reason in details
        assert scripted.sessions == []


async def status(call: "grpc.aio.StreamStreamCall[Any, Any]") -> tuple[grpc.StatusCode, str]:
    """How a stream ends; the status comes only when what was sent before it is read."""
    async with asyncio.timeout(5):
        with suppress(grpc.aio.AioRpcError):
            while await call.read() is not grpc.aio.EOF:
                pass
        return await call.code(), await call.details()


async def test_ears_are_given_units_only(address: str) -> None:
    hosted = serve_worker(ScriptedFrontend(script()), ScriptedEars(script()), address, 1)
    async with hosted, grpc.aio.insecure_channel(address) as channel:
        call = rpc.EarsStub(channel).Session()
        await call.write(pb.EarsInput(open=pb.Brief()))
        await call.write(pb.EarsInput(open=pb.Brief()))
        code, _ = await status(call)
        assert code is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_stream_that_says_nothing_is_ended(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "BRIEF_WITHIN_S", 0.05)
    async with serve_worker(ScriptedFrontend(script()), None, address, 1), grpc.aio.insecure_channel(address) as channel:
        code, details = await status(rpc.FrontendStub(channel).Session())
        assert code is grpc.StatusCode.DEADLINE_EXCEEDED
        assert "no brief within" in details


async def test_a_message_beyond_the_bound_ends_the_session(address: str) -> None:
    async with serve_worker(ScriptedFrontend(script()), None, address, 1), connect_worker(address) as worker:
        with pytest.raises(Gone):
            await worker.frontend.open(Brief("c", instructions="x" * (5 * 1024 * 1024)))
        session = await worker.frontend.open(Brief("c"))
        await session.close()


async def test_a_bug_in_the_worker_is_gone_to_the_call_and_logged(address: str, caplog: pytest.LogCaptureFixture) -> None:
    puppet = Puppet(failure=ZeroDivisionError("a bug"))
    async with serve_worker(puppet, None, address, 1), connect_worker(address) as worker:
        session = await worker.frontend.open(Brief("c"))
        await session.feed(unit(0))
        with pytest.raises(Gone):
            await take(session.steps(), lambda _: False)
        await session.close()
        assert puppet.closed > 0
        assert (await worker.health()).frontend_free == 1
    assert "ZeroDivisionError" in caplog.text
    caplog.clear()  # the kept traceback would hold the server


class Mute(rpc.FrontendServicer):
    """Answers nothing but `Info`; or, told to, with nonsense."""

    def __init__(self, answer: pb.FrontendOutput | None = None, then: pb.FrontendOutput | None = None) -> None:
        self._answers = [answer for answer in (answer, then) if answer is not None]

    async def Info(self, request: pb.InfoRequest, context: object) -> pb.FrontendInfo:
        return pb.FrontendInfo(name="mute", unit_us=100_000, output_rate_hz=16_000)

    async def Session(self, requests: object, context: "grpc.aio.ServicerContext[object, object]") -> None:
        for answer in self._answers:
            await context.write(answer)
        await asyncio.sleep(3600)


@asynccontextmanager
async def served(service: Mute, address: str) -> AsyncIterator[remote.RemoteWorker]:
    peer = grpc.aio.server()
    rpc.add_FrontendServicer_to_server(service, peer)
    peer.add_insecure_port(address)
    await peer.start()
    try:
        async with connect_worker(address) as worker:
            yield worker
    finally:
        await peer.stop(None)


async def test_a_worker_that_does_not_answer_is_gone(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(Mute(), address) as worker:
        monkeypatch.setattr(stream, "WITHIN_S", 0.1)
        with pytest.raises(Gone, match="did not open a session"):
            await worker.frontend.open(Brief("c"))


async def test_a_worker_that_takes_nothing_is_gone(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(Mute(pb.FrontendOutput(opened=pb.Opened())), address) as worker:
        session = await worker.frontend.open(Brief("c"))
        monkeypatch.setattr(stream, "WITHIN_S", 0.2)
        with pytest.raises(Gone, match="took nothing"):
            await flood(session)
        await session.close()


async def flood(session: Session) -> None:
    for number in range(10_000):
        await session.feed(unit(number, level=0.5))


async def test_a_worker_of_another_version_is_gone_with_that_hint(address: str) -> None:
    async with served(Mute(pb.FrontendOutput(listening=pb.Listening())), address) as worker:
        with pytest.raises(Gone, match="same version"):
            await worker.frontend.open(Brief("c"))


async def test_nonsense_from_a_worker_loses_the_session(address: str) -> None:
    async with served(Mute(pb.FrontendOutput(opened=pb.Opened()), pb.FrontendOutput(speech=pb.Speech())), address) as worker:
        session = await worker.frontend.open(Brief("c"))
        with pytest.raises(Gone, match="alignment or a role"):
            await take(session.steps(), lambda _: False)
        await session.close()


async def test_where_no_worker_is_connecting_says_so(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "WITHIN_S", 0.2)
    with pytest.raises(Gone, match="no worker at unix:"):
        async with connect_worker(address):
            pytest.fail("connected to nothing")


async def test_a_living_worker_keeps_its_address_and_a_dead_ones_is_taken(address: str) -> None:
    async with serve_worker(ScriptedFrontend(script()), None, address, 1) as first:
        with pytest.raises(Refused, match="another worker listens there"):
            async with serve_worker(ScriptedFrontend(script()), None, address, 1):
                pytest.fail("took a living worker's socket")
        async with connect_worker(first.address) as worker:
            assert (await worker.health()).slots == 1
    async with serve_worker(ScriptedFrontend(script()), None, "127.0.0.1:0", 1) as first:
        with pytest.raises(Refused, match="in use"):
            async with serve_worker(ScriptedFrontend(script()), None, first.address, 1):
                pytest.fail("took a living worker's port")
    async with worker_process(address) as process:
        process.kill()
        await process.wait()
    assert stat.S_ISSOCK(os.stat(address.removeprefix("unix:")).st_mode)
    async with serve_worker(ScriptedFrontend(script()), None, address, 1) as again, connect_worker(again.address) as worker:
        assert (await worker.health()).slots == 1
        assert os.stat(address.removeprefix("unix:")).st_mode & 0o077 == 0


def test_a_file_in_the_sockets_place_is_left_alone(address: str) -> None:
    path = Path(address.removeprefix("unix:"))
    path.write_text("precious")
    with pytest.raises(Refused):
        check_unused(address)
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    "wrong",
    [
        "unix:relative",
        "unix:",
        "0.0.0.0:50051",
        "example.org:1",
        "127.0.0.1",
        "127.0.0.1:99999",
        "127.0.0.1:x",
        "unix:/" + "x" * 120,
    ],
)
def test_addresses_off_this_machine_are_refused(wrong: str) -> None:
    with pytest.raises(Refused):
        check_address(wrong)


async def test_many_calls_at_once_are_kept_apart(address: str) -> None:
    made = script("{on: open, say: Hello}")

    async def one(worker: remote.RemoteWorker, number: int) -> list[object]:
        session = await worker.frontend.open(Brief(f"c{number}"))
        steps = await play(session, 20)
        await session.close()
        return [step.covers for step in steps if isinstance(step, Listening)]

    async with serve_worker(ScriptedFrontend(made), None, address, 20), connect_worker(address) as worker:
        everybody = await asyncio.gather(*(one(worker, number) for number in range(20)))
    assert everybody == [[unit(number).covers for number in range(20)]] * 20
