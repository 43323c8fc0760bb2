"""The conversation so far, as a frontend is told it when its session is rebuilt: what was understood and what was sent."""

from collections import deque

from agent.frontends.base import PastTurn
from agent.timeline.events import Transcript, UtteranceEnded
from agent.timeline.log import Entry

TURNS = 200
"""Turns remembered; older ones are forgotten."""
CHARACTERS = 200_000
"""Characters remembered of all turns together: a brief must fit into one message to a worker."""


class History:
    """A view of one timeline."""

    def __init__(self) -> None:
        self._turns: deque[PastTurn] = deque()
        self._characters = 0

    @property
    def turns(self) -> tuple[PastTurn, ...]:
        """Oldest first. Lines of ours end where the sending was cut."""
        return tuple(self._turns)

    def learn(self, entry: Entry) -> None:
        """A timeline listener."""
        event = entry.event
        if isinstance(event, Transcript) and event.final and event.text:
            self._add(PastTurn("caller", event.text))
        elif isinstance(event, UtteranceEnded) and event.text_sent:
            self._add(PastTurn("agent", event.text_sent))

    def _add(self, turn: PastTurn) -> None:
        self._turns.append(turn)
        self._characters += len(turn.text)
        while len(self._turns) > TURNS or self._characters > CHARACTERS:
            self._characters -= len(self._turns.popleft().text)
