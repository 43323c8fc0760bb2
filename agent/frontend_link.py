"""The call's side of a frontend session: a feeder and a reader task, and the rebuilding of a session that is lost.

The tick never waits for any of it: it puts units and orders in, and takes what has arrived out.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from agent.clock import Clock
from agent.errors import Gone, VenusError
from agent.frontends.base import (
    BackendMessage,
    Brief,
    DelegationClosed,
    DelegationOpened,
    Frontend,
    Listening,
    Session,
    Speech,
    Step,
    Unit,
)
from agent.frontends.limits import check_step
from agent.history import History
from agent.line import Pcm
from agent.settings import CallSettings
from agent.tasks import run_until_one_ends
from agent.timeline.events import (
    DelegateClosed,
    DelegateOpened,
    Event,
    FaultReported,
    FrontendLost,
    FrontendOpened,
    SpeechArrived,
)
from agent.units import FlightWindow
from media.resample import Resampler

BACKLOG_US = 10_000_000
"""Input a session may be behind; beyond that it counts as lost."""
ORDER_WITHIN_S = 5.0
"""Bound on any one call into a session."""
CLOSE_WITHIN_S = 1.0
"""Bound on giving a session back."""
SLICE_US = 200_000
"""Speech is resampled in slices of this length, with the loop free in between."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """An input event that is ready for the next tick. Speech comes with audio, a closed delegation with its private request."""

    event: Event
    pcm: Pcm | None = None
    private: str = ""


class _Order(Protocol):
    async def __call__(self, session: Session) -> None: ...


class FrontendLink:
    """One call's frontend, whatever becomes of its sessions."""

    def __init__(
        self, frontend: Frontend, brief: Brief, history: History, rate_hz: int, settings: CallSettings, clock: Clock
    ) -> None:
        self.info = frontend.info
        self.arrivals: deque[Arrival] = deque()
        self._frontend = frontend
        self._brief = brief
        self._history = history
        self._rate_hz = rate_hz
        self._settings = settings
        self._clock = clock
        self._session: Session | None = None
        self._attempt = self._epoch = 0
        self._window = FlightWindow(self.info.unit_us)
        self._units: deque[Unit] = deque()
        self._orders: deque[_Order] = deque()
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._resamplers: dict[str, Resampler] = {}

    # --- called by the tick ---

    def start(self, t: int) -> None:
        """Input begins at `t`."""
        self._window.start(t)

    def feed(self, unit: Unit) -> None:
        """Queue a unit; while no session is open its audio is lost."""
        if self._session is None:
            self._window.start(unit.covers.to_us)
            return
        self._units.append(unit)
        self._wake.set()

    def yield_floor(self, at_us: int, epoch: int) -> None:
        """Tell the frontend that the caller has the floor; speech of `epoch` may come from now on."""
        self._epoch = epoch

        async def order(session: Session) -> None:
            await session.yield_floor(at_us, epoch)

        self._put(order)

    def inject(self, message: BackendMessage) -> None:
        """Give the frontend a private message."""

        async def order(session: Session) -> None:
            await session.inject(message)

        self._put(order)

    def acknowledge(self, utterance_id: str, samples: int) -> None:
        """So many samples (at the line's rate) of the utterance were sent."""
        own_id, _, attempt = utterance_id.rpartition("@")
        if attempt != str(self._attempt):
            return
        scaled = samples * self.info.output_rate_hz // self._rate_hz

        async def order(session: Session) -> None:
            await session.acknowledge(own_id, scaled)

        self._put(order)

    def accept_speech(self, room: bool) -> None:
        """False: enough speech is waiting to be sent, read no more for now."""
        if room:
            self._room.set()
        else:
            self._room.clear()

    def lag(self, t: int) -> int | None:
        """The lag to declare, µs, if it changed."""
        return self._window.lag(t) if self._session else None

    def _put(self, order: _Order) -> None:
        if self._session is not None:
            self._orders.append(order)
            self._wake.set()

    # --- tasks ---

    async def open(self, within_us: int) -> None:
        """Open a session. Raises `Capacity`, `Gone` or `TimeoutError`."""
        self._attempt += 1
        async with asyncio.timeout(within_us / 1e6):
            brief = replace(self._brief, history=self._history.turns, epoch=self._epoch)
            self._session = await self._frontend.open(brief)
        info = self.info
        self.arrivals.append(Arrival(FrontendOpened(info.name, self._attempt, info.unit_us, info.output_rate_hz)))

    async def run(self) -> None:
        """Serve the open session, rebuild it when it is lost; returns when it cannot be rebuilt."""
        while True:
            reason = await self._serve()
            while True:
                final = self._attempt > self._settings.reopen_tries
                self.arrivals.append(Arrival(FrontendLost(self._attempt, reason, final)))
                if final:
                    return
                try:
                    await self.open(self._settings.reopen_within_us)
                    break
                except (VenusError, TimeoutError) as error:
                    reason = str(error) or "it did not open in time"

    async def _serve(self) -> str:
        """Run feeder and reader until the session is lost; returns why."""
        session = self._session
        assert session is not None
        try:
            await run_until_one_ends(self._feeder(session), self._reader(session))
            return "the frontend ended its session"
        except (VenusError, TimeoutError) as error:
            return str(error) or "the frontend did not answer in time"
        finally:
            self._session = None
            self._units.clear()
            self._orders.clear()
            self._resamplers.clear()
            await self._close(session)

    async def _close(self, session: Session) -> None:
        try:
            async with asyncio.timeout(CLOSE_WITHIN_S):
                await session.close()
        except TimeoutError:
            detail = f"the frontend did not close its session within {CLOSE_WITHIN_S:g} s"
            self.arrivals.append(Arrival(FaultReported("frontend_close", detail)))

    async def close(self) -> None:
        """Give the slot back, whether `run` ever ran or not."""
        session, self._session = self._session, None
        if session:
            await self._close(session)

    async def _feeder(self, session: Session) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._orders:
                async with asyncio.timeout(ORDER_WITHIN_S):
                    await self._orders.popleft()(session)
            while self._units and not self._orders and self._window.open_for(self._units[0]):
                unit = self._units.popleft()
                self._window.given(unit)
                async with asyncio.timeout(ORDER_WITHIN_S):
                    await session.feed(unit)
            if len(self._units) * self.info.unit_us > BACKLOG_US:
                raise Gone(f"the frontend is {BACKLOG_US // 1_000_000} s behind")

    async def _reader(self, session: Session) -> None:
        async for step in session.steps():
            check_step(step, self._epoch)
            self._window.read(step.covers)
            self._wake.set()
            if isinstance(step, Speech):
                await self._room.wait()
                self.arrivals.append(self._spoken(step, await self._at_line_rate(step)))
            elif not isinstance(step, Listening):
                self.arrivals.append(_delegation(step))

    def _spoken(self, step: Speech, pcm: Pcm) -> Arrival:
        event = SpeechArrived(
            step.covers,
            f"{step.utterance_id}@{self._attempt}",
            step.epoch,
            step.role,
            step.cause,
            step.text,
            step.words,
            step.alignment,
            len(pcm),
            step.final,
        )
        return Arrival(event, pcm)

    async def _at_line_rate(self, step: Speech) -> Pcm:
        """The step's audio at the line's rate; the loop is free between slices."""
        rate, size = self.info.output_rate_hz, self.info.output_rate_hz * SLICE_US // 1_000_000
        if rate == self._rate_hz:
            return step.pcm
        resampler = self._resamplers.get(step.utterance_id) or Resampler(rate, self._rate_hz)
        self._resamplers[step.utterance_id] = resampler
        parts = []
        for start in range(0, len(step.pcm), size):
            parts.append(resampler.push(step.pcm[start : start + size]))
            await self._clock.sleep_until(0)
        if step.final:
            del self._resamplers[step.utterance_id]
            parts.append(resampler.flush())
        return np.concatenate(parts) if parts else step.pcm[:0]


def _delegation(step: Step) -> Arrival:
    if isinstance(step, DelegationOpened):
        return Arrival(DelegateOpened(step.covers, step.delegation_id))
    assert isinstance(step, DelegationClosed)
    return Arrival(DelegateClosed(step.covers, step.delegation_id, len(step.request)), private=step.request)
