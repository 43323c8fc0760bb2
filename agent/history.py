"""The conversation so far, as a frontend is told it when its session is rebuilt: what was understood and what was sent."""

from collections import deque
from dataclasses import replace

from agent.frontends.base import Brief, PastTurn
from agent.timeline.events import (
    DelegationCreated,
    SpeechArrived,
    Transcript,
    UtteranceEnded,
    UtteranceStarted,
    WorkChanged,
    WorkEnded,
)
from agent.timeline.kinds import Outcome, Role
from agent.timeline.log import Entry

TURNS = 200
"""Turns remembered; older ones are forgotten."""
CHARACTERS = 200_000
"""Characters remembered of all turns together: a brief must fit into one message to a worker."""
SAID_CHARACTERS = 2_000
"""Characters kept of what was said since it was last asked for: the end of it, where a question stands."""
UNNAMED = "what you asked for"
"""A work about which nothing public is known."""


class History:
    """A view of one timeline."""

    def __init__(self) -> None:
        self._turns: deque[PastTurn] = deque()
        self._characters = 0
        self._said = ""
        self._pending: dict[str, str] = {}
        self._unanswered = ""
        self._answering: str | None = None
        self._whole: str | None = None

    @property
    def turns(self) -> tuple[PastTurn, ...]:
        """Oldest first. Lines of ours end where the sending was cut."""
        return tuple(self._turns)

    def told_in(self, brief: Brief) -> Brief:
        """The brief with what a new session must know of this call."""
        pending = tuple(self._pending.values())
        return replace(brief, history=self.turns, unanswered=self._unanswered, pending=pending)

    def take_said(self) -> str:
        """What was sent of the utterances of ours that ended since the last call of this."""
        said, self._said = self._said, ""
        return said

    def learn(self, entry: Entry) -> None:
        """A timeline listener."""
        match entry.event:
            case Transcript(final=True, text=text) if text:
                self._add(PastTurn("caller", text))
                self._unanswered = text
            case UtteranceStarted(utterance_id=utterance_id, role=Role.ANSWER):
                self._answering = utterance_id
            case SpeechArrived(utterance_id=utterance_id, final=True):
                self._whole = utterance_id
            case UtteranceEnded() as ended:
                self._ended(ended)
            case DelegationCreated(work_id=work_id):
                self._pending[work_id] = UNNAMED
                self._unanswered = ""  # it is being done: a new session must not do it again
            case WorkChanged(work_id=work_id, headline=headline) if headline and work_id in self._pending:
                self._pending[work_id] = headline
            case WorkEnded(work_id=work_id):
                self._pending.pop(work_id, None)

    def _ended(self, ended: UtteranceEnded) -> None:
        if ended.utterance_id == self._answering:
            self._answering = None
            whole = ended.outcome is Outcome.FINISHED and ended.utterance_id == self._whole
            if whole or ended.outcome is Outcome.CUT:  # who cuts an answer has heard that there is one
                self._unanswered = ""
        if ended.text_sent:
            self._add(PastTurn("agent", ended.text_sent))
            self._said = f"{self._said} {ended.text_sent}".strip()[-SAID_CHARACTERS:]

    def _add(self, turn: PastTurn) -> None:
        self._turns.append(turn)
        self._characters += len(turn.text)
        while len(self._turns) > TURNS or self._characters > CHARACTERS:
            self._characters -= len(self._turns.popleft().text)
