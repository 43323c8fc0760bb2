"""Which sentences of a passage are told."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge.answer import MOST_SENTENCES, MOST_WORDS, compose
from agent.knowledge.markdown import read_markdown
from agent.knowledge.passages import Kind, Passage, Sentence
from agent.knowledge.question import take_apart
from agent.knowledge.vocabulary import collect

pytestmark = pytest.mark.unit

FAR = -10.0


def passage(text: str) -> Passage:
    (only,), _ = read_markdown(text, PurePosixPath("a.md"))
    return only


def told(text: str, question: str, *scores: float) -> str:
    only = passage(text)
    return compose(only, scores, take_apart(question, collect([only])))


TABLE = "# Price of fillings\n\n| Filling | Price |\n|---|---|\n| One side | $180 |\n| Two sides | $230 |\n| Crown | $900 |\n"


def test_the_row_alone_not_the_table() -> None:
    assert told(TABLE, "how much is a crown", FAR, FAR, 0) == "Crown: $900."


def test_a_row_that_needs_its_title_gets_it() -> None:
    assert told(TABLE, "how much is a filling on two sides", FAR, 0, FAR) == "Price of fillings: Two sides: $230."


def test_rows_that_are_equally_near_are_both_told() -> None:
    assert told(TABLE, "what do one or two sides cost", -1, 0, FAR) == "One side: $180. Two sides: $230."


def test_an_exception_is_told_with_its_rule() -> None:
    text = "# Hours\n\nWe are open daily. But not on Monday. The room is blue.\n"
    assert told(text, "are you open", 0, FAR, FAR) == "We are open daily. But not on Monday."


def test_a_short_passage_is_told_whole_and_a_longer_one_is_not() -> None:
    short = "# Booking\n\nCall us or write. We take no bookings by text."
    assert told(short, "how do I book", -4, 0) == "Call us or write. We take no bookings by text."
    longer = f"{short} {'Word ' * 20}end."
    assert told(longer, "how do I book", -4, 0, FAR) == "We take no bookings by text."


def test_a_sentence_that_leans_back_takes_the_one_before() -> None:
    text = "# Car\n\nA loan car is $20. It must be returned full.\n"
    assert told(text, "must it be full", FAR, 0) == "A loan car is $20. It must be returned full."


def test_one_that_leans_back_on_too_much_gets_the_title() -> None:
    text = f"# Loan cars\n\n{'word ' * 34}end. It must be returned full.\n"
    assert told(text, "must it be full", FAR, 0) == "Loan cars: It must be returned full."


LIST = "# Ways to pay\n\nWe take:\n\n- Cash\n- Credit cards\n- Bank transfer, for companies only\n"


def test_the_item_asked_for_is_told_with_its_introduction() -> None:
    assert told(LIST, "do you take credit cards", FAR, 0, FAR) == "We take: Credit cards."


def test_a_list_asked_for_as_a_whole_is_told_as_one_sentence() -> None:
    assert told(LIST, "how can I pay", 0, 0, 0) == "We take: Cash; Credit cards; and Bank transfer, for companies only."


def test_a_long_list_is_cut_between_items() -> None:
    answer = told("# Things\n\n" + "- one two three four five\n" * 30, "what is there", *([0.0] * 30))
    assert answer.count("one two three four five") == MOST_WORDS // 5


def test_a_single_long_sentence_is_told_whole() -> None:
    assert told(f"# A\n\n{'word ' * 50}end. Short.\n", "what", 0, -1).split() == ["word"] * 50 + ["end."]


@given(
    st.lists(
        st.tuples(st.text("ab .,", min_size=1, max_size=200), st.sampled_from(Kind), st.floats(-20, 20)), min_size=1, max_size=12
    ),
    st.text(max_size=60),
)
def test_an_answer_is_short_and_nothing_but_the_passage(sentences: list[tuple[str, Kind, float]], question: str) -> None:
    pieces = tuple(Sentence(text.strip() or "x", kind, 1) for text, kind, _ in sentences)
    only = Passage("a#t", PurePosixPath("a.md"), 1, ("Title",), pieces)
    answer = compose(only, [score for _, _, score in sentences], take_apart(question, collect([only])))
    longest = max(len(piece.text.split()) for piece in pieces)
    assert len(answer.split()) <= max(MOST_WORDS, longest) + MOST_SENTENCES + 15
    assert set(answer) <= set("".join(piece.text for piece in pieces)) | set("Title: ;and.")
