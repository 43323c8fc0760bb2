"""A GGUF model run by this process; its prompts are cached between requests.

    async with LocalLlm(LocalSettings(path), clock) as llm: ...     # before any call: loading stops the whole process

The work is done in threads, one a slot. A generation that is cancelled, or whose deadline is reached, ends with its next token or
its next batch of prompt; until then it holds its slot, and whoever comes in the meantime waits for it or is told `Capacity`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from agent.clock import Clock
from agent.errors import Capacity, Fault, Gone, Timeout, VenusError
from agent.llm.answer import Answer
from agent.llm.base import Deadlines, LlmRequest, T
from agent.llm.body import Json, body_of
from agent.llm.deadlines import within
from agent.llm.engine import Engine
from agent.llm.failures import Server
from agent.llm.settings import LocalSettings
from agent.llm.structured import ask_structured

P = ParamSpec("P")
R = TypeVar("R")

CLOSING_S = 10.0
"""How long closing waits for generations to stop."""
MOST_WAITING = 8
"""Requests that may wait for a slot; the next one is told `Capacity` at once."""


class _Generation:
    """One answer in the making: its chunks come from a thread and are read on the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._chunks: asyncio.Queue[Json | BaseException | None] = asyncio.Queue()  # bounded by the answer's `max_tokens`
        self.cancelled = False

    def on_chunk(self, chunk: Json) -> bool:
        """In the thread: take a chunk; whether to stop."""
        if not self.cancelled:
            self._loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
        return self.cancelled

    def end(self, error: BaseException | None) -> None:
        """Nothing more comes."""
        self._chunks.put_nowait(error)

    async def texts(self, answer: Answer) -> AsyncGenerator[str, None]:
        """The texts of the answer, to its end."""
        while not isinstance(chunk := await self._chunks.get(), BaseException | None):
            if text := answer.read(chunk):
                yield text
        if isinstance(chunk, VenusError):
            raise chunk
        if chunk is not None:
            raise Fault(f"the embedded model failed: {type(chunk).__name__}") from chunk
        answer.check_end()


class LocalLlm:
    """One a process, in an `async with`, which loads the model (`agent.llm.base.Llm`)."""

    def __init__(self, settings: LocalSettings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self._server = Server(f"the embedded model {settings.model.name}")
        self._engine: Engine | None = None
        self._running: dict[asyncio.Future[None], _Generation] = {}
        self._slots = asyncio.Semaphore(settings.slots)
        self._waiting = 0

    async def __aenter__(self) -> Self:
        """Loads the model: a second or several in which nothing else of this process runs, for llama.cpp holds the interpreter's
        lock. Raises `Refused` when it cannot be loaded."""
        if self._engine is not None:
            raise Fault("the embedded model is loaded already")
        self._folder = TemporaryDirectory(prefix="venus-llm-")
        self._threads = ThreadPoolExecutor(self._settings.slots, thread_name_prefix="venus-llm")
        try:
            self._engine = await self._in_thread(Engine, self._settings, Path(self._folder.name))
        finally:
            if self._engine is None:
                self._threads.shutdown(wait=False)
                self._folder.cleanup()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stops what is being generated and unloads the model. Raises `Timeout` when it does not stop within `CLOSING_S`."""
        engine, self._engine = self._engine, None
        for generation in self._running.values():
            generation.cancelled = True
        try:
            if self._running:
                await asyncio.wait(list(self._running), timeout=CLOSING_S)
            if self._running:
                raise Timeout(f"{self._server.name} did not stop within {CLOSING_S:g} s: this process may end late")
            if engine is not None:
                await self._in_thread(engine.unload)
        finally:
            self._threads.shutdown(wait=False)
            self._folder.cleanup()

    def stream(self, request: LlmRequest) -> AsyncGenerator[str, None]:
        """See `Llm.stream`."""
        return self._ask(request, None)

    async def structured(self, request: LlmRequest, schema: type[T]) -> T:
        """See `Llm.structured`. The answer is made under a grammar of the schema."""
        return await ask_structured(self._ask, request, schema, self._clock, self._server.name)

    async def _ask(self, request: LlmRequest, response_format: Json | None) -> AsyncGenerator[str, None]:
        since_us = self._clock.now_us()
        generation = await self._begin(body_of(request, response_format), request.deadline)
        texts = generation.texts(Answer(self._server, request.max_tokens))
        try:
            async with aclosing(within(texts, request.deadline, self._clock, since_us, self._server.name)) as bounded:
                async for text in bounded:
                    yield text
        finally:
            generation.cancelled = True

    async def _begin(self, body: Json, deadline: Deadlines) -> _Generation:
        if self._engine is None:
            raise Fault("the embedded model is used outside its async with")
        await self._slot(min(deadline.first_token_us, deadline.total_us) / 1e6)
        if self._engine is None:
            self._slots.release()
            raise Gone(f"{self._server.name} was unloaded: ask the next one")
        generation = _Generation(asyncio.get_running_loop())
        running = self._in_thread(self._engine.generate, body, generation.on_chunk)
        self._running[running] = generation
        running.add_done_callback(self._ended)
        return generation

    async def _slot(self, within_s: float) -> None:
        busy = f"{self._server.name} is busy with other answers: try again later, or give it more slots"
        if self._waiting >= MOST_WAITING:
            raise Capacity(busy)
        self._waiting += 1
        try:
            async with asyncio.timeout(within_s):
                await self._slots.acquire()
        except TimeoutError:
            raise Capacity(busy) from None
        finally:
            self._waiting -= 1

    def _in_thread(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[R]":
        return asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *args, **kwargs))

    def _ended(self, running: "asyncio.Future[None]") -> None:
        self._slots.release()
        self._running.pop(running).end(running.exception())
