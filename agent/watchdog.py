"""The watchdog: turns "should be speaking, nothing is sent" into a recovery and a counted fault. Pure.

Three obligations, each with a bound: a caller's turn is followed by speech, an utterance that began goes on, a hold ends.
"""

from dataclasses import dataclass

from agent.settings import TICK_US, WatchdogSettings
from agent.timeline.events import VoiceContinued, VoiceStarted, VoiceStopped


@dataclass(frozen=True, slots=True)
class Alarm:
    """What does not happen. `code`: unanswered | starved | held."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Sending:
    """The utterance at the head of the playout. `starved` ticks it had no audio; `held` says a hold is on."""

    begun: bool
    starved: int
    held: bool
    backchannel: bool = False


class Watchdog:
    """Watches one call; fed with the caller's voice and, each tick, with what is being sent."""

    def __init__(self, settings: WatchdogSettings) -> None:
        self._settings = settings
        self._voice = False
        self._voiced_us = 0
        self._stopped_us: int | None = None
        self._due_us: int | None = None
        self._held_ticks = 0

    def voice(self, event: VoiceStarted | VoiceContinued | VoiceStopped) -> None:
        """The caller's voice; several bursts with short gaps are one turn."""
        if isinstance(event, VoiceStopped):
            self._voice, self._stopped_us = False, event.covers.to_us
            self._voiced_us += event.covers.to_us - event.covers.from_us
        else:
            self._voice = True

    def spoke(self) -> None:
        """An utterance of ours began: nothing is owed, and a turn that ends under it is no question."""
        self._due_us = None
        self._voiced_us = 0

    def lost(self, lost_us: int) -> None:
        """So much time went by in which nothing could be said or heard (a hold, a standstill): bounds move on by it."""
        self._due_us = None if self._due_us is None else self._due_us + lost_us
        self._stopped_us = None if self._stopped_us is None else self._stopped_us + lost_us

    def step(self, t: int, sending: Sending | None) -> Alarm | None:
        """One tick of an answered call that is not on hold; `sending` is None when nothing is queued."""
        self._end_turn(t, sending)
        if alarm := self._sending(sending):
            return alarm
        listening = self._voice or self._stopped_us is not None
        if self._due_us is not None and t >= self._due_us and not listening:
            self._due_us = None
            return Alarm("unanswered", f"{self._settings.answer_us // 1000} ms after the caller's turn nothing was said")
        return None

    def _end_turn(self, t: int, sending: Sending | None) -> None:
        if self._voice or self._stopped_us is None or t < self._stopped_us + self._settings.turn_gap_us:
            return
        talked_over = sending is not None and sending.begun and not sending.backchannel
        if self._voiced_us >= self._settings.turn_min_us:
            self._due_us = None if talked_over else self._stopped_us + self._settings.answer_us
        self._stopped_us, self._voiced_us = None, 0

    def _sending(self, sending: Sending | None) -> Alarm | None:
        self._held_ticks = self._held_ticks + 1 if sending and sending.held else 0
        if sending is None:
            return None
        if self._held_ticks * TICK_US > self._settings.held_us:
            self._held_ticks = 0
            return Alarm("held", f"speech was held for {self._settings.held_us // 1000} ms and nobody resumed it")
        bound_us = self._settings.starved_us if sending.begun else self._settings.answer_us
        if not sending.held and sending.starved * TICK_US > bound_us:
            return Alarm("starved", f"no audio for an utterance for {bound_us // 1000} ms")
        return None
