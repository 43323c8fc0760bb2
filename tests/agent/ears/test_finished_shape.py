"""The shapes of turns, and the words and tags they are read from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ears.grammar import sentences
from agent.ears.shape import Shape, shape_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("", Shape.EMPTY),
        ("...", Shape.EMPTY),
        ("Hello.", Shape.OPENER),
        ("Hi, good morning.", Shape.OPENER),
        ("Um, so", Shape.OPENER),
        ("Yes.", Shape.REPLY),
        ("No, thank you.", Shape.REPLY),
        ("Thank you very much, bye.", Shape.REPLY),
        ("Okay, thanks.", Shape.REPLY),
        ("How much is the", Shape.OPEN),
        ("If it rains on Saturday", Shape.OPEN),
        ("I was told to ask for...", Shape.OPEN),
        ("We would like to-", Shape.OPEN),
        ("I'd like to see Dr.", Shape.OPEN),
        ("Hello, I'm calling because", Shape.OPEN),
        ("Can you tell me what they're", Shape.OPEN),
        ("I need", Shape.HUNGRY),
        ("Can you tell me", Shape.HUNGRY),
        ("I got this message saying", Shape.HUNGRY),
        ("What would you charge for?", Shape.UNCLEAR),
        ("When can I call?", Shape.UNCLEAR),
        ("On Saturday.", Shape.FRAGMENT),
        ("Tomorrow at half past nine.", Shape.FRAGMENT),
        ("A large pizza with mushrooms and olives.", Shape.FRAGMENT),
        ("Could I get that?", Shape.WEAK),
        ("I want to request mine.", Shape.WEAK),
        ("My flight was cancelled.", Shape.STATEMENT),
        ("Two of us would like to go, but the others want to stay.", Shape.LONG_STATEMENT),
        ("Is the pool heated?", Shape.QUESTION),
        ("You deliver on Sundays?", Shape.QUESTION),
        ("Is the pool heated? Thanks.", Shape.QUESTION),
        ("Could you hold the room for me, please?", Shape.QUESTION),
        ("I was wondering about the deposit on the front door key, how much is it?", Shape.QUESTION),
        ("My toddler lost a shoe on the bus. Should I look for it there?", Shape.QUESTION),
    ],
)
def test_shapes(text: str, shape: Shape) -> None:
    assert shape_of(text) is shape


@pytest.mark.parametrize("text", ["How much is a ticket to Denver?", "I need to change my", "On Saturday.", "Can you tell me"])
@pytest.mark.parametrize("before", ["Um, ", "Hello, ", "Yes, ", "Okay, so ", "And ", "I see. ", "I moved to Ohio last year. "])
def test_what_leads_in_changes_nothing(text: str, before: str) -> None:
    alone, led_in = shape_of(text), shape_of(before + text[0].lower() + text[1:])
    if alone is Shape.FRAGMENT and before.endswith(". "):
        assert led_in is not Shape.OPEN
    else:
        assert led_in is alone


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("I can't, Dr. Lee's out.", [["i", "ca", "n't", ",", "doctor", "lee", "'s", "out"]]),
        ("You’re late. I'll go!", [["you", "'re", "late"], ["i", "'ll", "go"]]),
        ("It's 10:45, or $20?", [["it", "'s", "10:45", ",", "or", "$", "20"]]),
        ("We cannot wait,", [["we", "can", "not", "wait"]]),
        ("?! ...", []),
    ],
)
def test_sentences_and_words(written: str, words: list[list[str]]) -> None:
    assert [[one.word for one in sentence] for sentence in sentences(written)] == words


@pytest.mark.parametrize(
    ("written", "tags"),
    [("The book is here", "DT NN VBZ RB"), ("I need a room", "PRP VBP DT NN"), ("Would you call", "MD PRP VB")],
)
def test_parts_of_speech(written: str, tags: str) -> None:
    (sentence,) = sentences(written)
    assert " ".join(one.tag for one in sentence) == tags


@given(st.text(max_size=300))
def test_any_text_has_a_shape(text: str) -> None:
    assert shape_of(text) in Shape
    assert all(sentence and sentence[-1].word[-1].isalnum() for sentence in sentences(text))


@given(st.text(" ,.\n", max_size=5))
def test_spaces_and_commas_around_a_text_change_nothing(around: str) -> None:
    assert shape_of(f"{around} I need to change my{around.replace('.', '')}") is Shape.OPEN
