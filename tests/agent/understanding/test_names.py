"""The name in an introduction."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.understanding.names import caller_name

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("My name is Anna Miller.", "Anna Miller"),
        ("Hello, my name's O'Brien and I have a question.", "O'Brien"),
        ("Hi, this is Peter from next door.", "Peter"),
        ("The name is Maria del Carmen.", "Maria"),
        ("You can call me Tom.", "Tom"),
        ("This is about my bill.", None),
        ("This is The Smith family.", None),
        ("My name is not important.", None),
        ("What is my name?", None),
        ("", None),
    ],
)
def test_it_is_found_where_somebody_introduces_themselves(said: str, name: str | None) -> None:
    assert caller_name(said) == name


@given(st.text(max_size=200))
def test_any_text_is_taken(text: str) -> None:
    name = caller_name(text)
    assert name is None or name in text
