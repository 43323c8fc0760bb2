"""The call's side of an ears session: units in, evidence out, beside the tick."""

import asyncio
from collections import deque

from agent.arrivals import Arrival, Arrivals
from agent.errors import Gone, Refused, VenusError
from agent.frontend_link import CLOSE_WITHIN_S, ORDER_WITHIN_S
from agent.frontends.base import Brief, Ears, EarsSession, Unit
from agent.frontends.limits import check_evidence
from agent.tasks import run_until_one_ends, within
from agent.timeline.events import FaultReported
from agent.timeline.told import sentence

BACKLOG_UNITS = 100
"""Units that wait for slow ears, at most; the oldest are dropped, which costs words and no call."""
MOST_REFUSED = 20
"""Pieces of evidence that make no sense; beyond that the ears count as lost."""


class EarsLink:
    """One call's ears. Losing them is a counted fault; the call goes on without transcripts."""

    def __init__(self, ears: Ears) -> None:
        self.arrivals = Arrivals()
        self._ears = ears
        self._units: deque[Unit] = deque(maxlen=BACKLOG_UNITS)
        self._wake = asyncio.Event()
        self._given_us = self._refused = 0
        self._over = False

    def feed(self, unit: Unit) -> None:
        """Queue a unit; nobody takes it once the session is over."""
        self._units.append(unit)
        self._wake.set()

    async def run(self, brief: Brief) -> None:
        """Open a session and serve it until it is lost or this is cancelled."""
        try:
            session = await within(ORDER_WITHIN_S, self._ears.open(brief))
        except Exception as error:
            self._fault("ears did not open", error)
            return
        try:
            await run_until_one_ends(self._feeder(session), self._reader(session))
            self._fault("ears are lost", Gone("they ended their session"))
        except Exception as error:
            self._fault("ears are lost", error)
        finally:
            self._over = True
            await self._close(session)

    async def _close(self, session: EarsSession) -> None:
        try:
            await within(CLOSE_WITHIN_S, session.close())
        except Exception as error:
            self._fault("ears did not close", error)

    async def _feeder(self, session: EarsSession) -> None:
        while not self._over:  # a call into the session may go on although it was cancelled
            await self._wake.wait()
            self._wake.clear()
            while self._units and not self._over:
                unit = self._units.popleft()
                self._given_us = unit.covers.to_us
                async with asyncio.timeout(ORDER_WITHIN_S):
                    await session.feed(unit)

    async def _reader(self, session: EarsSession) -> None:
        async for evidence in session.evidence():
            await self.arrivals.room()
            if self._over:
                return
            try:
                check_evidence(evidence, self._given_us)
            except Refused as error:
                self._refused += 1
                if self._refused > MOST_REFUSED:
                    raise
                self._fault("evidence was dropped", error)
            else:
                self.arrivals.put(Arrival(evidence))

    def _fault(self, what: str, error: Exception) -> None:
        """The message of an error that is not ours may quote what was said."""
        why = str(error) if isinstance(error, VenusError) else "no answer in time" if isinstance(error, TimeoutError) else ""
        self.arrivals.put(Arrival(FaultReported("ears", sentence(f"{what}: {why or type(error).__name__}"))))
