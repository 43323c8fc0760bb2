"""What a cascade is saying in one call: the utterances under way and what of them was heard."""

import asyncio
from dataclasses import dataclass, field

from agent.frontends.base import Speech
from agent.mouth.voice import Rendered
from agent.timeline.kinds import Cause, Span, Word

BARELY_HEARD_US = 700_000
"""An answer of which less was sent when the caller took the floor was none: the turn goes on."""
UNSENT_US = 40_000
"""An answer that lacks no more than this was sent to its end: resampling moves its last samples."""
LONGEST_UNFINISHED = 1_000
"""Characters kept of turns that were not answered: a caller may take the floor again and again."""


@dataclass(slots=True)
class Reply:
    """An utterance, and the turn it answers; empty when it answers none, or when what was asked is being done."""

    utterance_id: str
    turn: str
    task: "asyncio.Task[None] | None" = None
    sent_us: int = 0
    whole_us: int | None = None
    """Its length, once all of it is made."""
    learned: asyncio.Event = field(default_factory=asyncio.Event)
    """The memory knows the turn and what was decided about it, or never will."""

    @property
    def unheard(self) -> bool:
        """Whether the caller cannot have taken it for an answer."""
        whole = self.whole_us is not None and self.sent_us >= self.whole_us - UNSENT_US
        return self.sent_us < BARELY_HEARD_US and not whole


class Replies:
    """In the order in which they are spoken."""

    def __init__(self) -> None:
        self._replies: list[Reply] = []

    @property
    def last(self) -> Reply | None:
        """The newest one."""
        return self._replies[-1] if self._replies else None

    @property
    def all_learned(self) -> bool:
        """Whether the memory knows every turn that is over."""
        return all(reply.learned.is_set() for reply in self._replies)

    def add(self, reply: Reply) -> None:
        """It is spoken after those before it."""
        self._replies.append(reply)

    def sent(self, utterance_id: str, sent_us: int) -> None:
        """So much of an utterance was sent. Those before it are over, and forgotten."""
        for place, reply in enumerate(self._replies):
            if reply.utterance_id == utterance_id:
                reply.sent_us = sent_us
                del self._replies[:place]
                return

    def cut(self) -> str:
        """The caller took the floor: stop all of them. Returns the turns that are still to be answered."""
        cut, self._replies = self._replies, []
        for reply in cut:
            if reply.task:
                reply.task.cancel()
        return joined(*(reply.turn for reply in cut if reply.unheard))


class Pieces:
    """The pieces of one utterance: words are timed from its first sample."""

    def __init__(self, utterance_id: str, epoch: int, cause: Cause, covers: Span, rate_hz: int) -> None:
        self._utterance_id, self._epoch, self._cause, self._covers = utterance_id, epoch, cause, covers
        self._rate_hz, self.samples = rate_hz, 0

    def speech(self, sound: Rendered) -> Speech:
        """The next piece."""
        at_us = self.samples * 1_000_000 // self._rate_hz
        self.samples += len(sound.pcm)
        words = tuple(Word(word.text, word.start_us + at_us, word.end_us + at_us) for word in sound.words)
        return Speech(
            self._covers, self._utterance_id, self._epoch, sound.text, sound.pcm, words, sound.alignment, cause=self._cause
        )


def joined(*turns: str) -> str:
    """Turns as one, the end of it where it is too long."""
    return " ".join(turn for turn in turns if turn)[-LONGEST_UNFINISHED:]
