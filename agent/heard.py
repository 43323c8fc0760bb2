"""The heard ledger: which words of ours went out, and which had reached the caller's ear when they began to speak.

Two marks. *Sent* is exact to the sample; history is cut there. *Heard at onset* is sent minus the far end's delay, at the
moment the caller's voice set in: what they were reacting to. A word counts once its last sample counts. Pure.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import dataclass, field

from agent.settings import TICK_US
from agent.timeline.kinds import Alignment, Word

LONGEST_UTTERANCE = 100_000
"""Characters of one utterance, each word counted with the space after it: two hours of speech."""
HISTORY_TICKS = 400
"""How far back the sent position is known: 8 s of ticks in which something was sent."""


@dataclass(frozen=True, slots=True)
class Account:
    """What became of an utterance; samples at the line's rate."""

    samples_sent: int
    samples_heard_at_onset: int
    words_sent: int
    words_heard_at_onset: int
    text_sent: str
    text_unsent: str


@dataclass(slots=True)
class _Script:
    """What an utterance says: each word with the sample at which it ends."""

    words: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    samples: int = 0
    waiting: list[str] = field(default_factory=list)
    letters: int = 0
    sent: int = 0
    told: int = 0

    def add(self, word: str, end: int) -> None:
        """Word ends never fall, whatever a voice claims."""
        self.words.append(word)
        self.ends.append(max(end, self.ends[-1]) if self.ends else end)

    def add_waiting(self, end: int) -> None:
        """Text that came without audio ends at `end`: before what comes now."""
        for word in self.waiting:
            self.add(word, end)
        self.waiting.clear()

    def words_by(self, samples: int) -> int:
        """How many words end at or before `samples`; none before the first sample, whatever a voice claims."""
        return bisect_right(self.ends, samples) if samples else 0

    def settle(self, end: int) -> None:
        """Words said to end after `end`, and text that waits for audio, end there."""
        self.add_waiting(end)
        self.ends = [min(one, end) for one in self.ends]


class HeardLedger:
    """The ledger of one call at `rate_hz`."""

    def __init__(self, rate_hz: int, far_end_delay_us: int) -> None:
        self.far_end_delay_us = far_end_delay_us
        self._rate = rate_hz
        self._scripts: dict[str, _Script] = {}
        self._history: deque[tuple[int, str, int, int]] = deque(maxlen=HISTORY_TICKS)

    def __contains__(self, utterance_id: str) -> bool:
        return utterance_id in self._scripts

    def takes(self, utterance_id: str, text: str, words: tuple[Word, ...]) -> bool:
        """Whether the utterance may say so much more."""
        script = self._scripts.get(utterance_id)
        return (script.letters if script else 0) + _letters(text, words) <= LONGEST_UTTERANCE

    def script(self, utterance_id: str, text: str, words: tuple[Word, ...], alignment: Alignment, samples: int) -> None:
        """A piece of the utterance: `samples` of audio that say `text`.

        With word times the words are taken as they are (joined by spaces they are the text). Without, or aligned by chunk only,
        the words of the piece share its samples in proportion to their letters.
        """
        script = self._scripts.setdefault(utterance_id, _Script())
        script.letters += _letters(text, words)
        first, script.samples = script.samples, script.samples + samples
        if words and alignment is not Alignment.CHUNK:
            script.add_waiting(round(words[0].end_us * self._rate / 1e6))
            for word in words:
                script.add(word.text, round(word.end_us * self._rate / 1e6))
            return
        script.waiting.extend(text.split())
        if script.waiting and samples:
            self._share(script, first, samples)

    @staticmethod
    def _share(script: _Script, first: int, samples: int) -> None:
        letters = [len(word) + 1 for word in script.waiting]
        total, passed = sum(letters), 0
        for word, length in zip(script.waiting, letters, strict=True):
            passed += length
            script.add(word, first + samples * passed // total)
        script.waiting.clear()

    def sent(self, t: int, utterance_id: str, start: int, count: int, whole: bool = False) -> tuple[int, str] | None:
        """Samples `start .. start + count` went out in the tick at `t`. Returns (words so far, new words) when words ended.

        `whole`: the utterance is complete with them, so all its words are out, also where rounding put an end behind its audio.
        """
        self._history.append((t, utterance_id, start, count))
        script = self._scripts[utterance_id]
        script.sent = start + count
        if whole and script.sent:
            script.settle(script.sent)
        words = script.words_by(script.sent)
        if words <= script.told:
            return None
        new = " ".join(script.words[script.told : words])
        script.told = words
        return words, new

    def next_word_end(self, utterance_id: str) -> int | None:
        """The sample at which the word being sent ends, or has just ended; None when nothing is known of it."""
        script = self._scripts.get(utterance_id)
        if script is None:
            return None
        following = bisect_left(script.ends, script.sent)
        return script.ends[following] if following < len(script.ends) else None

    def close(self, utterance_id: str, onset_us: int | None) -> Account:
        """The utterance is over; forget it. `onset_us`: when the voice that cut it set in, None if nobody did."""
        script = self._scripts.pop(utterance_id, None) or _Script()
        heard = script.sent if onset_us is None else self._position(utterance_id, onset_us - self.far_end_delay_us)
        words = script.words_by(script.sent)
        return Account(
            samples_sent=script.sent,
            samples_heard_at_onset=heard,
            words_sent=words,
            words_heard_at_onset=script.words_by(heard),
            text_sent=" ".join(script.words[:words]),
            text_unsent=" ".join(script.words[words:] + script.waiting),
        )

    def _position(self, utterance_id: str, at_us: int) -> int:
        """Samples of the utterance that were out at `at_us`, counting a frame evenly over its tick."""
        for t, spoken, start, count in reversed(self._history):
            if spoken == utterance_id and t <= at_us:
                return start + min(count, (at_us - t) * self._rate // 1_000_000 if at_us < t + TICK_US else count)
        return 0


def _letters(text: str, words: tuple[Word, ...]) -> int:
    return max(len(text), sum(len(word.text) + 1 for word in words))
