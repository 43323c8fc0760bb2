"""The caller's phone, as a test or a scripted caller holds it."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, Protocol

import numpy as np

from agent.clock import Clock
from agent.errors import Refused
from agent.line import LineEvent, Pcm
from agent.timeline.events import DigitReceived, LineClosed, LineHeld, LineResumed
from agent.timeline.kinds import EndReason
from transports.memory.codecs import decode_of, encode_of
from transports.memory.ear import Ear, HeardFrame
from transports.memory.mouth import Mouth, Source
from transports.memory.sender import Sender
from transports.memory.wire import Wire

KEYPAD = frozenset("0123456789*#ABCD")
DIGIT_GAP_MS = 200
"""From one key to the next."""


def checked_digits(digits: str) -> str:
    """`digits` in capitals. Raises `Refused` on what no keypad has, quoting only that: digits can be a card's number."""
    digits = digits.upper()
    wrong = sorted(set(digits) - KEYPAD)
    if wrong or not digits:
        raise Refused(f"a keypad has 0-9 * # A-D, not {' '.join(map(repr, wrong)) or 'nothing'}")
    return digits


class FarState(StrEnum):
    """Where the far end stands."""

    RINGING = "ringing"
    CONNECTED = "connected"
    GONE = "gone"


class Refusal(NamedTuple):
    """How our end turned the call away. `retry_after_s`: busy, try again then; None: declined."""

    reason: str
    retry_after_s: int | None


class Actor(Protocol):
    """Somebody who acts at the far end, in its own time."""

    def on_heard(self, frame: HeardFrame) -> None:
        """The far end heard 20 ms."""

    def on_tick(self, at_us: int) -> None:
        """A packet of the far end is due at `at_us` of our clock; what is said now is in it."""


class FarEnd:
    """Speaks, listens, presses keys and misbehaves. Nothing here waits: `MemoryLine` pumps it.

    `dtx`: while it says nothing it sends nothing, instead of packets of silence. `keep_all`: remember all it ever hears, not just
    the last ten seconds. `on_frame` is called with every frame it hears. What an act does is late by the wire at our end.
    """

    def __init__(self, clock: Clock, wire: Wire, *, dtx: bool = False, keep_all: bool = False) -> None:
        settings = wire.settings
        self.dtx = dtx
        self.on_frame: Callable[[HeardFrame], None] | None = None
        self.made_us = clock.now_us()
        self.answered_us: int | None = None
        """When our end answered; None before."""
        self.refusal: Refusal | None = None
        self.ended: str | None = None
        """Why the call is over, as far as this end knows."""
        self.digits = ""
        """Keypad digits our end sent."""
        self.held_by_us = False
        self.holding = False
        self._clock = clock
        self._wire = wire
        self._ear = Ear(
            decode_of(settings.codec),
            settings.rate_hz,
            keep_all=keep_all,
            echo_gain=0.0 if settings.echo_db is None else 10 ** (settings.echo_db / 20),
        )
        self._mouth = Mouth(settings.rate_hz)
        self._sender = Sender(wire, encode_of(settings.codec))
        self._actor: Actor | None = None
        self._vanished = False
        self._muted_until_us = 0
        self._pumping_at_us: int | None = None
        self._packets_due = 0
        self._samples = settings.rate_hz * settings.packet_ms // 1000
        self._silence = np.zeros(self._samples, np.int16)
        self._packet_us = settings.packet_ms * 1000
        self._pace = 1_000_000_000 + round(settings.skew_ppm * 1000)
        """Its clock's pace against ours, parts in 10⁹."""
        self._echo_us = round(settings.echo_ms * 1000)
        self._next_us = self._due_us(1)

    # --- what a caller does ---

    @property
    def state(self) -> FarState:
        if self.ended is not None:
            return FarState.GONE
        return FarState.RINGING if self.answered_us is None else FarState.CONNECTED

    @property
    def vanished(self) -> bool:
        return self._vanished

    @property
    def speaking(self) -> bool:
        """Whether queued audio is still to be said; a source does not count."""
        return self._mouth.queued > 0

    @property
    def source(self) -> Source | None:
        """Speaks whenever nothing is queued: gives as many samples as it is asked for."""
        return self._mouth.source

    @source.setter
    def source(self, source: Source | None) -> None:
        self._mouth.source = source

    def say(self, pcm: Pcm) -> None:
        """Queue mono audio at the line's rate. It begins when the call is answered and waits while the call is on hold."""
        self._mouth.say(pcm)

    def stop_speaking(self) -> None:
        """Say nothing of what is still queued, and ask the source no more."""
        self._mouth.stop()

    def mute(self, ms: int) -> None:
        """Press the mute button for so long: what is said meanwhile is lost."""
        self._muted_until_us = self._now_us() + ms * 1000

    def press(self, digits: str) -> None:
        """Press keys, 200 ms apart. Raises `Refused` on anything but 0-9 * # A-D."""
        for number, digit in enumerate(checked_digits(digits)):
            self._signal(DigitReceived(digit, "memory"), number * DIGIT_GAP_MS * 1000)

    def hold(self) -> None:
        """Put our end on hold: no media either way until `resume`."""
        if self.state is FarState.CONNECTED and not self.holding:
            self.holding = True
            self._signal(LineHeld("far"))

    def resume(self) -> None:
        """End the hold."""
        if self.holding and self.state is FarState.CONNECTED:
            self.holding = False
            self._signal(LineResumed("far"))

    def hang_up(self) -> None:
        """Leave, in any state. What is still queued is not said."""
        if self.state is FarState.GONE:
            return
        ringing = self.state is FarState.RINGING
        self._signal(LineClosed(EndReason.CALLER_HUNG_UP, "hung up while ringing" if ringing else "hung up"))
        self.on_ended("hung up")

    def vanish(self) -> None:
        """Lose the network: nothing is sent, heard or answered any more, and nobody is told."""
        self._vanished = True
        self._mouth.stop()

    def burst(self, ms: int) -> None:
        """Withhold the packets of the next `ms`, then deliver them all at once."""
        self._sender.withhold(self._now_us() + ms * 1000)

    def flood(self, packets: int) -> None:
        """Send garbage: so many packets of random numbers and bytes at once (at most 2048)."""
        if not self._vanished and self.state is not FarState.GONE:
            self._sender.garbage(self._now_us(), packets)

    def restart_stream(self, sequence: int | None = None, timestamp: int | None = None) -> None:
        """Go on with a new RTP stream, beginning at the given numbers or at random ones."""
        self._sender.restart(sequence, timestamp)

    @property
    def frames(self) -> tuple[HeardFrame, ...]:
        """What it heard, oldest first; the last ten seconds unless it keeps all."""
        return tuple(self._ear.frames)

    def heard(self) -> Pcm:
        """The sound of `frames` in a row, silence for what was lost or not sent."""
        return self._ear.heard()

    def attach(self, actor: Actor) -> None:
        """Let somebody act here; one at a time."""
        self._actor = actor

    # --- what the line tells it ---

    def detach(self) -> None:
        """Nobody acts for this end any more."""
        self._actor = None

    def pump(self, now_us: int) -> None:
        """Live through everything up to `now_us`, in order: what is heard, what is done, what is sent."""
        try:
            while self._next_us <= now_us and self.ended is None:
                self._listen(self._next_us)
                self._live(self._next_us)
                self._packets_due += 1
                self._next_us = self._due_us(self._packets_due + 1)
            self._listen(now_us)
        finally:
            self._pumping_at_us = None

    def on_answered(self, at_us: int) -> None:
        """Our end answered."""
        self.answered_us = at_us

    def on_refused(self, refusal: Refusal) -> None:
        """Our end turned the call away."""
        self.refusal = refusal
        self.on_ended("refused")

    def on_digits(self, digits: str) -> None:
        """Our end sent digits."""
        if not self._vanished:
            self.digits += digits

    def on_ended(self, why: str) -> None:
        """The call is over, whoever ended it."""
        if self.ended is None:
            self.ended = why
            self._mouth.stop()

    # --- inside ---

    def _due_us(self, number: int) -> int:
        """When packet `number` of this end's own clock is due on ours."""
        return self.made_us + number * self._packet_us * 1_000_000_000 // self._pace

    def _now_us(self) -> int:
        return self._clock.now_us() if self._pumping_at_us is None else self._pumping_at_us

    def _signal(self, event: LineEvent, later_us: int = 0) -> None:
        if not self._vanished and self.state is not FarState.GONE:
            self._wire.signal(self._now_us() + later_us, event)

    def _listen(self, until_us: int) -> None:
        for at_us, sound in self._wire.outward.due(until_us):
            if self._vanished or self.ended is not None or self.holding:
                continue
            frame = self._ear.hear(at_us, sound)
            self._pumping_at_us = at_us
            if self.on_frame is not None:
                self.on_frame(frame)
            if self._actor is not None:
                self._actor.on_heard(frame)

    def _live(self, at_us: int) -> None:
        self._pumping_at_us = at_us
        if self._actor is not None:
            self._actor.on_tick(at_us)
        if self.state is FarState.CONNECTED:
            self._send(at_us)

    def _send(self, at_us: int) -> None:
        samples = self._samples
        if self._vanished or self.holding or self.held_by_us:
            return self._sender.pause(samples)
        pcm = self._mouth.take(samples)
        if at_us <= self._muted_until_us:
            pcm = None
        elif self._wire.settings.echo_db is not None:
            pcm = self._with_echo(pcm, at_us)
        if pcm is not None:
            return self._sender.send(at_us, pcm)
        if self.dtx:
            return self._sender.pause(samples)
        return self._sender.send_quiet(at_us, samples, self._silence)

    def _with_echo(self, pcm: Pcm | None, at_us: int) -> Pcm | None:
        echo = self._ear.echo(at_us - self._echo_us, self._samples)
        if echo is None or pcm is None:
            return pcm if echo is None else echo
        mixed: Pcm = np.clip(pcm.astype(np.int32) + echo, -32768, 32767).astype(np.int16)
        return mixed
