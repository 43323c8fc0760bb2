"""The last queue before the wire: epochs, duck, hold, drain, flush, and an account of every sample sent.

Pure: one `pull()` is one tick of 20 ms. What it returns is what is sent; nothing lies behind it but the line's encoder.
Utterances are sent one after another in the order of their first piece. *Drain* (the call ends when all is said) and *flush*
(the caller took the floor) are two different acts.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from agent.line import Pcm
from agent.timeline.kinds import Outcome, Role

MOST_WAITING = 64
"""Utterances in the queue; new ones are refused, lines kept ready only beyond twice as many."""
REMEMBERED = 256
"""How many ended utterances are remembered, so that their late pieces are known as late."""


KEPT_READY = (Role.GREETING, Role.NOTICE, Role.APOLOGY, Role.FAREWELL)
"""Roles of the lines that are rendered beforehand."""


@dataclass(frozen=True, slots=True)
class Ended:
    """An utterance is over: `sent` samples of it went out."""

    utterance_id: str
    outcome: Outcome
    sent: int


@dataclass(frozen=True, slots=True)
class Pulled:
    """What one tick sends. `pcm` None is silence; otherwise samples `start .. start + count` of the utterance lead the frame.

    `first`: the utterance begins with this frame. `ended`: it ends with it. `underrun`: silence goes out although the utterance
    is not complete and not held.
    """

    pcm: Pcm | None = None
    utterance_id: str | None = None
    epoch: int = 0
    start: int = 0
    count: int = 0
    gain_db: float = 0.0
    role: Role = Role.ANSWER
    must_hear: bool = False
    first: bool = False
    underrun: bool = False
    ended: Ended | None = None


SILENCE = Pulled()


@dataclass(slots=True)
class Utterance:
    """An utterance on its way out. `sent` and `queued` are samples at the line's rate, `starved` ticks in a row without audio.

    `torn`: its source left before it was complete.
    """

    utterance_id: str
    epoch: int
    role: Role
    must_hear: bool
    final: bool = False
    torn: bool = False
    sent: int = 0
    queued: int = 0
    starved: int = 0
    pieces: deque[Pcm] = field(default_factory=deque)

    def add(self, pcm: Pcm, frame: int) -> None:
        """More of it. Crumbs are put together to frames, so that what waits is few arrays."""
        if self.pieces and len(self.pieces[-1]) < frame:
            self.pieces[-1] = np.concatenate((self.pieces[-1], pcm))
        else:
            self.pieces.append(pcm)
        self.queued += len(pcm)

    def take(self, samples: int) -> Pcm:
        """The next `samples` (at most `queued`)."""
        parts: list[Pcm] = []
        missing = samples
        while missing:
            piece = self.pieces[0]
            if len(piece) <= missing:
                parts.append(self.pieces.popleft())
            else:
                parts.append(piece[:missing])
                self.pieces[0] = piece[missing:]
            missing -= len(parts[-1])
        self.queued -= samples
        self.sent += samples
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def shorten(self, samples: int) -> int:
        """Keep the next `samples` at most; returns how many were dropped."""
        dropped = max(0, self.queued - samples)
        while self.queued > samples:
            last = self.pieces.pop()
            self.queued -= len(last)
            if self.queued < samples:
                self.pieces.append(last[: samples - self.queued])
                self.queued = samples
        return dropped

    @property
    def end(self) -> Outcome:
        """How it ends when everything that came of it is out."""
        if not self.sent:
            return Outcome.DROPPED
        return Outcome.STARVED if self.torn else Outcome.FINISHED


class Playout:
    """The queue of one call. `frame`: samples of one tick at the line's rate."""

    def __init__(self, frame: int) -> None:
        self.epoch = 0
        self.draining = False
        self._frame = frame
        self._queue: deque[Utterance] = deque()
        self._gone: deque[str] = deque(maxlen=REMEMBERED)
        self._gain = self._target = 1.0
        self._gain_db = 0.0
        self._hold_at: int | None = None
        self._fading = False

    @property
    def current(self) -> Utterance | None:
        """The utterance that is being sent or is next."""
        return self._queue[0] if self._queue else None

    @property
    def speaking(self) -> Utterance | None:
        """The utterance of which a sample was sent and which goes on."""
        current = self.current
        return current if current and current.sent and not self._fading else None

    @property
    def held(self) -> bool:
        """A hold was asked for and not yet lifted."""
        return self._hold_at is not None

    @property
    def pending(self) -> int:
        """Samples waiting to be sent."""
        return sum(utterance.queued for utterance in self._queue)

    @property
    def drained(self) -> bool:
        """Everything is out."""
        return not self._queue

    def offer(self, utterance_id: str, epoch: int, role: Role, must_hear: bool, pcm: Pcm, final: bool) -> str | None:
        """Add a piece. Returns None, or why it was refused: `stale_epoch`, `ended`, `ending`, `speaking`, `full`.

        While draining, utterances that are already queued may be completed; new ones but a farewell are refused. A backchannel
        is refused while anything else is queued: it has no meaning later.
        """
        known = next((u for u in self._queue if u.utterance_id == utterance_id), None)
        if known is None:
            refusal = self._refusal(utterance_id, epoch, role)
            if refusal:
                return refusal
            known = Utterance(utterance_id, epoch, role, must_hear)
            self._queue.append(known)
        elif known.final:
            return "ended"
        elif known is self.current and self._fading:
            return "stale_epoch"
        if len(pcm):
            known.add(pcm, self._frame)
        known.final = final
        return None

    def _refusal(self, utterance_id: str, epoch: int, role: Role) -> str | None:
        if utterance_id in self._gone:
            return "ended"
        if epoch < self.epoch:
            return "stale_epoch"
        if self.draining and role is not Role.FAREWELL:
            return "ending"
        if role is Role.BACKCHANNEL and self._queue:
            return "speaking"
        if len(self._queue) >= (2 * MOST_WAITING if role in KEPT_READY else MOST_WAITING):
            return "full"
        return None

    def duck(self, gain_db: float) -> None:
        """Glide to `gain_db` within the next frame; 0 restores."""
        self._gain_db = gain_db
        self._target = 10 ** (gain_db / 20)

    def hold(self, at_sample: int) -> None:
        """Pause the current utterance before its sample `at_sample` (at once, when that is already out). Not a must-hear line."""
        if self.current and not self.current.must_hear:
            self._hold_at = max(at_sample, self.current.sent)

    def resume(self) -> None:
        """Go on from the sample at which the hold stopped."""
        self._hold_at = None

    def drain(self) -> None:
        """Send what is queued, take nothing new."""
        self.draining = True

    def seal(self) -> None:
        """No more audio will come for anything queued: each ends with what it has, as starved where that is not all of it."""
        for utterance in self._queue:
            utterance.torn = utterance.torn or not utterance.final
            utterance.final = True

    def flush(self) -> tuple[int, list[Ended]]:
        """The caller took the floor: a new epoch begins. The frame due fades out, the rest is dropped; must-hear lines stay.

        Returns the samples dropped and the utterances that end here: those of which nothing was sent, and one paused by a hold.
        """
        current = self.current
        paused = current is not None and self._hold_at is not None and current.sent >= self._hold_at
        self.epoch += 1
        self._hold_at = None
        self.duck(0.0)
        dropped, ended = 0, []
        for utterance in [u for u in self._queue if not u.must_hear]:
            if utterance.sent and not paused:
                dropped += utterance.shorten(self._frame)
                self._fading = True
            elif utterance.sent:
                dropped += utterance.queued
                ended.append(self._remove(utterance, Outcome.CUT))
            else:
                dropped += utterance.queued
                ended.append(self._remove(utterance, Outcome.DROPPED))
        return dropped, ended

    def stop(self, outcome: Outcome) -> list[Ended]:
        """End everything now: the one being sent with `outcome`, the others as dropped."""
        self._fading = False
        self._hold_at = None
        return [self._remove(u, outcome if u.sent else Outcome.DROPPED) for u in list(self._queue)]

    def end_current(self, outcome: Outcome) -> Ended | None:
        """End the current utterance now, as dropped if nothing of it was sent; the next one follows with the next pull."""
        current = self.current
        self._fading = False
        return self._remove(current, outcome if current.sent else Outcome.DROPPED) if current else None

    def _remove(self, utterance: Utterance, outcome: Outcome) -> Ended:
        if utterance is self.current:
            self._hold_at = None
            self._fading = False
        self._queue.remove(utterance)
        self._gone.append(utterance.utterance_id)
        return Ended(utterance.utterance_id, outcome, utterance.sent)

    def pull(self) -> Pulled:
        """The frame of this tick."""
        self._put_first_what_can_be_said()
        current = self.current
        if current is None:
            self._gain = self._target
            return SILENCE
        if self._fading:
            return self._fade_out(current)
        wanted = self._frame if self._hold_at is None else min(self._frame, self._hold_at - current.sent)
        if wanted <= 0:
            return Pulled(utterance_id=current.utterance_id, epoch=current.epoch)
        if current.queued < wanted and not current.final:
            return self._wait(current)
        count = min(wanted, current.queued)
        current.starved = 0
        first, start = current.sent == 0 and count > 0, current.sent
        if first:  # nothing to glide from: what was sent before was another utterance
            self._gain = 1.0 if current.must_hear else self._target
        pcm = self._shape(current.take(count) if count else np.zeros(0, np.int16), current.must_hear)
        ended = self._remove(current, current.end) if current.final and not current.queued else None
        gain_db = 0.0 if current.must_hear else self._gain_db
        return Pulled(
            pcm, current.utterance_id, current.epoch, start, count, gain_db, current.role, current.must_hear, first, ended=ended
        )

    def _put_first_what_can_be_said(self) -> None:
        """A line kept ready does not wait behind an utterance that has not begun and has nothing to begin with."""
        current = self.current
        if current is None or current.sent or self._ready(current):
            return
        line = next((one for one in self._queue if one.role in KEPT_READY and self._ready(one)), None)
        if line:
            self._queue.remove(line)
            self._queue.appendleft(line)

    def _ready(self, utterance: Utterance) -> bool:
        return utterance.final or utterance.queued >= self._frame

    def _wait(self, current: Utterance) -> Pulled:
        """No full frame is there. Before the first sample that is waiting, afterwards it is an underrun."""
        current.starved += 1
        if not current.sent:
            return SILENCE
        return Pulled(utterance_id=current.utterance_id, epoch=current.epoch, underrun=True)

    def _fade_out(self, current: Utterance) -> Pulled:
        self._fading = False
        count, start = min(self._frame, current.queued), current.sent
        pcm = current.take(count) if count else np.zeros(0, np.int16)
        ramp = np.linspace(self._gain, 0.0, self._frame, dtype=np.float32)
        pcm = (self._pad(pcm) * ramp).astype(np.int16)
        self._gain = self._target
        ended = self._remove(current, Outcome.CUT)
        return Pulled(pcm, current.utterance_id, current.epoch, start, count, 0.0, ended=ended)

    def _pad(self, pcm: Pcm) -> Pcm:
        if len(pcm) == self._frame:
            return pcm
        padded = np.zeros(self._frame, np.int16)
        padded[: len(pcm)] = pcm
        return padded

    def _shape(self, pcm: Pcm, full_level: bool) -> Pcm:
        """Pad to a frame and apply the gain, gliding where it changes."""
        pcm = self._pad(pcm)
        target = 1.0 if full_level else self._target
        if self._gain == target:
            return pcm if target == 1.0 else (pcm * np.float32(target)).astype(np.int16)
        ramp = np.linspace(self._gain, target, self._frame, dtype=np.float32)
        self._gain = target
        return (pcm * ramp).astype(np.int16)
