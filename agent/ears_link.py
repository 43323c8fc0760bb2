"""The call's side of an ears session: units in, evidence out, beside the tick, and a new session when one is lost."""

import asyncio
from collections import deque

from agent.arrivals import Arrival, Arrivals
from agent.clock import Clock
from agent.errors import Gone, Refused, VenusError
from agent.frontend_link import CLOSE_WITHIN_S, ORDER_WITHIN_S
from agent.frontends.base import Brief, Ears, EarsSession, Unit
from agent.frontends.limits import check_evidence
from agent.reopening import Rebuilding, reopened
from agent.settings import CallSettings
from agent.tasks import run_until_one_ends, within
from agent.timeline.events import FaultReported, Transcript
from agent.timeline.told import sentence

BACKLOG_US = 10_000_000
"""Input that waits for slow ears or for a new session, at most; the oldest is dropped, which costs words and no call."""
MOST_REFUSED = 20
"""Pieces of evidence that make no sense; beyond that the ears are given up."""


class EarsLink:
    """One call's ears. Losing them is a counted fault; they are opened again within the bounds for a frontend.

    A turn that was not over is given to the new session from its beginning, and so is what is said meanwhile. Ears that do not
    come back are given up: there are no more transcripts.
    """

    def __init__(self, ears: Ears, settings: CallSettings, clock: Clock) -> None:
        self.arrivals = Arrivals()
        self._ears, self._settings, self._clock = ears, settings, clock
        self._session: EarsSession | None = None
        self._units: deque[Unit] = deque()
        self._unread: deque[Unit] = deque()
        """Given since the last turn that was read to its end."""
        self._wake = asyncio.Event()
        self._given_us = self._refused = 0

    def feed(self, unit: Unit) -> None:
        """Queue a unit; nobody takes it once the ears are given up."""
        _keep(self._units, unit)
        self._wake.set()

    async def run(self, brief: Brief) -> None:
        """Keep a session open until this is cancelled or the ears are given up."""
        rebuilding = Rebuilding(self._settings.reopen_tries)

        async def attempt(left_us: int) -> None:
            self._session = await self._open(brief, left_us / 1e6)

        while True:
            failure = await reopened(attempt, self._settings.reopen_within_us, self._clock)
            if failure is not None:
                self._fault(f"ears did not open: {failure}")
                return
            opened_us = self._clock.now_us()
            again = await self._serve()
            if not again or not rebuilding.lost(self._clock.now_us() - opened_us):
                return

    async def _open(self, brief: Brief, within_s: float) -> EarsSession:
        try:
            return await within(min(within_s, ORDER_WITHIN_S), self._ears.open(brief))
        except TimeoutError:
            raise
        except Exception as error:
            raise Gone(_reason(error)) from error

    async def _serve(self) -> bool:
        """Serve the open session until it is lost; whether another is worth while."""
        session = self._session
        assert session is not None
        try:
            await run_until_one_ends(self._feeder(session), self._reader(session))
            self._fault("ears are lost: they ended their session")
        except Exception as error:
            self._fault(f"ears are lost: {_reason(error)}")
            return not isinstance(error, Refused)
        finally:
            self._session = None
            self._again()
            await self._close(session)
        return True

    def _again(self) -> None:
        """What the lost session was given of the turn under way is for the next one."""
        waiting, self._units = self._units, self._unread
        self._unread = deque()
        for unit in waiting:
            _keep(self._units, unit)

    async def _close(self, session: EarsSession) -> None:
        try:
            await within(CLOSE_WITHIN_S, session.close())
        except Exception as error:
            self._fault(f"ears did not close: {_reason(error)}")

    async def _feeder(self, session: EarsSession) -> None:
        self._wake.set()  # for what has waited
        while self._session is session:  # a call into the session may go on although it was cancelled
            await self._wake.wait()
            self._wake.clear()
            while self._units and self._session is session:
                unit = self._units.popleft()
                _keep(self._unread, unit)
                self._given_us = unit.covers.to_us
                async with asyncio.timeout(ORDER_WITHIN_S):
                    await session.feed(unit)

    async def _reader(self, session: EarsSession) -> None:
        async for evidence in session.evidence():
            await self.arrivals.room()
            if self._session is not session:
                return
            try:
                check_evidence(evidence, self._given_us)
            except Refused as error:
                self._refused += 1
                if self._refused > MOST_REFUSED:
                    raise
                self._fault(f"evidence was dropped: {error}")
            else:
                self.arrivals.put(Arrival(evidence))
                if isinstance(evidence, Transcript) and evidence.final:
                    while self._unread and self._unread[0].covers.to_us <= evidence.covers.to_us:
                        self._unread.popleft()

    def _fault(self, detail: str) -> None:
        self.arrivals.put(Arrival(FaultReported("ears", sentence(detail))))


def _keep(units: deque[Unit], unit: Unit) -> None:
    """Add a unit; the oldest go beyond the bound."""
    units.append(unit)
    while unit.covers.to_us - units[0].covers.from_us > BACKLOG_US:
        units.popleft()


def _reason(error: Exception) -> str:
    """The message of an error that is not ours may quote what was said."""
    if isinstance(error, VenusError) and str(error):
        return str(error)
    return "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
