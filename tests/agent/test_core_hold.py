"""What the core does with the verdicts of an arbiter that can hold: pause at a word boundary, resume, yield."""

import pytest

from agent.floor.arbiter import Decision, Speaking, Voice
from agent.settings import TICK_US
from agent.timeline.events import FaultDetected, Sent, Underrun, UtteranceEnded, WordsSent
from agent.timeline.kinds import Outcome, Verdict
from tests.agent.core_driver import FRAME, CallDriver, spoken

pytestmark = pytest.mark.unit

WORD_US = 230_000
WORD = WORD_US * 8 // 1000
"""Samples of a word: no whole number of frames."""


class Told:
    """An arbiter that says what it was told to say, in the next tick."""

    def __init__(self) -> None:
        self.next: Verdict | None = None

    def voice(self, event: Voice, seq: int) -> None:
        """Not asked."""

    def step(self, t: int, speaking: Speaking | None) -> Decision | None:
        verdict, self.next = self.next, None
        return Decision(verdict, t, "told so", None) if verdict else None


@pytest.fixture
def arbiter() -> Told:
    return Told()


@pytest.fixture
def call(arbiter: Told) -> CallDriver:
    """An answered call in which eight words are being said."""
    call = CallDriver(arbiter=arbiter)
    call.answer()
    words, samples = spoken(8, WORD_US)
    call.speak("a", samples, words=words)
    return call


def sent(call: CallDriver) -> int:
    return sum(event.samples for event in call.events(Sent) if isinstance(event, Sent))


def told(call: CallDriver) -> list[str]:
    return [event.text for event in call.events(WordsSent) if isinstance(event, WordsSent)]


@pytest.mark.parametrize("after_ticks", range(1, 24))
def test_a_hold_pauses_at_the_end_of_the_word_and_resumes_with_the_next_one(
    call: CallDriver, arbiter: Told, after_ticks: int
) -> None:
    call.tick(after_ticks)
    arbiter.next = Verdict.HOLD
    call.tick(30)
    assert sent(call) == -(-after_ticks * FRAME // WORD) * WORD, "the word being said was finished, and no other begun"
    said = told(call)
    assert sum(len(text.split()) for text in said) == sent(call) // WORD
    arbiter.next = Verdict.RESUME
    call.tick(100)
    (ended,) = call.events(UtteranceEnded)
    assert isinstance(ended, UtteranceEnded)
    assert (ended.outcome, ended.samples_sent, ended.words_sent) == (Outcome.FINISHED, 8 * WORD, 8)
    assert " ".join(told(call)) == ended.text_sent
    assert call.events(Underrun) == [], "a hold is no underrun"
    assert call.events(FaultDetected) == []


def test_a_hold_that_becomes_a_yield_ends_at_the_word_where_it_paused(call: CallDriver, arbiter: Told) -> None:
    call.tick(5)
    arbiter.next = Verdict.HOLD
    call.tick(30)
    arbiter.next = Verdict.YIELD
    call.tick(2)
    (ended,) = call.events(UtteranceEnded)
    assert isinstance(ended, UtteranceEnded)
    assert (ended.outcome, ended.samples_sent, ended.text_sent) == (Outcome.CUT, WORD, "w0")


def test_a_hold_that_nobody_lifts_is_lifted_and_counted(call: CallDriver, arbiter: Told) -> None:
    call.tick(5)
    arbiter.next = Verdict.HOLD
    call.tick(3_000_000 // TICK_US + 5)
    assert [event.code for event in call.events(FaultDetected) if isinstance(event, FaultDetected)] == ["held"]
    call.tick(100)
    (ended,) = call.events(UtteranceEnded)
    assert isinstance(ended, UtteranceEnded)
    assert ended.outcome is Outcome.FINISHED


def test_speech_without_words_is_held_at_once(arbiter: Told) -> None:
    call = CallDriver(arbiter=arbiter)
    call.answer()
    call.speak("hum", 8_000)
    call.tick(5)
    arbiter.next = Verdict.HOLD
    call.tick(30)
    assert sent(call) == 5 * FRAME
