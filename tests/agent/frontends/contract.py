"""The contract of frontends and ears: one set of test bodies, run in process and against a worker."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from agent.errors import Capacity, Gone, Refused
from agent.frontends.base import (
    BackendMessage,
    Brief,
    DelegationClosed,
    DelegationOpened,
    Ears,
    Evidence,
    Frontend,
    FrontendInfo,
    Listening,
    MessageKind,
    PastTurn,
    Session,
    Speech,
    Step,
    Unit,
)
from agent.frontends.script import load_script
from agent.frontends.scripted import ScriptedEars, ScriptedFrontend
from agent.timeline.events import Transcript, TurnProbability, VoiceStarted, VoiceStopped
from agent.timeline.kinds import Alignment, Cause, Role, Span, Word

UNIT_US = 100_000
Host = Callable[..., AbstractAsyncContextManager[tuple[Frontend, Ears]]]
"""`host(frontend, ears, slots=N)`: what a call would use to reach them."""


def unit(number: int, *evidence: Evidence, level: float = 0.0) -> Unit:
    """The n-th unit of 100 ms."""
    return Unit(Span(number * UNIT_US, (number + 1) * UNIT_US), np.full(1600, level, np.float32), evidence)


def started(at_us: int) -> VoiceStarted:
    return VoiceStarted(Span(at_us, at_us + 60_000), -20.0)


def stopped(from_us: int, to_us: int) -> VoiceStopped:
    return VoiceStopped(Span(from_us, to_us))


async def take(steps: AsyncIterator[Any], enough: Callable[[list[Any]], bool]) -> list[Any]:
    """Steps up to where `enough` says so; the bound is for a frontend that never gets there."""
    taken: list[Any] = []
    async with asyncio.timeout(10):
        while not enough(taken):
            taken.append(await anext(steps))
    return taken


def listened(units: int) -> Callable[[list[Step]], bool]:
    """So many units were read to their end."""
    return lambda steps: sum(isinstance(step, Listening) for step in steps) >= units


async def play(session: Session, units: int, evidence: dict[int, tuple[Evidence, ...]] | None = None) -> list[Step]:
    """Feed units from number 0 and return the steps they gave."""
    for number in range(units):
        await session.feed(unit(number, *(evidence or {}).get(number, ())))
    return await take(aiter(session.steps()), listened(units))


def script(agent: str = "", caller: str = "") -> Any:
    return load_script(f"name: contract\nagent:\n  turns: [{agent}]\ncaller:\n  says: [{caller}]\n")


PUPPET_INFO = FrontendInfo("puppet", UNIT_US, 16_000, True, True, ("en", "de"), "none")


@dataclass
class Puppet:
    """A frontend (and its own session) that gives back what it was told to and keeps what it was given."""

    answers: tuple[Step, ...] = ()
    failure: Exception | None = None
    units: list[Unit] = field(default_factory=list)
    briefs: list[Brief] = field(default_factory=list)
    yields: list[tuple[int, int]] = field(default_factory=list)
    closed: int = 0
    info: FrontendInfo = PUPPET_INFO

    def __post_init__(self) -> None:
        self._steps: asyncio.Queue[Step | None] = asyncio.Queue()

    async def open(self, brief: Brief) -> "Puppet":
        self.briefs.append(brief)
        return self

    async def feed(self, unit: Unit) -> None:
        if self.failure is not None:
            raise self.failure
        self.units.append(unit)
        for answer in (*self.answers, Listening(unit.covers)):
            self._steps.put_nowait(answer)

    async def steps(self) -> AsyncIterator[Step]:
        while (step := await self._steps.get()) is not None:
            yield step

    async def inject(self, message: BackendMessage) -> None: ...

    async def yield_floor(self, at_us: int, epoch: int) -> None:
        self.yields.append((at_us, epoch))

    async def acknowledge(self, utterance_id: str, samples: int) -> None: ...

    async def close(self) -> None:
        self.closed += 1
        self._steps.put_nowait(None)


class FrontendContract:
    """Subclassed by a module of each kind, with a fixture `host`."""

    async def test_every_unit_is_answered_in_order_and_ends_with_listening(self, host: Host) -> None:
        async with host(ScriptedFrontend(script("{on: open, say: Good morning to you}"))) as (frontend, _):
            session = await frontend.open(Brief("c"))
            steps = await play(session, 12)
            await session.close()
        assert [step.covers for step in steps if isinstance(step, Listening)] == [unit(number).covers for number in range(12)]
        ends = [step.covers.to_us for step in steps]
        assert ends == sorted(ends)
        speech = [step for step in steps if isinstance(step, Speech)]
        assert " ".join(step.text for step in speech) == "Good morning to you"
        assert [step.final for step in speech] == [False] * (len(speech) - 1) + [True]
        assert len(speech) > 1
        assert {step.utterance_id for step in speech} == {speech[0].utterance_id}

    async def test_what_a_turn_of_the_caller_causes_names_that_turn(self, host: Host) -> None:
        turns = "{on: turn_start, nth: 2, backchannel: Mm-hm}, {on: turn_end, nth: every, say: Yes}"
        evidence: dict[int, tuple[Evidence, ...]] = {
            1: (started(100_000),),
            3: (stopped(100_000, 300_000),),
            6: (started(600_000),),
            8: (stopped(600_000, 800_000),),
        }
        async with host(ScriptedFrontend(script(turns))) as (frontend, _):
            session = await frontend.open(Brief("c"))
            steps = await play(session, 14, evidence)
            await session.close()
        said = [(step.text, step.role, step.cause) for step in steps if isinstance(step, Speech)]
        assert said == [
            ("Yes", Role.ANSWER, Cause(turn=1)),
            ("Mm-hm", Role.BACKCHANNEL, Cause(turn=2)),
            ("Yes", Role.ANSWER, Cause(turn=2)),
        ]

    async def test_after_a_yield_nothing_of_an_older_epoch_comes(self, host: Host) -> None:
        long = "one two three four five six seven eight nine ten"
        turns = f"{{on: open, say: {long}, speed_x: 1}}, {{on: yield, after_ms: 200, say: Sorry}}"
        async with host(ScriptedFrontend(script(turns))) as (frontend, _):
            session = await frontend.open(Brief("c", epoch=3))
            steps = session.steps()
            for number in range(10):
                await session.feed(unit(number))
            before = await take(steps, listened(10))
            await session.yield_floor(1_000_000, 4)
            for number in range(10, 25):
                await session.feed(unit(number))
            after = await take(steps, listened(15))
            await session.close()
        assert {step.epoch for step in before if isinstance(step, Speech)} == {3}
        assert not any(step.final for step in before if isinstance(step, Speech))
        assert [(step.text, step.epoch) for step in after if isinstance(step, Speech)] == [("Sorry", 4)]

    async def test_what_was_said_is_known_and_not_answered(self, host: Host) -> None:
        async with host(ScriptedFrontend(script())) as (frontend, _):
            session = await frontend.open(Brief("c"))
            await session.inject(BackendMessage("say1", "hello there", MessageKind.SAID))
            await session.inject(BackendMessage("a1", "private words"))
            steps = await play(session, 20)
            await session.close()
        assert {step.cause.attempt_id for step in steps if isinstance(step, Speech)} == {"a1"}

    async def test_the_same_attempt_injected_twice_is_one_message(self, host: Host) -> None:
        async with host(ScriptedFrontend(script())) as (frontend, _):
            session = await frontend.open(Brief("c"))
            await session.inject(BackendMessage("a1", "private words"))
            await session.inject(BackendMessage("a1", "private words"))
            await session.inject(BackendMessage("a2", "other private words"))
            steps = await play(session, 20)
            await session.close()
        speech = [step for step in steps if isinstance(step, Speech)]
        assert [step.cause.attempt_id for step in speech if step.final] == ["a1", "a2"]
        assert not any("private" in step.text for step in speech)

    async def test_a_delegation_opens_and_closes_apart(self, host: Host) -> None:
        async with host(ScriptedFrontend(script("{at_ms: 150, delegate: find a table, takes_ms: 300}"))) as (frontend, _):
            session = await frontend.open(Brief("c"))
            steps = await play(session, 8)
            await session.close()
        delegation = [step for step in steps if not isinstance(step, Listening)]
        assert delegation == [
            DelegationOpened(Span(100_000, 200_000), "d1"),
            DelegationClosed(Span(400_000, 500_000), "d1", "find a table"),
        ]

    async def test_a_lost_session_gives_what_it_had_and_then_gone(self, host: Host) -> None:
        async with host(ScriptedFrontend(script("{on: open, say: Hi}, {at_ms: 500, die: true}"))) as (frontend, _):
            session = await frontend.open(Brief("c"))
            steps = session.steps()
            for number in range(5):
                await session.feed(unit(number))
            before = await take(steps, listened(4))
            assert [step.text for step in before if isinstance(step, Speech)] == ["Hi"]
            with pytest.raises(Gone):
                await take(steps, lambda _: False)
            with pytest.raises(Gone):
                await session.feed(unit(5))
            with pytest.raises(Gone):
                await session.inject(BackendMessage("a", "x"))
            with pytest.raises(Gone):
                await session.yield_floor(0, 1)
            with pytest.raises(Gone):
                await session.acknowledge("u1", 1)
            await session.close()

    async def test_the_next_session_of_a_lost_call_goes_on_in_the_script(self, host: Host) -> None:
        turns = "{on: open, say: First}, {at_ms: 200, die: true}, {on: open, nth: 2, say: Second}, {at_ms: 600, say: Third}"
        async with host(ScriptedFrontend(script(turns))) as (frontend, _):
            session = await frontend.open(Brief("c"))
            for number in range(2):
                await session.feed(unit(number))
            with pytest.raises(Gone):
                await take(session.steps(), lambda _: False)
            await session.close()
            again = await frontend.open(Brief("c"))
            for number in range(3, 13):
                await again.feed(unit(number))
            steps = await take(again.steps(), listened(10))
            await again.close()
        assert [step.text for step in steps if isinstance(step, Speech)] == ["Second", "Third"]

    async def test_close_any_number_of_times_ends_the_steps(self, host: Host) -> None:
        async with host(ScriptedFrontend(script("{on: open, say: Hi}"))) as (frontend, _):
            session = await frontend.open(Brief("c"))
            waiting = asyncio.create_task(take(session.steps(), lambda _: False))
            await asyncio.sleep(0)
            await session.close()
            await session.close()
            with pytest.raises(StopAsyncIteration):
                await waiting
            with pytest.raises(Gone):
                await session.feed(unit(0))

    async def test_a_full_frontend_says_when_to_try_again_and_a_closed_session_makes_room(self, host: Host) -> None:
        async with host(ScriptedFrontend(script(), slots=2), slots=2) as (frontend, _):
            first, second = await frontend.open(Brief("a")), await frontend.open(Brief("b"))
            with pytest.raises(Capacity) as full:
                await frontend.open(Brief("c"))
            assert full.value.retry_after_s > 0
            await first.close()
            third = await frontend.open(Brief("c"))
            await third.feed(unit(0))
            await take(third.steps(), listened(1))
            await second.close()
            await third.close()

    async def test_units_and_evidence_arrive_whole(self, host: Host) -> None:
        puppet = Puppet()
        evidence: tuple[Evidence, ...] = (
            VoiceStarted(Span(120_000, 180_000), -23.5),
            Transcript(Span(120_000, 180_000), "grüß Gott", False, 0.25),
            VoiceStopped(Span(120_000, 190_000)),
            Transcript(Span(120_000, 190_000), "Grüß Gott!", True, 0.875),
            TurnProbability(Span(120_000, 190_000), 0.75),
        )
        ramp = np.arange(-800, 800, dtype=np.float32) / 800
        given = Unit(Span(UNIT_US, 2 * UNIT_US), ramp, evidence)
        brief = Brief("c", "a persona", "de", "instructions", ("fact",), ("can do",), (PastTurn("caller", "hello"),), epoch=7)
        async with host(puppet) as (frontend, _):
            assert frontend.info == puppet.info
            session = await frontend.open(brief)
            await session.feed(given)
            await session.yield_floor(123_000, 9)
            await session.feed(unit(2))
            await take(session.steps(), listened(2))
            await session.close()
        assert puppet.briefs == [brief]
        assert puppet.yields == [(123_000, 9)]
        assert (puppet.units[0].covers, puppet.units[0].evidence) == (given.covers, evidence)
        assert np.abs(puppet.units[0].pcm - ramp).max() <= 1 / 32768
        assert puppet.units[1].evidence == ()

    @pytest.mark.parametrize(
        "cause", [Cause(), Cause(turn=0), Cause(turn=3), Cause(attempt_id="a-9"), Cause(attempt_id=""), Cause(proactive=True)]
    )
    async def test_every_field_of_speech_arrives(self, host: Host, cause: Cause) -> None:
        pcm = np.array([0, 1, -1, 32767, -32768], np.int16)
        words = (Word("naïve", 0, 200), Word("—", 200, 312))
        spoken = [
            Speech(Span(5, 90_000), f"u-{role}-{alignment}", 4, "naïve —", pcm, words, alignment, role, cause, final)
            for role in Role
            for alignment in Alignment
            for final in (False, True)
        ]
        spoken.append(Speech(Span(0, 0), "empty", 0, "", np.zeros(0, np.int16), final=True))
        async with host(Puppet(answers=tuple(spoken))) as (frontend, _):
            session = await frontend.open(Brief("c"))
            await session.feed(unit(0))
            steps = await take(session.steps(), listened(1))
            await session.close()
        for given, got in zip([*spoken], steps, strict=False):
            assert isinstance(got, Speech)
            assert got.pcm.dtype == np.int16
            assert got.pcm.tolist() == given.pcm.tolist()
            assert _but_pcm(got) == _but_pcm(given)
        assert len(steps) == len(spoken) + 1

    async def test_speech_of_any_length_arrives_complete(self, host: Host) -> None:
        pcm = (np.arange(5 * 1024 * 1024) % 32_749).astype(np.int16)
        long = Speech(Span(0, 100_000), "long", 0, "a long story", pcm, (Word("a", 0, 1),), final=True)
        async with host(Puppet(answers=(long,))) as (frontend, _):
            session = await frontend.open(Brief("c"))
            await session.feed(unit(0))
            speech = [step for step in await take(session.steps(), listened(1)) if isinstance(step, Speech)]
            await session.close()
        assert np.array_equal(np.concatenate([step.pcm for step in speech]), pcm)
        assert [step.final for step in speech] == [False] * (len(speech) - 1) + [True]
        assert "".join(step.text for step in speech) == "a long story"
        assert [step.words for step in speech if step.words] == [long.words]

    @pytest.mark.parametrize(
        "bad",
        [
            Unit(Span(0, UNIT_US), np.zeros(1599, np.float32)),
            Unit(Span(0, 2 * UNIT_US), np.zeros(3200, np.float32)),
            Unit(Span(3 * UNIT_US, 4 * UNIT_US), np.zeros(1600, np.float32)),
            Unit(Span(UNIT_US, 2 * UNIT_US), np.zeros(1600, np.int16)),  # type: ignore[arg-type]
            Unit(Span(UNIT_US, 2 * UNIT_US), np.full(1600, np.nan, np.float32)),
        ],
    )
    async def test_a_bad_unit_is_refused_and_the_session_goes_on(self, host: Host, bad: Unit) -> None:
        async with host(ScriptedFrontend(script())) as (frontend, _):
            session = await frontend.open(Brief("c"))
            await session.feed(unit(0))
            with pytest.raises(Refused):
                await session.feed(bad)
            await session.feed(unit(1))
            assert await take(session.steps(), listened(2)) == [Listening(unit(0).covers), Listening(unit(1).covers)]
            await session.close()

    async def test_acknowledged_samples_never_fall(self, host: Host) -> None:
        scripted = ScriptedFrontend(script("{on: open, say: Hi}"))
        async with host(scripted) as (frontend, _):
            session = await frontend.open(Brief("c"))
            await session.acknowledge("u1", 480)
            await session.acknowledge("u1", 960)
            await session.acknowledge("u1", 480)
            await play(session, 1)
            assert dict(scripted.sessions[0].acknowledged) == {"u1": 960}
            await session.close()
        assert scripted.sessions == []

    async def test_a_reader_that_is_late_loses_nothing(self, host: Host) -> None:
        async with host(ScriptedFrontend(script())) as (frontend, _):
            session = await frontend.open(Brief("c"))
            for number in range(100):
                await session.feed(unit(number))
            assert await take(session.steps(), listened(100)) == [Listening(unit(number).covers) for number in range(100)]
            await session.close()

    async def test_sessions_do_not_know_of_each_other(self, host: Host) -> None:
        async with host(ScriptedFrontend(script("{on: open, say: Hi there}"))) as (frontend, _):
            first, second = await frontend.open(Brief("a")), await frontend.open(Brief("b"))
            one, other = await play(first, 6), await play(second, 6)
            assert [step.text for step in one if isinstance(step, Speech)] == ["Hi there"]
            assert [step.text for step in other if isinstance(step, Speech)] == ["Hi there"]
            await first.close()
            await second.feed(unit(6))
            await take(second.steps(), listened(1))
            await second.close()


class EarsContract:
    """The same for ears."""

    async def test_a_spoken_line_gives_a_partial_a_final_and_a_turn_probability(self, host: Host) -> None:
        made = script(caller="{at_ms: 0, say: please call my neighbour back}, {at_ms: 9000, say: thanks}")
        lasts_us = 2_000_000
        async with host(ScriptedFrontend(made), ScriptedEars(made)) as (_, ears):
            session = await ears.open(Brief("c"))
            await session.feed(unit(0, started(40_000)))
            for number in range(1, 20):
                await session.feed(unit(number))
            await session.feed(unit(20, stopped(40_000, lasts_us)))
            heard = await take(session.evidence(), lambda heard: len(heard) == 3)
            await session.close()
        assert heard == [
            Transcript(Span(40_000, 280_000), "please", False, 0.6),
            Transcript(Span(40_000, lasts_us), "please call my neighbour back", True, 0.98),
            TurnProbability(Span(40_000, lasts_us), 0.95),
        ]

    async def test_ears_are_counted_and_closed_like_frontends(self, host: Host) -> None:
        made = script()
        async with host(ScriptedFrontend(made), ScriptedEars(made, slots=1), slots=1) as (_, ears):
            session = await ears.open(Brief("a"))
            with pytest.raises(Capacity):
                await ears.open(Brief("b"))
            with pytest.raises(Refused):
                await session.feed(Unit(Span(0, 1), np.zeros(0, np.float32)))
            await session.close()
            await session.close()
            with pytest.raises(StopAsyncIteration):
                await take(session.evidence(), lambda _: False)
            with pytest.raises(Gone):
                await session.feed(unit(0))
            again = await ears.open(Brief("b"))
            await again.close()


def _but_pcm(speech: Speech) -> tuple[object, ...]:
    return (
        speech.covers,
        speech.utterance_id,
        speech.epoch,
        speech.text,
        speech.words,
        speech.alignment,
        speech.role,
        speech.cause,
        speech.final,
    )
