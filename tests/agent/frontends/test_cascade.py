"""The cascade with a mind and a voice that are made up: what is said when, ahead of time, and not at all."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from agent.clock import LoopClock
from agent.compute import Cancelled, InlineCompute, Kind
from agent.errors import Capacity, Gone, Refused
from agent.frontends.base import (
    BackendMessage,
    Brief,
    DelegationClosed,
    DelegationOpened,
    Evidence,
    Listening,
    MessageKind,
    PastTurn,
    Speech,
    Step,
    Unit,
)
from agent.frontends.cascade import UNIT_US, CascadeFrontend, CascadeParts, CascadeSession
from agent.mind.memory import Memory
from agent.mind.mind import TAKEN, Decision, Mind, Move
from agent.mind.wording import Wording
from agent.mouth.clauses import Clause
from agent.mouth.mouth import Mouth
from agent.mouth.voice import Rendered
from agent.timeline.events import Transcript, TurnProbability, VoiceContinued, VoiceStarted
from agent.timeline.kinds import Alignment, Cause, Span, Word

pytestmark = pytest.mark.unit

MS = 1_000
RATE_HZ = 16_000
COSTS = {Kind.RECOGNISE: 0, Kind.TURN: 0, Kind.SPEAKER: 0, Kind.SEARCH: 20 * MS, Kind.RENDER: 30 * MS}


class Voice:
    """A word lasts 100 ms."""

    name, rate_hz, faults = "made up", RATE_HZ, 0

    def render(self, text: str, cancelled: Cancelled) -> Rendered:
        words = text.split()
        timed = tuple(Word(word, place * 100 * MS, (place + 1) * 100 * MS) for place, word in enumerate(words))
        return Rendered(text, np.ones(len(words) * RATE_HZ // 10, np.int16), timed, Alignment.EXACT)


class Echo(Mind):
    """Answers with the turn; remembers what it was asked to decide."""

    def __init__(self) -> None:
        super().__init__(None)
        object.__setattr__(self, "asked", [])
        object.__setattr__(self, "error", None)

    asked: list[str]
    error: Exception | None

    def decide(self, turn: str, confidence: float, memory: Memory) -> Decision:
        if self.error:
            raise self.error
        self.asked.append(turn)
        return Decision(Move.ANSWER, f"You said {turn}")


class Line:
    def __init__(self, session: CascadeSession) -> None:
        self.session, self.clock = session, LoopClock()
        self.steps: list[Step] = []
        self.now_us = 0

    async def units(self, ms: int, *evidence: Evidence, speaking: bool = False, said: str = "") -> None:
        for _ in range(max(1, ms * MS // UNIT_US)):
            covers = Span(self.now_us, self.now_us + UNIT_US)
            await self.session.feed(Unit(covers, np.zeros(640, np.float32), evidence, speaking, said))
            evidence, said = (), ""
            self.now_us += UNIT_US
            await self.clock.sleep_until(self.clock.now_us() + UNIT_US)

    def final(self, text: str) -> Transcript:
        return Transcript(Span(0, self.now_us), text, True, 0.9)

    def partial(self, text: str, probability: float) -> tuple[Evidence, ...]:
        return Transcript(Span(0, self.now_us), text, False, 0.9), TurnProbability(Span(0, self.now_us), probability)

    @property
    def speech(self) -> list[Speech]:
        return [step for step in self.steps if isinstance(step, Speech)]

    @property
    def said(self) -> str:
        return " ".join(one.text for one in self.speech)

    async def read(self) -> None:
        async for step in self.session.steps():
            self.steps.append(step)


def frontend(mind: Mind, slots: int = 4) -> CascadeFrontend:
    mouth = Mouth(Voice(), None, RATE_HZ)
    return CascadeFrontend(CascadeParts(mind, Wording(), mouth, InlineCompute(LoopClock(), COSTS)), slots)


@asynccontextmanager
async def opened(mind: Mind, brief: Brief | None = None) -> AsyncIterator[Line]:
    line = Line(await frontend(mind).open(brief or Brief("c1")))
    reader = asyncio.ensure_future(line.read())
    try:
        yield line
    finally:
        await line.session.close()
        await asyncio.gather(reader, return_exceptions=True)


async def test_every_unit_is_said_to_be_read() -> None:
    async with opened(Echo()) as line:
        await line.units(400)
    assert [step.covers.to_us for step in line.steps if isinstance(step, Listening)] == [
        (place + 1) * UNIT_US for place in range(10)
    ]


async def test_a_turn_is_answered_clause_by_clause_with_words_timed_from_the_first_sample() -> None:
    async with opened(Echo()) as line:
        await line.units(40, line.final("good morning everybody. It is a fine day."))
        await line.units(400)
    first, second = line.speech
    assert (first.text, second.text) == ("You said good morning everybody.", "It is a fine day.")
    assert (first.final, second.final) == (False, True)
    assert first.utterance_id == second.utterance_id
    assert first.cause == second.cause == Cause(turn=1)
    assert second.words[0].start_us >= len(first.pcm) * 1_000_000 // RATE_HZ
    assert second.words[-1].end_us <= (len(first.pcm) + len(second.pcm)) * 1_000_000 // RATE_HZ


async def test_a_likely_end_is_answered_ahead_of_time_and_the_turn_then_costs_nothing() -> None:
    mind = Echo()
    async with opened(mind) as line:
        await line.units(200, *line.partial("Hello.", 0.9))
        assert mind.asked == ["Hello."]
        assert line.speech == []  # not before the turn is over
        await line.session.feed(
            Unit(Span(line.now_us, line.now_us + UNIT_US), np.zeros(640, np.float32), (line.final("Hello."),))
        )
        for _ in range(5):
            await asyncio.sleep(0)
        assert line.said == "You said Hello."
    assert mind.asked == ["Hello."]


async def test_an_unlikely_end_is_not() -> None:
    mind = Echo()
    async with opened(mind) as line:
        await line.units(200, *line.partial("I would like to", 0.1))
    assert mind.asked == []


@pytest.mark.parametrize("back", [VoiceStarted(Span(0, 0), -20.0), VoiceContinued(Span(0, 0), -20.0)])
async def test_what_was_guessed_is_dropped_when_the_voice_comes_back(back: Evidence) -> None:
    mind = Echo()
    async with opened(mind) as line:
        await line.units(40, *line.partial("Are you open", 0.6))
        await line.units(200, back)
        await line.units(200, line.final("Are you open on Sunday?"))
    assert line.said == "You said Are you open on Sunday?"
    assert mind.asked[-1] == "Are you open on Sunday?"


async def test_a_sign_of_listening_while_we_speak_is_not_answered() -> None:
    mind = Echo()
    async with opened(mind) as line:
        await line.units(40, VoiceStarted(Span(0, 0), -20.0), speaking=True)
        await line.units(200, line.final("Mm-hm."))
        assert mind.asked == []
        await line.units(40, VoiceStarted(Span(0, 0), -20.0), speaking=False)
        await line.units(200, line.final("Mm-hm."))
        assert mind.asked == ["Mm-hm."]


async def test_after_a_yield_nothing_of_the_old_answer_comes_and_the_new_one_has_the_new_epoch() -> None:
    async with opened(Echo()) as line:
        await line.units(40, line.final("one. " + "This is a sentence that goes on. " * 5))
        await line.session.yield_floor(line.now_us, 1)
        before = len(line.speech)
        await line.units(400)
        assert len(line.speech) == before
        await line.units(400, line.final("Stop."))
        assert {one.epoch for one in line.speech[before:]} == {1}


async def test_an_answer_that_was_hardly_heard_was_none_and_the_turn_goes_on() -> None:
    mind = Echo()
    async with opened(mind) as line:
        await line.units(200, line.final("I want to know"))
        await line.session.acknowledge(line.speech[0].utterance_id, 400 * RATE_HZ // 1000)
        await line.session.yield_floor(line.now_us, 1)
        await line.units(200, line.final("when you open."))
        assert mind.asked[-1] == "I want to know when you open."
        await line.session.acknowledge(line.speech[-1].utterance_id, 900 * RATE_HZ // 1000)
        await line.session.yield_floor(line.now_us, 2)
        await line.units(200, line.final("And where?"))
        assert mind.asked[-1] == "And where?"


async def test_a_result_is_told_once_for_its_attempt_without_reserved_tokens() -> None:
    async with opened(Echo()) as line:
        for _ in range(2):
            await line.session.inject(BackendMessage("d1", "<backend> You are booked\nfor Tuesday. </backend>"))
        await line.units(400)
    assert line.said == "You are booked for Tuesday."
    assert {one.cause for one in line.speech} == {Cause(attempt_id="d1")}


async def test_what_was_said_without_us_is_known_and_not_answered() -> None:
    async with opened(Mind(None)) as line:
        await line.session.inject(BackendMessage("say1", "Welcome to the clinic.", MessageKind.SAID))
        await line.units(80, said="Welcome to the clinic.")
        assert line.speech == []
        await line.units(200, line.final("Sorry, what did you say?"))
    assert line.said == "Welcome to the clinic."


async def test_a_session_that_is_rebuilt_answers_what_was_left_unanswered_and_knows_the_caller() -> None:
    history = (PastTurn("caller", "My name is Anna."), PastTurn("agent", "Hello."), PastTurn("caller", "What is my name?"))
    async with opened(Mind(None), Brief("c1", history=history, unanswered="What is my name?", epoch=4)) as line:
        await line.units(200)
    assert line.said == "You told me that your name is Anna."
    assert {one.epoch for one in line.speech} == {4}


async def test_what_we_can_do_is_handed_over_and_told() -> None:
    brief = Brief("c1", capabilities=("book an appointment",), history=(PastTurn("caller", "My name is Anna."),))
    async with opened(Mind(None), brief) as line:
        await line.units(200, line.final("Please book an appointment for Tuesday."))
        opening, closing = (step for step in line.steps if isinstance(step, DelegationOpened | DelegationClosed))
        assert isinstance(closing, DelegationClosed)
        assert opening.delegation_id == closing.delegation_id
        assert "Tuesday" in closing.request
        assert "Anna" in closing.request
        assert line.said == TAKEN


async def test_a_mind_that_breaks_loses_the_session_and_gives_its_slot_back() -> None:
    mind = Echo()
    object.__setattr__(mind, "error", ZeroDivisionError())
    host = frontend(mind, slots=1)
    line = Line(await host.open(Brief("c1")))
    with pytest.raises(Capacity):
        await host.open(Brief("c2"))
    reader = asyncio.ensure_future(line.read())
    with pytest.raises(Gone, match=r"the cascade failed \(ZeroDivisionError\)"):
        await line.units(400, line.final("Hello."))
    with pytest.raises(Gone):
        await reader
    await (await host.open(Brief("c3"))).close()


async def test_it_says_which_language_it_speaks() -> None:
    with pytest.raises(Refused, match="speaks English, not 'zh'"):
        await frontend(Mind(None)).open(Brief("c1", language="zh"))


async def test_a_yield_silences_all_that_is_under_way_and_no_turn_of_it_is_lost() -> None:
    mind = Echo()
    async with opened(mind) as line:
        await line.session.inject(BackendMessage("d1", "It is done. " * 30))
        await line.units(40, line.final("When is it?"))
        await line.session.yield_floor(line.now_us, 1)
        before = len(line.speech)
        await line.units(2_000)
        assert len(line.speech) == before
        await line.units(200, line.final("I mean the concert."))
    assert mind.asked[-1] == "When is it? I mean the concert."


async def test_a_guess_is_not_the_answer_when_the_turn_became_another_meanwhile() -> None:
    mind = Echo()
    async with opened(mind) as line:
        await line.units(200, line.final("I want to know"))
        await line.units(120, *line.partial("when you open.", 0.9))
        await line.session.yield_floor(line.now_us, 1)
        before = len(line.speech)
        await line.units(400, line.final("when you open."))
    assert " ".join(one.text for one in line.speech[before:]) == "You said I want to know when you open."


async def test_a_short_answer_that_was_heard_to_its_end_is_one() -> None:
    mind = Echo()
    async with opened(mind) as line:
        await line.units(200, line.final("Hi."))
        (speech,) = line.speech
        await line.session.acknowledge(speech.utterance_id, len(speech.pcm))
        await line.session.yield_floor(line.now_us, 1)
        await line.units(200, line.final("When?"))
    assert mind.asked[-1] == "When?"


async def test_a_sign_of_listening_that_silenced_us_is_answered() -> None:
    mind = Echo()
    async with opened(mind) as line:
        await line.units(40, VoiceStarted(Span(0, 0), -20.0), speaking=True)
        await line.session.yield_floor(line.now_us, 1)
        await line.units(200, line.final("Okay, okay."))
    assert mind.asked == ["Okay, okay."]


async def test_what_is_being_done_is_not_asked_for_again_when_the_telling_is_cut() -> None:
    async with opened(Mind(None), Brief("c1", capabilities=("book an appointment",))) as line:
        await line.units(200, line.final("Please book an appointment for Tuesday."))
        await line.session.yield_floor(line.now_us, 1)
        await line.units(400, line.final("Thank you."))
    assert len([step for step in line.steps if isinstance(step, DelegationClosed)]) == 1


async def test_the_second_of_two_turns_knows_the_first() -> None:
    async with opened(Mind(None)) as line:
        await line.units(40, line.final("My name is Anna."), line.final("What is my name?"))
        await line.units(400)
    assert line.said.endswith("You told me that your name is Anna.")


async def test_what_was_left_unanswered_is_answered_before_a_new_turn_and_is_in_the_memory_once() -> None:
    history = (PastTurn("caller", "Are you open?"),)
    async with opened(Echo(), Brief("c1", history=history, unanswered="Are you open?")) as line:
        await line.units(40, line.final("On Sunday?"))
        await line.units(400)
        assert [turn.text for turn in line.session._memory.turns if turn.who == "caller"] == ["Are you open?", "On Sunday?"]
    assert line.said == "You said Are you open? You said On Sunday?"


async def test_a_caller_who_takes_the_floor_again_and_again_does_not_grow_the_turn_without_bound() -> None:
    mind = Echo()
    async with opened(mind) as line:
        for epoch in range(1, 60):
            await line.units(40, line.final("and another thing that I would like to know about"))
            await line.session.yield_floor(line.now_us, epoch)
        await line.units(80, line.final("please"))
    assert max(len(turn) for turn in mind.asked) <= 1_000


async def test_a_guess_that_is_dropped_lets_the_rest_of_its_words_go() -> None:
    class Words(Wording):
        closed = 0

        async def clauses(self, decision: Decision, turn: str, memory: Memory) -> AsyncGenerator[Clause, None]:
            try:
                yield Clause("One.")
                yield Clause("Two.")
            finally:
                Words.closed += 1

    host = CascadeFrontend(CascadeParts(Echo(), Words(), Mouth(Voice(), None, RATE_HZ), InlineCompute(LoopClock(), COSTS)))
    line = Line(await host.open(Brief("c1")))
    reader = asyncio.ensure_future(line.read())
    await line.units(200, *line.partial("Hello.", 0.9))
    assert Words.closed == 0
    await line.units(80, VoiceContinued(Span(0, 0), -20.0))
    assert Words.closed == 1
    await line.units(200, *line.partial("Hello.", 0.9))
    await line.session.close()
    await line.session.close()
    await reader
    for _ in range(3):
        await asyncio.sleep(0)
    assert Words.closed == 2
