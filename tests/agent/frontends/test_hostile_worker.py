"""A worker that lies on the wire: the session is lost with a reason, the call is not, and nothing grows without bound."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from agent.errors import Capacity, Gone, Refused
from agent.frontends import frontend_pb2 as pb
from agent.frontends.base import Brief
from agent.frontends.remote import connect_worker
from agent.frontends.stream import LONGEST_RETRY_S, error_of
from agent.timeline.events import FrontendLost, UtteranceEnded
from agent.timeline.kinds import EndReason
from tests.agent.frontends.contract import unit
from tests.rehearsal.hostile import ended, hung_up
from tests.rehearsal.stages import spoken, staged, with_lines

pytestmark = pytest.mark.peer

INFO = {"unit_us": 100_000, "output_rate_hz": 16_000}
OPENED = pb.FrontendOutput(opened=pb.Opened()).SerializeToString()
Say = Callable[[bytes, Any], AsyncIterator[bytes]]
"""The bytes that are sent for a unit that came in."""


def out(**kind: Any) -> bytes:
    return pb.FrontendOutput(**kind).SerializeToString()


def speech(**fields: Any) -> bytes:
    given = {"covers": pb.Span(), "utterance_id": "u", "alignment": 1, "role": 1, "pcm": bytes(6_400), "final": True}
    return out(speech=pb.Speech(**(given | fields)))


@asynccontextmanager
async def liar(tmp_path: Path, say: Say, info: dict[str, Any] | None = None) -> AsyncIterator[Any]:
    """A connection to a worker that answers each message with the bytes of `say`."""

    async def describe(request: bytes, context: Any) -> bytes:
        return pb.FrontendInfo(**(info or INFO)).SerializeToString()

    async def session(requests: AsyncIterator[bytes], context: Any) -> None:
        await context.write(OPENED) if (await anext(aiter(requests), None)) is not None else None
        async for request in requests:
            async for answer in say(request, context):
                await context.write(answer)

    handlers = {
        "Info": grpc.unary_unary_rpc_method_handler(describe),
        "Session": grpc.stream_stream_rpc_method_handler(session),
    }
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("venus.v1.Frontend", handlers),))
    address = f"unix:{tmp_path}/liar.sock"
    server.add_insecure_port(address)
    await server.start()
    try:
        async with connect_worker(address) as worker:
            yield worker
    finally:
        await server.stop(0)


def saying(*answers: bytes) -> Say:
    async def say(request: bytes, context: Any) -> AsyncIterator[bytes]:
        for answer in answers:
            yield answer

    return say


LIES: dict[str, bytes] = {
    "garbage": b"\xff\xfe\x00garbage",
    "no utf-8": b"\x1a\x04\x12\x02\xff\xfe",
    "nothing": b"",
    "opened again": OPENED,
    "the future": speech(covers=pb.Span(to_us=10**12)),
    "before the call": out(listening=pb.Listening(covers=pb.Span(from_us=-5))),
    "backwards": out(listening=pb.Listening(covers=pb.Span(from_us=5, to_us=1))),
    "half a sample": speech(pcm=b"123"),
    "many words": speech(words=[pb.Word(text="x")] * 5_000),
    "a long id": speech(utterance_id="u" * 1_000_000),
    "a long attempt": speech(cause=pb.Cause(attempt_id="d" * 2_000_000)),
    "an unknown role": speech(role=99),
    "an epoch to come": speech(epoch=7),
    "a message too long": speech(text="x" * 5_000_000),
}


@pytest.mark.parametrize("lie", list(LIES))
async def test_a_lie_costs_the_session_and_not_the_call(lie: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("grpc._common"), "disabled", True)  # pytest keeps its traceback, and that the channel
    lines = with_lines(apology=spoken("we are sorry"))
    async with liar(tmp_path, saying(LIES[lie])) as worker, staged(worker.frontend, parts=lines) as stage:
        assert (await ended(stage, 20_000)).reason is EndReason.FRONTEND_LOST
        lost = [entry.event for entry in stage.events(FrontendLost)]
        assert len(lost) == 3
        assert all(10 < len(one.reason) <= 300 for one in lost)
        assert stage.events(UtteranceEnded)


STATUS: dict[str, tuple[grpc.StatusCode, str, tuple[tuple[str, str], ...]]] = {
    "full": (grpc.StatusCode.RESOURCE_EXHAUSTED, "full", (("retry-after", "9" * 5_000),)),
    "full for years": (grpc.StatusCode.RESOURCE_EXHAUSTED, "full", (("retry-after", "999999999"),)),
    "a long reason": (grpc.StatusCode.INTERNAL, "\x1b[2J" + "x" * 4_000, ()),
    "fine": (grpc.StatusCode.OK, "", ()),
}


@pytest.mark.parametrize("status", list(STATUS))
async def test_a_status_that_lies_is_a_reason_and_no_more(status: str, tmp_path: Path) -> None:
    async def leave(request: bytes, context: Any) -> AsyncIterator[bytes]:
        await context.abort(*STATUS[status]) if status != "fine" else context.set_code(grpc.StatusCode.OK)
        yield out()

    async with liar(tmp_path, leave) as worker:
        session = await worker.frontend.open(Brief("c"))
        await session.feed(unit(0))
        with pytest.raises(Gone) as lost:
            async for _ in session.steps():
                pass
        assert str(lost.value)
        await session.close()


async def test_a_time_to_retry_is_bounded(tmp_path: Path) -> None:
    full = grpc.StatusCode.RESOURCE_EXHAUSTED
    assert isinstance(error_of(full, "full", {"retry-after": "9" * 5_000}), Gone)
    error = error_of(full, "full", {"retry-after": "999999999"})
    assert isinstance(error, Capacity)
    assert error.retry_after_s == LONGEST_RETRY_S


async def test_a_flood_of_sound_is_held_back(tmp_path: Path) -> None:
    """Nobody reads: of a worker that sends a megabyte at a time only a few messages wait here."""
    sent = 0

    async def flood(request: bytes, context: Any) -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            yield speech(pcm=bytes(1_000_000), final=False)
            sent += 1

    async with liar(tmp_path, flood) as worker:
        session = await worker.frontend.open(Brief("c"))
        await session.feed(unit(0))
        await asyncio.sleep(1.0)
        assert 3 <= len(session._stream.box._items) <= 6
        assert sent < 40
        await session.close()


@pytest.mark.parametrize(
    "info", [{"unit_us": 0}, {"unit_us": 1}, {"unit_us": 10**12}, {"output_rate_hz": 1}, {"name": "x" * 3_000_000}]
)
async def test_a_declaration_no_call_can_run_with_is_refused(info: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(Refused):
        async with liar(tmp_path, saying(), INFO | info):
            pass


async def test_a_worker_that_floods_a_call_is_taken_a_little_at_a_time(tmp_path: Path) -> None:
    async def flood(request: bytes, context: Any) -> AsyncIterator[bytes]:
        while True:
            yield speech(pcm=bytes(640), text="yes", final=False)

    async with liar(tmp_path, flood) as worker, staged(worker.frontend) as stage:
        await stage.wait(2_000)
        assert len(stage.call._link.arrivals) <= 60
        assert not stage.running.done()
        await hung_up(stage)
