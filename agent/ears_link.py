"""The call's side of an ears session: units in, evidence out, beside the tick."""

import asyncio
from collections import deque

from agent.errors import VenusError
from agent.frontend_link import CLOSE_WITHIN_S, ORDER_WITHIN_S, Arrival
from agent.frontends.base import Brief, Ears, EarsSession, Unit
from agent.frontends.limits import check_evidence
from agent.tasks import run_until_one_ends
from agent.timeline.events import FaultReported

BACKLOG_UNITS = 100
"""Units that wait for slow ears, at most; the oldest are dropped, which costs words and no call."""


class EarsLink:
    """One call's ears. Losing them is a counted fault; the call goes on without transcripts."""

    def __init__(self, ears: Ears) -> None:
        self.arrivals: deque[Arrival] = deque()
        self._ears = ears
        self._units: deque[Unit] = deque(maxlen=BACKLOG_UNITS)
        self._wake = asyncio.Event()

    def feed(self, unit: Unit) -> None:
        """Queue a unit."""
        self._units.append(unit)
        self._wake.set()

    async def run(self, brief: Brief) -> None:
        """Open a session and serve it until it is lost or this is cancelled."""
        try:
            async with asyncio.timeout(ORDER_WITHIN_S):
                session = await self._ears.open(brief)
        except (VenusError, TimeoutError) as error:
            self._fault(f"ears did not open: {error or 'no answer in time'}")
            return
        try:
            await run_until_one_ends(self._feeder(session), self._reader(session))
        except (VenusError, TimeoutError) as error:
            self._fault(f"ears are lost: {error or 'no answer in time'}")
        finally:
            async with asyncio.timeout(CLOSE_WITHIN_S):
                await session.close()

    async def _feeder(self, session: EarsSession) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._units:
                async with asyncio.timeout(ORDER_WITHIN_S):
                    await session.feed(self._units.popleft())

    async def _reader(self, session: EarsSession) -> None:
        async for evidence in session.evidence():
            check_evidence(evidence)
            self.arrivals.append(Arrival(evidence))

    def _fault(self, detail: str) -> None:
        self.arrivals.append(Arrival(FaultReported("ears", detail)))
