"""What the mind remembers of one call. It is rebuilt from the timeline's history when a session is opened anew."""

import copy
from dataclasses import dataclass, field, replace

from agent.frontends.base import Brief, PastTurn
from agent.knowledge.dialogue import Dialogue
from agent.understanding.names import caller_name

UNNAMED = "what you asked for"
"""A work about which nothing is known."""
TURNS = 40
"""Turns remembered word by word."""


@dataclass(slots=True)
class Memory:
    """Short-term memory. What we said is in it as far as it was sent."""

    capabilities: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    """Works under way, in public words."""
    name: str | None = None
    turns: tuple[PastTurn, ...] = ()
    dialogue: Dialogue = field(default_factory=Dialogue)
    not_understood: int = 0
    """Turns in a row that could not be made out."""

    @classmethod
    def of(cls, brief: Brief) -> "Memory":
        """The memory of a session that is opened with `brief`."""
        memory = cls(brief.capabilities, brief.pending)
        for turn in _without_last(brief.history, brief.unanswered):
            memory._add(turn)
        memory.dialogue = Dialogue.of([turn.text for turn in memory.turns if turn.who == "caller"])
        return memory

    def copy(self) -> "Memory":
        """As it is now, for another thread to read."""
        return replace(self, dialogue=copy.copy(self.dialogue))

    def one_is_done(self) -> None:
        """The outcome of a work has come. Whose, is not said: where they differ, the others lose their names."""
        rest = self.pending[1:]
        self.pending = rest if len(set(self.pending)) < 2 else (UNNAMED,) * len(rest)

    def heard(self, text: str) -> None:
        """The caller's turn is over."""
        self._add(PastTurn("caller", text))

    def said(self, text: str) -> None:
        """So much of an utterance of ours was sent."""
        self._add(PastTurn("agent", text))

    def _add(self, turn: PastTurn) -> None:
        self.turns = (*self.turns[1 - TURNS :], turn)
        if turn.who == "caller":
            self.name = caller_name(turn.text) or self.name

    @property
    def last_said(self) -> str:
        """What we said last, empty if nothing."""
        return next((turn.text for turn in reversed(self.turns) if turn.who == "agent"), "")

    @property
    def last_heard(self) -> str:
        """What the caller said last, empty if nothing."""
        return next((turn.text for turn in reversed(self.turns) if turn.who == "caller"), "")


def _without_last(history: tuple[PastTurn, ...], unanswered: str) -> tuple[PastTurn, ...]:
    """The history before the turn that is answered now, which is remembered when it is."""
    for place in range(len(history) - 1, -1, -1):
        if history[place].who == "caller":
            return history[:place] + history[place + 1 :] if unanswered == history[place].text else history
    return history
