"""A fake wire under the real client: the bytes of a server as a list of steps, and what became of the request."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from agent.clock import LoopClock
from agent.llm import Deadlines, LlmRequest, LlmSettings, Message, OpenAiClient

HANG = 1e9
"""A step that never comes to its end."""
KEY = "sk-secret-4711"
SETTINGS = LlmSettings("http://127.0.0.1:8080", model="small", key=KEY)
EVENTS = {"content-type": "text/event-stream"}
DEADLINE = Deadlines(connect_us=2_000_000, first_token_us=4_000_000, between_tokens_us=3_000_000, total_us=30_000_000)
Step = bytes | float | Exception
"""Bytes to send, seconds to wait, or how the connection dies."""


def request(text: str = "Hello?", **fields: Any) -> LlmRequest:
    return LlmRequest(**{"messages": (Message("user", text),), "max_tokens": 50, "deadline": DEADLINE} | fields)


def event(data: Any) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    return b"data: " + text.encode() + b"\n\n"


def chunk(text: str | None = None, finish: str | None = None, **delta: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": text} | delta, "finish_reason": finish}]})


def answer(*texts: str, finish: str = "stop", done: bool = True) -> bytes:
    """A whole answer as a server sends it, with its empty first and last chunks."""
    pieces = [chunk(None, role="assistant"), *map(chunk, texts), chunk(None, finish)]
    return b"".join(pieces) + (event("[DONE]") if done else b"")


class Body(httpx.AsyncByteStream):
    """A response's bytes, step by step."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._steps = steps
        self.closed = False
        self.sent = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for step in self._steps:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                self.sent += 1
                yield step

    async def aclose(self) -> None:
        self.closed = True


@dataclass(frozen=True)
class Response:
    """What a server answers one request with."""

    steps: tuple[Step, ...]
    status: int
    headers: dict[str, str]


def response(*steps: Step, status: int = 200, headers: dict[str, str] = EVENTS) -> Response:
    return Response(steps, status, headers)


class Wire(httpx.AsyncBaseTransport):
    """A server that answers the nth request with the nth response, and every further one with the last."""

    def __init__(self, responses: tuple[Response, ...], settings: LlmSettings, before_s: float) -> None:
        self.client = OpenAiClient(settings, LoopClock(), self)
        self.requests: list[httpx.Request] = []
        self.streams: list[Body] = []
        self._responses, self._before_s = responses, before_s

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        given = self._responses[min(len(self.requests), len(self._responses)) - 1]
        await asyncio.sleep(self._before_s)
        self.streams.append(Body(given.steps))
        return httpx.Response(given.status, headers=given.headers, stream=self.streams[-1])

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(each.content) for each in self.requests]

    @property
    def all_closed(self) -> bool:
        return all(stream.closed for stream in self.streams)

    async def texts(self, asked: LlmRequest | None = None) -> list[str]:
        return [text async for text in self.client.stream(asked or request())]


@asynccontextmanager
async def wired(*responses: Response, settings: LlmSettings = SETTINGS, before_s: float = 0.0) -> AsyncIterator[Wire]:
    """The client, open, on a wire that gives these responses. Every stream that was begun must be closed in the end."""
    wire = Wire(responses, settings, before_s)
    async with wire.client:
        yield wire
    assert wire.all_closed
