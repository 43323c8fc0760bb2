"""The ears of one call with models that are made up: what is told, dropped and given back."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from agent.clock import LoopClock
from agent.compute import InlineCompute, Kind
from agent.ears.embedded import ENROL_TURNS, EarModels, EmbeddedEars, EmbeddedEarsSession, _Voice
from agent.ears.recogniser import EndOfText, Reading
from agent.errors import Capacity, Gone
from agent.frontends.base import Brief, Evidence, Heard, PastTurn, Unit
from agent.timeline.events import (
    SpeakerScore,
    Transcript,
    TurnProbability,
    VoiceContinued,
    VoicePaused,
    VoiceStarted,
    VoiceStopped,
)
from agent.timeline.kinds import Span

pytestmark = pytest.mark.unit

MS = 1_000
UNIT_US = 40 * MS
COSTS = {Kind.RECOGNISE: 80 * MS, Kind.TURN: 60 * MS, Kind.SPEAKER: 50 * MS, Kind.SEARCH: 0, Kind.RENDER: 0}


class Recogniser:
    """Reads one text for all sound, or raises."""

    def __init__(self) -> None:
        self.text = "When are you open?"
        self.error: Exception | None = None
        self.reads = 0

    def read(self, pcm: Any, cancelled: Callable[[], bool]) -> Reading:
        self.reads += 1
        if self.error:
            raise self.error
        return Reading(self.text, (), 0.9, EndOfText("?", 0.9, 0.9)) if self.text else Reading()


class Turns:
    def probability(self, pcm: Any) -> float:
        return 0.97


class Speakers:
    """The vector is how loud the sound is."""

    def embed(self, pcm: Any) -> Any:
        level = float(np.abs(pcm).max())
        vector = np.array([level, 1 - level], np.float32)
        return vector / np.linalg.norm(vector)


class Ears:
    def __init__(self, brief: Brief, slots: int = 1) -> None:
        self.recogniser = Recogniser()
        models: Any = EarModels(self.recogniser, Turns(), Speakers())  # type: ignore[arg-type]
        self.clock = LoopClock()
        self.ears = EmbeddedEars(models, InlineCompute(self.clock, COSTS), UNIT_US, slots)
        self.brief = brief
        self.heard: list[Heard] = []
        self.now_us = 0

    async def units(self, ms: int, *evidence: Evidence, level: float = 0.1, said: str = "") -> None:
        """In real time: what models find comes in between."""
        for _ in range(ms * MS // UNIT_US):
            covers = Span(self.now_us, self.now_us + UNIT_US)
            await self.session.feed(Unit(covers, np.full(640, level, np.float32), evidence, said=said))
            evidence, said = (), ""
            self.now_us += UNIT_US
            await self.clock.sleep_until(self.clock.now_us() + UNIT_US)

    async def turn(self, lasts_ms: int = 1_000, level: float = 0.1) -> None:
        """A turn and the silence behind it."""
        onset = self.now_us
        await self.units(lasts_ms, VoiceStarted(Span(onset, onset), -20.0), level=level)
        voiced = Span(onset, self.now_us)
        await self.units(120, level=0.0)
        await self.units(80, VoicePaused(voiced), level=0.0)
        await self.units(2_800, VoiceStopped(voiced), level=0.0)

    async def read(self) -> None:
        async for one in self.session.evidence():
            self.heard.append(one)

    session: EmbeddedEarsSession


@asynccontextmanager
async def opened(brief: Brief | None = None) -> AsyncIterator[Ears]:
    ears = Ears(brief or Brief("c1"))
    ears.session = await ears.ears.open(ears.brief)
    reader = asyncio.ensure_future(ears.read())
    try:
        yield ears
    finally:
        await ears.session.close()
        await asyncio.gather(reader, return_exceptions=True)


def finals(heard: list[Heard]) -> list[str]:
    return [one.text for one in heard if isinstance(one, Transcript) and one.final]


async def test_a_turn_is_read_in_parts_looked_at_and_told_whole() -> None:
    async with opened() as ears:
        await ears.turn()
    partials = [one for one in ears.heard if isinstance(one, Transcript) and not one.final]
    assert partials[0].covers == Span(0, 240 * MS)
    assert finals(ears.heard) == ["When are you open?"]
    (over,) = (one for one in ears.heard if isinstance(one, TurnProbability))
    assert over.probability > 0.8
    assert over.covers == Span(0, 1_000 * MS)


async def test_noise_that_reads_as_nothing_is_no_evidence() -> None:
    async with opened() as ears:
        ears.recogniser.text = ""
        await ears.turn()
    assert ears.heard == []


async def test_a_look_is_dropped_when_the_voice_comes_back_while_it_is_made() -> None:
    async with opened() as ears:
        await ears.units(1_000, VoiceStarted(Span(0, 0), -20.0))
        await ears.units(40, VoicePaused(Span(0, 900 * MS)))
        await ears.units(1_000, VoiceContinued(Span(0, 1_040 * MS), -20.0))
        assert not [one for one in ears.heard if isinstance(one, TurnProbability)]


async def test_what_was_asked_decides_how_long_digits_are_waited_for() -> None:
    waits = []
    for said in ("Is there anything else?", "What is your phone number?"):
        async with opened() as ears:
            ears.recogniser.text = "It is five five five"
            await ears.units(40, said=said)
            await ears.turn()
            waits.append(len(finals(ears.heard)))
            await ears.units(1_000)
            assert finals(ears.heard) == ["It is five five five"]
    assert waits[1] <= waits[0]


async def test_a_session_that_is_opened_anew_knows_what_was_asked_last() -> None:
    history = (PastTurn("agent", "What is your phone number?"), PastTurn("caller", "Wait."))
    async with opened(Brief("c1", history=history)) as ears:
        ears.recogniser.text = "It is five five five."
        onset = ears.now_us
        await ears.units(1_000, VoiceStarted(Span(onset, onset), -20.0))
        await ears.units(80, VoicePaused(Span(onset, 1_000 * MS)))
        await ears.units(2_000, VoiceStopped(Span(onset, 1_000 * MS)))
        assert finals(ears.heard) == []  # 2.1 s are no end of a number that was asked for


async def test_a_recogniser_that_breaks_is_lost_and_its_slot_is_free_again() -> None:
    ears = Ears(Brief("c1"))
    ears.session = await ears.ears.open(ears.brief)
    ears.recogniser.error = RuntimeError("broken weights")
    with pytest.raises(Capacity):
        await ears.ears.open(ears.brief)
    reader = asyncio.ensure_future(ears.read())
    with pytest.raises(Gone, match=r"the recogniser failed \(RuntimeError\)"):
        await ears.turn()
    with pytest.raises(Gone):
        await reader
    await ears.session.close()
    await (await ears.ears.open(ears.brief)).close()


async def test_later_turns_are_compared_with_the_first_ones_when_that_is_asked_for() -> None:
    async with opened(Brief("c1", scores_speaker=True)) as ears:
        for _ in range(ENROL_TURNS):
            await ears.turn(1_200, level=0.1)
        assert not [one for one in ears.heard if isinstance(one, SpeakerScore)]
        await ears.turn(1_200, level=0.1)
        await ears.turn(1_200, level=0.9)
    same, other = (one.score for one in ears.heard if isinstance(one, SpeakerScore))
    assert same == pytest.approx(1.0, abs=1e-3)
    assert other < 0.5


async def test_nobody_is_compared_unless_asked_for() -> None:
    async with opened() as ears:
        for _ in range(ENROL_TURNS + 1):
            await ears.turn(1_200)
    assert not [one for one in ears.heard if isinstance(one, SpeakerScore)]


@pytest.mark.parametrize("error", [Capacity("busy"), ZeroDivisionError()])
async def test_a_voice_that_cannot_be_compared_costs_no_hearing(error: Exception) -> None:
    class Broken(Speakers):
        def embed(self, pcm: Any) -> Any:
            raise error

    async with opened(Brief("c1", scores_speaker=True)) as ears:
        ears.session._voice = _Voice(Broken())  # type: ignore[arg-type]
        await ears.turn(2_000)
        await ears.turn(2_000)
        assert len([one for one in ears.heard if isinstance(one, Transcript) and one.final]) == 2
