"""The call's side of a frontend session: a feeder and a reader task, and the rebuilding of a session that is lost.

The tick never waits for any of it: it puts units and orders in, and takes what has arrived out.
"""

import asyncio
from collections import OrderedDict, deque
from dataclasses import replace
from typing import Protocol

import numpy as np

from agent.arrivals import Arrival, Arrivals
from agent.clock import Clock
from agent.errors import Capacity, Gone, VenusError
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
from agent.frontends.limits import check_info, check_step, weight
from agent.history import History
from agent.line import Pcm
from agent.reopening import Rebuilding, reopened
from agent.settings import CallSettings
from agent.tasks import run_until_one_ends, within
from agent.timeline.events import (
    DelegateClosed,
    DelegateOpened,
    FaultReported,
    FrontendLost,
    FrontendOpened,
    SpeechArrived,
)
from agent.timeline.told import sentence
from agent.units import FlightWindow
from media.resample import Resampler

BACKLOG_US = 10_000_000
"""Input a session may be behind; beyond that it counts as lost. While we make it wait it may be `MOST_BACKLOG_US` behind."""
MOST_BACKLOG_US = 60_000_000
MOST_SPOKEN_US = 1_000_000
"""Speech read in one tick; then the tick looks how much waits."""
MOST_ORDERS = 1_000
"""Orders (acknowledgements above all) that may wait for a session; beyond that it counts as lost."""
MOST_RESAMPLERS = 8
"""Utterances resampled side by side. Those left without an end go first, and with them a millisecond of sound."""
ORDER_WITHIN_S = 5.0
"""Bound on any one call into a session."""
CLOSE_WITHIN_S = 1.0
"""Bound on giving a session back."""
SLICE_US = 200_000
"""Speech is resampled in slices of this length, with the loop free in between."""


class _Order(Protocol):
    async def __call__(self, session: Session) -> None: ...


class FrontendLink:
    """One call's frontend, whatever becomes of its sessions."""

    def __init__(
        self, frontend: Frontend, brief: Brief, history: History, rate_hz: int, settings: CallSettings, clock: Clock
    ) -> None:
        self.info = frontend.info
        check_info(self.info)
        self.arrivals = Arrivals()
        self._frontend = frontend
        self._brief = brief
        self._history = history
        self._rate_hz = rate_hz
        self._settings = settings
        self._clock = clock
        self._session: Session | None = None
        self._opening = False
        self._attempt = self._epoch = 0
        self._window = FlightWindow(self.info.unit_us)
        self._units: deque[Unit] = deque()
        self._fed_us = 0
        self._orders: deque[_Order] = deque()
        self._given_us = self._waited_us = self._spoken_us = 0
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._overrun = asyncio.Event()
        self._resamplers: OrderedDict[str, Resampler] = OrderedDict()

    # --- called by the tick ---

    def start(self, t: int) -> None:
        """Input begins at `t`."""
        self._fed_us = t
        self._window.start(t)

    def feed(self, unit: Unit) -> None:
        """Queue a unit; while no session is open or being opened its audio is lost."""
        self._fed_us = unit.covers.to_us
        if self._session is None and not self._opening:
            self._window.start(self._fed_us)
            return
        self._units.append(unit)
        self._wake.set()
        if not self._room.is_set():
            self._waited_us = unit.covers.to_us
        oldest_us = self._units[0].covers.from_us
        behind_us = unit.covers.to_us - max(oldest_us, self._waited_us)
        if behind_us > BACKLOG_US or unit.covers.to_us - oldest_us > MOST_BACKLOG_US:
            self._overrun.set()

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
        """Once a tick. False: enough speech is waiting to be sent, read no more for now."""
        self._spoken_us = 0
        if room:
            self._room.set()
        else:
            self._room.clear()

    def lag(self, t: int) -> int | None:
        """The lag to declare, µs, if it changed."""
        return self._window.lag(t) if self._session else None

    def _put(self, order: _Order) -> None:
        if self._session is not None or self._opening:
            self._orders.append(order)
            self._wake.set()
            if len(self._orders) > MOST_ORDERS:
                self._overrun.set()

    def _drop(self) -> None:
        self._units.clear()
        self._window.start(self._fed_us)
        self._orders.clear()

    # --- tasks ---

    async def open(self, within_us: int) -> None:
        """Open a session. Raises `Capacity`, `Gone` or another of our errors, `TimeoutError` beyond the bound."""
        self._attempt += 1
        await self._open(within_us)

    async def _open(self, within_us: int) -> None:
        """The brief tells what was up to now; what comes while it opens, which may take seconds, waits for it."""
        brief = self._history.told_in(replace(self._brief, epoch=self._epoch))
        self._drop()
        self._opening = True
        try:
            self._session = await within(within_us / 1e6, self._frontend.open(brief))
        except Capacity as error:
            raise Capacity(_reason(error), error.retry_after_s) from None
        except TimeoutError:
            raise
        except Exception as error:
            raise Gone(_reason(error)) from error
        finally:
            self._opening = False
        info = self.info
        self.arrivals.put(Arrival(FrontendOpened(info.name, self._attempt, info.unit_us, info.output_rate_hz)))

    async def run(self) -> None:
        """Serve the open session, rebuild it when it is lost; returns when it cannot be rebuilt."""
        rebuilding = Rebuilding(self._settings.reopen_tries)
        while True:
            opened_us = self._clock.now_us()
            reason = await self._serve()
            final = not rebuilding.lost(self._clock.now_us() - opened_us)
            self.arrivals.put(Arrival(FrontendLost(self._attempt, reason, final)))
            if final:
                return
            self._attempt += 1
            failure = await reopened(self._open, self._settings.reopen_within_us, self._clock)
            if failure is not None:
                self.arrivals.put(Arrival(FrontendLost(self._attempt, failure, True)))
                return

    async def _serve(self) -> str:
        """Run feeder and reader until the session is lost; returns why."""
        session = self._session
        assert session is not None
        self._overrun.clear()
        try:
            await run_until_one_ends(self._feeder(session), self._reader(session), self._overrunning())
            return "the frontend ended its session"
        except TimeoutError:
            return "the frontend did not answer in time"
        except Exception as error:
            return _reason(error)
        finally:
            self._session = None
            self._drop()  # the next session gets nothing of what this one was given
            self._resamplers.clear()
            await self._close(session)

    async def _close(self, session: Session) -> None:
        try:
            await within(CLOSE_WITHIN_S, session.close())
            return
        except TimeoutError:
            detail = f"the frontend did not close its session within {CLOSE_WITHIN_S:g} s"
        except Exception as error:
            detail = f"the frontend did not close its session: {_reason(error)}"
        self.arrivals.put(Arrival(FaultReported("frontend_close", detail)))

    async def close(self) -> None:
        """Give the slot back, whether `run` ever ran or not."""
        session, self._session = self._session, None
        self._attempt += 1
        if session:
            await self._close(session)

    async def _feeder(self, session: Session) -> None:
        mine = self._attempt  # a call into the session may outlast it, whoever cancels that: then this is no feeder any more
        while mine == self._attempt:
            await self._wake.wait()
            self._wake.clear()
            while self._orders and mine == self._attempt:
                async with asyncio.timeout(ORDER_WITHIN_S):
                    await self._orders.popleft()(session)
            while mine == self._attempt and self._units and not self._orders and self._window.open_for(self._units[0]):
                unit = self._units.popleft()
                self._window.given(unit)
                self._given_us = unit.covers.to_us
                async with asyncio.timeout(ORDER_WITHIN_S):
                    await session.feed(unit)

    async def _overrunning(self) -> None:
        """Beside the feeder, so that a session which takes nothing and cannot be cancelled is given up all the same."""
        await self._overrun.wait()
        raise Gone("the frontend takes no input any more and is too far behind")

    async def _reader(self, session: Session) -> None:
        mine = self._attempt
        async for step in session.steps():
            await self.arrivals.room()
            if mine != self._attempt:
                return
            check_step(step, self._epoch, self._given_us, self.info.output_rate_hz)
            self._window.read(step.covers)
            self._wake.set()
            self.arrivals.count(weight(step))
            if isinstance(step, Speech):
                await self._room.wait()
                pcm = await self._at_line_rate(step)
                self.arrivals.put(self._spoken(step, pcm))
                self._spoken_us += len(pcm) * 1_000_000 // self._rate_hz
                if self._spoken_us >= MOST_SPOKEN_US:
                    self._room.clear()
            elif not isinstance(step, Listening):
                self.arrivals.put(_delegation(step))

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
        resampler = self._resamplers.pop(step.utterance_id, None) or Resampler(rate, self._rate_hz)
        self._resamplers[step.utterance_id] = resampler
        if len(self._resamplers) > MOST_RESAMPLERS:
            self._resamplers.popitem(last=False)
        parts = []
        for start in range(0, len(step.pcm), size):
            parts.append(resampler.push(step.pcm[start : start + size]))
            await self._clock.sleep_until(0)
        if step.final:
            del self._resamplers[step.utterance_id]
            parts.append(resampler.flush())
        return np.concatenate(parts) if parts else step.pcm[:0]


def _reason(error: Exception) -> str:
    """Why, as far as it may be told: the message of an error that is not ours may quote what is private."""
    name = type(error).__name__
    return sentence(error if isinstance(error, VenusError) else f"the frontend failed ({name})", otherwise=name)


def _delegation(step: Step) -> Arrival:
    if isinstance(step, DelegationOpened):
        return Arrival(DelegateOpened(step.covers, step.delegation_id))
    assert isinstance(step, DelegationClosed)
    return Arrival(DelegateClosed(step.covers, step.delegation_id, len(step.request)), private=step.request)
