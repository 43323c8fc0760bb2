"""What to do about a turn of the caller: answer, ask back, chat, or hand over.

Deciding is quick, blocking and changes nothing, so that it can be tried ahead of time on what the caller has said so far. The
facts of an answer come from the documents, never from the mind.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum

from agent.knowledge import Found, Knowledge
from agent.mind.chat import small_talk
from agent.mind.memory import Memory

SURE_WORDS = 0.35
"""A reading below this confidence is asked for again when it leads nowhere."""
NOT_CAUGHT = (
    "I am sorry, I did not catch that. Could you say it again?",
    "I still did not get that. Could you put it in other words?",
)
UNKNOWN = "I am sorry, I do not have that information. Is there anything else I can look up for you?"
NEAREST = "I am not sure that I have that. The closest I have is this."
"""Said in front of what is near to the question and may not answer it."""
TAKEN = "All right, I am on it. I will tell you as soon as I know more."
NOTHING_KNOWN = "I am sorry, I have no information that I could look this up in."


class Move(StrEnum):
    """What a turn is answered by."""

    ANSWER = "answer"
    ASK_BACK = "ask_back"
    CHAT = "chat"
    DELEGATE = "delegate"


@dataclass(frozen=True, slots=True)
class Decision:
    """`text` is what can be said to it without a language model. `request` is for a delegation."""

    move: Move
    text: str
    request: str = ""
    capability: str = ""
    """What is handed over, in the plain words of the capability."""
    found: Found | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Mind:
    """Shared by all sessions of a worker; what it knows of a call is in that call's `Memory`."""

    knowledge: Knowledge | None

    def decide(self, turn: str, confidence: float, memory: Memory) -> Decision:
        """`turn`: all the caller said; `confidence` of the recogniser in it, 0..1. Takes some 20 ms."""
        if not re.search(r"\w", turn):
            return self._not_caught(memory)
        if capability := wanted(turn, memory.capabilities):  # first: it may be to put the caller through to a person
            return Decision(Move.DELEGATE, TAKEN, _request(capability, turn, memory), capability)
        talk = small_talk(turn, memory)
        if talk is not None:
            return Decision(Move.CHAT, talk)
        if self.knowledge is None:
            return Decision(Move.CHAT, NOTHING_KNOWN)
        found = self.knowledge.ask(turn, memory.dialogue)
        if found.is_known:
            return Decision(Move.ANSWER, found.answer, found=found)
        if confidence < SURE_WORDS:
            return self._not_caught(memory)
        return Decision(Move.CHAT, f"{NEAREST} {found.related}" if found.related else UNKNOWN, found=found)

    @staticmethod
    def learn(turn: str, decision: Decision, memory: Memory) -> None:
        """The turn is over and this was decided about it."""
        memory.heard(turn)
        memory.not_understood = memory.not_understood + 1 if decision.move is Move.ASK_BACK else 0
        if decision.move is Move.DELEGATE:
            memory.pending = (*memory.pending, f"your request to {decision.capability}")
        if decision.found is not None:
            memory.dialogue.learn(turn, decision.found)

    @staticmethod
    def _not_caught(memory: Memory) -> Decision:
        return Decision(Move.ASK_BACK, NOT_CAUGHT[min(memory.not_understood, len(NOT_CAUGHT) - 1)])


_REQUEST = re.compile(r"^(?!(how|what|when|where|why|who|is|are|do|does|did)\b)", re.IGNORECASE)
_NO_REQUEST = re.compile(
    r"\b(not|never|\w+n't|already|yesterday)\b|\bi('ve| have| had)? (just )?(?!need)\w+ed\b"
    r"|\b(tell me|know|wonder|wondering|wondered|ask|asking) (how|if|whether|what|when|where|why|which)\b",
    re.IGNORECASE,
)
"""What is denied, what is over and what is asked about is not asked for."""
_OPENING = re.compile(
    r"^((um|uh|well|so|oh|okay|ok|and|hi|hello|hey|sorry|excuse me|good (morning|afternoon|evening))\b[\s,.!]*)+", re.I
)
_SMALL = frozenset(["a", "an", "the", "to", "for", "of", "and", "or", "in", "on", "at", "your", "my", "with", "about", "please"])


def wanted(turn: str, capabilities: tuple[str, ...]) -> str | None:
    """The capability ("book an appointment") all of whose words the turn has, unless the turn asks how or whether,
    denies it, or tells of what is over."""
    plain = _OPENING.sub("", turn.strip().replace("’", "'"))
    if not _REQUEST.search(plain) or _NO_REQUEST.search(plain):
        return None
    words = {_stem(word) for word in re.findall(r"[a-z']+", turn.lower())}
    for capability in capabilities:
        needed = {_stem(word) for word in re.findall(r"[a-z']+", capability.lower()) if word not in _SMALL}
        if needed and needed <= words:
            return capability
    return None


def _stem(word: str) -> str:
    return re.sub(r"(ing|ed|es|s)$", "", word) if len(word) > 4 else word


def _request(capability: str, turn: str, memory: Memory) -> str:
    """Complete in itself: whoever does it has not heard the call."""
    name = f" The caller's name is {memory.name}." if memory.name else ""
    return f"{capability}: the caller said {turn!r}.{name}"
