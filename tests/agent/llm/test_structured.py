"""JSON answers: believed only when they fit, asked for once more, inside one deadline."""

import asyncio
from typing import Literal

import pytest
from pydantic import BaseModel, Field, field_validator

from agent.clock import LoopClock
from agent.errors import Capacity, Refused, Timeout
from agent.llm import UnusableAnswer
from agent.virtual import VirtualLoop
from tests.agent.llm.wire import answer, chunk, event, request, response, wired

pytestmark = pytest.mark.unit


class Booking(BaseModel):
    day: Literal["monday", "tuesday"]
    guests: int = Field(ge=1)


GOOD = '{"day": "monday", "guests": 4}'
LIES = {
    "wrong type": '{"day": "monday", "guests": "4"}',
    "wrong value": '{"day": "Blursday", "guests": 4}',
    "out of range": '{"day": "monday", "guests": 0}',
    "missing": '{"day": "monday"}',
    "fenced": f"```json\n{GOOD}\n```",
    "text before": f"Here you are: {GOOD}",
    "text after": f"{GOOD} Anything else?",
    "truncated": GOOD[:17],
    "two": GOOD + GOOD,
    "a list": f"[{GOOD}]",
    "null": "null",
    "not a number": '{"day": "monday", "guests": NaN}',
    "huge number": '{"day": "monday", "guests": 1e999}',
    "prose": "I'm sorry, but I can't assist with that.",
    "deep": "[" * 1_000,
    "half a character": '{"day": "\\ud83d", "guests": 4}',
}


async def test_an_answer_that_fits() -> None:
    async with wired(response(answer(GOOD[:9], GOOD[9:]))) as wire:
        assert await wire.client.structured(request(), Booking) == Booking(day="monday", guests=4)
    form = wire.bodies[0]["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"]["required"] == ["day", "guests"]
    assert len(wire.requests) == 1


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
async def test_a_lie_is_asked_for_once_more(lie: str) -> None:
    async with wired(response(answer(lie)), response(answer(GOOD))) as wire:
        assert await wire.client.structured(request("A table?"), Booking) == Booking(day="monday", guests=4)
    first, second = wire.bodies
    asked, quoted, complaint = second["messages"]
    assert [asked] == first["messages"]
    assert quoted["role"] == "assistant"
    assert quoted["content"] in lie
    assert complaint["role"] == "user"
    assert "not the JSON object" in complaint["content"]
    assert second["response_format"] == first["response_format"]


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
async def test_the_second_lie_is_the_last(lie: str) -> None:
    async with wired(response(answer(lie))) as wire:
        with pytest.raises(UnusableAnswer, match="JSON that does not fit Booking") as caught:
            await wire.client.structured(request(), Booking)
    assert len(wire.requests) == 2
    assert "monday" not in str(caught.value)
    assert "Blursday" not in str(caught.value)


async def test_no_text_is_asked_for_once_more() -> None:
    tool = response(chunk(None, "tool_calls", tool_calls=[{"function": {"name": "f", "arguments": GOOD}}]) + event("[DONE]"))
    async with wired(tool, response(answer(GOOD))) as wire:
        assert (await wire.client.structured(request(), Booking)).guests == 4
    assert [message["role"] for message in wire.bodies[1]["messages"]] == ["user", "user"]


@pytest.mark.parametrize(("status", "kind"), [(429, Capacity), (400, Refused)])
async def test_other_errors_are_not_tried_again(status: int, kind: type[Exception]) -> None:
    async with wired(response(status=status)) as wire:
        with pytest.raises(kind):
            await wire.client.structured(request(), Booking)
    assert len(wire.requests) == 1


async def test_both_tries_share_one_deadline() -> None:
    clock = LoopClock()
    slow = response(3.0, chunk("no"), 2.9, chunk(None, "stop"))
    async with wired(slow, response(3.0, *[chunk(" "), 2.0] * 40)) as wire:
        with pytest.raises(Timeout, match="did not finish"):
            await wire.client.structured(request(), Booking)
    assert len(wire.requests) == 2
    assert clock.now_us() == pytest.approx(30_000_000, abs=10)


class Slow(BaseModel):
    """Takes so long to check that the deadline passes."""

    day: str

    @field_validator("day")
    @classmethod
    def late(cls, day: str) -> str:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.advance(31.0)
        raise ValueError(day)


async def test_no_time_left_means_no_second_try() -> None:
    async with wired(response(answer(GOOD))) as wire:
        with pytest.raises(UnusableAnswer, match="does not fit Slow"):
            await wire.client.structured(request(), Slow)
    assert len(wire.requests) == 1


async def test_a_long_lie_is_quoted_in_part() -> None:
    async with wired(response(answer("x" * 3_000)), response(answer(GOOD))) as wire:
        await wire.client.structured(request(max_tokens=500), Booking)
    assert len(wire.bodies[1]["messages"][1]["content"]) == 2_000
