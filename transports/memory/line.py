"""Our end of a call that never leaves the process: a whole line over a simulated wire."""

from collections.abc import AsyncIterator, Mapping
from typing import Literal

import numpy as np

from agent.clock import Clock
from agent.errors import Fault, Gone, Refused
from agent.line import LineEvent, LineInfo, MediaFrame, MediaState, Pcm
from agent.settings import TICK_US
from agent.timeline.events import FaultReported, LineAnswered, LineClosed, LineHeld, LineQuality, LineResumed, TransferProgressed
from agent.timeline.kinds import EndReason, TransferState
from media.jitter import JitterBuffer
from transports.memory.codecs import decoder_of, encode_of
from transports.memory.far_end import FarEnd, FarState, Refusal, checked_digits
from transports.memory.settings import TransferScript, WireSettings
from transports.memory.wire import Packet, Sound, Wire

QUALITY_EVERY_US = 1_000_000
"""Between two reports about the line."""
MAX_PACKETS_PER_PUMP = 512
"""Packets taken at once (ten seconds of 20 ms); what arrives beyond them between two ticks is dropped, as by a full socket."""
RESYNCHRONISE_US = 500_000
"""When our sending is further than this from its own clock, the clock is set anew."""


class MemoryLine:
    """A line in this process: real packets, codecs and jitter buffer, a simulated wire, and a `FarEnd` in the caller's place.

    Everything moves when `receive` is called, and by `clock` alone. An inbound line rings until `accept`. An outbound one is
    answered by the far end as `callee` says. `targets`: how those behave to whom a call can be transferred.
    """

    def __init__(
        self,
        clock: Clock,
        wire: WireSettings | None = None,
        *,
        callee: TransferScript | None = None,
        targets: Mapping[str, TransferScript] | None = None,
        remote: str = "memory",
        dtx: bool = False,
        keep_all: bool = False,
    ) -> None:
        settings = wire or WireSettings()
        self._clock = clock
        self._wire = Wire(settings)
        self._far: FarEnd | None = FarEnd(clock, self._wire, dtx=dtx, keep_all=keep_all)
        self._callee = callee
        self._targets = dict(targets or {})
        direction: Literal["inbound", "outbound"] = "inbound" if callee is None else "outbound"
        self._info = LineInfo("memory", direction, settings.rate_hz, remote, settings.far_end_delay_us)
        self._frame_samples = settings.rate_hz * TICK_US // 1_000_000
        self._silence = np.zeros(self._frame_samples, np.int16)
        self._silence.flags.writeable = False
        self._silent = MediaFrame(self._silence, MediaState.SILENT)
        self._buffer: JitterBuffer | None = JitterBuffer(decoder_of(settings.codec, settings.rate_hz), settings.rate_hz)
        self._encode = encode_of(settings.codec)
        self._events: list[LineEvent] = []
        self._answered = self._gone = self._transferring = False
        self._held_by: set[str] = set()
        self._send_at_us: int | None = None
        self._report_at_us = 0
        self._dropped = 0

    @property
    def info(self) -> LineInfo:
        return self._info

    @property
    def far_end(self) -> FarEnd:
        """The caller's phone. Raises `Gone` once the line is closed."""
        if self._far is None:
            raise Gone("the line is closed and has let go of its far end")
        return self._far

    # --- the beginning ---

    async def accept(self) -> None:
        """Answer; outbound: wait until the far end does. A second time: a no-op.

        Raises `Gone` when the far end has left or nobody answered, `Refused` when it is busy or declines.
        """
        self._pump(self._clock.now_us())
        if self._answered and not self._gone:
            return
        if self._callee is not None:
            await self._until(self._clock.now_us() + self._callee.ring_ms * 1000)
        if self._gone or self.far_end.state is FarState.GONE:
            raise Gone("the far end hung up before the call was answered")
        if self._callee is not None:
            self._check_answer(self._callee.then)
        now_us = self._clock.now_us()
        self._answered = True
        self._report_at_us = now_us + QUALITY_EVERY_US
        self.far_end.on_answered(now_us)
        self._events.append(LineAnswered())

    async def refuse(self, reason: str, retry_after_s: int | None) -> None:
        """Turn the call away; the far end's `refusal` says how. A no-op on a line that is gone."""
        if self._answered and not self._gone:
            raise Refused("the call is answered: hang up instead of refusing it")
        if not self._gone:
            self.far_end.on_refused(Refusal(reason, retry_after_s))
            self._leave()

    # --- media ---

    def receive(self) -> MediaFrame:
        """Live through everything up to now, then the next 20 ms of the jitter buffer; silence when not connected or on hold."""
        now_us = self._clock.now_us()
        self._pump(now_us)
        if self._buffer is None or self._gone or not self._answered:
            return self._silent
        delay_us = self._buffer.delay_us
        pulled = self._buffer.pull(now_us)
        if now_us >= self._report_at_us:
            self._report(now_us, self._buffer)
        if self._held_by:
            return self._silent
        return MediaFrame(pulled.pcm, MediaState(pulled.state), max(0, delay_us))

    def send(self, pcm: Pcm | None) -> None:
        """Send 20 ms; None: nothing is said. Dropped when not connected or on hold. Raises `Fault` on another length."""
        if pcm is not None and pcm.shape != (self._frame_samples,):
            raise Fault(f"a frame of {pcm.shape} samples was sent where {self._frame_samples} are due")
        if self._gone or not self._answered:
            return
        at_us = self._next_send_us()
        if self._held_by:
            return
        payload = None if pcm is None else self._encode(pcm)
        lost = payload is not None and self._wire.outward_fate.lost()
        self._wire.outward.put(at_us + self._info.far_end_delay_us, Sound(None if lost else payload, lost))

    def skip(self, ticks: int) -> None:
        """Take what arrived meanwhile, and move both media clocks on by so many ticks."""
        self._pump(self._clock.now_us())
        if self._buffer is not None and self._answered:
            self._buffer.skip(ticks * self._frame_samples)
        if self._send_at_us is not None:
            self._send_at_us += ticks * TICK_US

    def events(self) -> list[LineEvent]:
        """What happened since the last call, in order."""
        self._pump(self._clock.now_us())
        events, self._events = self._events, []
        return events

    # --- during the call ---

    async def transfer(self, target: str) -> AsyncIterator[TransferProgressed]:
        """Rings at `target` as its script in `targets` says. Once it answers, the far end is theirs and this line closes."""
        if self._gone or not self._answered or self._transferring:
            why = "another transfer is under way" if self._transferring else "the line is not connected"
            yield TransferProgressed(target, TransferState.FAILED, why)
            return
        script = self._targets.get(target)
        if script is None:
            yield TransferProgressed(target, TransferState.FAILED, "nobody is known at this address")
            return
        self._transferring = True
        try:
            yield TransferProgressed(target, TransferState.RINGING, "")
            await self._until(self._clock.now_us() + script.ring_ms * 1000)
            yield self._transferred(target, script)
        finally:
            self._transferring = False

    async def send_digits(self, digits: str) -> None:
        """Keypad digits to the far end, which collects them. Raises `Refused` on others, `Gone` when not connected."""
        digits = checked_digits(digits)
        self._connected("digits cannot be sent").on_digits(digits)

    async def hold(self) -> None:
        """Put the far end on hold; it sends nothing until `resume`. Raises `Gone` when not connected."""
        far = self._connected("it cannot be put on hold")
        if "near" not in self._held_by:
            far.held_by_us = True
            self._learn(LineHeld("near"))

    async def resume(self) -> None:
        """Take it back. Raises `Gone` when not connected."""
        far = self._connected("it cannot be taken back")
        if "near" in self._held_by:
            far.held_by_us = False
            self._learn(LineResumed("near"))

    # --- the end ---

    async def hang_up(self, reason: str) -> None:
        """End it from our side: the far end's `ended` is `reason`. A no-op on a line that is gone."""
        if not self._gone:
            self.far_end.on_ended(reason)
            self._leave()

    async def close(self) -> None:
        """Hang up if need be, and let go of the far end and of all buffers. Any number of times."""
        await self.hang_up("closed")
        if self._far:
            self._far.detach()
        self._far = self._buffer = None
        self._wire.clear()

    # --- inside ---

    def _pump(self, now_us: int) -> None:
        if self._far is None or self._gone:
            return
        self._far.pump(now_us)
        taken = 0
        for arrival_us, item in self._wire.inward.due(now_us):
            if not isinstance(item, Packet):
                self._learn(item)
            elif taken == MAX_PACKETS_PER_PUMP:
                self._dropped += 1
            elif self._answered and self._buffer is not None:
                taken += 1
                self._buffer.put(item.sequence, item.timestamp, item.payload, arrival_us, item.marker)

    def _learn(self, event: LineEvent) -> None:
        if self._gone:
            return
        if isinstance(event, LineHeld):
            self._held_by.add(event.by)
        elif isinstance(event, LineResumed):
            self._held_by.discard(event.by)
        elif isinstance(event, LineClosed):
            self._leave()
        self._events.append(event)

    def _leave(self) -> None:
        self._gone = True
        self._wire.clear()

    def _connected(self, otherwise: str) -> FarEnd:
        if self._gone or not self._answered:
            raise Gone(f"the line is not connected: {otherwise}")
        return self.far_end

    def _check_answer(self, then: TransferState) -> None:
        if then is TransferState.ANSWERED:
            return
        self.far_end.on_ended(then.value)
        self._leave()
        if then in (TransferState.BUSY, TransferState.DECLINED):
            raise Refused(f"the far end {'is busy' if then is TransferState.BUSY else 'declined'}: try again later")
        raise Gone("nobody answered" if then is TransferState.TIMEOUT else "the far end cannot be reached")

    def _transferred(self, target: str, script: TransferScript) -> TransferProgressed:
        if self._gone or self.far_end.state is FarState.GONE:
            return TransferProgressed(target, TransferState.FAILED, "the far end hung up meanwhile")
        if self.far_end.vanished:
            return TransferProgressed(target, TransferState.TIMEOUT, "the far end does not answer")
        if script.then is TransferState.ANSWERED:
            self.far_end.on_ended("transferred")
            self._learn(LineClosed(EndReason.TRANSFERRED, "the far end was handed over"))
        return TransferProgressed(target, script.then, "")

    async def _until(self, at_us: int) -> None:
        """Wait, tick by tick, until `at_us` or the end of the line."""
        while not self._gone and (now_us := self._clock.now_us()) < at_us:
            await self._clock.sleep_until(min(at_us, now_us + TICK_US))
            self._pump(self._clock.now_us())

    def _next_send_us(self) -> int:
        """Our sending is paced by its own count, so that a tick that runs late does not bend the sound."""
        now_us = self._clock.now_us()
        if self._send_at_us is None or abs(now_us - self._send_at_us) > RESYNCHRONISE_US:
            self._send_at_us = now_us
        at_us = self._send_at_us
        self._send_at_us += TICK_US
        return at_us

    def _report(self, now_us: int, buffer: JitterBuffer) -> None:
        """Once a second: counts since the answer, as in RTCP (RFC 3550, 6.4.1)."""
        self._report_at_us += QUALITY_EVERY_US * ((now_us - self._report_at_us) // QUALITY_EVERY_US + 1)
        stats = buffer.stats
        self._events.append(
            LineQuality(self._info.far_end_delay_us, round(stats.jitter_ms * 1000), stats.lost, stats.played + stats.lost)
        )
        if self._dropped:
            said = f"{self._dropped} packets more than {MAX_PACKETS_PER_PUMP} at once were dropped unread"
            self._events.append(FaultReported("line_flood", said))
            self._dropped = 0
