"""What the mind remembers of one call. It is rebuilt from the timeline's history when a session is opened anew."""

from dataclasses import dataclass, field

from agent.frontends.base import Brief, PastTurn
from agent.knowledge.dialogue import Dialogue
from agent.understanding.names import caller_name

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
        for turn in brief.history:
            memory._add(turn)
        memory.dialogue = Dialogue.of([turn.text for turn in memory.turns if turn.who == "caller"])
        return memory

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
