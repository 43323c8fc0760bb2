"""Numbers, dates and spellings at the end of what was said, as recognisers write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ears.dictation import Dictation, dictation

pytestmark = pytest.mark.unit

GROUPS = """
My phone number is five, five, five.
My phone number is 5555.
Her number is three, three, oh,
It's four one five five
Call me at two one two, five five five.
The code is nine four, eight two
My order number is eight one two, four
Card number four one one one two two two two
My birthday is March third
I was born on the second of July, nineteen
Date of birth is April
You spell it M. A. R.
It's spelled K O W
That's S, M, I, T, H
It is J dot Miller, my e-mail is j dot miller
My name is Park, you spell it P as in Peter
double five three
""".strip().splitlines()

WHOLE = """
My phone number is four one five, five five five, zero one seven three.
It's 415-555-0173
(415) 555 0173
Seven seven three, double five five, zero one four two
My zip code is nine oh two one oh.
My zip code is 44128
My birthday is March third, nineteen eighty five.
I was born on June 11, 1968.
My date of birth is the thirtieth of January, nineteen ninety nine,
I was born in October two thousand
My e-mail is j dot miller at mail dot com.
""".strip().splitlines()

NONE = """
I need a table for four.
Oh.
Can I come at eight thirty?
It costs two hundred.
Are you open on the first of January?
Is July fourth a holiday?
I have two kids and one dog.
The bus at 10:45
I'm calling about my number
Tell me the code
She is twenty three
Is that okay?
Am I
I will be there on June eleventh
It was $4500

""".splitlines()


@pytest.mark.parametrize("text", GROUPS)
def test_more_groups_may_come(text: str) -> None:
    assert dictation(text) is Dictation.GROUPS


@pytest.mark.parametrize("text", WHOLE)
def test_it_has_all_it_needs(text: str) -> None:
    assert dictation(text) is Dictation.WHOLE


@pytest.mark.parametrize(
    "text", ["Call me back on five five five, zero one three five.", "it's 555-0161", "double five five, 0161"]
)
def test_seven_digits_are_a_local_number(text: str) -> None:
    assert dictation(text) is Dictation.LOCAL


@pytest.mark.parametrize("text", NONE)
def test_it_is_no_dictation(text: str) -> None:
    assert dictation(text) is Dictation.NONE


@pytest.mark.parametrize(
    "text", ["four", "It's zero four", "415", "June", "the third of May", "Well, it's twenty three", "it's K"]
)
def test_asked_for_it_little_is_enough(text: str) -> None:
    assert dictation(text, asked=True) is Dictation.GROUPS


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.sampled_from(["", ",", "-"]))
def test_asked_for_a_phone_number_ten_or_eleven_digits_are_whole(digits: list[int], mark: str) -> None:
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    whole = {7: Dictation.LOCAL, 10: Dictation.WHOLE, 11: Dictation.WHOLE}.get(len(digits), Dictation.GROUPS)
    assert dictation(f"{mark} ".join(names[digit] for digit in digits), asked=True) is whole
    assert dictation("".join(map(str, digits)), asked=True) is whole


@given(st.text(max_size=200), st.booleans())
def test_any_text_is_one_of_them(text: str, asked: bool) -> None:
    assert dictation(text, asked) in Dictation
