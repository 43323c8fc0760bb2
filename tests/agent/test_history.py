import pytest

from agent.frontends.base import Brief, PastTurn
from agent.history import TURNS, History
from agent.timeline.events import (
    DelegationCreated,
    Event,
    SpeechArrived,
    Transcript,
    UtteranceEnded,
    UtteranceStarted,
    VoiceStopped,
    WorkChanged,
    WorkEnded,
)
from agent.timeline.kinds import Alignment, Cause, Outcome, Role, Span, WorkPhase, WorkStatus
from agent.timeline.log import Entry

pytestmark = pytest.mark.unit


def after(*events: Event) -> History:
    history = History()
    for seq, event in enumerate(events):
        history.learn(Entry(seq, 0, None, event))
    return history


def told(*events: Event) -> tuple[PastTurn, ...]:
    return after(*events).turns


QUESTION = Transcript(Span(0, 0), "When are you open?", True, 0.9)


def answer(outcome: Outcome, *, whole: bool = True, role: Role = Role.ANSWER, sent: str = "We open") -> list[Event]:
    arrived = SpeechArrived(Span(0, 0), "u", 0, role, Cause(), "We open at eight.", (), Alignment.EXACT, 1, whole)
    return [arrived, UtteranceStarted("u", 0, role, False), UtteranceEnded("u", outcome, 1, 1, 1, 1, sent, "")]


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


@pytest.mark.parametrize(
    ("events", "unanswered"),
    [
        ([QUESTION], "When are you open?"),
        ([QUESTION, *answer(Outcome.FINISHED)], ""),
        ([QUESTION, *answer(Outcome.CUT)], ""),  # the caller cut it: they know that there is an answer
        ([QUESTION, *answer(Outcome.FINISHED, whole=False)], "When are you open?"),  # the rest of it never came
        ([QUESTION, *answer(Outcome.STARVED, whole=False)], "When are you open?"),
        ([QUESTION, *answer(Outcome.FINISHED, role=Role.APOLOGY)], "When are you open?"),
        ([QUESTION, *answer(Outcome.FINISHED), QUESTION], "When are you open?"),
        ([QUESTION, DelegationCreated("w1", "d1", 0, 40), *answer(Outcome.STARVED, whole=False)], ""),  # it is being done
    ],
)
def test_a_turn_is_unanswered_until_an_answer_was_sent_to_its_end(events: list[Event], unanswered: str) -> None:
    assert after(*events).told_in(Brief("c")).unanswered == unanswered


def test_works_under_way_are_told_in_public_words() -> None:
    history = after(
        DelegationCreated("w1", "d1", 0, 40),
        DelegationCreated("w2", "d2", 0, 40),
        WorkChanged("w2", WorkPhase.RUNNING, "looking up Tuesday"),
        WorkChanged("w9", WorkPhase.RUNNING, "nobody's work"),
    )
    assert history.told_in(Brief("c")).pending == ("what you asked for", "looking up Tuesday")
    history.learn(Entry(9, 0, None, WorkEnded("w1", WorkStatus.SUCCEEDED, 3)))
    assert history.told_in(Brief("c")).pending == ("looking up Tuesday",)


def test_what_was_said_is_taken_once() -> None:
    history = after(ended("For how", "many people?"), ended("Hello?", ""))
    assert (history.take_said(), history.take_said()) == ("For how Hello?", "")
