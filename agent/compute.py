"""Where models run: beside the event loop, the most urgent first, dropped when nobody waits for them any more.

A model's call is plain blocking code. On a real loop it runs in one of a few threads; in a rehearsal on virtual time it runs at
once and its result arrives after what such a call costs, so that no virtual latency treats a model as free.
"""

import asyncio
import heapq
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import IntEnum, StrEnum
from typing import Any, Protocol, TypeVar

from agent.clock import Clock
from agent.errors import Capacity, Fault, Gone

T = TypeVar("T")
Cancelled = Callable[[], bool]
"""Whether a call's result is no longer wanted: long work looks now and then, and returns early with anything."""


def never() -> bool:
    """For work that nobody cancels."""
    return False


MOST_WAITING = 256
"""Calls that may wait for a thread; beyond it the next one is refused."""


class Urgency(IntEnum):
    """Who waits for a call."""

    ANSWER = 0
    """The caller, in silence."""
    AHEAD = 1
    """Nobody yet, but the caller soon: what is guessed ahead, and speech that follows speech."""
    PARTIAL = 2
    """What may come late or never."""


class Kind(StrEnum):
    """Which model a call runs."""

    RECOGNISE = "recognise"
    TURN = "turn"
    SPEAKER = "speaker"
    SEARCH = "search"
    RENDER = "render"


class Compute(Protocol):
    """Runs blocking calls of models."""

    async def run(self, kind: Kind, work: Callable[[Cancelled], T], urgency: Urgency) -> T:
        """The result of `work`, or what it raised. Cancelling the await drops a call that waits and tells one that runs.

        Raises `Capacity` when too many wait, `Gone` when it is closed meanwhile, `Fault` for what is no ordinary exception.
        """


class _Call:
    """One call: ordered by urgency, then by age."""

    __slots__ = ("dropped", "future", "loop", "order", "work")

    def __init__(self, order: tuple[int, int], work: Callable[[Cancelled], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.order, self.work, self.loop = order, work, loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.dropped = False

    def __lt__(self, other: "_Call") -> bool:
        return self.order < other.order

    def run(self) -> None:
        """In a thread."""
        if self.dropped:
            return
        try:
            result, error = self.work(lambda: self.dropped), None
        # A panic in a library's Rust is no Exception: it must not end this thread and leave the caller waiting.
        except BaseException as raised:
            result, error = None, _carried(raised)
        self.tell(result, error)

    def tell(self, result: Any, error: Exception | None) -> None:
        """The outcome, from any thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self.loop.call_soon_threadsafe(self._tell, result, error)

    def _tell(self, result: Any, error: Exception | None) -> None:
        if self.future.done():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


def _carried(raised: BaseException) -> Exception:
    """As a future can carry it: no StopIteration, and nothing that ends a loop or counts as cancelled."""
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    fault = Fault(f"a model raised {type(raised).__name__}: see the log")
    fault.__cause__ = raised
    return fault


class ThreadCompute:
    """`threads` threads; leave it with `close`, which waits for the calls under way."""

    def __init__(self, threads: int) -> None:
        self._waiting: list[_Call] = []
        self._changed = threading.Condition()
        self._closed = False
        self._count = 0
        self._threads = [threading.Thread(target=self._serve, name=f"compute-{number}") for number in range(threads)]
        for thread in self._threads:
            thread.start()

    @property
    def threads(self) -> int:
        """How many calls run at once."""
        return len(self._threads)

    async def run(self, kind: Kind, work: Callable[[Cancelled], T], urgency: Urgency) -> T:
        with self._changed:
            if self._closed:
                raise Capacity("the threads for models are closed: no more calls are served here")
            if len(self._waiting) >= MOST_WAITING:
                self._forget_dropped()
            if len(self._waiting) >= MOST_WAITING:
                raise Capacity(f"{len(self._waiting)} calls of models wait already: the machine is too slow for this many calls")
            self._count += 1
            call = _Call((urgency, self._count), work, asyncio.get_running_loop())
            heapq.heappush(self._waiting, call)
            self._changed.notify()
        try:
            result: T = await call.future
        finally:
            call.dropped = True
        return result

    def close(self) -> None:
        """Drop what waits, let what runs finish."""
        with self._changed:
            self._closed = True
            for call in self._waiting:
                call.dropped = True
                call.tell(None, Gone("the threads for models were closed"))
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _forget_dropped(self) -> None:
        """Calls that nobody waits for take no room from others."""
        self._waiting = [call for call in self._waiting if not call.dropped]
        heapq.heapify(self._waiting)

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                call = heapq.heappop(self._waiting)
            call.run()
            del call


class InlineCompute:
    """For virtual time: a call runs at once and its result arrives `costs_us[kind]` later, one after the other per `lanes`."""

    def __init__(self, clock: Clock, costs_us: Mapping[Kind, int], lanes: int = 2) -> None:
        self._clock, self._costs_us = clock, costs_us
        self._free_us = [0] * lanes

    async def run(self, kind: Kind, work: Callable[[Cancelled], T], urgency: Urgency) -> T:
        lane = min(range(len(self._free_us)), key=self._free_us.__getitem__)
        done_us = max(self._free_us[lane], self._clock.now_us()) + self._costs_us[kind]
        self._free_us[lane] = done_us
        result = work(lambda: False)
        await self._clock.sleep_until(done_us)
        return result
