"""Words, their stems and sounds; days; misheard words."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge.calendar import ANY, days_of, holidays_of
from agent.knowledge.hearing import mend
from agent.knowledge.markdown import read_markdown
from agent.knowledge.question import LONGEST_QUESTION, Wanted, bounded, gives, take_apart
from agent.knowledge.vocabulary import Vocabulary, collect, phrases
from agent.knowledge.words import alike, sound, stem, words
from tests.agent.knowledge.fake_encoder import FakeEncoder

pytestmark = pytest.mark.unit

TEXT = """# Shop

## Root canal treatment

The root canal costs $850. Fluoride is free. A checkup is $65. The flu shot is $40.

## Dr. Helen Okafor

Today Dr. Helen Okafor takes Bluecrest Dental on Good Friday. We speak with Helen.
"""


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return collect(read_markdown(TEXT, PurePosixPath("shop.md"))[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What's the X-ray price?", ["what's", "the", "x", "ray", "price"]),
        ("twenty-five or thirty one dollars", ["25", "or", "31", "dollars"]),
        ("$1,150 at 8:00 am, Dr. Who", ["1150", "at", "8:00", "am", "doctor", "who"]),
        ("which one of four", ["which", "one", "of", "4"]),
        ("!?… 你好", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    "forms",
    [
        ("filling", "fillings", "filled", "fill"),
        ("cleaning", "clean", "cleaned"),
        ("price", "prices"),
        ("city", "cities"),
        ("close", "closed", "closes"),
        ("park", "parking"),
    ],
)
def test_forms_of_a_word_share_a_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


def test_what_sounds_alike_is_alike() -> None:
    assert sound("flew") == sound("flu")
    assert sound("knight") == sound("night")
    assert sound("fone") == sound("phone")
    assert alike("cannel", "canal") > alike("camel", "canal")
    assert alike("okafur", "okafor") > 0.85
    assert alike("boston", "botox") < 0.75


@given(st.text(max_size=30), st.text(max_size=30))
def test_likeness_is_a_share(heard: str, written: str) -> None:
    assert 0 <= alike(heard, written) <= 1
    assert alike(heard, heard) == 1


@pytest.mark.parametrize(
    ("heard", "meant"),
    [
        ("how much is a root cannel", "how much is a root canal"),
        ("I want a flew shot.", "I want a flu shot."),
        ("is doctor Okafur in?", "is doctor okafor in?"),
        ("how much is a check up", "how much is a checkup"),
        ("do you take blue crest dental", "do you take bluecrest dental"),
        ("I flew to Rome", "I flew to Rome"),
        ("there is a crowd", "there is a crowd"),
        ("how much is botox", "how much is botox"),
        ("do you take Redcrust?", "do you take Redcrust?"),
        ("", ""),
    ],
)
def test_misheard_words_are_mended_and_others_stay(heard: str, meant: str, vocabulary: Vocabulary) -> None:
    assert mend(heard, vocabulary, FakeEncoder()) == meant


@given(st.text(max_size=200))
def test_no_text_breaks_mending_or_taking_apart(text: str) -> None:
    vocabulary = collect(read_markdown(TEXT, PurePosixPath("shop.md"))[0])
    question = take_apart(mend(text, vocabulary, FakeEncoder()), vocabulary)
    assert len(question.content) == len(question.is_noun)
    assert len(question.text.split()) <= LONGEST_QUESTION


def test_a_question_is_bounded_at_its_end() -> None:
    long = "bla " * 100_000 + "when do you open"
    assert bounded(long).endswith("when do you open")
    assert len(bounded(long).split()) == LONGEST_QUESTION
    assert len(bounded("x" * 1_000_000)) <= 600


def test_a_question_taken_apart(vocabulary: Vocabulary) -> None:
    question = take_apart("How much is a root canal with Dr. Okafor?", vocabulary)
    assert question.wanted == (Wanted.AMOUNT,)
    assert question.content == ("root", "canal", "doctor", "okafor")
    assert question.phrases == ("root canal", "doctor okafor")
    assert question.nameless == "How much is a root canal with they?"


def test_names_are_what_is_always_written_large_and_no_holiday(vocabulary: Vocabulary) -> None:
    assert {"okafor", "helen", "bluecrest"} <= vocabulary.names
    assert not {"good", "friday", "today", "dr", "we"} & vocabulary.names


@pytest.mark.parametrize(
    ("kind", "yes", "no"),
    [
        (Wanted.AMOUNT, "It is $5.", "It is nice."),
        (Wanted.AMOUNT, "Cribs are free.", "Ask us."),
        (Wanted.DURATION, "It takes two hours.", "It takes patience."),
        (Wanted.TIME, "From 9:00 am.", "In the yard."),
        (Wanted.PERSON, "Luis Ferrer does it.", "Somebody does it."),
        (Wanted.PLACE, "It is next to the gate.", "It is good."),
        (Wanted.CONTACT, "Call 555-0142.", "Come by."),
    ],
)
def test_kinds_of_answers_are_seen(kind: Wanted, yes: str, no: str) -> None:
    assert gives(kind, yes)
    assert not gives(kind, no)


@pytest.mark.parametrize(
    ("text", "priced"),
    [
        ("How much is a crown?", True),
        ("what does the ferry cost", True),
        ("What's your fee for a will", True),
        ("the price of gel nails", True),
        ("how much notice do you need", False),
        ("how can I pay", False),
        ("what happens if it snows", False),
    ],
)
def test_what_only_an_amount_can_answer(text: str, priced: bool, vocabulary: Vocabulary) -> None:
    assert take_apart(text, vocabulary).asks_a_price is priced


def test_phrases_stop_at_words_without_matter() -> None:
    assert list(phrases("the root canal of a molar")) == ["root", "root canal", "canal", "molar"]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("From Monday to Wednesday", {"monday", "tuesday", "wednesday"}),
        ("Saturday through Monday", {"saturday", "sunday", "monday"}),
        ("on weekdays", {"monday", "tuesday", "wednesday", "thursday", "friday"}),
        ("Mondays and fridays", {"monday", "friday"}),
        ("on Good Friday", set()),
        ("soon", set()),
    ],
)
def test_days(text: str, days: set[str]) -> None:
    assert days_of(text) == days


@pytest.mark.parametrize(
    ("text", "holidays"),
    [
        ("on Christmas Eve, December 24", {"christmas eve"}),
        ("Christmas Day and New Year's Eve", {"christmas", "new year's eve"}),
        ("the fourth of July", {"independence day"}),
        ("on July 4", {"independence day"}),
        ("on public holidays", {ANY}),
        ("Presidents' Day and veterans day", {"president day", "veteran day"}),
        ("on Monday", set()),
    ],
)
def test_holidays(text: str, holidays: set[str]) -> None:
    assert holidays_of(text) == holidays
