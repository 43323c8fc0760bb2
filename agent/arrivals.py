"""Where the tasks of a call meet its tick: bounded queues of input events."""

import asyncio
from collections import deque
from dataclasses import dataclass

from agent.line import Pcm
from agent.timeline.events import Event

ARRIVALS_A_TICK = 50
"""Input taken from any one queue in one tick, so that no flood makes a tick long."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """An input event that is ready for the next tick. Speech comes with audio, a closed delegation with its private request."""

    event: Event
    pcm: Pcm | None = None
    private: str = ""


class Arrivals:
    """The input of one source on its way to the tick.

    Whoever brings what others make (steps, evidence, reports) asks for `room` before each: there is room for as many a tick as
    the tick takes, beyond that they wait for it, and so does whoever they read from. What the call's own code has to say (a
    session lost, a fault, a command) is put without asking: it is little, and nobody could wait with it.
    """

    def __init__(self) -> None:
        self._waiting: deque[Arrival] = deque()
        self._asked = 0
        self._room = asyncio.Event()
        self._room.set()

    def __len__(self) -> int:
        return len(self._waiting)

    async def room(self) -> None:
        """Return when one more may come in this tick."""
        await self._room.wait()
        self.count(1)

    def count(self, more: int) -> None:
        """What came in is as much work as so many more."""
        self._asked += more
        if self._asked >= ARRIVALS_A_TICK:
            self._room.clear()

    def put(self, arrival: Arrival) -> None:
        """Add one."""
        self._waiting.append(arrival)

    def take(self) -> list[Arrival]:
        """What the tick takes now, in order."""
        waiting = self._waiting
        taken = [waiting.popleft() for _ in range(min(len(waiting), ARRIVALS_A_TICK))]
        self._asked = len(waiting)
        if self._asked < ARRIVALS_A_TICK:
            self._room.set()
        return taken

    def drain(self) -> list[Arrival]:
        """Everything: no tick comes any more."""
        taken = list(self._waiting)
        self._waiting.clear()
        return taken
