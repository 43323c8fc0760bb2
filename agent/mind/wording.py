"""From a decision to clauses that can be spoken."""

import re
from collections.abc import AsyncGenerator

from agent.mind.memory import Memory
from agent.mind.mind import Decision
from agent.mouth.clauses import Clause, ClauseSplitter

_RESERVED = re.compile(r"</?\s*(?:delegate|backend)\b[^>]*>|<\|[^|>]{0,64}\|>", re.IGNORECASE)


def without_reserved(text: str) -> str:
    """The text without reserved tokens: they are no words, whoever wrote them."""
    return _RESERVED.sub(" ", text)


def spoken_result(text: str) -> str:
    """The outcome of a work as it is told to the caller."""
    return " ".join(without_reserved(text).split())


def in_clauses(text: str) -> list[Clause]:
    """The clauses of a text that is there as a whole, without reserved tokens."""
    splitter = ClauseSplitter()
    return [*splitter.push(without_reserved(text)), *splitter.flush()]


class Wording:
    """The words of decisions, as the mind gave them."""

    async def clauses(self, decision: Decision, turn: str, memory: Memory) -> AsyncGenerator[Clause, None]:
        """The clauses of what is said to `turn`, in order."""
        for clause in in_clauses(decision.text):
            yield clause
