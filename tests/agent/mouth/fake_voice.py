"""A voice without weights: a tone of 100 ms for each word."""

import numpy as np

from agent.compute import Cancelled
from agent.mouth.voice import Rendered
from agent.timeline.kinds import Alignment, Word

WORD_US = 100_000


class FakeVoice:
    """Says every word for 100 ms at `rate_hz`; `broken` makes it raise, as a synthesiser's library would."""

    def __init__(self, rate_hz: int = 24_000, name: str = "fake", broken: bool = False) -> None:
        self.name, self.rate_hz, self.broken = name, rate_hz, broken
        self.faults = 0
        self.asked: list[str] = []

    def render(self, text: str, cancelled: Cancelled) -> Rendered:
        self.asked.append(text)
        if self.broken:
            raise RuntimeError("the network of the voice cannot do that")
        if cancelled():
            return Rendered.nothing(text)
        written = text.split()
        samples = np.arange(len(written) * WORD_US * self.rate_hz // 1_000_000)
        pcm = np.round(8_000 * np.sin(samples * 2 * np.pi * 440 / self.rate_hz)).astype(np.int16)
        words = tuple(Word(word, number * WORD_US, (number + 1) * WORD_US) for number, word in enumerate(written))
        return Rendered(text, pcm, words, Alignment.EXACT)
