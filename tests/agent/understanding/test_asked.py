"""What callers were asked, by our last words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.understanding.asked import Asked, what_was_asked

pytestmark = pytest.mark.unit

YES_NO = """
Is that right?
Would you like me to book it?
Can I put you on hold for a moment?
Do you have an account with us?
Shall I send you a text about it?
You are on Maple Street, is that correct?
I have you down for Tuesday at nine, okay?
Great. So, do you want the early one?
And is your phone number still the same?
Have you been here before?
Are you calling for yourself?
Did you mean the one in May?
Isn't that too late for you?
Thanks, Anna. Would Dr. Miller be fine as well?
Your number is 555-0142, right?
""".strip().splitlines()

DETAIL = """
Which day suits you best?
What time would you like to come?
How many people are you?
Where are you calling from?
When did it start?
Which of our offices do you mean?
All right. And who is it for?
How old is your son?
""".strip().splitlines()

DIGITS = """
What is your phone number?
Can I have your phone number, please?
What's the best number to reach you?
Could you give me your date of birth?
And your date of birth?
May I have your member ID, please?
Please tell me your account number.
I'll need your order number.
What are the last four digits of your card?
What is your zip code?
Thank you. Which number can we call you back on?
When were you born?
Please enter your PIN.
What's the confirmation code?
And the reference number?
Can you repeat the number for me?
""".strip().splitlines()

SPELLING = """
What is your name?
May I have your full name, please?
Could you spell that for me?
How do you spell your last name?
Can you give me your e-mail address?
What's your street address?
And your last name?
Please spell it for me.
Who am I speaking with?
Great! What is your email?
""".strip().splitlines()

NOTHING = """
How can I help you?
What can I do for you today?
Is there anything else I can do? Just tell me.
We are open until six.
Your appointment is on Tuesday.
What happened?
What seems to be the problem?
Tell me more about it.
Why do you want to cancel?
Thank you for calling. Goodbye.
What is your phone number? You can also type it.
I will call you at that number.

...
""".strip().splitlines()


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        (said, asked)
        for asked, sentences in (
            (Asked.YES_NO, YES_NO),
            (Asked.DETAIL, DETAIL),
            (Asked.DIGITS, DIGITS),
            (Asked.SPELLING, SPELLING),
            (Asked.NOTHING, NOTHING),
        )
        for said in sentences
    ],
)
def test_the_last_sentence_tells(said: str, asked: Asked) -> None:
    assert what_was_asked(said) is asked


@pytest.mark.parametrize("said", DIGITS + SPELLING + YES_NO)
def test_what_was_said_before_does_not_count(said: str) -> None:
    before = "What is your name? I see, Dr. Lee. And your phone number? Thank you very much. "
    assert what_was_asked(before + said) is what_was_asked(said)


@pytest.mark.parametrize("said", [said for said in DIGITS + YES_NO if said.endswith("?")])
def test_a_question_that_was_cut_off_was_not_asked(said: str) -> None:
    assert what_was_asked(said[: len(said) // 2]) in (Asked.NOTHING, what_was_asked(said))
    assert what_was_asked(said + " You see, we") is Asked.NOTHING


@given(st.text(max_size=300))
def test_any_text_has_an_answer(said: str) -> None:
    assert what_was_asked(said) in Asked


@given(st.sampled_from(DIGITS + SPELLING + YES_NO + DETAIL), st.text(" \t\n", max_size=3))
def test_spaces_and_typographic_apostrophes_change_nothing(said: str, spaces: str) -> None:
    assert what_was_asked(spaces + said.replace("'", "’") + spaces) is what_was_asked(said)
