"""Small talk: what callers say that is no question about the business, and what is true to say to it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from agent.mind.memory import Memory
from agent.understanding.names import caller_name

HOW_CAN_I_HELP = "How can I help you?"
ANYTHING_ELSE = "Is there anything else I can help you with?"
STILL_THERE = "Yes, I can hear you."
NO_PERSON = (
    "I am an automated assistant, and I cannot put you through to a person on this call. "
    "I can answer questions from the information I was given."
)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A whole turn that matches `pattern` is answered by `reply`; None leaves it to the next rule."""

    pattern: re.Pattern[str]
    reply: Callable[[Memory], str | None]


def is_backchannel(turn: str) -> bool:
    """Whether a turn, said while we speak, is only a sign of listening."""
    return _BACKCHANNEL.fullmatch(_plain(turn)) is not None


def small_talk(turn: str, memory: Memory) -> str | None:
    """What to say to a turn that is nothing but small talk. None: it is something else."""
    said = _plain(turn)
    for form in dict.fromkeys((said, _OPENING.sub("", said))):
        for rule in _RULES:
            if rule.pattern.fullmatch(form) and (reply := rule.reply(memory)) is not None:
                return reply
    return _introduction(turn, said)


def _plain(turn: str) -> str:
    return " ".join(re.sub(r"[^\w'\s]", " ", turn.lower()).split())


def _introduction(turn: str, said: str) -> str | None:
    """ "My name is Anna" and nothing else."""
    name = caller_name(turn)
    if name and "?" not in turn and _INTRODUCING.fullmatch(said.replace(_plain(name), "‹name›", 1)):
        return f"Hello, {name.split()[0]}. {HOW_CAN_I_HELP}"
    return None


def _heard(memory: Memory) -> str | None:
    return HOW_CAN_I_HELP if memory.last_said.endswith(_OFFERS) or not memory.last_said else ANYTHING_ELSE


def _yes(memory: Memory) -> str | None:
    return "What would you like to know?" if memory.last_said.endswith(_OFFERS) else ANYTHING_ELSE


def _no(memory: Memory) -> str | None:
    return "All right. Thank you for calling. Goodbye." if memory.last_said.endswith(_OFFERS) else f"All right. {ANYTHING_ELSE}"


def _again(memory: Memory) -> str | None:
    return memory.last_said or HOW_CAN_I_HELP


def _my_name(memory: Memory) -> str | None:
    return f"You told me that your name is {memory.name}." if memory.name else "You have not told me your name yet."


def _my_question(memory: Memory) -> str | None:
    return f"You said: {memory.last_heard}" if memory.last_heard else "You have not asked me anything yet."


def _news(memory: Memory) -> str | None:
    if not memory.pending:
        return None
    return f"I am still on it: {memory.pending[-1].rstrip('.')}. I will tell you as soon as I know more."


def _there(memory: Memory) -> str | None:
    return _news(memory) or f"{STILL_THERE} {HOW_CAN_I_HELP}"


def _rule(pattern: str, reply: str | Callable[[Memory], str | None]) -> _Rule:
    return _Rule(re.compile(pattern), (lambda _: reply) if isinstance(reply, str) else reply)


_BACKCHANNEL = re.compile(
    r"(m+ ?h*m*|uh ?huh|mhm|hm+|ah|oh|right|yes|yeah|yep|okay|ok|i see|alright|all right|sure|great|good|cool|got it|exactly|true"
    r"|really|wow|thanks|thank you)( (yes|yeah|okay|ok|right|sure|i see|good|great))*"
)
_INTRODUCING = re.compile(
    r"((um|uh|well|yes|hi|hello|hey|there|good (morning|afternoon|evening)) )*"
    r"((my (full |first )?name is|my name's|the name is|the name's|this is|i am called|i'm called|call me) ‹name›)"
    r"( here| speaking| calling| again| please| (calling |speaking )?from \w+( \w+)?)*( hi| hello)?"
)
_OFFERS = ("help you with?", "look up for you?", "help you?")
_OPENING = re.compile(r"^(?:(?:um|uh|well|so|oh|okay|ok|and|hi|hello|hey|sorry|excuse me)\s+)+(?=\w)")
_RULES = (
    _rule(r"(hi|hello|hey|good (morning|afternoon|evening|day))( there| again| to you)?", f"Hello. {HOW_CAN_I_HELP}"),
    _rule(r"(hi |hello )?how are you( doing)?( today)?", f"I am fine, thank you. {HOW_CAN_I_HELP}"),
    _rule(r"(m+ ?h+m+|uh ?huh|mhm|hm+|right|i see|okay|ok|alright|all right|sure|great|perfect|good|fine|cool|got it)", _heard),
    _rule(r"(yes|yeah|yep|yup)( please| sure)?", _yes),
    _rule(r"(no|nope|nah)( thank you| thanks)?", _no),
    _rule(
        r"(okay |great |perfect |no |all right )*(thank you|thanks|thank you so much|cheers)"
        r"( very much| a lot| so much)?( for (your|the) help| for that)?",
        f"You are welcome. {ANYTHING_ELSE}",
    ),
    _rule(
        r"(okay |thank you |thanks |no )*(good ?bye|bye|bye bye|that's all|that is all|that'll be all|that's it|nothing else"
        r"|have a (nice|good) (day|one|evening))( thank you| thanks| bye| for now| then)*",
        "Thank you for calling. Goodbye.",
    ),
    _rule(
        r"(are you|is this|am i (talking|speaking) (to|with))( really)? (a |an )?(real )?(robot|bot|human|human being|person"
        r"|machine|computer|ai|recording|automated\w*( assistant| system)?|real)( person)?",
        "I am an automated assistant, not a person. I answer from the information I was given.",
    ),
    _rule(
        r"(who are you|what are you|what's your name|what is your name|who am i (talking|speaking) (to|with)|who is this)",
        f"I am the automated assistant. {HOW_CAN_I_HELP}",
    ),
    _rule(r"(can you (still )?hear me|are you (still )?(there|on the line)|is anybody there|you there|hello hello)", _there),
    _rule(
        r"(is there )?any news|(are you|is it) (done|ready|finished)( yet)?|are you still (working )?on it|how (far|is it going)"
        r"( are you)?|what about (my|the) (request|booking|appointment)|did it work",
        _news,
    ),
    _rule(
        r"(pardon|pardon me|what|sorry what|come again|what did you say|say (that|it) again|(can|could|would) you"
        r"( please)? (repeat( that| it)?|say (that|it) again)|repeat that|please repeat( that)?|i didn't (hear|catch|get) that)"
        r"( please)?",
        _again,
    ),
    _rule(r"(do you (remember|know) )?(what's|what is|what was) my name( again)?|do you (remember|know) my name", _my_name),
    _rule(r"what (did i (just )?(ask|say)|was my question)( you)?( again)?", _my_question),
    _rule(
        r"(hold|hold on|wait|one moment|just a (moment|second|minute)|one second|give me a (moment|second|minute)|hang on)"
        r"( on)?( a (moment|second|minute|sec))?( please)?",
        "Of course. Take your time.",
    ),
    _rule(
        r"((can|could|may) i |i (want|would like|'d like|need) to |let me |please )*(speak|talk)( to| with) (a |an )?(real )?"
        r"(human|person|someone|somebody|agent|operator|representative|real person)( please)?|(human|operator|agent)( please)?",
        NO_PERSON,
    ),
)
