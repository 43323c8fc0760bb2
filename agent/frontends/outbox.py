"""A bounded hand-over from those who make steps to the one who reads them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import Generic, TypeVar

from agent.errors import Gone

T = TypeVar("T")


class Outbox(Generic[T]):
    """When `limit` items wait, `room` makes the writer wait: nothing is dropped, and the sender of units sees the lag.

    One `put` may pass the limit by what a single unit gives. Heavy items count as `weight` items. One reader at a time.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[tuple[T, int]] = deque()
        self._weight = 0
        self._ended = asyncio.Event()
        self._error: Gone | None = None
        self._filled, self._room = asyncio.Event(), asyncio.Event()
        self._room.set()

    @property
    def ended(self) -> bool:
        """Nothing more may be put."""
        return self._ended.is_set()

    async def room(self) -> None:
        """Return when an item may be put. Raises `Gone` once the box is ended."""
        await self._room.wait()
        self.check()

    def check(self) -> None:
        """Raises `Gone` once the box is ended."""
        if self.ended:
            raise self._error or Gone("the session is closed")

    def put(self, items: Iterable[T], weight: int = 1) -> None:
        """Add items, in order; nothing happens once the box is ended."""
        if self.ended:
            return
        for item in items:
            self._items.append((item, weight))
            self._weight += weight
        if self._items:
            self._filled.set()
        if self._weight >= self._limit:
            self._room.clear()

    def end(self, error: Gone | None = None) -> None:
        """No more items. With an `error` what waits is still read and the error follows; without one, what waits is dropped."""
        if self.ended:
            if error is None:
                self._error = None
                self._drop()
            return
        self._error = error
        if error is None:
            self._drop()
        self._ended.set()
        self._filled.set()
        self._room.set()

    def _drop(self) -> None:
        self._items.clear()
        self._weight = 0

    async def ended_within(self, seconds: float) -> bool:
        """Wait for the end, at most so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    async def __aiter__(self) -> AsyncIterator[T]:
        while True:
            while self._items:
                item, weight = self._items.popleft()
                self._weight -= weight
                if self._weight < self._limit:
                    self._room.set()
                yield item
            if self.ended:
                if self._error is not None:
                    raise self._error
                return
            self._filled.clear()
            await self._filled.wait()
