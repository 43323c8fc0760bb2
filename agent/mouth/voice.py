"""What a voice is: something that turns a clause into sound, with a time for each word as written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from agent.compute import Cancelled
from agent.line import Pcm
from agent.timeline.kinds import Alignment, Word

FaultTold = Callable[[str], None]
"""Called with one sentence for each counted fault, in the thread that renders."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A clause as sound: `pcm` is mono at the rate of whoever rendered it, `words` are timed from its first sample.

    `words` are all whitespace-separated words of `text`, in order; a word without a sound (an emoji) has no length and ends with
    the word before it. Nothing speakable, or cancelled: `pcm` and `words` are empty.
    """

    text: str
    pcm: Pcm
    words: tuple[Word, ...]
    alignment: Alignment

    @staticmethod
    def nothing(text: str) -> "Rendered":
        return Rendered(text, np.zeros(0, np.int16), (), Alignment.EXACT)


class Voice(Protocol):
    """A synthesiser with its weights loaded and warm. `render` may be called from several threads at once."""

    @property
    def name(self) -> str: ...

    @property
    def rate_hz(self) -> int: ...

    @property
    def faults(self) -> int:
        """How often something was not as expected and the timing of words was estimated instead."""

    def render(self, text: str, cancelled: Cancelled) -> Rendered:
        """The sound of `text`: trimmed of silence, at the steady level of `agent.mouth.sound`, the same bytes every time.

        Blocking: call it in a thread. Once `cancelled()`, the result is empty. Takes any text.
        """
