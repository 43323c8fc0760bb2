from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from agent.heard import HISTORY_TICKS, HeardLedger
from agent.settings import TICK_US
from agent.timeline.kinds import Alignment, Word
from tests.agent.core_driver import spoken

pytestmark = pytest.mark.unit

RATE_HZ = 8_000
FRAME = RATE_HZ * TICK_US // 1_000_000


def end_of(word: Word) -> int:
    return round(word.end_us * RATE_HZ / 1e6)


class LedgerMachine(RuleBasedStateMachine):
    """One utterance in pieces, sent in frames with pauses; the model is the list of every sample's time."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = HeardLedger(RATE_HZ, 100_000)
        self.words: list[str] = []
        self.exact: list[int] | None = []
        self.offered = self.sent = self.told = 0
        self.said: list[str] = []
        self.out_us: list[int] = []
        self.t = 0

    @initialize(delay_us=st.integers(0, 1_000_000))
    def begin(self, delay_us: int) -> None:
        self.ledger.far_end_delay_us = delay_us
        self.ledger.script("u", "", (), Alignment.EXACT, 0)

    @rule(lengths=st.lists(st.integers(1, 400_000), min_size=1, max_size=4))
    def exact_piece(self, lengths: list[int]) -> None:
        at_us = self.offered * 1_000_000 // RATE_HZ
        words = list[Word]()
        for length in lengths:
            words.append(Word(f"e{len(self.words) + len(words)}", at_us, at_us + length))
            at_us += length
        samples = at_us * RATE_HZ // 1_000_000 - self.offered
        self.ledger.script("u", " ".join(word.text for word in words), tuple(words), Alignment.EXACT, samples)
        self.words += [word.text for word in words]
        if self.exact is not None:
            self.exact = list(accumulate([*self.exact, *map(end_of, words)], max))
        self.offered += samples

    @rule(count=st.integers(0, 4), samples=st.integers(0, 5 * FRAME))
    def chunk_piece(self, count: int, samples: int) -> None:
        names = [f"c{len(self.words) + i}" for i in range(count)]
        self.ledger.script("u", " ".join(names), (), Alignment.CHUNK, samples)
        self.words += names
        if count:
            self.exact = None
        self.offered += samples

    @rule(share=st.integers(1, FRAME))
    def send(self, share: int) -> None:
        count = min(share, FRAME, self.offered - self.sent)
        told = self.ledger.sent(self.t, "u", self.sent, count)
        self.out_us += [self.t * RATE_HZ + (i + 1) * 1_000_000 for i in range(count)]
        self.sent += count
        self.t += TICK_US
        if told:
            words, text = told
            assert words > self.told, "told without news"
            self.said += text.split()
            assert len(self.said) == words
            self.told = words
        if self.exact is not None:
            assert self.told == (sum(end <= self.sent for end in self.exact) if self.sent else 0)

    @rule(frames=st.integers(2, 12))
    def send_on(self, frames: int) -> None:
        for _ in range(frames):
            self.send(FRAME)

    @rule(ticks=st.integers(1, 20))
    def pause(self, ticks: int) -> None:
        self.t += ticks * TICK_US

    @invariant()
    def words_told_are_a_prefix(self) -> None:
        assert self.said == self.words[: self.told]

    def teardown(self) -> None:
        """Words may have come after their audio: the last tick tells them. Then it is closed at an onset in what was sent."""
        self.send(1)
        onset_us = (self.t * 2) // 3
        account = self.ledger.close("u", onset_us)
        at = (onset_us - self.ledger.far_end_delay_us) * RATE_HZ
        heard = sum(out <= at for out in self.out_us) if len(self.out_us) <= HISTORY_TICKS else account.samples_heard_at_onset
        assert account.samples_sent == self.sent
        assert account.samples_heard_at_onset == heard
        assert 0 <= account.samples_heard_at_onset <= account.samples_sent
        assert account.words_heard_at_onset <= account.words_sent == self.told
        assert account.text_sent.split() == self.words[: self.told]
        assert (account.text_sent + " " + account.text_unsent).split() == self.words
        assert "u" not in self.ledger


TestLedgerMachine = LedgerMachine.TestCase


@pytest.mark.parametrize("word_us", [20_000, 190_000, 333_333])
def test_pain_08_the_ledger_is_the_words_whose_end_precedes_the_cut(word_us: int) -> None:
    words, samples = spoken(9, word_us)
    for frames in range(samples // FRAME + 1):
        ledger = HeardLedger(RATE_HZ, 0)
        ledger.script("u", "", words, Alignment.EXACT, samples)
        for frame in range(frames):
            ledger.sent(frame * TICK_US, "u", frame * FRAME, FRAME)
        cut_us = frames * TICK_US
        account = ledger.close("u", cut_us)
        ended = [word for word in words if word.end_us <= cut_us]
        assert account.words_sent == len(ended)
        assert account.samples_sent == frames * FRAME
        assert account.text_sent == " ".join(word.text for word in ended)
        assert account.text_unsent == " ".join(word.text for word in words[len(ended) :])
        assert account.samples_heard_at_onset == account.samples_sent, "no delay: all that was sent was heard"


def test_pain_08_what_the_caller_reacted_to_is_what_had_reached_the_far_end() -> None:
    words, samples = spoken(10, 200_000)
    for delay_us in (0, 100_000, 250_000):
        for onset_us in range(0, 2_000_001, TICK_US):
            ledger = HeardLedger(RATE_HZ, delay_us)
            ledger.script("u", "", words, Alignment.EXACT, samples)
            for frame in range(samples // FRAME):
                ledger.sent(frame * TICK_US, "u", frame * FRAME, FRAME)
            heard_us = max(0, onset_us - delay_us)
            account = ledger.close("u", onset_us)
            assert account.samples_heard_at_onset == heard_us * RATE_HZ // 1_000_000
            assert account.words_heard_at_onset == heard_us // 200_000


@given(
    frames=st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(1, FRAME), st.integers(0, 5)), min_size=1, max_size=40),
    at_us=st.integers(-100_000, 5_000_000),
)
def test_the_mark_of_one_utterance_knows_nothing_of_another(frames: list[tuple[str, int, int]], at_us: int) -> None:
    ledger = HeardLedger(RATE_HZ, 0)
    sent = {"a": 0, "b": 0}
    heard = {"a": 0, "b": 0}
    for name in sent:
        ledger.script(name, "", (), Alignment.EXACT, 40 * FRAME)
    t = 0
    for name, count, pause in frames:
        ledger.sent(t, name, sent[name], count)
        sent[name] += count
        heard[name] += sum(t * RATE_HZ + (i + 1) * 1_000_000 <= at_us * RATE_HZ for i in range(count))
        t += (1 + pause) * TICK_US
    for name in sent:
        assert ledger.close(name, at_us).samples_heard_at_onset == heard[name]


def test_nobody_cut_it_so_everything_sent_was_heard() -> None:
    ledger = HeardLedger(RATE_HZ, 500_000)
    ledger.script("u", "one two", (), Alignment.CHUNK, 2 * FRAME)
    ledger.sent(0, "u", 0, 2 * FRAME)
    account = ledger.close("u", None)
    assert account.samples_heard_at_onset == account.samples_sent == 2 * FRAME
    assert (account.text_sent, account.text_unsent) == ("one two", "")


def test_words_of_a_chunk_share_its_samples_by_their_letters() -> None:
    ledger = HeardLedger(RATE_HZ, 0)
    ledger.script("u", "a bbb ccccc", (), Alignment.CHUNK, 1200)
    assert ledger.next_word_end("u") == 200
    assert ledger.sent(0, "u", 0, 199) is None
    assert ledger.sent(TICK_US, "u", 199, 1) == (1, "a")
    assert ledger.next_word_end("u") == 200, "between two words"
    assert ledger.sent(2 * TICK_US, "u", 200, 1) is None
    assert ledger.next_word_end("u") == 600
    assert ledger.sent(3 * TICK_US, "u", 201, 999) == (3, "bbb ccccc")
    assert ledger.next_word_end("u") == 1200
    assert ledger.next_word_end("unknown") is None


def test_text_that_came_before_its_audio_is_told_in_its_place() -> None:
    ledger = HeardLedger(RATE_HZ, 0)
    ledger.script("u", "first", (), Alignment.CHUNK, 0)
    ledger.script("u", "second", (Word("second", 0, 40_000),), Alignment.EXACT, 2 * FRAME)
    assert ledger.sent(0, "u", 0, FRAME) is None
    assert ledger.sent(TICK_US, "u", FRAME, FRAME) == (2, "first second")


def test_word_ends_that_fall_are_raised_so_that_no_word_overtakes_another() -> None:
    ledger = HeardLedger(RATE_HZ, 0)
    ledger.script("u", "", (Word("late", 0, 60_000), Word("early", 0, 20_000)), Alignment.EXACT, 3 * FRAME)
    assert ledger.sent(0, "u", 0, 2 * FRAME) is None
    assert ledger.sent(TICK_US, "u", 2 * FRAME, FRAME) == (2, "late early")


def test_a_word_said_to_end_after_the_last_sample_was_still_said() -> None:
    """Rounding of a resampled line puts the end of its last word a sample behind its audio."""
    ledger = HeardLedger(RATE_HZ, 0)
    ledger.script("u", "", (Word("one", 0, 10_000), Word("two", 10_000, 20_125)), Alignment.EXACT, FRAME)
    assert ledger.sent(0, "u", 0, FRAME, whole=True) == (2, "one two")
    account = ledger.close("u", None)
    assert (account.words_sent, account.text_sent, account.text_unsent) == (2, "one two", "")


def test_a_whole_utterance_without_audio_said_nothing() -> None:
    ledger = HeardLedger(RATE_HZ, 0)
    ledger.script("u", "never voiced", (), Alignment.CHUNK, 0)
    assert ledger.sent(0, "u", 0, 0, whole=True) is None
    assert ledger.close("u", None).text_unsent == "never voiced"


def test_an_unknown_utterance_has_an_empty_account() -> None:
    account = HeardLedger(RATE_HZ, 0).close("nobody", 0)
    assert (account.samples_sent, account.words_sent, account.text_sent, account.text_unsent) == (0, 0, "", "")
