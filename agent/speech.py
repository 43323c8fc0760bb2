"""Speech that is ready to be sent: the lines a call keeps rendered, and the audio of steps."""

from dataclasses import dataclass

from agent.line import Pcm
from agent.timeline.kinds import Alignment, Role, Word


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """A line rendered before it is needed. `pcm` is mono at `rate_hz`; `words` are timed from its first sample.

    A `must_hear` line is neither ducked, held nor cut: what the caller says meanwhile is kept and answered afterwards.
    """

    text: str
    pcm: Pcm
    rate_hz: int
    words: tuple[Word, ...]
    role: Role = Role.NOTICE
    must_hear: bool = False
    alignment: Alignment = Alignment.EXACT

    @property
    def duration_us(self) -> int:
        return len(self.pcm) * 1_000_000 // self.rate_hz
