"""A caller that acts by a script: the other half of a rehearsal."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush

import numpy as np

from agent.errors import Refused
from agent.line import Pcm
from agent.settings import TICK_US
from transports.memory.ear import HeardFrame, HeardState
from transports.memory.far_end import FarEnd, checked_digits

LOUD_MEAN_SQUARE = 32768.0**2 * 10 ** (-50 / 10)
"""Mean square of a frame at −50 dBov (0 dBov: a full-scale square wave, RFC 6465's reference): louder is speech."""
QUIET_US = 400_000
"""Quiet for this long ends an utterance of the agent."""


class Trigger(StrEnum):
    """What an act waits for."""

    AT = "at"
    """The making of the call (INVITE); `after_us` is then simply a time of the call."""
    ANSWERED = "answered"
    AGENT_STARTED = "agent_utterance_start"
    """The agent's sound rose above −50 dBov after a pause."""
    AGENT_ENDED = "agent_utterance_end"
    """The agent was quiet for 400 ms: the moment at which the caller knows."""


@dataclass(frozen=True, slots=True, eq=False)
class Say:
    """Speak: mono int16 at the line's rate."""

    pcm: Pcm


@dataclass(frozen=True, slots=True)
class Press:
    """Press keys."""

    digits: str


@dataclass(frozen=True, slots=True)
class Mute:
    """Press the mute button for `ms`."""

    ms: int


class Simple(StrEnum):
    """Acts that need no more than their name."""

    HANG_UP = "hang_up"
    VANISH = "vanish"
    HOLD = "hold"
    RESUME = "resume"
    STOP_SPEAKING = "stop_speaking"


Action = Say | Press | Mute | Simple


@dataclass(frozen=True, slots=True)
class CallerAct:
    """Do `action` `after_us` after the `nth` (from 1) event of the kind `trigger`."""

    trigger: Trigger
    after_us: int
    action: Action
    nth: int = 1

    def __post_init__(self) -> None:
        if self.after_us < 0 or self.nth < 1:
            raise Refused(f"{self.trigger} + {self.after_us} µs, nth {self.nth}: give a delay of 0 or more, and count from 1")
        if self.trigger in (Trigger.AT, Trigger.ANSWERED) and self.nth != 1:
            raise Refused(f"{self.trigger} happens once: nth cannot be {self.nth}")
        if isinstance(self.action, Press):
            checked_digits(self.action.digits)


Turns = Iterable[tuple[Trigger, int, int]]
"""Beginnings and ends of the agent's utterances: trigger, number (from 1) and time."""


class AgentVoice:
    """Finds the agent's utterances in what the far end hears, by level alone. Times are of the far end's ear, µs."""

    def __init__(self) -> None:
        self.utterances = 0
        """How many have begun."""
        self.speaking = False
        self._loud_until_us = 0

    def hear(self, frame: HeardFrame) -> Turns:
        """20 ms of the agent."""
        turns = [*self.move_on(frame.at_us)]
        if frame.state is not HeardState.RECEIVED:
            return turns
        pcm = frame.pcm.astype(np.float32)
        if float(pcm @ pcm) <= LOUD_MEAN_SQUARE * len(pcm):
            return turns
        if not self.speaking:
            self.speaking = True
            self.utterances += 1
            turns.append((Trigger.AGENT_STARTED, self.utterances, frame.at_us))
        self._loud_until_us = frame.at_us + TICK_US
        return turns

    def move_on(self, now_us: int) -> Turns:
        """Time passes, whether anything is heard or not."""
        known_us = self._loud_until_us + QUIET_US
        if not self.speaking or now_us < known_us:
            return ()
        self.speaking = False
        return ((Trigger.AGENT_ENDED, self.utterances, known_us),)


class ScriptedCaller:
    """Does each act once, at the first packet of the far end at or after its time; acts of one moment in the order given."""

    def __init__(self, far_end: FarEnd, acts: Iterable[CallerAct]) -> None:
        self.voice = AgentVoice()
        self._far = far_end
        self._timed: list[tuple[int, int, Action]] = []
        self._waiting: dict[tuple[Trigger, int], list[tuple[int, CallerAct]]] = {}
        for order, act in enumerate(acts):
            self._waiting.setdefault((act.trigger, act.nth), []).append((order, act))
        self._happened(Trigger.AT, 1, far_end.made_us)
        far_end.attach(self)

    @property
    def done(self) -> bool:
        """Whether every act has been done."""
        return not self._timed and not self._waiting

    def on_heard(self, frame: HeardFrame) -> None:
        """The far end heard 20 ms."""
        self._follow(self.voice.hear(frame))

    def on_tick(self, at_us: int) -> None:
        """Do what is due by `at_us`."""
        if self._far.answered_us is not None and (Trigger.ANSWERED, 1) in self._waiting:
            self._happened(Trigger.ANSWERED, 1, self._far.answered_us)
        self._follow(self.voice.move_on(at_us))
        while self._timed and self._timed[0][0] <= at_us:
            self._do(heappop(self._timed)[2])

    def _follow(self, turns: Turns) -> None:
        for trigger, nth, at_us in turns:
            self._happened(trigger, nth, at_us)

    def _happened(self, trigger: Trigger, nth: int, at_us: int) -> None:
        for order, act in self._waiting.pop((trigger, nth), ()):
            heappush(self._timed, (at_us + act.after_us, order, act.action))

    def _do(self, action: Action) -> None:
        far = self._far
        match action:
            case Say(pcm):
                far.say(pcm)
            case Press(digits):
                far.press(digits)
            case Mute(ms):
                far.mute(ms)
            case Simple.HANG_UP:
                far.hang_up()
            case Simple.VANISH:
                far.vanish()
            case Simple.HOLD:
                far.hold()
            case Simple.RESUME:
                far.resume()
            case Simple.STOP_SPEAKING:
                far.stop_speaking()
