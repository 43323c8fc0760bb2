"""The client against a foreign server, llama.cpp's own HTTP server, with real weights."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from agent.clock import LoopClock
from agent.errors import Refused
from agent.llm import Deadlines, LlmSettings, OpenAiClient
from agent.llm.engine import import_xllamacpp
from agent.weights.store import model_file
from tests.agent.llm.wire import request

pytestmark = pytest.mark.model

KEY = secrets.token_hex(16)
PATIENT = Deadlines(first_token_us=120_000_000, between_tokens_us=120_000_000, total_us=240_000_000)
PATIENCE_S = 120.0


class Pick(BaseModel):
    action: Literal["book", "transfer", "none"]
    guests: int


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """The address of a llama.cpp server with one slot."""
    xllamacpp = import_xllamacpp()
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model_file("smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"))
    parameters.n_ctx, parameters.n_parallel, parameters.n_threads_http = 1_024, 1, 2
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.hostnames, parameters.port, parameters.api_keys = ["127.0.0.1"], 0, [KEY]
    parameters.verbosity, parameters.use_jinja = -1, True
    server = await asyncio.to_thread(xllamacpp.Server, parameters)
    yield server.listening_address


def client_of(url: str, key: str = KEY) -> OpenAiClient:
    return OpenAiClient(LlmSettings(url, model="any", key=key), LoopClock())


def asked(text: str, **fields: Any) -> Any:
    return request(text, **{"deadline": PATIENT} | fields)


async def texts_of(client: OpenAiClient, text: str, **fields: Any) -> list[str]:
    return [piece async for piece in client.stream(asked(text, **fields))]


async def test_streams_and_schemas() -> None:
    async with serving() as url, client_of(url) as client:
        assert 2 <= len(await texts_of(client, "Say hello.", max_tokens=8)) <= 8
        assert isinstance(await client.structured(asked("A table for two."), Pick), Pick)


async def test_a_closed_iterator_frees_the_only_slot() -> None:
    async with serving() as url, client_of(url) as client:
        async with aclosing(client.stream(asked("Count to one thousand.", max_tokens=900))) as texts:
            assert await anext(texts)
        async with asyncio.timeout(PATIENCE_S):
            assert await texts_of(client, "Say hello.", max_tokens=4)


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [("wrong", "Hello.", "check VENUS_LLM_KEY"), (KEY, "word " * 3_000, "exceeds the available context size")],
)
async def test_its_errors_are_ours(key: str, text: str, said: str) -> None:
    async with serving() as url, client_of(url, key) as client:
        with pytest.raises(Refused, match=said):
            await texts_of(client, text)
