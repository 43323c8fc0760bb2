"""The scripted recogniser: it reads what the script says the caller speaks, when the caller's voice is detected."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from agent.errors import Capacity
from agent.frontends.base import Brief, Heard, Unit
from agent.frontends.outbox import Outbox
from agent.frontends.recital import spread
from agent.frontends.script import Caller, CallerAct, Script
from agent.frontends.tone import ToneVoice, load_wav
from agent.frontends.unit_order import UnitOrder
from agent.timeline.events import Transcript, TurnProbability, VoiceStarted, VoiceStopped
from agent.timeline.kinds import Span, Word

PARTIAL_AFTER_US = 240_000
"""From the onset of the voice to the first partial."""
_TOLERANCE_US = 150_000
"""Voice activity may end this much before the sound does. Shorter than the shortest pause inside a text."""
_SAME_LINE_US = 1_000_000
"""Voice that comes back within this time goes on with the line it broke off in."""
_RATE_HZ = 16_000
WAITING_EVIDENCE = 256
"""Pieces of evidence that may wait for the reader; beyond it `feed` waits."""


@dataclass(frozen=True, slots=True)
class _Line:
    words: tuple[Word, ...]
    lasts_us: int


def _lines(caller: Caller) -> tuple[_Line, ...]:
    """All that makes a sound, in the order of the script; noise and sound without a text has no words."""
    voice = ToneVoice(_RATE_HZ, caller.pitch_hz)
    return tuple(_line(act, voice) for act in caller.says if act.say or act.wav or act.noise_ms)


def _line(act: CallerAct, voice: ToneVoice) -> _Line:
    if act.say is not None:
        words = voice.speak(act.say)[1]
        return _Line(words, words[-1].end_us)
    lasts_us = (act.noise_ms or 0) * 1000
    if act.wav is not None:
        lasts_us = len(load_wav(act.wav, _RATE_HZ)) * 1_000_000 // _RATE_HZ
    return _Line(spread(act.text, lasts_us) if act.text else (), lasts_us)


class Reading:
    """The recogniser of one session without I/O: units with voice evidence in, transcripts out.

    The n-th line of the script is what the caller's voice says the n-th time. A pause inside a line (a comma) that voice activity
    takes for its end splits the transcript there and not the count: the rest of the line comes with the voice that follows.
    """

    def __init__(self, lines: tuple[_Line, ...]) -> None:
        self._lines = lines
        self._line = 0
        self._read = 0
        self._line_onset_us: int | None = None
        self._stopped_us = 0
        self._voice_us: int | None = None
        self._partial_due = False

    def feed(self, unit: Unit) -> list[Heard]:
        """What was learned with this unit."""
        heard: list[Heard] = []
        for evidence in unit.evidence:
            if isinstance(evidence, VoiceStarted):
                self._started(evidence.covers.from_us)
            elif isinstance(evidence, VoiceStopped):
                heard += self._stopped(evidence.covers)
        return heard + self._partial(unit.covers.to_us)

    @property
    def _words(self) -> tuple[Word, ...]:
        return self._lines[self._line].words if self._line < len(self._lines) else ()

    def _next_line(self) -> None:
        self._line, self._read, self._line_onset_us = self._line + 1, 0, None

    def _started(self, onset_us: int) -> None:
        if self._line_onset_us is not None and onset_us - self._stopped_us > _SAME_LINE_US:
            self._next_line()
        if self._line_onset_us is None:
            self._line_onset_us = onset_us
        self._voice_us, self._partial_due = onset_us, True

    def _partial(self, now_us: int) -> list[Heard]:
        if self._voice_us is None or not self._partial_due or now_us < self._voice_us + PARTIAL_AFTER_US:
            return []
        self._partial_due = False
        until_us = self._voice_us + PARTIAL_AFTER_US
        into_us = until_us - (self._line_onset_us or 0)
        text = " ".join(word.text for word in self._words[self._read :] if word.start_us <= into_us)
        return [Transcript(Span(self._voice_us, until_us), text, False, 0.6)] if text else []

    def _stopped(self, covers: Span) -> list[Heard]:
        if self._voice_us is None or self._line_onset_us is None or self._line >= len(self._lines):
            self._voice_us = None
            return []
        self._voice_us, self._stopped_us = None, covers.to_us
        into_us = covers.to_us - self._line_onset_us + _TOLERANCE_US
        words = [word for word in self._words[self._read :] if word.end_us <= into_us]
        self._read += len(words)
        complete = into_us >= self._lines[self._line].lasts_us
        if complete:
            self._next_line()
        if not words:
            return []
        text = " ".join(word.text for word in words)
        return [Transcript(covers, text, True, 0.98), TurnProbability(covers, 0.95 if complete else 0.1)]


class ScriptedEarsSession:
    """One call's scripted recogniser (`agent.frontends.base.EarsSession`)."""

    def __init__(self, reading: Reading, unit_us: int, on_end: Callable[[], None]) -> None:
        self._reading, self._on_end = reading, on_end
        self._units = UnitOrder(unit_us, gaps=True)
        self._outbox: Outbox[Heard] = Outbox(WAITING_EVIDENCE)

    async def feed(self, unit: Unit) -> None:
        await self._outbox.room()
        self._units.check(unit)
        self._outbox.put(self._reading.feed(unit))

    async def evidence(self) -> AsyncIterator[Heard]:
        async for heard in self._outbox:
            yield heard

    async def close(self) -> None:
        if not self._outbox.ended:
            self._on_end()
        self._outbox.end()


class ScriptedEars:
    """Opens scripted recognisers (`agent.frontends.base.Ears`). They are fed the units of the script's agent."""

    def __init__(self, script: Script, slots: int = 1_000) -> None:
        self._lines = _lines(script.caller)
        self._unit_us = script.agent.unit_ms * 1000
        self._slots, self._open = slots, 0

    async def open(self, brief: Brief) -> ScriptedEarsSession:
        if self._open >= self._slots:
            raise Capacity(f"all {self._slots} recognisers are taken")
        self._open += 1
        return ScriptedEarsSession(Reading(self._lines), self._unit_us, self._ended)

    def _ended(self) -> None:
        self._open -= 1
