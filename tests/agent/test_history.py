import pytest

from agent.frontends.base import PastTurn
from agent.history import TURNS, History
from agent.timeline.events import Event, Transcript, UtteranceEnded, VoiceStopped
from agent.timeline.kinds import Outcome, Span
from agent.timeline.log import Entry

pytestmark = pytest.mark.unit


def told(*events: Event) -> tuple[PastTurn, ...]:
    history = History()
    for seq, event in enumerate(events):
        history.learn(Entry(seq, 0, None, event))
    return history.turns


def ended(sent: str, unsent: str) -> UtteranceEnded:
    return UtteranceEnded("u", Outcome.CUT, 1, 1, 1, 1, sent, unsent)


def test_it_is_what_was_understood_and_what_was_sent() -> None:
    assert told(
        ended("Good morning", ""),
        Transcript(Span(0, 0), "I wo", False, 0.5),
        Transcript(Span(0, 0), "I would like a table", True, 0.9),
        VoiceStopped(Span(0, 0)),
        ended("For how", "many people?"),
    ) == (PastTurn("agent", "Good morning"), PastTurn("caller", "I would like a table"), PastTurn("agent", "For how"))


def test_what_nobody_heard_is_not_in_it() -> None:
    assert told(ended("", "never sent"), Transcript(Span(0, 0), "", True, 0.1)) == ()


def test_the_oldest_turns_are_forgotten() -> None:
    turns = told(*(ended(str(i), "") for i in range(TURNS + 3)))
    assert [turn.text for turn in (turns[0], turns[-1])] == ["3", str(TURNS + 2)]
    assert len(turns) == TURNS
