"""Answers as instances of a schema: asked for, checked, and asked for once more."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from pydantic import ValidationError

from agent.clock import Clock
from agent.llm.base import LlmRequest, Message, T, UnusableAnswer
from agent.llm.body import Json, response_format

Ask = Callable[[LlmRequest, Json], AsyncGenerator[str, None]]

LONGEST_QUOTE = 2_000
"""Characters of an answer that did not fit, and of what was wrong with it, that the model is shown again."""


async def ask_structured(ask: Ask, request: LlmRequest, schema: type[T], clock: Clock, server: str) -> T:
    """The answer to `request` as a `schema`; see `Llm.structured`."""
    ends_us = clock.now_us() + request.deadline.total_us
    answer = ""
    try:
        answer = await _whole(ask(request, response_format(schema)))
        return _fitted(answer, schema, server)
    except UnusableAnswer as error:
        left_us = ends_us - clock.now_us()
        if left_us <= 0:
            raise
        second = _again(request, answer, error, left_us)
    return _fitted(await _whole(ask(second, response_format(schema))), schema, server)


class _Unfit(UnusableAnswer):
    """`faults`: what is wrong, for the model alone; it may repeat what the answer said."""

    def __init__(self, message: str, faults: str) -> None:
        super().__init__(message)
        self.faults = faults


def _fitted(answer: str, schema: type[T], server: str) -> T:
    try:
        return schema.model_validate_json(answer, strict=True)
    except ValidationError as error:
        kinds = ", ".join(sorted({each["type"] for each in error.errors(include_input=False)}))
        faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
    raise _Unfit(f"{server} answers with JSON that does not fit {schema.__name__} ({kinds}): try another model", faults)


def _again(request: LlmRequest, answer: str, error: UnusableAnswer, left_us: int) -> LlmRequest:
    """The second try: what was wrong with the first is said, because the same question gets the same answer."""
    faults = error.faults if isinstance(error, _Unfit) else str(error)
    complaint = f"That is not the JSON object I asked for ({faults[:LONGEST_QUOTE]}). Answer with nothing but that object."
    shown = (Message("assistant", answer[:LONGEST_QUOTE]),) if answer else ()
    deadline = replace(request.deadline, total_us=min(left_us, request.deadline.total_us))
    return replace(request, messages=(*request.messages, *shown, Message("user", complaint)), deadline=deadline)


async def _whole(pieces: AsyncGenerator[str, None]) -> str:
    async with aclosing(pieces):
        return "".join([piece async for piece in pieces])
