"""How finished turns are by their words alone, with scores of sound and recogniser that take no side."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ears.finished import (
    GROUPS_US,
    OPEN_US,
    SENTENCE_US,
    SURE_US,
    WHOLE_US,
    Finished,
    finished,
    last_word_certainty,
    patience_us,
)
from agent.ears.recogniser import EndOfText, Token
from agent.understanding.asked import Asked

pytestmark = pytest.mark.unit

NEUTRAL_SOUND, NEUTRAL = 0.9, EndOfText(".", 0.6, 1.0)
"""About what most turns get, whole or broken off."""

WHOLE_QUESTIONS = """
How much is a ticket to Denver?
What time does the museum close?
Do you deliver on weekends?
Can I pay with a credit card?
Where is the nearest branch?
Is breakfast included?
Is the library open on Monday?
Does Frank still work there?
How long does the repair take?
When does the next bus leave?
Who founded the company?
Whose name is on the contract?
Why is my bill so high this month?
Have my papers come back yet?
Could you tell me what the fee is?
Can you tell me where the entrance to the garage is?
Do you know when he will be back?
I'd like to know whether the flight is on time.
I wanted to ask if you deliver on weekends.
If I cancel today, do I get my money back?
When I get to the airport, where do I pick up the car?
Because I'll be out of town, could someone else pick it up?
For two adults and a child, how much would that be?
My laptop won't turn on, can you help?
My order hasn't arrived yet. Where can I see where it is?
What do I need to bring with me?
What kind of payment do you take?
How many people can sit in the back room?
What about Saturday?
How old do you have to be to rent a car?
Are the rooms in the other building part of the price?
I paid last week, so why do I get a letter now?
Is Dr. Miller in on Thursdays?
What happens if I miss the train?
Should I bring some form of identification?
Do I have to come along to the first visit, or can my sister do that?
Where did you say the office was?
Just one night for me, how many dollars is that?
As the garage have a valet?
Our dogs allowed?
""".strip().splitlines()

WHOLE_STATEMENTS = """
I'd like to book a table for two tonight.
I need to change my password.
My card was declined.
I'm calling about an invoice from last month.
Please connect me to billing.
The heater in my apartment stopped working.
I lost my key to the mailbox.
That would be great, thank you.
Two people in our group can't eat any nuts.
The last time I called nobody answered.
You charged my card twice for the same room last week.
Tell me about the family plan.
""".strip().splitlines()

BROKEN_OFF = """
I'd like to know
Can you tell me
Could you let me know?
I'm calling because
I wanted to ask
I wanted to ask if
I was wondering whether.
How much is
How much is the
How much does a cleaning
How long does
What time do you
What is the
What's the best way to?
Where can I
When will my
Why is my
Which of the
How many days until
Do you have any
Do you
Is Dr. Miller
Does your mechanic
Are the
Can I bring my
Could I get the
Will you be open on?
Should I
I need to
I need a
I want to request my
I'd like to make a
I'm looking for a
I have a question about
I'm interested in.
I think that
I believe my husband
I got an email saying
My name is
My first name is,
My date of birth is
The problem is
The reason I'm calling is
What I need to know is
The guy who came yesterday
The last time I
If I cancel today
If it rains on Saturday,
When I'm stuck in traffic.
Because it's snowing so hard
While you're fixing it
Once the form is filled out,
As I'm a student,
As soon as the money is there
For a child who is scared of the dark
On Saturday
Um
Uh, so
Hello, um
Okay, so
Yes, but
No, because
My father can't climb stairs, so
I've moved to a new place, and
I got a bill from you, but um,
My husband and I
Somebody told me that.
Am I right that?
I can't get into the
She needs a form for
I was told to ask for...
We would like to—
Is that for Mr.
It hurts whenever
""".strip().splitlines()


def judged(text: str, asked: Asked = Asked.NOTHING, sound: float = NEUTRAL_SOUND, end: EndOfText = NEUTRAL) -> Finished:
    return finished(text, sound, end, asked)


@pytest.mark.parametrize("text", WHOLE_QUESTIONS)
def test_a_whole_question_is_answered_at_once(text: str) -> None:
    over = judged(text)
    assert over.patience_us == SURE_US
    assert over.probability > 0.9


@pytest.mark.parametrize("text", WHOLE_STATEMENTS)
def test_a_whole_statement_is_over_soon(text: str) -> None:
    over = judged(text)
    assert over.patience_us <= SENTENCE_US
    assert over.probability > 0.5


@pytest.mark.parametrize("text", BROKEN_OFF)
def test_what_breaks_off_is_waited_for(text: str) -> None:
    over = judged(text)
    assert over.patience_us >= 1_400_000
    assert over.probability < 0.35


@pytest.mark.parametrize("text", BROKEN_OFF)
def test_no_tone_of_voice_makes_a_broken_sentence_whole(text: str) -> None:
    over = judged(text, sound=0.99, end=EndOfText("?", 0.97, 1.0))
    assert over.patience_us >= 900_000


def test_a_voice_that_goes_on_makes_a_whole_sentence_wait() -> None:
    text = "I lost my key to the mailbox."
    falling, rising = judged(text, sound=0.98), judged(text, sound=0.03)
    assert rising.probability < falling.probability
    assert rising.patience_us > falling.patience_us


def test_a_doubtful_last_word_makes_a_whole_sentence_wait() -> None:
    sure, unsure = (finished("Could I get that?", 0.9, NEUTRAL, Asked.NOTHING, certainty) for certainty in (0.999, 0.5))
    assert unsure.probability < sure.probability - 0.2
    assert unsure.patience_us > sure.patience_us


def test_a_text_that_was_cut_short_is_judged_by_its_words() -> None:
    assert judged("How much is the", end=EndOfText()).patience_us == OPEN_US
    assert judged("How much is a ticket to Denver", end=EndOfText()).patience_us == SURE_US


@pytest.mark.parametrize(
    "text",
    [
        "My phone number is five, five, five.",
        "It's four one five, five five five.",
        "My number is 415-555",
        "You can reach me at six oh two,",
        "The code is nine four",
        "My zip code is four four.",
        "I was born on June eleventh.",
        "I was born on June eleventh, nineteen",
        "My birthday is the second of July",
        "You spell it M. A. R.",
        "That's S M I T",
        "My account number is three three one, two nine nine,",
    ],
)
def test_groups_of_digits_and_letters_are_waited_for_unasked(text: str) -> None:
    assert judged(text).patience_us == GROUPS_US


@pytest.mark.parametrize(
    "text",
    [
        "My number is four one five, five five five, zero one seven three.",
        "415-555-0161",
        "My phone number is (415) 555-0173.",
        "Call me back on eight hundred, five five five, zero one three five.",
        "My zip code is 44128.",
        "I was born on June eleventh, nineteen sixty eight.",
        "March 3rd, 1985 is my birthday, so March 3rd, 1985.",
        "My date of birth is the first of April, two thousand and twelve.",
    ],
)
def test_whole_numbers_and_dates_are_over_soon(text: str) -> None:
    assert judged(text).patience_us == WHOLE_US


@pytest.mark.parametrize("text", ["555-0161", "Call me back on five five five, zero one three five."])
def test_a_number_without_area_code_may_be_one_with_it_that_goes_on(text: str) -> None:
    assert WHOLE_US < judged(text).patience_us < GROUPS_US


@pytest.mark.parametrize(
    "text",
    [
        "Are you open on the first of January?",
        "Do you have a table for four?",
        "Can I come at eight thirty?",
        "Is it cheaper for my son, who is ten?",
        "Does it cost more than two hundred?",
        "Is there a bus at 10:45?",
    ],
)
def test_numbers_in_a_question_are_no_dictation(text: str) -> None:
    assert judged(text).patience_us == SURE_US


@pytest.mark.parametrize("text", ["Four one five", "415", "Sure, it's four", "It's zero", "June", "The third of May,", "oh"])
def test_asked_for_digits_pauses_of_two_seconds_are_waited_for(text: str) -> None:
    assert judged(text, Asked.DIGITS).patience_us >= 2_500_000


@pytest.mark.parametrize("text", ["Four one five, five five five, zero one seven three.", "4155550173", "June 11, 1968"])
def test_asked_for_digits_a_whole_number_is_over_soon(text: str) -> None:
    assert judged(text, Asked.DIGITS).patience_us == WHOLE_US


@pytest.mark.parametrize("text", ["Um, let me see", "Sure, it's", "Yes", "One moment, it's on my"])
def test_asked_for_digits_what_comes_before_them_is_waited_for(text: str) -> None:
    assert judged(text, Asked.DIGITS).patience_us >= 1_000_000


def test_asked_for_digits_a_question_back_is_answered() -> None:
    assert judged("Why do you need to know that number?", Asked.DIGITS).patience_us == SURE_US


@pytest.mark.parametrize("text", ["H A R", "It's M as in Mary", "K.", "j dot miller"])
def test_asked_for_a_spelling_letters_are_waited_for(text: str) -> None:
    assert judged(text, Asked.SPELLING).patience_us >= 2_500_000


@pytest.mark.parametrize(
    "text", ["Yes.", "No.", "Yeah.", "Yes, please.", "No, thanks.", "Sure.", "That's right.", "Okay.", "Nope."]
)
def test_asked_yes_or_no_that_is_all_there_is_to_say(text: str) -> None:
    assert judged(text, Asked.YES_NO).patience_us == SURE_US


@pytest.mark.parametrize("text", ["Yes, but", "No, I mean the", "Yeah, so"])
def test_asked_yes_or_no_more_may_follow(text: str) -> None:
    assert judged(text, Asked.YES_NO).patience_us == OPEN_US


@pytest.mark.parametrize("text", ["On Thursday.", "Around three in the afternoon.", "The blue one.", "Two adults and one child."])
def test_asked_for_one_thing_a_word_or_two_will_do(text: str) -> None:
    assert judged(text, Asked.DETAIL).probability > judged(text).probability + 0.3
    assert judged(text, Asked.DETAIL).patience_us < judged(text).patience_us


def test_silence_says_nothing() -> None:
    assert judged("") == Finished(0.0, OPEN_US)
    assert judged(" ... ") == Finished(0.0, OPEN_US)


def test_patience_falls_with_the_probability() -> None:
    patiences = [patience_us(step / 1000) for step in range(1001)]
    assert patiences[0] == OPEN_US
    assert patiences[-1] == SURE_US
    assert all(later <= earlier for earlier, later in itertools.pairwise(patiences))


def test_the_last_word_is_as_sure_as_its_least_sure_piece() -> None:
    pieces = [("▁could", 0.9), ("▁tele", 0.8), ("phone", 0.6), (".", 0.3)]
    assert last_word_certainty([Token(piece.encode(), probability) for piece, probability in pieces]) == 0.6
    assert last_word_certainty([]) == 1.0


SOME_WORDS = """
the a to of and if when that what how is are do does can I you it my for in on at not n't 's need want tell know think please um
so book table monday five oh nineteen June 415 red quickly working because , . ? ! - … Dr. there who which one
"""
WORDS = st.sampled_from(SOME_WORDS.split())
PROBABILITIES = st.floats(0, 1)


@given(st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=40).map(" ".join)), PROBABILITIES, st.sampled_from(Asked))
def test_any_text_has_a_probability_and_a_patience(text: str, sound: float, asked: Asked) -> None:
    over = judged(text, asked, sound)
    assert 0 <= over.probability <= 1
    assert SURE_US <= over.patience_us <= GROUPS_US


@given(st.lists(WORDS, min_size=1, max_size=15).map(" ".join), PROBABILITIES, PROBABILITIES)
def test_what_sounds_more_final_is_never_less_finished(text: str, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert judged(text, sound=low).probability <= judged(text, sound=high).probability
    by_words = [judged(text, end=EndOfText(".", final, 1.0)).probability for final in (low, high)]
    assert by_words[0] <= by_words[1]


def test_a_very_long_turn_is_judged_by_its_end() -> None:
    account = "I came in last week and they said it would be fine, but it was not. " * 40
    assert judged(account + "Can I get my money back?").patience_us == SURE_US
    assert judged(account + "And I would like to know").patience_us == OPEN_US
