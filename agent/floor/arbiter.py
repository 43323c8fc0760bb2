"""The floor arbiter: from the caller's voice and what we are saying to a verdict. Pure.

The first arbiter knows only how long the caller's voice has been going on: it ducks at once, yields to sustained speech and
restores otherwise. Better ones replace it behind the same interface.
"""

from dataclasses import dataclass
from typing import Protocol

from agent.settings import FloorSettings
from agent.timeline.events import VoiceContinued, VoiceStarted, VoiceStopped
from agent.timeline.kinds import Role, Verdict

LONGEST_BACKCHANNEL_US = 2_000_000
"""What a frontend calls a backchannel and goes on for longer is none: it can be interrupted like anything else."""

Voice = VoiceStarted | VoiceContinued | VoiceStopped


@dataclass(frozen=True, slots=True)
class Speaking:
    """What we are saying now; we have been speaking since `since_us`, in this utterance or those right before it."""

    utterance_id: str
    role: Role
    must_hear: bool
    since_us: int


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, the onset of the voice it is about (µs) and the timeline entry (seq) that caused it."""

    verdict: Verdict
    onset_us: int
    reason: str
    cause: int | None


class FloorArbiter(Protocol):
    """Who has the floor."""

    def voice(self, event: Voice, seq: int) -> None:
        """Learn about the caller's voice."""

    def step(self, t: int, speaking: Speaking | None) -> Decision | None:
        """One tick: at most one verdict."""


class SustainedSpeechArbiter:
    """Voice ducks; voice over our speech for `yield_after_us`, counted from its onset, yields; otherwise it is restored."""

    def __init__(self, settings: FloorSettings, owns_floor: bool = False) -> None:
        self._yield_after_us = settings.guard_yield_after_us if owns_floor else settings.yield_after_us
        self._onset_us: int | None = None
        self._voiced_until_us = 0
        self._cause: int | None = None
        self._ducked_by: int | None = None

    def voice(self, event: Voice, seq: int) -> None:
        self._cause = seq
        self._voiced_until_us = event.covers.to_us
        self._onset_us = None if isinstance(event, VoiceStopped) else event.covers.from_us

    def step(self, t: int, speaking: Speaking | None) -> Decision | None:
        overlap = self._onset_us is not None and self._may_be_interrupted(t, speaking)
        if self._ducked_by is not None and not overlap:
            onset_us, self._ducked_by = self._ducked_by, None
            reason = "voice ended before it was sustained" if self._onset_us is None else "our speech ended"
            return Decision(Verdict.RESTORE, onset_us, reason, self._cause)
        if not overlap or speaking is None or self._onset_us is None:
            return None
        if self._voiced_until_us - max(self._onset_us, speaking.since_us) >= self._yield_after_us:
            self._ducked_by = None
            return Decision(Verdict.YIELD, self._onset_us, "sustained speech", self._cause)
        if self._ducked_by is None:
            self._ducked_by = self._onset_us
            return Decision(Verdict.DUCK, self._onset_us, "voice", self._cause)
        return None

    @staticmethod
    def _may_be_interrupted(t: int, speaking: Speaking | None) -> bool:
        if speaking is None or speaking.must_hear:
            return False
        return speaking.role is not Role.BACKCHANNEL or t - speaking.since_us > LONGEST_BACKCHANNEL_US
