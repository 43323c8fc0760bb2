"""Questions that lean on the one before."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge.dialogue import Dialogue

pytestmark = pytest.mark.unit


@dataclass(frozen=True, slots=True)
class Answered:
    """What a look-up left behind."""

    question: str
    title: str = ""


def after(question: str, title: str = "") -> Dialogue:
    dialogue = Dialogue()
    dialogue.learn(question, Answered(question, title))
    return dialogue


@pytest.mark.parametrize(
    ("before", "then", "completed"),
    [
        ("Are you open on Friday?", "And on Saturday?", "Are you open on Saturday"),
        ("are you open on christmas eve", "and new year's eve?", "are you open on new year's eve"),
        ("How much is a cleaning?", "and for children?", "How much is a cleaning for children"),
        ("how much is an oil change", "and a full service?", "how much is a full service"),
        ("how much is a flu shot", "what about a tetanus shot", "how much is a tetanus shot"),
        ("When does Doctor Okafor work?", "and Doctor Lindgren?", "When does Doctor Lindgren work"),
        ("do you take medicare", "and aetna", "do you take aetna"),
        ("do you accept medicaid", "what about for adults?", "do you accept medicaid for adults"),
        ("do you have video visits", "how much is that?", "how much is video visits?"),
        ("is there a pharmacy", "where is it?", "where is pharmacy?"),
        ("do you do whitening", "How long does it take?", "How long does whitening take?"),
    ],
)
def test_what_is_missing_comes_from_the_last_question(before: str, then: str, completed: str) -> None:
    assert after(before).complete(then) == completed


@pytest.mark.parametrize(
    "whole",
    [
        "Where is the clinic?",
        "and where can I park my car when I come by?",
        "How much is a crown?",
        "is it possible to store my winter tires over the summer",
        "can you tell me a joke",
        "",
        "?!",
    ],
)
def test_a_whole_question_stays_as_it_is(whole: str) -> None:
    assert after("do you have loan cars").complete(whole) == whole


def test_without_a_question_before_nothing_is_completed() -> None:
    assert Dialogue().complete("and on Saturday?") == "and on Saturday?"


def test_a_person_is_who_the_answer_was_about() -> None:
    assert after("who fixes brakes", "Luis Ferrer, brakes").complete("when does he work") == "when does Luis Ferrer, brakes work"


def test_completing_changes_nothing_and_learning_without_words_neither() -> None:
    dialogue = after("are you open on friday")
    dialogue.complete("and on sunday")
    dialogue.learn("…", Answered("…"))
    assert dialogue.complete("and on saturday") == "are you open on saturday"


def test_a_history_is_completed_turn_by_turn() -> None:
    dialogue = Dialogue.of(["Are you open on Friday?", "And on Saturday?", "..."])
    assert dialogue.complete("and on sunday") == "Are you open on sunday"


@given(st.lists(st.text(max_size=80), max_size=8), st.text(max_size=80))
def test_any_history_is_bounded(history: list[str], question: str) -> None:
    completed = Dialogue.of(history).complete(question)
    assert len(completed.split()) <= 60
    assert len(completed) <= 600
