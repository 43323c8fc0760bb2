"""Whatever a frontend does, its call survives it or ends politely, and can be read back and replayed."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from agent.errors import Capacity, Fault, Gone, Refused, Timeout
from agent.frontends.base import DelegationClosed, DelegationOpened, Listening, Unit
from agent.settings import CallSettings
from agent.timeline.events import (
    FaultReported,
    FrontendLost,
    FrontendOpened,
    SpeechRefused,
    UtteranceEnded,
    UtteranceStarted,
)
from agent.timeline.kinds import Cause, EndReason, Outcome, Role, Span, Word
from tests.measure.plain import steady
from tests.rehearsal.hostile import Rogue, breaking, ended, hang, hang_on, hung_up, once, sound, speech
from tests.rehearsal.stages import RATE_HZ, Stage, spoken, staged, with_lines

pytestmark = pytest.mark.rehearsal

Maker = Callable[[Unit], object]
HALF = "\ud800"
FUTURE = 10**12


def _with_times(*times: Any) -> Maker:
    return lambda unit: speech(unit, words=tuple(Word("yes", start, end) for start, end in times))


BAD_STEPS: dict[str, Maker] = {
    "covers the future": lambda unit: speech(unit, covers=Span(0, FUTURE)),
    "covers a little of the future": lambda unit: speech(unit, covers=Span(0, unit.covers.to_us + 1)),
    "covers time before the call": lambda unit: speech(unit, covers=Span(-20, unit.covers.to_us)),
    "covers backwards": lambda unit: speech(unit, covers=Span(unit.covers.to_us, unit.covers.from_us)),
    "covers no numbers": lambda unit: speech(unit, covers=Span(0, float("nan"))),  # type: ignore[arg-type]
    "covers nothing": lambda unit: speech(unit, covers=None),
    "listens to the future": lambda unit: Listening(Span(0, FUTURE)),
    "opens in the future": lambda unit: DelegationOpened(Span(0, FUTURE), "d"),
    "closes in the future": lambda unit: DelegationClosed(Span(0, FUTURE), "d", "look"),
    "no id": lambda unit: speech(unit, ""),
    "a long id": lambda unit: speech(unit, "u" * 65),
    "an id with @": lambda unit: speech(unit, "u@1"),
    "half an id": lambda unit: speech(unit, HALF),
    "an id that is none": lambda unit: speech(unit, 7),  # type: ignore[arg-type]
    "half a text": lambda unit: speech(unit, text=HALF),
    "bytes for text": lambda unit: speech(unit, text=b"yes"),
    "a long text": lambda unit: speech(unit, text="x" * 1_000_000),
    "a million words": lambda unit: speech(unit, words=(Word("x", 0, 1),) * 1_000_000),
    "long words": lambda unit: speech(unit, words=(Word("x" * 15_000, 0, 1),) * 100),
    "half a word": lambda unit: speech(unit, words=(Word(HALF, 0, 1),)),
    "a word before the sound": _with_times((-5, 3)),
    "a word backwards": _with_times((5, 3)),
    "a word at no time": _with_times((0, float("nan"))),
    "a word at the end of time": _with_times((0, 2**63)),
    "words that are none": lambda unit: speech(unit, words=("yes",)),
    "words that are a number": lambda unit: speech(unit, words=3),
    "sound in floats": lambda unit: speech(unit, pcm=np.zeros(320, np.float32)),
    "sound in eight bits": lambda unit: speech(unit, pcm=np.zeros(320, np.int8)),
    "sound in two rows": lambda unit: speech(unit, pcm=np.zeros((2, 160), np.int16)),
    "sound as one number": lambda unit: speech(unit, pcm=np.int16(3)),
    "sound in bytes": lambda unit: speech(unit, pcm=bytes(640)),
    "no sound at all": lambda unit: speech(unit, pcm=None),
    "an hour of sound": lambda unit: speech(unit, pcm=np.zeros(3_600 * RATE_HZ, np.int16)),
    "a role that is none": lambda unit: speech(unit, role="boss"),
    "an alignment that is none": lambda unit: speech(unit, alignment="perfect"),
    "a cause that is none": lambda unit: speech(unit, cause="because"),
    "half an attempt": lambda unit: speech(unit, cause=Cause(attempt_id=HALF)),
    "a long attempt": lambda unit: speech(unit, cause=Cause(attempt_id="d" * 2_000_000)),
    "a turn beyond counting": lambda unit: speech(unit, cause=Cause(turn=10**5000)),
    "an epoch to come": lambda unit: speech(unit, epoch=1),
    "an epoch that is none": lambda unit: speech(unit, epoch="0"),
    "final perhaps": lambda unit: speech(unit, final="perhaps"),
    "half a request": lambda unit: DelegationClosed(unit.covers, "d", HALF),
    "a long request": lambda unit: DelegationClosed(unit.covers, "d", "x" * 1_000_000),
    "a request in bytes": lambda unit: DelegationClosed(unit.covers, "d", b"x"),  # type: ignore[arg-type]
    "a foreign object": lambda unit: object(),
    "nothing": lambda unit: None,
}


@pytest.mark.parametrize("bad", list(BAD_STEPS))
async def test_a_step_that_makes_no_sense_costs_the_session_and_not_the_call(bad: str) -> None:
    rogue = Rogue(lambda unit, number: once(BAD_STEPS[bad])(unit, number) if rogue.opened == 1 else once(speech)(unit, number))
    async with staged(rogue) as stage:
        await stage.until(lambda: bool(stage.events(UtteranceEnded)))
        (lost,) = (entry.event for entry in stage.events(FrontendLost))
        assert isinstance(lost, FrontendLost)
        assert not lost.final
        assert 10 < len(lost.reason) < 400
        assert [entry.event.outcome for entry in stage.events(UtteranceEnded)] == [Outcome.FINISHED]
        assert (rogue.opened, rogue.closed) == (2, 1)
        assert (await hung_up(stage)).reason is EndReason.CALLER_HUNG_UP


GOOD_STEPS: dict[str, Maker] = {
    "words that overlap and fall": _with_times((0, 90_000), (10_000, 50_000), (5_000, 200_000)),
    "a word beyond the sound": _with_times((0, 100_000_000)),
    "terminal sequences": lambda unit: speech(unit, text="\x1b[2J\x00\u202e\x9b31m ok"),
    "all the text there may be": lambda unit: speech(unit, text="\x00" * 20_000, words=(Word("\x00", 0, 1),) * 4_000),
    "an empty end": lambda unit: speech(unit, pcm=sound(0)),
}


@pytest.mark.parametrize("good", list(GOOD_STEPS))
async def test_a_step_that_is_only_odd_is_taken(good: str) -> None:
    async with staged(Rogue(once(GOOD_STEPS[good]))) as stage:
        await stage.until(lambda: bool(stage.events(UtteranceEnded)))
        assert not stage.events(FrontendLost)
        await hung_up(stage)


# --- utterances -------------------------------------------------------------------------------------------------------------


async def test_an_id_used_again_after_its_end_is_refused() -> None:
    async with staged(Rogue(lambda unit, number: [speech(unit)] if number in (3, 20) else [])) as stage:
        await stage.until(lambda: bool(stage.events(SpeechRefused)))
        assert len(stage.events(UtteranceStarted)) == 1
        await hung_up(stage)


async def test_final_twice_and_pieces_after_it_are_refused() -> None:
    piece = lambda unit: speech(unit, final=False)  # noqa: E731
    async with staged(Rogue(once(speech, speech, piece, piece))) as stage:
        await stage.until(lambda: bool(stage.events(UtteranceEnded)))
        assert [entry.event.reason for entry in stage.events(SpeechRefused)] == ["ended"] * 3
        await hung_up(stage)


@pytest.mark.parametrize("final", [True, False])
async def test_utterances_beyond_number_are_refused(final: bool) -> None:
    def many(unit: Unit, number: int) -> Iterator[object]:
        return (speech(unit, f"u{number}-{n}", final=final, pcm=sound(1)) for n in range(10_000 if number == 3 else 0))

    async with staged(Rogue(many), parts=with_lines(apology=spoken("we are sorry"))) as stage:
        waiting: list[int] = []
        stage.call.timeline.subscribe(lambda _: waiting.append(len(stage.call.core.playout._queue)))
        await stage.wait(10_000)
        assert max(waiting) <= 80
        assert {entry.event.reason for entry in stage.events(SpeechRefused)} == {"full"}
        await hung_up(stage)


async def test_text_without_sound_for_ever_is_bounded() -> None:
    def lyric(unit: Unit, number: int) -> list[object]:
        return [speech(unit, text="la " * 6_000, pcm=sound(100 if number == 1 else 0), final=False)] if number else []

    async with staged(Rogue(lyric)) as stage:
        stage.far_end.vanish()
        stage.call.hold()
        await stage.wait(20_000)
        assert "too_long" in {entry.event.reason for entry in stage.events(SpeechRefused)}
        stage.call.resume()
        await hung_up_by_us(stage)


async def hung_up_by_us(stage: Stage) -> None:
    stage.call.end(EndReason.OPERATOR, "enough", at_once=True)
    await ended(stage)


async def test_sound_without_text_for_ever_is_played() -> None:
    rogue = Rogue(lambda unit, number: [speech(unit, text="", pcm=sound(100), final=False)])
    async with staged(rogue) as stage:
        await stage.wait(20_000)
        assert not stage.events(FrontendLost)
        await hung_up(stage)


async def test_speech_faster_than_it_can_be_said_waits() -> None:
    rogue = Rogue(lambda unit, number: [speech(unit, pcm=sound(5_000), final=False)])
    async with staged(rogue, CallSettings(pending_us=10_000_000)) as stage:
        pending: list[int] = []
        stage.call.timeline.subscribe(lambda _: pending.append(stage.call.core.playout.pending))
        await stage.wait(60_000)
        assert max(pending) <= 15 * RATE_HZ
        assert not stage.events(FrontendLost)
        await hung_up(stage)


async def test_sound_in_crumbs_is_kept_in_frames() -> None:
    """On hold nothing is said: what comes meanwhile must not become a million arrays of one sample."""
    rogue = Rogue(lambda unit, number: [speech(unit, text="", pcm=sound(1)[:1], final=False) for _ in range(200)])
    async with staged(rogue) as stage:
        await stage.wait(500)
        stage.call.hold()
        await stage.wait(10_000)
        current = stage.call.core.playout.current
        assert current is not None
        assert current.queued > 5_000
        assert len(current.pieces) <= current.queued // 160
        stage.call.resume()
        await stage.wait(100)
        await hung_up(stage)


async def test_ten_thousand_utterances_without_an_end_keep_no_resamplers() -> None:
    def many(unit: Unit, number: int) -> Iterator[object]:
        return (speech(unit, f"u{number}-{n}", final=False, pcm=sound(1)) for n in range(50))

    rogue = Rogue(many)
    rogue.info = replace(rogue.info, output_rate_hz=24_000)
    async with staged(rogue) as stage:
        await stage.wait(5_000)
        assert len(stage.call._link._resamplers) <= 8
        await hung_up(stage)


# --- floods -----------------------------------------------------------------------------------------------------------------

FLOODS: dict[str, Maker] = {
    "listening": lambda unit: Listening(unit.covers),
    "speech": lambda unit: speech(unit),
    "opened": lambda unit: DelegationOpened(unit.covers, "d"),
    "closed": lambda unit: DelegationClosed(unit.covers, "d", "look it up"),
}


@pytest.mark.parametrize("kind", list(FLOODS))
async def test_a_flood_of_steps_is_taken_a_little_at_a_time(kind: str) -> None:
    def flood(unit: Unit, number: int) -> Iterator[object]:
        while True:
            yield FLOODS[kind](unit)

    async with staged(Rogue(flood)) as stage:
        per_tick: dict[int, int] = {}
        stage.call.timeline.subscribe(lambda entry: per_tick.update({entry.t: per_tick.get(entry.t, 0) + 1}))
        await stage.wait(8_000)
        assert len(stage.call._link.arrivals) <= 60
        assert max(per_tick.values()) <= 400
        await hung_up(stage)


async def test_delegations_that_are_opened_and_never_closed_are_bounded() -> None:
    def opening(unit: Unit, number: int) -> Iterator[object]:
        return (DelegationOpened(unit.covers, f"d{number}-{n}") for n in range(100))

    async with staged(Rogue(opening)) as stage:
        await stage.wait(5_000)
        assert len(stage.call.core.works._evidence) <= 64
        await hung_up(stage)


async def test_ten_thousand_delegations_are_not_all_taken_up() -> None:
    def closing(unit: Unit, number: int) -> Iterator[object]:
        return (DelegationClosed(unit.covers, f"d{number}-{n}", "look it up") for n in range(1_000))

    submitted: list[str] = []

    class Idle:
        async def submit(self, request: Any) -> None:
            submitted.append(request.work_id)

        async def reports(self) -> Any:
            await hang()
            yield

        async def close(self) -> None:
            """Nothing to close."""

    async with staged(Rogue(closing), parts=lambda parts: replace(parts, harness=Idle())) as stage:
        await stage.wait(10_000)
        assert len(submitted) == len(set(submitted)) <= 64
        works = stage.call.core.works
        assert len(works.open) <= 64
        assert len(works._ready) <= 64
        assert len(stage.call._effects._results) <= 130
        await hung_up(stage)


async def test_the_same_delegation_twice_is_two_works_with_one_outcome_each() -> None:
    ask = lambda unit: DelegationClosed(unit.covers, "d", "look it up")  # noqa: E731
    async with staged(Rogue(once(ask, ask))) as stage:
        await stage.wait(3_000)
        await hung_up(stage)


# --- sessions ---------------------------------------------------------------------------------------------------------------

ERRORS: dict[str, BaseException] = {
    "capacity": Capacity("full"),
    "timeout": Timeout("late"),
    "gone": Gone("gone"),
    "refused": Refused("no"),
    "fault": Fault("broken"),
    "foreign": RuntimeError("secret"),
    "assertion": AssertionError("secret"),
    "cancelled": asyncio.CancelledError(),
    "half a reason": Gone("no " + HALF),
    "a long reason": Gone("x" * 3_000_000),
    "no reason": Gone(),
}
ACTS = {**{name: breaking(error) for name, error in ERRORS.items()}, "hangs": hang, "hangs on": hang_on}


@pytest.mark.parametrize("act", list(ACTS))
async def test_a_frontend_that_does_not_open_turns_the_caller_away(act: str) -> None:
    async with staged(Rogue(once(), acts={"open": ACTS[act]})) as stage:
        end = await ended(stage, 12_000, act == "hangs on")
        assert end.reason in (EndReason.REFUSED, EndReason.NOT_ANSWERED)
        assert "secret" not in end.detail


@pytest.mark.parametrize("act", list(ACTS))
async def test_a_frontend_that_does_not_open_again_ends_the_call_politely(act: str) -> None:
    async def at_first(attempt: int) -> None:
        if attempt > 1:
            await ACTS[act]()

    rogue = Rogue(once(lambda unit: None), acts={"open": at_first})
    async with staged(rogue, parts=with_lines(apology=spoken("we are sorry"))) as stage:
        end = await ended(stage, stubborn=act == "hangs on")
        assert end.reason is EndReason.FRONTEND_LOST
        assert rogue.opened > 2
        assert "we are sorry" in [entry.event.text_sent for entry in stage.events(UtteranceEnded)]


@pytest.mark.parametrize("act", list(ACTS))
@pytest.mark.parametrize("method", ["feed", "steps", "acknowledge", "yield_floor", "inject"])
async def test_a_method_that_breaks_or_hangs_costs_the_session(method: str, act: str) -> None:
    async def at_first(attempt: int) -> None:
        if attempt == 1:
            await ACTS[act]()

    def talk(unit: Unit, number: int) -> list[object]:
        if number == 3:
            return [speech(unit, f"u{number}", pcm=sound(2_500)), DelegationClosed(unit.covers, "d", "x")]
        return []

    rogue = Rogue(talk, acts={method: at_first})
    async with staged(rogue) as stage:
        await stage.wait(1_500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.until(lambda: len(stage.events(FrontendOpened)) == 2, 30_000)
        assert not any("secret" in entry.event.reason for entry in stage.events(FrontendLost))
        await stage.wait(2_000)
        await hung_up(stage, act == "hangs on")


@pytest.mark.parametrize("act", list(ACTS))
async def test_a_session_that_does_not_close_delays_nobody(act: str) -> None:
    async with staged(Rogue(lambda unit, number: [], acts={"close": ACTS[act]})) as stage:
        await stage.wait(500)
        await hung_up(stage, act == "hangs on")


async def test_steps_that_end_at_once_end_the_call_politely() -> None:
    class Mute(Rogue):
        async def open(self, brief: Any) -> Any:
            session = await super().open(brief)

            async def steps() -> Any:
                return
                yield

            session.steps = steps  # type: ignore[method-assign]
            return session

    async with staged(Mute(once()), parts=with_lines(apology=spoken("we are sorry"))) as stage:
        assert (await ended(stage)).reason is EndReason.FRONTEND_LOST


async def test_a_frontend_that_never_listens_is_given_up() -> None:
    async with staged(Rogue(lambda unit, number: [], listens=False)) as stage:
        assert (await ended(stage, 60_000)).reason is EndReason.FRONTEND_LOST
        assert "frontend.lag" in {entry.event.kind for entry in stage.entries}


@pytest.mark.parametrize("when", ["greeting", "hold", "ending"])
async def test_a_frontend_that_dies_and_comes_back(when: str) -> None:
    rogue = Rogue(lambda unit, number: [None] if number == 5 and rogue.opened == 1 else [])
    greeting = spoken("this is an automated assistant and the call is recorded", Role.GREETING, must_hear=True)
    async with staged(rogue, parts=with_lines(greeting=greeting, apology=spoken("we are sorry"))) as stage:
        await stage.wait(300)
        if when == "hold":
            stage.call.hold()
        elif when == "ending":
            stage.call.end(EndReason.AGENT_ENDED, "bye")
        await stage.wait(3_000)
        if when == "ending":
            assert (await ended(stage)).reason is EndReason.AGENT_ENDED
            return
        stage.call.resume()
        await stage.wait(5_000)
        assert len(stage.events(FrontendOpened)) == 2
        assert not [entry for entry in stage.events(FaultReported) if entry.event.code == "conduct"]
        await hung_up(stage)
