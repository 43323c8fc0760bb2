"""Everyday questions in the words of documents."""

import pytest

from agent.knowledge.everyday import plainly

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("asked", "plain"),
    [
        ("Where are you?", "What is your address?"),
        ("And where are you located?", "What is your address?"),
        ("Where is your office?", "What is your address?"),
        ("Where can I park?", "Do you have parking?"),
        ("Where is the parking garage?", "Do you have parking?"),
        ("How do I get there?", "What is your address and how do I find it?"),
    ],
)
def test_they_are_put_plainly(asked: str, plain: str) -> None:
    assert plainly(asked) == plain


@pytest.mark.parametrize(
    "asked", ["Where are you from?", "Where can I park my bicycle?", "Where is the nearest hospital?", "", "?"]
)
def test_all_others_stay_as_they_are(asked: str) -> None:
    assert plainly(asked) == asked
