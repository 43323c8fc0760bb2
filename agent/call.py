"""One call: a line, a frontend, and the core between them, in one task group.

The tick is the only thing that moves the core. Everything slow runs beside it (feeder, reader, ears, harness, orders to the
line) and meets it in queues, so that what the core sees is on the timeline first and can be replayed.
"""

import asyncio
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from agent.admission import Lease
from agent.arrivals import Arrival, Arrivals
from agent.core import CallCore
from agent.ears_link import EarsLink
from agent.effects import Effects
from agent.errors import Capacity, Gone, Refused, VenusError
from agent.first_event import first_event
from agent.frontend_link import FrontendLink
from agent.frontends.base import Brief, Unit
from agent.history import History
from agent.intake import Intake
from agent.line import Line, MediaFrame, MediaState
from agent.line_events import LineEvents
from agent.logs import get_logger
from agent.parts import CallParts
from agent.record.recorder import CallRecorder
from agent.settings import TICK_US, CallSettings
from agent.speech import SpokenLine
from agent.tasks import LEAVE_WITHIN_S, is_cancelled, tagged, within
from agent.ticker import Ticker
from agent.timeline.codec import encode
from agent.timeline.events import (
    CallEnded,
    DigitsSent,
    EndRequested,
    Event,
    FaultReported,
    FrontendLag,
    Gap,
    RecordChanged,
    SayRequested,
    SpeakerScore,
    Transcript,
    TurnProbability,
)
from agent.timeline.kinds import EndReason, Phase, Span
from agent.timeline.log import Entry, Timeline
from agent.timeline.told import with_sentences
from media.frames import silence

RETRY_AFTER_S = 30
"""When a caller may try again whom a broken or absent frontend turned away."""
RELEASE_WITHIN_S = 1.5
"""Everything of a call is given back within this bound after its end, whatever does not answer."""
HANG_UP_WITHIN_S = 1.0
"""Bound on telling the far end; then the line is closed without."""
MOST_SAYS = 100
"""Lines that may wait for the next tick."""

log = get_logger("venus.call")


class Call:
    """A call from ringing to its end: `await Call(parts, ticker).run()`.

    It subscribes to the ticker in `run` and leaves nothing behind when that returns or raises.
    """

    def __init__(
        self,
        parts: CallParts,
        ticker: Ticker,
        settings: CallSettings | None = None,
        call_id: str | None = None,
        node_id: str = "local",
        seed: int = 0,
    ) -> None:
        self.call_id = call_id or f"{node_id}-{uuid4().hex[:12]}"
        self.timeline = Timeline()
        self.history = History()
        self._parts = parts
        self._ticker = ticker
        self._settings = settings or CallSettings()
        self._rate = parts.line.info.sample_rate_hz
        self._t = self._core_t = 0
        self._says = 0
        self._commands = Arrivals()
        self._line_events = LineEvents()
        self._intake: Intake | None = None
        self._ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._outcome: CallEnded | None = None
        self._lease: Lease | None = None
        self._brief = Brief(self.call_id, parts.persona, capabilities=parts.capabilities, scores_speaker=parts.scores_speaker)
        self._link = FrontendLink(parts.frontend, self._brief, self.history, self._rate, self._settings, ticker.clock)
        self._ears = EarsLink(parts.ears, self._settings, ticker.clock) if parts.ears else None
        started = first_event(self.call_id, node_id, seed, parts, self._settings, ticker.clock)
        self.core = CallCore(started, self.timeline)
        self._effects = Effects(self, self._link, parts)
        self._recording: CallRecorder | None = None
        if parts.recorder:
            self._recording = parts.recorder.open(self.call_id, self._rate, self._record_failed)
            self.timeline.subscribe(self._keep)
        self.timeline.subscribe(self.history.learn)
        self.timeline.append(0, started)
        self.timeline.subscribe(self._effects.react)

    # --- what anybody may ask of a call ---

    async def recorded(self) -> Path | None:
        """The folder of the record once everything is in it; None when none is kept. Raises `Gone` or `Timeout`."""
        return await self._recording.written() if self._recording else None

    @property
    def phase(self) -> Phase:
        """Where the call is; it changes within a tick."""
        return self.core.phase

    @property
    def t(self) -> int:
        """The call's clock, µs: the tick it is in."""
        return self._t

    def say(self, line: SpokenLine) -> str:
        """Speak a line that was rendered beforehand, after what is queued; returns its utterance id.

        Raises `Refused` when it is not at the line's rate (rendering has no place on the media loop), `Capacity` when much waits.
        """
        if len(self._commands) >= MOST_SAYS:
            raise Capacity(f"{len(self._commands)} commands wait for the next tick of this call")
        if line.rate_hz != self._rate:
            raise Refused(f"the line {line.text[:40]!r} is at {line.rate_hz} Hz, this call at {self._rate}: use CallLines.at")
        self._says += 1
        utterance_id = f"say{self._says}"
        event = SayRequested(utterance_id, line.role, line.must_hear, line.text, line.words, line.alignment, len(line.pcm))
        self._commands.put(Arrival(event, line.pcm))
        return utterance_id

    def end(self, reason: EndReason, detail: str, at_once: bool = False) -> None:
        """End the call: after what is queued was said (a farewell may be queued first), or at once."""
        self.learn(EndRequested(reason, detail, at_once))

    def transfer(self, target: str) -> None:
        """Hand the caller over; how it goes comes as `line.transfer` events."""
        self.spawn(self._transfer(target), "transfer")

    def hold(self) -> None:
        """Put the far end on hold."""
        self.spawn(self._parts.line.hold(), "hold")

    def resume(self) -> None:
        """Take the far end back from hold."""
        self.spawn(self._parts.line.resume(), "resume")

    def send_digits(self, digits: str) -> None:
        """Send keypad digits to the far end."""
        self.spawn(self._send_digits(digits), "digits")

    def learn(self, event: Event) -> None:
        """Put an input event on the timeline with the next tick."""
        self._commands.put(Arrival(with_sentences(event)))

    # --- running ---

    async def run(self) -> CallEnded:
        """Ring, answer, talk, end; returns how it ended. Cancelling it ends the call with `shutdown`."""
        with tagged(self.call_id):
            self._ticker.attach(self, self.call_id)
            try:
                self.spawn(self._conduct(), "conduct")
                await self._ended.wait()
            finally:
                self._close_timeline(EndReason.SHUTDOWN, "the service stops")
                await self._release()
            assert self._outcome is not None
            return self._outcome

    def ended(self, outcome: CallEnded) -> None:
        """The core decided the end; `run` leaves."""
        self._outcome = outcome
        self._ended.set()

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run `work` as a task of this call. What it raises is a fault of the call: it says goodbye and ends."""
        task = asyncio.ensure_future(self._guarded(work, name))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # cancelled before its first step, it was never awaited

    async def _guarded(self, work: Awaitable[None], name: str) -> None:
        try:
            await work
        except VenusError as error:
            self.learn(FaultReported(name, str(error)))
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            log.exception("a task of the call failed", call_id=self.call_id, task=name)
            if self._outcome is None:
                self._effects.fail(f"{name} failed: {type(error).__name__}")

    async def _conduct(self) -> None:
        """Open the frontend while it rings, answer, serve."""
        line = self._parts.line
        try:
            self._lease = self._parts.slots.take() if self._parts.slots else None
            await self._link.open(self._settings.answer_within_us)
        except (VenusError, TimeoutError) as error:
            await self._turn_away(error)
            return
        try:
            await line.accept()
        except Gone as error:
            inbound = line.info.direction == "inbound"
            self.end(EndReason.CALLER_HUNG_UP if inbound else EndReason.NOT_ANSWERED, str(error), at_once=True)
            return
        except VenusError as error:
            await self._turn_away(error)
            return
        if self._ears:
            self.spawn(self._ears.run(self._brief), "ears")
        if self._parts.harness:
            self.spawn(self._effects.report(self._parts.harness), "harness")
        await self._link.run()

    async def _turn_away(self, error: VenusError | TimeoutError) -> None:
        """Policy declines; everything else is a matter of trying again later."""
        reason = str(error) or "the frontend did not open in time"
        retry_after_s = error.retry_after_s if isinstance(error, Capacity) else RETRY_AFTER_S
        with suppress(TimeoutError):
            async with asyncio.timeout(RELEASE_WITHIN_S):
                await self._parts.line.refuse(reason, None if isinstance(error, Refused) else retry_after_s)
        self.end(EndReason.REFUSED, reason, at_once=True)

    async def _transfer(self, target: str) -> None:
        async for progress in self._parts.line.transfer(target):
            await self._commands.room()
            self.learn(progress)

    async def _send_digits(self, digits: str) -> None:
        await self._parts.line.send_digits(digits)
        self.learn(DigitsSent(digits))

    # --- the tick ---

    def tick(self, skipped: int) -> None:
        """20 ms: take what came in, move the core, send one frame."""
        units = self._jump(skipped) if skipped else []
        self._t += TICK_US
        t, line = self._t, self._parts.line
        for arrival in self._commands.take():  # before the line's news: how a transfer went comes before the end it brings
            self._input(arrival)
        self._line_events.put(line.events())
        for happened in self._line_events.take(t):
            self._input(Arrival(happened))
        frame = line.receive()
        if self._intake:
            if self.core.on_hold:
                frame = MediaFrame(silence(len(frame.pcm)), MediaState.SILENT)
            events, more = self._intake.frame(t, frame)
            units += more
            for event in events:
                self._input(Arrival(event))
        self._take()
        self._core_t = t
        pcm = self.core.tick(t)
        line.send(pcm)
        self._feed(units, speaking=pcm is not None)
        if self._recording:
            heard = self._intake is not None and frame.state is not MediaState.SILENT
            self._recording.audio(t, frame.delay_us, frame.pcm if heard else None, pcm)

    def crashed(self, error: Exception) -> None:
        """The tick raised: this call is over, the others go on."""
        log.error("the tick of the call failed", call_id=self.call_id, exc_info=error)
        detail = f"tick failed: {type(error).__name__}"
        try:
            if self._core_t < self._t:  # the core did not come to run in this tick, nor must it in a replay
                self._input(Arrival(Gap(Span(self._t - TICK_US, self._t), TICK_US)))
            self._close_timeline(EndReason.FAULT, detail)
        except Exception:  # the core itself is broken: the timeline gets its end without it
            log.exception("the core of the call failed", call_id=self.call_id)
            self.timeline.append(self._t, CallEnded(EndReason.FAULT, detail, 0))

    def _jump(self, ticks: int) -> list[Unit]:
        """The ticker stood still: nothing was sent or heard meanwhile."""
        lost_us = ticks * TICK_US
        self._t += lost_us
        self._parts.line.skip(ticks)
        if self._intake and (heard := self._intake.close(self._t - lost_us)):
            self._input(Arrival(heard))
        self._input(Arrival(Gap(Span(self._t - lost_us, self._t), lost_us)))
        return self._intake.skip(self._t, ticks) if self._intake else []

    def _take(self) -> None:
        """Everything the tasks brought since the last tick."""
        ears = (self._ears.arrivals,) if self._ears else ()
        for queue in (self._link.arrivals, *ears, self._effects.arrivals, self._commands):
            for arrival in queue.take():
                self._input(arrival)
        lag_us = self._link.lag(self._t)
        if lag_us is not None:
            self._input(Arrival(FrontendLag(lag_us)))
        self._link.accept_speech(self.core.playout.pending * 1_000_000 < self._settings.pending_us * self._rate)

    def _input(self, arrival: Arrival) -> None:
        """Put an input event on the timeline, then let the core see it."""
        self._effects.remember(arrival)
        entry = self.timeline.append(self._t, arrival.event)
        if self._intake and isinstance(arrival.event, Transcript | TurnProbability | SpeakerScore):
            self._intake.learn(arrival.event)
        self.core.apply(entry, arrival.pcm)

    def _feed(self, units: list[Unit], speaking: bool) -> None:
        for one in units:
            unit = replace(one, speaking=speaking, said=self.history.take_said())
            self._link.feed(unit)
            if self._ears:
                self._ears.feed(unit)

    def start_listening(self) -> None:
        """The line was answered: input begins with the next tick's frame."""
        gate = self._parts.voice_gate(self._rate) if self._parts.voice_gate else None
        self._intake = Intake(self._rate, self._link.info.unit_us, self._t - TICK_US, gate)
        self._link.start(self._t - TICK_US)

    def _keep(self, entry: Entry) -> None:
        assert self._recording is not None
        self._recording.entry(encode(entry))

    def _record_failed(self, call_id: str, sentence: str) -> None:
        """The record cannot be kept any longer; the call goes on, and its timeline says so."""
        self.learn(RecordChanged("failed", sentence))

    # --- the end ---

    def _close_timeline(self, reason: EndReason, detail: str) -> None:
        """Make sure that the timeline has its end, where no tick will bring it any more."""
        if self._outcome is None:
            self._t += TICK_US  # what comes after a tick belongs to the next one, also in a replay
            self._input(Arrival(EndRequested(reason, detail, at_once=True)))

    async def _release(self) -> None:
        """Give everything back, each part within the bound and whatever the others do."""
        self._ticker.detach(self)
        for task in tuple(self._tasks):
            task.cancel()
        parts = self._parts
        reason = self._outcome.reason.value if self._outcome else EndReason.FAULT.value
        steps = [self._link.close(), _hang_up(parts.line, reason)]
        if parts.harness:
            steps.append(self._effects.settle(parts.harness))
        tasks = [*self._tasks, *(asyncio.ensure_future(_bounded(step, self.call_id)) for step in steps)]
        try:
            _, left = await asyncio.wait(tasks, timeout=RELEASE_WITHIN_S)
            for task in left:
                task.cancel()
            if left and (await asyncio.wait(left, timeout=LEAVE_WITHIN_S))[1]:
                log.warning("a task of the call goes on although it was cancelled", call_id=self.call_id)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """What is given back at once, also when `_release` is cancelled while it waits."""
        heard = self._intake.close(self._t) if self._intake else None
        self._t += TICK_US
        try:
            for arrival in ([Arrival(heard)] if heard else []) + self._effects.last_outcomes():
                self._input(arrival)
        except Exception:  # the core itself is broken, and its timeline has its end already
            log.exception("the core of the call failed", call_id=self.call_id)
        if self._recording:
            self._recording.close(self._t)
        if self._lease:
            self._lease.release()
        # What refers back to this call lets go of it, so that it is freed at once and not by a garbage collection.
        self.timeline.close()
        self._effects.close()


async def _hang_up(line: Line, reason: str) -> None:
    """Tell the far end, and give the line back whatever becomes of that."""
    try:
        await within(HANG_UP_WITHIN_S, line.hang_up(reason))
    finally:
        await line.close()


async def _bounded(step: Coroutine[Any, Any, None], call_id: str) -> None:
    try:
        async with asyncio.timeout(RELEASE_WITHIN_S):
            await step
    except Exception as error:  # the other parts are still to be given back
        log.warning("closing the call", call_id=call_id, exc_info=error)
