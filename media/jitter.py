"""Turns packets that arrive as they like into one frame of 20 ms per pull: a jitter buffer that counts samples.

    put:  packet ─▶ sequence window ─▶ arrivals (earliness) ─▶ store, ordered by sequence number
    pull: store ─▶ decoder, silence or concealment ─▶ ready samples ─▶ splice (skew, target) ─▶ 20 ms

Everything is placed on the sender's media time, unwrapped and in samples. Each pull moves on by exactly one frame of it; only
four things change the delay, all of them towards `Arrivals.target`: waiting while nothing has come, the length of a gap
(no sound is lost by that), up to 5 ms dropped or repeated inside sound, and a jump when the delay exceeds its bound. So an
underrun can not leave delay behind, and a far clock that is fast or slow is followed.
"""

from bisect import insort
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from media.arrivals import Arrivals
from media.decoders import Decoder, G711Decoder, L16Decoder
from media.frames import FRAMES_PER_SECOND, Pcm, frame_samples, silence
from media.reception import Incoming, Packet, Reception
from media.splice import SampleQueue, Splicer, faded_into

__all__ = ["Decoder", "FrameState", "G711Decoder", "JitterBuffer", "JitterStats", "L16Decoder", "Pulled"]

_MOST_PACKETS = 64
"""Held at once; the oldest goes when one more comes."""

_STARVED_MS = 100
"""After so much concealment in a row the sender counts as silent, and the next packet sets the delay anew."""


class FrameState(StrEnum):
    """What a frame is made of: any concealed sample makes it CONCEALED, else any received one RECEIVED."""

    RECEIVED = "received"
    CONCEALED = "concealed"
    SILENT = "silent"


class Pulled(NamedTuple):
    """20 ms, exactly `rate_hz // 50` samples. Read-only where `state` is SILENT."""

    pcm: Pcm
    state: FrameState


@dataclass(frozen=True, slots=True)
class JitterStats:
    """Counts since the start. `received == played + late + duplicate + dropped + held`, packets all.

    `lost`: sequence numbers that were not there when their turn came, `late` ones among them. `reordered`: came behind a later
    one. `dropped`: flood, malformed, a restart, a jump. `concealed_samples`: made up. `skew_adjustments`: times that up to
    5 ms were dropped or repeated. `delay_ms`: from the arrival of the fastest recent packet to the pull of its first sample,
    0 while nothing plays. `target_ms`: where that is heading. `jitter_ms`: RFC 3550, 6.4.1.
    """

    received: int
    played: int
    held: int
    lost: int
    late: int
    duplicate: int
    reordered: int
    dropped: int
    concealed_samples: int
    skew_adjustments: int
    delay_ms: float
    target_ms: float
    jitter_ms: float


class JitterBuffer:
    """One received stream, until it ends.

    Sans-I/O: the caller passes the times in. It never raises for what a packet holds, holds at most 64 packets, and answers every
    pull with a frame. The delay stays within `min_delay_ms` and `max_delay_ms` plus one frame.
    """

    def __init__(
        self,
        decoder: Decoder,
        rate_hz: int,
        timestamp_rate_hz: int | None = None,
        min_delay_ms: int = 40,
        max_delay_ms: int = 200,
    ) -> None:
        """`rate_hz`: of the decoded samples; `timestamp_rate_hz`: of the RTP clock, where it differs (8000 for G.722, 48,000 for
        Opus). ValueError on rates without a whole 20 ms and on bounds the wrong way round."""
        if not 0 < min_delay_ms <= max_delay_ms:
            raise ValueError(f"the delay must have 0 < least <= most, got {min_delay_ms} and {max_delay_ms} ms")
        self._decoder = decoder
        self._rate = rate_hz
        self._frame = frame_samples(rate_hz)
        self._most = max_delay_ms * rate_hz // 1000
        self._starved_limit = _STARVED_MS * rate_hz // 1000
        self._arrivals = Arrivals(rate_hz, self._frame, min_delay_ms * rate_hz // 1000, self._most)
        self._reception = Reception(rate_hz, timestamp_rate_hz or rate_hz, self._frame, self._arrivals)
        self._splicer = Splicer(rate_hz)
        self._ready = SampleQueue()
        self._store: list[Packet] = []
        self._last: int | None = None  # sequence number last decoded, unwrapped
        self._started = False
        self._playing = False
        self._end = 0  # media position behind the last ready sample; means something while playing
        self._fresh = False  # the gap before the next packet is silence, whatever its sequence number says
        self._starved = 0  # samples concealed since the last packet
        self._duration = self._frame  # samples in the last packet
        self._seam = rate_hz // 1000  # gaps and overlaps up to 1 ms are rounding
        self._pulls_to_review = FRAMES_PER_SECOND
        self._review_due = False
        self._played = self._lost = self._late = self._dropped = 0
        self._concealed = self._adjusted = 0

    # --- packets in ---------------------------------------------------------------------------------------------------------

    def put(self, sequence: int, timestamp: int, payload: bytes, arrival_us: int, marker: bool = False) -> None:
        """Take one packet. `arrival_us` is on the clock of `pull`.

        Give telephone events and comfort noise an empty `payload`: their sequence numbers then count as come, and nothing else
        of them matters. `marker` begins a talkspurt (RFC 3551, 4.1): what precedes it is silence.
        """
        if not payload:
            self._reception.note_silent(sequence)
            return
        for packet in self._reception.accept(Incoming(sequence, timestamp, payload, arrival_us, marker)):
            if packet.restarts:
                self._forget_stream()
            self._keep(packet)

    def _forget_stream(self) -> None:
        self._dropped += len(self._store)
        self._store.clear()
        self._ready.discard(len(self._ready))
        self._last = None
        self._playing = False

    def _keep(self, packet: Packet) -> None:
        behind = self._last is not None and packet.sequence <= self._last
        if behind or (self._playing and packet.position + self._duration <= self._end):
            self._late += 1
            self._review_due = True
            return
        if not self._playing:
            self._begin_playing(packet)
        if not self._store or packet.sequence > self._store[-1].sequence:
            self._store.append(packet)
        else:
            insort(self._store, packet)
        if len(self._store) > _MOST_PACKETS:
            self._drop_first()

    def _begin_playing(self, packet: Packet) -> None:
        """Choose the delay for what follows: the target, or more when this packet would else be late already."""
        if packet.position < self._reception.pulled + self._arrivals.earliest - self._most:
            # Later than the bound allows: the network or the sender's clock is not what it was.
            self._arrivals.forget()
            self._arrivals.note(self._reception.pulled, packet.earliness)
        self._end = min(packet.position, self._reception.pulled + self._arrivals.earliest - self._arrivals.target)
        self._playing = self._fresh = True
        self._starved = 0

    def _drop_first(self) -> None:
        packet = self._store.pop(0)
        self._count_lost(packet.sequence)
        self._dropped += 1

    def _count_lost(self, sequence: int) -> None:
        """The turn has come to `sequence`: what should have come between the last one and it is lost."""
        if self._last is not None and sequence != self._last + 1:
            self._lost += self._reception.window.missing(self._last, sequence)
        self._last = sequence

    # --- frames out ---------------------------------------------------------------------------------------------------------

    def pull(self, now_us: int) -> Pulled:
        """The next 20 ms. Call it once per tick of our own clock, also for ticks that are made up after a short stall."""
        if not self._started:
            self._start(now_us)
        self._pulls_to_review -= 1
        if self._review_due or self._pulls_to_review <= 0:
            self._review()
        if self._playing:
            pcm, state = self._play()
        else:
            pcm, state = silence(self._frame), FrameState.SILENT
        self._reception.tick(now_us, self._frame)
        return Pulled(pcm, state)

    def skip(self, samples: int) -> None:
        """Our clock jumped by `samples` (at `rate_hz`) for which nobody will pull: what was due in them is dropped, the delay
        stays. ValueError when negative."""
        if samples < 0:
            raise ValueError(f"a clock does not jump back, got {samples} samples")
        self._reception.skip(samples)
        if self._playing:
            self._advance(samples)

    def _start(self, now_us: int) -> None:
        self._started = True
        behind = self._reception.start(now_us)
        self._reception.pulled += behind
        if behind > 0:
            self._advance(behind)
        else:
            self._end += behind

    def _play(self) -> tuple[Pcm, FrameState]:
        """A frame while packets are coming, with the delay brought closer to its target."""
        excess = self._delay() - self._arrivals.target
        if excess > self._most + self._frame - self._arrivals.target:
            self._advance(excess)
        state = self._fill()
        if state is not FrameState.RECEIVED:
            return self._ready.take(self._frame), state
        excess = self._delay() - self._arrivals.target
        if excess >= self._splicer.deadband:
            self._read_ahead()
        pcm, moved = self._splicer.take(self._ready, excess)
        if moved:
            self._adjusted += 1
        return pcm, state

    def _review(self) -> None:
        self._arrivals.review(self._reception.pulled, may_shrink=self._pulls_to_review <= 0)
        if self._pulls_to_review <= 0:
            self._pulls_to_review = FRAMES_PER_SECOND
        self._review_due = False

    def _delay(self) -> int:
        """Samples from the arrival of the fastest recent packet to the pull of its first sample."""
        return self._arrivals.earliest - (self._end - len(self._ready) - self._reception.pulled)

    def _advance(self, samples: int) -> None:
        """Move on by `samples` of media without playing them."""
        ready = min(len(self._ready), samples)
        self._ready.discard(ready)
        if ready == samples:
            return
        self._end += samples - ready
        self._fresh = True
        while self._store and self._store[0].position + self._duration <= self._end:
            self._drop_first()

    def _read_ahead(self) -> None:
        """Decode what follows directly, as far as a splice needs it."""
        while self._store and len(self._ready) < self._frame + self._splicer.deadband:
            if self._store[0].position > self._end + self._seam:
                return
            self._ready.append(self._decode())

    def _fill(self) -> FrameState:
        """Make a frame ready; what it is made of."""
        ready = self._ready
        received, concealed = len(ready) > 0, False
        while (needed := self._frame - len(ready)) > 0:
            pcm, state = self._next(needed)
            if len(pcm):
                ready.append(pcm)
                received |= state is FrameState.RECEIVED
                concealed |= state is FrameState.CONCEALED
        if concealed:
            return FrameState.CONCEALED
        return FrameState.RECEIVED if received else FrameState.SILENT

    def _next(self, needed: int) -> tuple[Pcm, FrameState]:
        """The next samples, whatever they are: a packet, or up to `needed` of a gap. Nothing only when a packet was used up."""
        if not self._store:
            return self._underrun(needed)
        head = self._store[0]
        if head.position <= self._end + self._seam:
            return self._decode(), FrameState.RECEIVED
        lost = self._is_loss(head)
        self._settle(head.position - self._end, lost)
        gap = head.position - self._end
        if gap <= 0:
            return self._decode(), FrameState.RECEIVED
        if not lost or self._starved >= self._starved_limit:
            return self._silent(min(gap, needed))
        return self._bridge(head, gap, needed)

    def _is_loss(self, head: Packet) -> bool:
        if self._fresh or self._last is None:
            return False
        missing = self._reception.window.missing(self._last, head.sequence)
        # A talkspurt whose first packets are lost begins after silence; some senders set the marker on every packet.
        pause = head.position - self._end > missing * self._duration
        return missing > 0 and not (head.marker and pause)

    def _settle(self, gap: int, lost: bool) -> None:
        """Bring the delay to its target for free: a gap may be shorter, and silence longer, than it was."""
        excess = self._delay() - self._arrivals.target
        if excess >= self._splicer.deadband:
            self._end += min(gap, excess)
        elif excess <= -self._splicer.deadband and not lost:
            self._end += excess

    def _bridge(self, head: Packet, gap: int, needed: int) -> tuple[Pcm, FrameState]:
        """Part of a loss: what the next packet knows of the one before it, concealment for the rest."""
        if gap > self._duration:
            return self._conceal(min(needed, gap - self._duration), move=True)
        recovered = self._decoder.recover(head.payload, self._duration)
        if recovered is None:
            return self._conceal(min(needed, gap), move=True)
        self._end = head.position
        return recovered[-gap:], FrameState.RECEIVED

    def _underrun(self, needed: int) -> tuple[Pcm, FrameState]:
        """Nothing is there. Wait for it, which lengthens the delay, while the bound allows; `_settle` and the splicer take back
        what turns out not to be needed."""
        if self._starved >= self._starved_limit:
            self._playing = False
            return silence(needed), FrameState.SILENT
        return self._conceal(needed, move=self._delay() + needed > self._most)

    def _conceal(self, samples: int, move: bool) -> tuple[Pcm, FrameState]:
        self._starved += samples
        self._concealed += samples
        if move:
            self._end += samples
        return self._decoder.conceal(samples), FrameState.CONCEALED

    def _silent(self, samples: int) -> tuple[Pcm, FrameState]:
        self._end += samples
        return silence(samples), FrameState.SILENT

    def _decode(self) -> Pcm:
        """The first packet's samples, without those whose time is over; moves on behind them."""
        packet = self._store.pop(0)
        self._count_lost(packet.sequence)
        over = self._end - packet.position
        # A decoder joins what it concealed to the head of the next packet. Where that head is over, the join is made here.
        tail = self._decoder.conceal(self._splicer.deadband) if self._starved and over > self._seam else None
        self._review_due |= self._starved > 0
        self._fresh, self._starved = False, 0
        try:
            pcm = self._decoder.decode(packet.payload)
        except ValueError:
            pcm = silence(0)
        if not len(pcm):
            self._dropped += 1
            return pcm
        self._duration = len(pcm)
        if over >= len(pcm):
            self._late += 1
            return silence(0)
        self._played += 1
        self._end = packet.position + len(pcm)
        if over > 0:
            pcm = pcm[over:]
        return pcm if tail is None else faded_into(tail, pcm)

    # --- what is known ------------------------------------------------------------------------------------------------------

    @property
    def delay_us(self) -> int:
        """How long ago the first sample of the next pull arrived, had it come as fast as the fastest recent packet; 0 while
        nothing plays. A sample pulled at tick t reached us `delay_us` before t."""
        return self._delay() * 1_000_000 // self._rate if self._playing else 0

    @property
    def stats(self) -> JitterStats:
        """A snapshot."""
        reception = self._reception
        return JitterStats(
            received=reception.received,
            played=self._played,
            held=len(self._store) + reception.held,
            lost=self._lost,
            late=self._late,
            duplicate=reception.duplicate,
            reordered=reception.reordered,
            dropped=self._dropped + reception.dropped,
            concealed_samples=self._concealed,
            skew_adjustments=self._adjusted,
            delay_ms=self.delay_us / 1000,
            target_ms=self._arrivals.target * 1000 / self._rate,
            jitter_ms=reception.jitter_us / 1000,
        )
