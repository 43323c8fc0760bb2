"""One call's hearing without I/O: units with voice evidence in; what to recognise, and what was learned, out.

A *turn* of the caller runs from the onset of a voice to the moment it counts as over. While the voice sounds it is read in parts.
As soon as it pauses, the turn is *looked at*, ahead of time: recogniser and turn model say what was said and how finished that
is, and from this follows how much silence it takes. If the voice comes back before, the look is dropped and the turn goes on.
"""

from dataclasses import dataclass, field

import numpy as np

from agent.frontends.base import UNIT_RATE_HZ, Unit
from agent.timeline.events import Transcript, TurnProbability, VoiceContinued, VoicePaused, VoiceStarted, VoiceStopped
from agent.timeline.kinds import Span
from media.frames import Samples

FIRST_PARTIAL_US = 240_000
"""From the onset of the voice to the first partial."""
PARTIAL_EVERY_US = 320_000
PARTIAL_OVER_US = 160_000
"""The same while we speak: the floor needs to know what kind of sound it is."""
PREROLL_US = 200_000
"""Samples before the detected onset that is read as well."""
LONG_US = 10_000_000
"""A turn that goes on longer than this is read in pieces: what was read at a pause stands."""
LONGEST_US = 14_000_000
"""What was read stands even without a pause."""
UNREAD_US = 14_500_000
"""So much of a turn waits to be read, at most: where the recogniser cannot keep up, the oldest sound is lost."""
SILENT_US = 2_000_000
"""A voice of which nothing was told for so long has stopped, whether that was told or not."""


@dataclass(frozen=True, slots=True)
class Read:
    """Read `pcm` (16 kHz, from `from_us` on) and say so with `Hearing.read`: a part of a turn whose voice sounds."""

    covers: Span
    pcm: Samples
    from_us: int


@dataclass(frozen=True, slots=True)
class Look:
    """Read `pcm` and judge whether the turn is over; say so with `Hearing.looked`. The voice paused."""

    covers: Span
    pcm: Samples


@dataclass(frozen=True, slots=True)
class Drop:
    """Nobody waits for the last look any more: the voice came back."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn is over: what was read of its last piece, for the speaker's score."""

    covers: Span
    pcm: Samples


Act = Read | Look | Drop | Turn | Transcript | TurnProbability


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a look found. `patience_us`: silence, from the last voiced sample, after which the turn is over."""

    text: str
    confidence: float
    probability: float
    patience_us: int


class _Tape:
    """The newest sound, by the call's clock."""

    def __init__(self) -> None:
        self._chunks: list[Samples] = []
        self._from_us = self.to_us = 0

    def push(self, unit: Unit) -> None:
        """Units may be missing; what lies before a gap is let go."""
        if not self._chunks or unit.covers.from_us != self.to_us:
            self._chunks, self._from_us = [], unit.covers.from_us
        self._chunks.append(unit.pcm)
        self.to_us = unit.covers.to_us

    def forget(self, before_us: int) -> None:
        """Nothing before `before_us` will be asked for."""
        while len(self._chunks) > 1:
            lasts_us = len(self._chunks[0]) * 1_000_000 // UNIT_RATE_HZ
            if self._from_us + lasts_us > before_us:
                return
            self._from_us += lasts_us
            del self._chunks[0]

    @property
    def from_us(self) -> int:
        """Where the sound begins."""
        return self._from_us

    def cut(self, from_us: int) -> Samples:
        """Everything from `from_us` on."""
        whole = np.concatenate(self._chunks)
        return whole[max(0, from_us - self._from_us) * UNIT_RATE_HZ // 1_000_000 :]


@dataclass(slots=True)
class _Turn:
    """A turn that is not over. `read_from_us`: sound from here on is still to be read; `before`: what was read of the rest."""

    onset_us: int
    read_from_us: int
    before: str = ""
    voiced_us: int = 0
    voice: bool = True
    stopped: bool = False
    reading: bool = False
    looking: bool = False
    looked: Judgement | None = None
    partial_us: int = field(default=0)
    told_us: int | None = None
    """When voice activity last told that it goes on."""

    def whole(self, text: str) -> str:
        return f"{self.before} {text}".strip()


class Hearing:
    """Feed it units and the outcomes of the work it asks for; each returns what to do next."""

    def __init__(self) -> None:
        self._tape = _Tape()
        self._turn: _Turn | None = None

    def feed(self, unit: Unit) -> list[Act]:
        """The next unit."""
        self._tape.push(unit)
        acts: list[Act] = []
        for evidence in unit.evidence:
            match evidence:
                case VoiceStarted(covers=covers):
                    acts += self._voiced(covers.from_us, covers.to_us)
                case VoiceContinued(covers=covers):
                    acts += self._voiced(covers.from_us, covers.to_us)
                case VoicePaused(covers=covers):
                    acts += self._silent(covers.to_us, stopped=False)
                case VoiceStopped(covers=covers):
                    acts += self._silent(covers.to_us, stopped=True)
        if self._turn is None:
            self._tape.forget(unit.covers.to_us - 2 * PREROLL_US - 1_000_000)
        else:
            acts += self._untold(self._turn)
            self._keep(self._turn)
            acts += self._partial(PARTIAL_OVER_US if unit.speaking else PARTIAL_EVERY_US)
            acts += self._end()
        return acts

    def read(self, asked: Read, text: str, confidence: float) -> list[Act]:
        """What a part was read as; nothing when its turn is over or paused meanwhile."""
        turn = self._turn
        if turn is None or turn.onset_us != asked.covers.from_us:
            return []
        turn.reading = False
        if not turn.voice or asked.from_us != turn.read_from_us:
            return []
        whole = turn.whole(text)
        if asked.covers.to_us - turn.read_from_us > LONGEST_US:
            turn.before, turn.read_from_us = whole, asked.covers.to_us
        return [Transcript(asked.covers, whole, False, confidence)] if text else []

    def looked(self, asked: Look, found: Judgement) -> list[Act]:
        """What a look found; nothing when the voice came back meanwhile."""
        turn = self._turn
        if turn is None or not turn.looking or turn.voiced_us != asked.covers.to_us:
            return []
        turn.looking = False
        turn.looked = found
        if not found.text and not turn.before:
            return self._end()
        whole = turn.whole(found.text)
        told: list[Act] = [
            Transcript(asked.covers, whole, False, found.confidence),
            TurnProbability(asked.covers, found.probability),
        ]
        return told + self._end()

    def before(self) -> str:
        """What was read of the turn before the sound that is read now."""
        return self._turn.before if self._turn else ""

    def _voiced(self, onset_us: int, until_us: int) -> list[Act]:
        turn = self._turn
        if turn is None:
            from_us = max(self._tape.from_us, onset_us - PREROLL_US)
            self._turn = _Turn(onset_us, from_us, voiced_us=until_us, partial_us=onset_us + FIRST_PARTIAL_US)
            return []
        resumed, turn.told_us = not turn.voice, self._tape.to_us
        turn.voice, turn.stopped, turn.voiced_us = True, False, until_us
        if not resumed:
            return []
        if turn.looked and until_us - turn.read_from_us > LONG_US:
            turn.before = turn.whole(turn.looked.text)
            turn.read_from_us = max(turn.read_from_us, until_us - PREROLL_US - FIRST_PARTIAL_US)
        turn.looking, turn.looked = False, None
        turn.partial_us = self._tape.to_us + FIRST_PARTIAL_US
        return [Drop()]

    def _keep(self, turn: _Turn) -> None:
        """The sound that is still to be read, and no more of it than can be."""
        turn.read_from_us = max(turn.read_from_us, self._tape.to_us - UNREAD_US)
        self._tape.forget(turn.read_from_us)

    def _untold(self, turn: _Turn) -> list[Act]:
        """Units may be missing, and with them what was told of the voice."""
        since_us = turn.told_us if turn.voice else turn.voiced_us
        if since_us is None or self._tape.to_us - since_us < SILENT_US:
            return []
        return self._silent(turn.voiced_us, stopped=True)

    def _silent(self, voiced_us: int, stopped: bool) -> list[Act]:
        turn = self._turn
        if turn is None:
            return []
        turn.stopped = turn.stopped or stopped
        if not turn.voice:
            return []
        turn.voice, turn.voiced_us, turn.looking = False, voiced_us, True
        return [Look(Span(turn.onset_us, voiced_us), self._tape.cut(turn.read_from_us))]

    def _partial(self, every_us: int) -> list[Act]:
        turn, now_us = self._turn, self._tape.to_us
        assert turn is not None
        if not turn.voice or turn.reading or now_us < turn.partial_us:
            return []
        turn.reading, turn.partial_us = True, max(turn.partial_us, now_us - every_us) + every_us
        return [Read(Span(turn.onset_us, now_us), self._tape.cut(turn.read_from_us), turn.read_from_us)]

    def _end(self) -> list[Act]:
        """The turn is over when it was silent for as long as the look says, and no earlier than voice activity says."""
        turn = self._turn
        if turn is None or turn.looked is None or not turn.stopped:
            return []
        if self._tape.to_us - turn.voiced_us < turn.looked.patience_us:
            return []
        self._turn = None
        covers = Span(turn.onset_us, turn.voiced_us)
        whole = turn.whole(turn.looked.text)
        if not whole:
            return []
        return [Transcript(covers, whole, True, turn.looked.confidence), Turn(covers, self._tape.cut(turn.read_from_us))]
