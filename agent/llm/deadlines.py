"""The bounds on an answer, whoever gives it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from agent.clock import Clock
from agent.errors import Timeout
from agent.llm.base import Deadlines


async def within(
    pieces: AsyncGenerator[str, None], deadline: Deadlines, clock: Clock, since_us: int, server: str
) -> AsyncGenerator[str, None]:
    """`pieces` (none of them empty) as they come. Raises `Timeout` when the first, the next or the end is not there in time;
    first and end are counted from `since_us` on the clock. `pieces` is closed then, and when this generator is closed."""
    allowed_us = since_us + deadline.first_token_us - clock.now_us()
    what, limit_us = "gave no word", deadline.first_token_us
    async with aclosing(pieces):
        while True:
            left_us = since_us + deadline.total_us - clock.now_us()
            if left_us <= allowed_us:
                what, limit_us = "did not finish", deadline.total_us
            try:
                piece = await _next(pieces, min(allowed_us, left_us))
            except TimeoutError:
                late = f"{server} {what} within {limit_us / 1e6:g} s"
                raise Timeout(f"{late}: see whether it is overloaded, or allow it more time") from None
            if not piece:
                return
            yield piece
            allowed_us = limit_us = deadline.between_tokens_us
            what = "gave no further word"


async def _next(pieces: AsyncGenerator[str, None], within_us: int) -> str:
    """The next piece, empty at the end. Raises TimeoutError; at once when there is no time left, even if a piece waits."""
    if within_us <= 0:
        raise TimeoutError
    async with asyncio.timeout(within_us / 1e6):
        return await anext(pieces, "")
