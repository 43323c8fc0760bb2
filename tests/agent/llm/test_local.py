"""The embedded model with its real weights: it streams, stops, keeps deadlines and obeys a schema. What it says is not judged."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from agent.clock import LoopClock
from agent.errors import Capacity, Fault, Gone, Refused, Timeout, VenusError
from agent.llm import Deadlines, LocalLlm, LocalSettings, Message, UnusableAnswer
from agent.llm import local as local_module
from agent.weights.store import model_file
from tests.agent.llm.wire import request

pytestmark = pytest.mark.model

PATIENT = Deadlines(first_token_us=120_000_000, between_tokens_us=120_000_000, total_us=240_000_000)
"""The machine is shared: no test fails because it is slow."""
PATIENCE_S = 120.0
COUNT = "Count from one to one thousand, one number after the other."
LONG = "A dog and a cat. " * 250


def weights() -> LocalSettings:
    return LocalSettings(model_file("smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"), threads=1, context_tokens=2_048)


@asynccontextmanager
async def loaded(settings: LocalSettings | None = None) -> AsyncIterator[LocalLlm]:
    async with LocalLlm(settings or weights(), LoopClock()) as llm:
        yield llm


def asked(text: str = COUNT, **fields: Any) -> Any:
    return request(text, **{"deadline": PATIENT, "max_tokens": 400} | fields)


async def texts_of(llm: LocalLlm, text: str = COUNT, **fields: Any) -> list[str]:
    return [piece async for piece in llm.stream(asked(text, **fields))]


async def rest_of(texts: AsyncIterator[str]) -> str:
    return "".join([text async for text in texts])


async def slot_free(llm: LocalLlm) -> None:
    """Until the thread of the last answer has come back."""
    if llm._running:
        await asyncio.wait(list(llm._running), timeout=PATIENCE_S)
    assert not llm._running


class Pick(BaseModel):
    model_config = ConfigDict(extra="forbid")
    action: Literal["book", "transfer", "none"]
    guests: int = Field(ge=1, le=9)
    days: list[Literal["monday", "tuesday"]] = Field(max_length=2)


async def test_it_answers_in_pieces_and_the_same_every_time() -> None:
    async with loaded() as llm:
        first = await texts_of(llm, "Say hello.", max_tokens=12)
        assert 2 <= len(first) <= 12
        assert all(first)
        assert await texts_of(llm, "Say hello.", max_tokens=12) == first


async def test_structured_answers_obey_the_schema() -> None:
    async with loaded() as llm:
        for text in ("A table for three on Monday, please.", "Goodbye!"):
            assert isinstance(await llm.structured(asked(text, max_tokens=80), Pick), Pick)


async def test_an_answer_too_short_for_its_schema_is_unusable() -> None:
    async with loaded() as llm:
        with pytest.raises(UnusableAnswer):
            await llm.structured(asked(max_tokens=3), Pick)


async def test_closing_the_iterator_stops_the_generation() -> None:
    async with loaded() as llm:
        async with aclosing(llm.stream(asked())) as texts:
            assert await anext(texts)
        (generation,) = llm._running.values()
        await slot_free(llm)
        assert generation._chunks.qsize() < 100
        assert await texts_of(llm, "Say hello.", max_tokens=4)


@pytest.mark.parametrize("in_answer", [True, False], ids=["answer", "prompt"])
async def test_cancelling_the_task_stops_the_generation(in_answer: bool) -> None:
    async with loaded() as llm:
        begun = asyncio.Event()

        async def read() -> None:
            async for _ in llm.stream(asked(COUNT if in_answer else LONG)):
                begun.set()

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        (generation,) = llm._running.values()
        if in_answer:
            async with asyncio.timeout(PATIENCE_S):
                await begun.wait()
        reading.cancel()
        await asyncio.sleep(0)
        assert generation.cancelled
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert begun.is_set() == in_answer
        await slot_free(llm)
        assert await texts_of(llm, "Say hello.", max_tokens=4)


@pytest.mark.parametrize(
    ("text", "deadline", "said"),
    [
        (LONG, Deadlines(first_token_us=20_000), r"gave no word within 0\.02 s"),
        (COUNT, Deadlines(120_000_000, 120_000_000, 1, 240_000_000), "gave no further word within 1e-06 s"),
        (COUNT, Deadlines(total_us=20_000), r"did not finish within 0\.02 s"),
    ],
    ids=["first", "between", "total"],
)
async def test_deadlines_hit_and_the_slot_comes_back(text: str, deadline: Deadlines, said: str) -> None:
    async with loaded() as llm:
        with pytest.raises(Timeout, match=said):
            await texts_of(llm, text, deadline=deadline)
        await slot_free(llm)
        assert await texts_of(llm, "Say hello.", max_tokens=4)


async def test_a_prompt_longer_than_the_context_is_refused() -> None:
    async with loaded() as llm:
        with pytest.raises(Refused, match="exceeds the available context"):
            await texts_of(llm, "word " * 4_000)


async def test_a_role_that_the_model_does_not_know_is_refused_or_answered() -> None:
    odd = (Message("assistant", ""), Message("system", "\ud800\x00<|im_end|>"), Message("user", ""))
    async with loaded() as llm:
        assert await texts_of(llm, messages=odd, max_tokens=4)


async def test_as_many_at_the_same_time_as_there_are_slots() -> None:
    settings = LocalSettings(weights().model, threads=2, slots=2, context_tokens=512)
    async with loaded(settings) as llm:
        answers = await asyncio.gather(*(texts_of(llm, f"Say hello, number {n}.", max_tokens=8) for n in range(4)))
        assert all(answers)


async def test_signals_still_reach_the_loop() -> None:
    got = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, got.set)
    try:
        async with loaded() as llm:
            os.kill(os.getpid(), signal.SIGTERM)
            async with asyncio.timeout(PATIENCE_S):
                await got.wait()
            assert await texts_of(llm, "Say hello.", max_tokens=4)
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


async def test_leaving_stops_what_is_under_way() -> None:
    async with loaded() as llm:
        texts = llm.stream(asked())
        assert await anext(texts)
    with pytest.raises(Gone, match="broke off"):
        await rest_of(texts)
    with pytest.raises(Fault, match="outside its async with"):
        await texts_of(llm)


async def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(weights().model.read_bytes()[:1_000_000])
    with pytest.raises(Refused, match=r"cannot load model\.gguf"):
        async with loaded(LocalSettings(path)):
            pass


# --- an engine that may do nothing for a long time --------------------------------------------------------------------------


class StuckEngine:
    """Holds each thread until it is let go, then gives one chunk."""

    let_go: threading.Event
    error: BaseException | None = None

    def __init__(self, settings: LocalSettings, folder: Path) -> None:
        pass

    def generate(self, body: dict[str, Any], on_chunk: Callable[[dict[str, Any]], bool]) -> None:
        self.let_go.wait(PATIENCE_S)
        if self.error:
            raise self.error
        on_chunk({"choices": [{"delta": {"content": "Hello."}, "finish_reason": "stop"}]})

    def unload(self) -> None:
        pass


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> type[StuckEngine]:
    class Engine(StuckEngine):
        let_go = threading.Event()

    monkeypatch.setattr(local_module, "Engine", Engine)
    return Engine


async def test_a_stalled_generation_costs_one_deadline_and_then_one_slot(stuck: type[StuckEngine], tmp_path: Path) -> None:
    short = Deadlines(first_token_us=50_000)
    async with loaded(LocalSettings(tmp_path / "x.gguf")) as llm:
        with pytest.raises(Timeout):
            await texts_of(llm, deadline=short)
        with pytest.raises(Capacity, match="busy with other answers"):
            await texts_of(llm, deadline=short)
        stuck.let_go.set()
        await slot_free(llm)
        assert await texts_of(llm) == ["Hello."]


async def test_too_many_waiting_are_told_at_once(stuck: type[StuckEngine], tmp_path: Path) -> None:
    async with loaded(LocalSettings(tmp_path / "x.gguf")) as llm:
        waiting = [asyncio.create_task(texts_of(llm)) for _ in range(1 + local_module.MOST_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Capacity, match="busy with other answers"):
            await texts_of(llm)
        stuck.let_go.set()
        assert await asyncio.gather(*waiting) == [["Hello."]] * len(waiting)


async def test_whoever_waits_while_it_closes_is_told(stuck: type[StuckEngine], tmp_path: Path) -> None:
    async with loaded(LocalSettings(tmp_path / "x.gguf")) as llm:
        waiting = [asyncio.create_task(texts_of(llm)) for _ in range(2)]
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(0.05, stuck.let_go.set)
    first, second = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(first, Gone)
    assert isinstance(second, Gone)


async def test_what_does_not_stop_is_told(stuck: type[StuckEngine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_module, "CLOSING_S", 0.05)
    llm = await LocalLlm(LocalSettings(tmp_path / "x.gguf"), LoopClock()).__aenter__()
    reading = asyncio.create_task(texts_of(llm))
    await asyncio.sleep(0)
    with pytest.raises(Timeout, match="did not stop"):
        await llm.__aexit__(None, None, None)
    stuck.let_go.set()
    with pytest.raises(Gone):
        await reading


@pytest.mark.parametrize(("error", "kind"), [(Refused("no"), Refused), (MemoryError(), Fault), (KeyError("x"), Fault)])
async def test_errors_in_the_thread(
    stuck: type[StuckEngine], tmp_path: Path, error: BaseException, kind: type[VenusError]
) -> None:
    stuck.error = error
    stuck.let_go.set()
    async with loaded(LocalSettings(tmp_path / "x.gguf")) as llm:
        with pytest.raises(kind):
            await texts_of(llm)
        assert not llm._running
