"""The mouth: clauses to sound at the line's rate, with a second voice behind the first and the fixed phrases kept."""

from collections import OrderedDict
from threading import Lock

import numpy as np

from agent.compute import Cancelled, never
from agent.errors import Fault
from agent.line import Pcm
from agent.logs import get_logger
from agent.mouth.clauses import Clause, ClauseSplitter
from agent.mouth.voice import Rendered, Voice
from agent.speech import SpokenLine
from agent.timeline.kinds import Alignment, Role, Word
from media.resample import Resampler

OUTPUT_RATES_HZ = (8_000, 16_000, 24_000)
KEPT_BYTES = 16_000_000
"""Of rendered clauses: about eight minutes at 16 kHz."""


class Mouth:
    """Blocking, for use in threads; several may speak at once.

    `fallbacks` counts the clauses that the second voice said because the first had raised.
    """

    def __init__(self, voice: Voice, fallback: Voice | None, output_rate_hz: int, kept_bytes: int = KEPT_BYTES) -> None:
        """Raises ValueError for a rate that is not 8, 16 or 24 kHz."""
        if output_rate_hz not in OUTPUT_RATES_HZ:
            raise ValueError(f"a mouth speaks at 8000, 16000 or 24000 Hz, not at {output_rate_hz}")
        self.output_rate_hz = output_rate_hz
        self.fallbacks = 0
        self._voice, self._fallback = voice, fallback
        self._kept = _Kept(kept_bytes)
        self._lock = Lock()
        self._log = get_logger("venus.mouth")

    @property
    def name(self) -> str:
        """The first voice's."""
        return self._voice.name

    @property
    def faults(self) -> int:
        """Counted faults of both voices and of the mouth itself."""
        return self.fallbacks + self._voice.faults + (self._fallback.faults if self._fallback else 0)

    def speak(self, clause: Clause, cancelled: Cancelled = never) -> Rendered:
        """The clause at `output_rate_hz`, its pause in front; word times count from the first sample, pause included.

        Empty when cancelled or when there is nothing to say. Raises `Fault` when no voice can say it.
        """
        rendered = self._kept.get(clause.text)
        if rendered is None:
            rendered, voice = self._render(clause.text, cancelled)
            rendered = _resampled(rendered, voice.rate_hz, self.output_rate_hz)
            # What the second voice said is not kept: the first may be able to say it next time.
            if len(rendered.pcm) and voice is self._voice:
                self._kept.put(clause.text, rendered)
        return _after_pause(rendered, clause.pause_us, self.output_rate_hz) if len(rendered.pcm) else rendered

    def line(self, text: str, role: Role = Role.NOTICE, must_hear: bool = False) -> SpokenLine:
        """A whole line, rendered before it is needed. Raises `Fault` as `speak`."""
        splitter = ClauseSplitter()
        clauses = [*splitter.push(text), *splitter.flush()]
        return joined_line(text, [self.speak(clause) for clause in clauses], self.output_rate_hz, role, must_hear)

    def _render(self, text: str, cancelled: Cancelled) -> tuple[Rendered, Voice]:
        try:
            return self._voice.render(text, cancelled), self._voice
        # Whatever a synthesiser's library raises: the caller must hear the answer.
        except Exception as error:
            if self._fallback is None:
                raise Fault(f"The voice {self._voice.name} failed and there is no second one: see the log.") from error
            self._tell(error)
            return self._second(self._fallback, text, cancelled), self._fallback

    def _second(self, voice: Voice, text: str, cancelled: Cancelled) -> Rendered:
        try:
            return voice.render(text, cancelled)
        except Exception as error:
            raise Fault(f"Both voices failed, {self._voice.name} and {voice.name}: see the log.") from error

    def _tell(self, error: Exception) -> None:
        with self._lock:
            self.fallbacks += 1
            first = self.fallbacks == 1
        if first:
            self._log.error("the first voice failed: the second one speaks", voice=self._voice.name, exc_info=error)


class _Kept:
    """The clauses rendered last, bounded by the bytes of their sound."""

    def __init__(self, limit: int) -> None:
        self._limit, self._bytes = limit, 0
        self._clauses: OrderedDict[str, Rendered] = OrderedDict()
        self._lock = Lock()

    def get(self, text: str) -> Rendered | None:
        with self._lock:
            if text in self._clauses:
                self._clauses.move_to_end(text)
            return self._clauses.get(text)

    def put(self, text: str, rendered: Rendered) -> None:
        """Keeps it, unless it alone is over the limit; the ones unused for longest go."""
        if rendered.pcm.nbytes > self._limit:
            return
        rendered.pcm.flags.writeable = False
        with self._lock:
            if text not in self._clauses:
                self._bytes += rendered.pcm.nbytes
                self._clauses[text] = rendered
            while self._bytes > self._limit:
                _, gone = self._clauses.popitem(last=False)
                self._bytes -= gone.pcm.nbytes


def joined_line(text: str, parts: list[Rendered], rate_hz: int, role: Role, must_hear: bool) -> SpokenLine:
    """Clauses that follow each other as one line; exact only if all of them are."""
    words, offset = list[Word](), 0
    for part in parts:
        words += [Word(word.text, word.start_us + offset, word.end_us + offset) for word in part.words]
        offset += len(part.pcm) * 1_000_000 // rate_hz
    pcm = np.concatenate([part.pcm for part in parts]) if parts else np.zeros(0, np.int16)
    exact = all(part.alignment is Alignment.EXACT for part in parts)
    return SpokenLine(text, pcm, rate_hz, tuple(words), role, must_hear, Alignment.EXACT if exact else Alignment.ESTIMATED)


def _resampled(rendered: Rendered, from_hz: int, to_hz: int) -> Rendered:
    resampler = Resampler(from_hz, to_hz)
    pcm: Pcm = np.concatenate([resampler.push(rendered.pcm), resampler.flush()]) if from_hz != to_hz else rendered.pcm
    return Rendered(rendered.text, pcm, rendered.words, rendered.alignment)


def _after_pause(rendered: Rendered, pause_us: int, rate_hz: int) -> Rendered:
    if not pause_us:
        return rendered
    silent = pause_us * rate_hz // 1_000_000
    shift = silent * 1_000_000 // rate_hz
    words = tuple(Word(word.text, word.start_us + shift, word.end_us + shift) for word in rendered.words)
    return Rendered(rendered.text, np.concatenate([np.zeros(silent, np.int16), rendered.pcm]), words, rendered.alignment)
