"""Small talk: what is answered without any documents, and what is left to them."""

import pytest

from agent.frontends.base import PastTurn
from agent.mind.chat import ANYTHING_ELSE, HOW_CAN_I_HELP, is_backchannel, small_talk
from agent.mind.memory import Memory

pytestmark = pytest.mark.unit


def memory(*turns: tuple[str, str], name: str | None = None, pending: tuple[str, ...] = ()) -> Memory:
    return Memory(pending=pending, name=name, turns=tuple(PastTurn(who, text) for who, text in turns))


@pytest.mark.parametrize(
    ("turn", "begins"),
    [
        ("Hello.", "Hello."),
        ("Hi there!", "Hello."),
        ("Good morning.", "Hello."),
        ("Thank you very much.", "You are welcome."),
        ("Okay, thanks.", "You are welcome."),
        ("Goodbye.", "Thank you for calling."),
        ("No, that's all. Thank you.", "Thank you for calling."),
        ("Are you a robot?", "I am an automated assistant, not a person."),
        ("Am I talking to a real person?", "I am an automated assistant, not a person."),
        ("Who are you?", "I am the automated assistant."),
        ("Can you hear me?", "Yes, I can hear you."),
        ("Hold on a second, please.", "Of course."),
        ("Can I speak to a human?", "I am an automated assistant, and I cannot put you through"),
        ("My name is Anna Miller.", "Hello, Anna."),
        ("Hi, this is Peter.", "Hello, Peter."),
        ("Okay.", HOW_CAN_I_HELP),
    ],
)
def test_small_talk_is_answered(turn: str, begins: str) -> None:
    reply = small_talk(turn, memory())
    assert reply is not None
    assert reply.startswith(begins)


@pytest.mark.parametrize(
    "turn",
    [
        "When are you open?",
        "Hello, when are you open on Saturday?",
        "My name is Anna Miller and I would like to know what a filling costs.",
        "Is this covered by my insurance?",
        "Is the doctor a real person?",
        "What is your phone number?",
        "No, I meant on Monday.",
        "Thank you, and how much is a cleaning?",
        "Yes, on Tuesday.",
        "I want to talk to you about my bill.",
    ],
)
def test_what_asks_for_something_is_no_small_talk(turn: str) -> None:
    assert small_talk(turn, memory(("agent", f"It is open. {ANYTHING_ELSE}"))) is None


def test_what_was_said_last_is_repeated() -> None:
    known = memory(("agent", "We close at 6:00 pm."), ("caller", "Sorry?"))
    assert small_talk("Pardon?", known) == "We close at 6:00 pm."
    assert small_talk("Sorry, can you repeat that please?", known) == "We close at 6:00 pm."


def test_a_yes_or_no_is_understood_by_what_was_offered() -> None:
    offered = memory(("agent", f"We close at six. {ANYTHING_ELSE}"))
    assert small_talk("Yes, please.", offered) == "What would you like to know?"
    reply = small_talk("No, thank you.", offered)
    assert reply is not None
    assert reply.endswith("Goodbye.")


def test_the_callers_name_and_question_are_remembered() -> None:
    known = memory(("caller", "My name is Anna."), ("caller", "What does a crown cost?"), name="Anna")
    assert small_talk("What is my name?", known) == "You told me that your name is Anna."
    assert small_talk("What did I ask you?", known) == "You said: What does a crown cost?"
    assert small_talk("Do you remember my name?", memory()) == "You have not told me your name yet."


def test_news_of_pending_work_is_told_only_while_there_is_some() -> None:
    busy = memory(pending=("looking up Tuesday",))
    assert small_talk("Is it done yet?", busy) == "I am still on it: looking up Tuesday. I will tell you as soon as I know more."
    assert small_talk("Are you still there?", busy) == small_talk("Any news?", busy)
    assert small_talk("Is it done yet?", memory()) is None


@pytest.mark.parametrize("turn", ["Mm-hm.", "Uh-huh.", "Okay.", "Right.", "Yeah, okay.", "I see.", "Thanks."])
def test_a_sign_of_listening_is_known(turn: str) -> None:
    assert is_backchannel(turn)


@pytest.mark.parametrize("turn", ["Okay, stop.", "Yeah, but I wanted Tuesday.", "No.", "Wait.", "Right, and on Sunday?", ""])
def test_what_wants_the_floor_is_no_sign_of_listening(turn: str) -> None:
    assert not is_backchannel(turn)


@pytest.mark.parametrize(
    "turn",
    [
        "This is Anna, are you open?",
        "My name is Anna, opening hours please.",
        "My name is Anna, how much?",
        "Call me Peter when it is done.",
    ],
)
def test_a_question_behind_a_name_is_not_lost(turn: str) -> None:
    assert small_talk(turn, memory()) is None


@pytest.mark.parametrize(
    "turn", ["This is Anna calling.", "Good morning, my name is Anna Miller from Acme.", "Call me Anna, please."]
)
def test_nothing_but_a_name_is_greeted(turn: str) -> None:
    assert small_talk(turn, memory()) == f"Hello, Anna. {HOW_CAN_I_HELP}"


BUSINESS = """
Do you take cash?|Are you open now?|Is anybody there on Sunday?|Where can I park?|What about my bill?|How far
are you from the station?|Can you hear well with these aids?|Who is the doctor today?|What are your prices?|Is
this the dentist?|Are you real estate agents?|Can I bring a person with me?|Is there any news on the
reopening?|Are you ready for Christmas orders?|Do you have a human resources office?|What is your name on the
bank statement?|Can you hold a table?|Wait, how long is the wait?|Sure, but when?|Good for what?|Is it done in
one visit?|Okay, and on Monday?|Yes, at nine.|No, the other one.|Right, what does it cost?|What time?|Which
floor?|How much?|Is that all included?|That's it, the red one.|Do you know my insurance?|What did I pay last
time?|Can you repeat the prescription?|Could you say how to get there?|I need to speak German, is that
possible?|Let me speak to Doctor Smith.|Hello, do you deliver?|Thanks, do you deliver?|Bye the way, do you
deliver?|Have a nice day spa?|Are you the one with the blue door?|How are you paid?|Hi, how are you going to
refund me?|Great, is it free?|Is this a computer shop?|Do you fix computers?|Are you a real dentist?|Who are
your dentists?|Can someone call me back?|Is there a recording of my call?
"""


@pytest.mark.parametrize("turn", [" ".join(one.split()) for one in BUSINESS.split("|")])
def test_questions_of_callers_to_a_business_are_left_to_the_documents(turn: str) -> None:
    assert small_talk(turn, memory(("agent", f"We are. {ANYTHING_ELSE}"), pending=())) is None
