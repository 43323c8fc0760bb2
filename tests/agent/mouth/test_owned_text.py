import re

import pytest

from agent.mouth.owned_text import OwnedText

pytestmark = pytest.mark.unit


def test_a_rewritten_word_keeps_its_owner() -> None:
    text = OwnedText("pay $35 now")
    text.rewrite(re.compile(r"\$35"), lambda match: "thirty five dollars")
    assert text.spoken() == ("pay", "thirty five dollars", "now")


def test_a_part_for_each_written_word() -> None:
    text = OwnedText("pay $3 million now")
    text.rewrite(re.compile(r"\$3 million"), lambda match: ("three", "million dollars"))
    assert text.spoken() == ("pay", "three", "million dollars", "now")
    assert text.text == "pay three million dollars now"


def test_one_text_for_several_words_is_shared_out_in_order() -> None:
    text = OwnedText("a b c")
    text.rewrite(re.compile("a b"), lambda match: "one two three four")
    assert text.spoken() == ("one two", "three four", "c")


def test_a_rule_may_leave_a_match_alone() -> None:
    text = OwnedText("1 22")
    text.rewrite(re.compile(r"\d+"), lambda match: None if match[0] == "1" else "two")
    assert text.spoken() == ("1", "two")


def test_only_the_group_is_replaced() -> None:
    text = OwnedText("15 Oak St now")
    text.rewrite(re.compile(r"Oak (St)"), lambda match: "Street", 1)
    assert text.text == "15 Oak Street now"


def test_edits_that_overlap_an_earlier_one_are_left() -> None:
    text = OwnedText("abcdef")
    text.replace([(0, 3, "x"), (2, 4, "y"), (4, 6, "z")])
    assert text.text == "xdz"


def test_the_library_is_matched_by_the_words_it_leaves_alone() -> None:
    text = OwnedText("Come 3 km or 4 km today")
    text.normalise(lambda said: said.replace("3 km", "three kilometers").replace("4 km", "four long kilometers"))
    assert text.spoken() == ("Come", "three", "kilometers", "or", "four long", "kilometers", "today")


def test_a_word_the_library_drops_is_silent() -> None:
    text = OwnedText("one um two")
    text.normalise(lambda said: said.replace("um ", ""))
    assert text.spoken() == ("one", "", "two")


def test_a_word_the_library_adds_belongs_to_the_one_before() -> None:
    text = OwnedText("one two")
    text.normalise(lambda said: "oh one and two" if " " in said else said)
    assert text.spoken() == ("oh one and", "two")
