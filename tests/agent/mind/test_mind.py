"""What the mind decides, with documents that are made up."""

from dataclasses import dataclass, field

import pytest

from agent.frontends.base import Brief, PastTurn
from agent.knowledge import Found
from agent.knowledge.dialogue import Dialogue
from agent.mind.memory import TURNS, Memory
from agent.mind.mind import NEAREST, NOT_CAUGHT, NOTHING_KNOWN, UNKNOWN, Mind, Move, wanted

pytestmark = pytest.mark.unit


@dataclass
class Documents:
    """Knows one thing."""

    findings: tuple[str, ...] = ()
    asked: list[str] = field(default_factory=list)

    def ask(self, question: str, dialogue: Dialogue) -> Found:
        self.asked.append(question)
        known = "Saturday" in question
        related = "Saturday: We are open on Saturday." if "Sunday" in question else ""
        return Found(1.0 if known else 0.0, "We are open on Saturday." if known else "", (), question, related)


def mind() -> Mind:
    return Mind(Documents())  # type: ignore[arg-type]


def test_what_the_documents_say_is_the_answer() -> None:
    decision = mind().decide("Are you open on Saturday?", 0.9, Memory())
    assert (decision.move, decision.text) == (Move.ANSWER, "We are open on Saturday.")


def test_what_is_near_is_told_as_no_more_than_that() -> None:
    decision = mind().decide("Are you open on Sundays?", 0.9, Memory())
    assert decision.move is Move.CHAT
    assert decision.text == f"{NEAREST} Saturday: We are open on Saturday."


def test_what_they_do_not_say_is_not_known() -> None:
    decision = mind().decide("Do you sell bicycles?", 0.9, Memory())
    assert (decision.move, decision.text) == (Move.CHAT, UNKNOWN)


def test_what_was_hardly_understood_is_asked_for_again_and_then_in_other_words() -> None:
    memory = Memory()
    for reply in (*NOT_CAUGHT, NOT_CAUGHT[-1]):
        decision = mind().decide("Bicycle fish the.", 0.1, memory)
        assert (decision.move, decision.text) == (Move.ASK_BACK, reply)
        Mind.learn("Bicycle fish the.", decision, memory)
    Mind.learn("Hello.", mind().decide("Hello.", 0.9, memory), memory)
    assert memory.not_understood == 0


@pytest.mark.parametrize("turn", ["", "...", "?!"])
def test_a_turn_without_words_is_asked_for_again(turn: str) -> None:
    assert mind().decide(turn, 0.9, Memory()).move is Move.ASK_BACK


def test_without_documents_it_says_so() -> None:
    assert Mind(None).decide("Are you open on Saturday?", 0.9, Memory()).text == NOTHING_KNOWN


def test_small_talk_asks_no_documents() -> None:
    documents = Documents()
    Mind(documents).decide("Hello.", 0.9, Memory())  # type: ignore[arg-type]
    assert documents.asked == []


@pytest.mark.parametrize(
    ("turn", "capability"),
    [
        ("Please book an appointment for Tuesday.", "book an appointment"),
        ("I would like to book an appointment.", "book an appointment"),
        ("I need an appointment booked.", "book an appointment"),
        ("Cancel my appointment, please.", "cancel an appointment"),
        ("How do I book an appointment?", None),
        ("Can I book an appointment online?", "book an appointment"),
        ("What does an appointment cost?", None),
        ("I read a book.", None),
    ],
)
def test_a_request_for_what_can_be_done_is_handed_over(turn: str, capability: str | None) -> None:
    assert wanted(turn, ("book an appointment", "cancel an appointment")) == capability


def test_what_is_handed_over_is_complete_in_itself_and_pending_from_then_on() -> None:
    memory = Memory(capabilities=("book an appointment",), name="Anna")
    decision = mind().decide("Book an appointment for Tuesday.", 0.9, memory)
    assert decision.move is Move.DELEGATE
    assert "Tuesday" in decision.request
    assert "Anna" in decision.request
    Mind.learn("Book an appointment for Tuesday.", decision, memory)
    assert memory.pending == ("your request to book an appointment",)


def test_memory_is_rebuilt_from_the_history_and_bounded() -> None:
    history = (PastTurn("caller", "My name is Anna Miller."), *(PastTurn("agent", str(n)) for n in range(TURNS + 5)))
    memory = Memory.of(Brief("c", history=history, pending=("looking up Tuesday",), capabilities=("book",)))
    assert (memory.name, memory.pending, memory.capabilities) == ("Anna Miller", ("looking up Tuesday",), ("book",))
    assert len(memory.turns) == TURNS
    assert memory.last_said == str(TURNS + 4)


@pytest.mark.parametrize(
    ("turn", "capability"),
    [
        ("I don't want to cancel my appointment.", None),
        ("I do not want to book an appointment.", None),
        ("I already booked an appointment.", None),
        ("I cancelled my appointment yesterday.", None),
        ("Hello, how do I book an appointment?", None),
        ("Could you tell me how to book an appointment?", None),
        ("Hello, please book an appointment.", "book an appointment"),
    ],
)
def test_what_is_denied_over_or_asked_about_is_not_handed_over(turn: str, capability: str | None) -> None:
    assert wanted(turn, ("book an appointment", "cancel an appointment")) == capability


def test_a_caller_is_put_through_where_that_can_be_done() -> None:
    memory = Memory(capabilities=("speak to a person",))
    assert Mind(None).decide("Can I speak to a person, please?", 1.0, memory).move is Move.DELEGATE
