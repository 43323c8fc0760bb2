"""The scripted mind as a state machine: units in, steps out."""

import wave
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.frontends.base import BackendMessage, DelegationClosed, DelegationOpened, Listening, Speech, Unit
from agent.frontends.recital import Death, Progress, Recital, Repertoire, Stall, cut, spread
from agent.frontends.script import Agent, AgentTurn, load_script
from agent.frontends.tone import ToneVoice
from agent.timeline.events import VoiceStarted, VoiceStopped
from agent.timeline.kinds import Alignment, Cause, Span, Word

pytestmark = pytest.mark.unit

UNIT_US = 100_000


def unit(number: int, *evidence: Any) -> Unit:
    return Unit(Span(number * UNIT_US, (number + 1) * UNIT_US), np.zeros(1600, np.float32), evidence)


def recital(turns: str, progress: Progress | None = None, **agent: Any) -> Recital:
    made = load_script(f"name: x\nagent: {{turns: [{turns}]}}").agent
    return Recital(Repertoire(made.model_copy(update=agent)), progress or Progress(), 0)


def play(mind: Recital, units: range, evidence: dict[int, Any] | None = None) -> list[tuple[int, Any]]:
    """(end of the unit in ms, step) of everything but Listening."""
    found = []
    for number in units:
        given = (evidence or {}).get(number, ())
        steps = mind.feed(unit(number, *given))
        found += [((number + 1) * 100, step) for step in steps if not isinstance(step, Listening)]
    return found


def test_speech_comes_when_it_is_generated() -> None:
    """ "Eleven letters" hums 330 + 60 + 375 = 765 ms: at 1 x the first word is there after 330 ms, the rest after 765."""
    found = play(recital("{on: open, say: Eleven letters, speed_x: 1}"), range(10))
    assert [(at_ms, step.text, step.final) for at_ms, step in found] == [(400, "Eleven", False), (800, "letters", True)]
    found = play(recital("{on: open, say: Eleven letters, speed_x: 10, chunk_ms: 0}"), range(10))
    assert [(at_ms, step.text, step.final) for at_ms, step in found] == [(100, "Eleven letters", True)]


def test_delays_count_from_the_trigger_and_absolute_times_from_the_call() -> None:
    mind = recital("{on: turn_end, after_ms: 250, delegate: a}, {at_ms: 430, delegate: b}")
    found = play(mind, range(3, 10), {4: (VoiceStopped(Span(0, 1)),)})
    opened = [at_ms for at_ms, step in found if isinstance(step, DelegationOpened)]
    assert opened == [500, 800]
    assert [step.request for _, step in found if isinstance(step, DelegationClosed)] == ["b", "a"]


def test_times_that_had_passed_when_the_session_began_are_due_at_once() -> None:
    assert [at_ms for at_ms, _ in play(recital("{at_ms: 100, delegate: a}"), range(7, 9))] == [800, 800]


def test_the_nth_occurrence_is_one_and_every_is_all() -> None:
    turns = "{on: turn_start, nth: 2, delegate: second}, {on: turn_start, nth: every, delegate: each}"
    found = play(recital(turns), range(4), {n: (VoiceStarted(Span(0, 0), -20.0),) for n in (0, 1, 3)})
    closed = [(at_ms, step.request) for at_ms, step in found if isinstance(step, DelegationClosed)]
    assert closed == [(100, "each"), (200, "second"), (200, "each"), (400, "each")]


def test_one_mouth_speaks_one_utterance_after_the_other() -> None:
    found = play(recital("{on: open, say: Eleven, speed_x: 1}, {on: open, say: Eleven, speed_x: 1}"), range(10))
    assert [(at_ms, step.utterance_id) for at_ms, step in found] == [(400, "u1"), (700, "u2")]


def test_a_yield_drops_what_is_said_and_waits_but_not_what_is_planned() -> None:
    turns = "{on: open, say: first two three, speed_x: 1}, {on: open, say: waiting}, {at_ms: 900, say: planned}"
    mind = recital(turns)
    assert [step.text for _, step in play(mind, range(3))] == ["first"]
    mind.yield_floor(5)
    mind.yield_floor(4)
    assert [(step.text, step.epoch) for _, step in play(mind, range(3, 14))] == [("planned", 5)]


def test_an_injected_message_is_never_spoken_and_can_be_left_unanswered() -> None:
    mind = recital("{on: inject, nth: 2, stay_silent: true}, {on: inject, nth: 3, say: Third}")
    for attempt_id in ("a", "a", "b", "c"):
        mind.inject(BackendMessage(attempt_id, "secret"))
    found = play(mind, range(20))
    said: dict[str | None, str] = {}
    for _, step in found:
        said[step.cause.attempt_id] = " ".join(filter(None, (said.get(step.cause.attempt_id), step.text)))
    assert said == {"a": "I have the result now.", "c": "Third"}
    silent = recital("", result_line="")
    silent.inject(BackendMessage("a", "secret"))
    assert play(silent, range(5)) == []


def test_speech_of_its_own_accord_says_so() -> None:
    found = play(
        recital("{on: turn_end, say: By the way, proactive: true, chunk_ms: 0}"), range(4), {0: (VoiceStopped(Span(0, 1)),)}
    )
    assert [step.cause for _, step in found] == [Cause(proactive=True)]


def test_death_is_the_last_thing_and_is_not_repeated_by_the_next_session() -> None:
    progress = Progress()
    turns = "{at_ms: 200, die: true}, {at_ms: 250, delegate: later}"
    mind = recital(turns)
    mind._progress = progress
    assert [type(step) for _, step in play(mind, range(4))] == [Death]
    assert mind.feed(unit(4)) == []
    again = Recital(mind._repertoire, progress, 0)
    assert [type(step) for _, step in play(again, range(4, 6))] == [DelegationOpened, DelegationClosed]


def test_a_stall_stands_between_what_came_before_and_after() -> None:
    found = play(recital("{at_ms: 50, delegate: a}, {at_ms: 60, lag_ms: 700}, {at_ms: 70, delegate: b}"), range(1))
    assert [step for _, step in found if isinstance(step, Stall)] == [Stall(700_000)]
    assert [type(step).__name__ for _, step in found][2] == "Stall"


@pytest.mark.parametrize(("words", "alignment"), [("exact", "EXACT"), ("estimated", "ESTIMATED"), ("chunk", "CHUNK")])
def test_the_alignment_is_what_the_script_asks_for(words: str, alignment: str) -> None:
    found = play(recital(f"{{on: open, say: I wonder about it, words: {words}, chunk_ms: 300}}"), range(5))
    assert {step.alignment for _, step in found} == {Alignment[alignment]}
    spoken = [word for _, step in found for word in step.words]
    assert [word.text for word in spoken] == ["I", "wonder", "about", "it"]
    exact = ToneVoice(24_000).speak("I wonder about it")[1]
    if words == "exact":
        assert tuple(spoken) == exact
    if words == "chunk":
        assert spoken[0] == Word("I", 0, 300_000)


def test_a_sound_file_is_played_with_its_words_spread_over_it(tmp_path: Path) -> None:
    pcm, _ = ToneVoice(24_000).speak("some thing to play")
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(24_000)
        file.writeframes(pcm.tobytes())
    agent = Agent(turns=(AgentTurn(on="open", wav=tmp_path / "a.wav", text="some thing", chunk_ms=0),))
    (piece,) = [step for _, step in play(Recital(Repertoire(agent), Progress(), 0), range(10)) if isinstance(step, Speech)]
    assert np.array_equal(piece.pcm, pcm)
    assert piece.alignment is Alignment.ESTIMATED
    whole_us = len(pcm) * 1_000_000 // 24_000
    assert piece.words == (Word("some", 0, 5 * whole_us // 11), Word("thing", 5 * whole_us // 11, whole_us))


@settings(max_examples=60)
@given(
    st.lists(st.text(alphabet="ab", min_size=1, max_size=9), min_size=1, max_size=8).map(" ".join),
    st.integers(0, 900).map(lambda ms: ms * 1000),
    st.booleans(),
)
def test_pieces_are_the_utterance(text: str, chunk_us: int, inside_words: bool) -> None:
    pcm, words = ToneVoice(8_000).speak(text)
    pieces = list(cut(pcm, words, 8_000, chunk_us, inside_words))
    assert np.array_equal(np.concatenate([piece.pcm for piece in pieces]), pcm)
    assert [word.text for piece in pieces for word in piece.words] == text.split()
    assert " ".join(piece.text for piece in pieces if piece.text) == text
    assert [piece.final for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    end = 0
    for piece in pieces:
        end += len(piece.pcm)
        assert piece.end_us * 8_000 == end * 1_000_000
        assert all(word.end_us <= piece.end_us for word in piece.words)
        if not piece.final and chunk_us:
            assert len(piece.pcm) * 1_000_000 >= chunk_us * 8_000
            assert not inside_words or len(piece.pcm) * 1_000_000 == chunk_us * 8_000


@given(st.lists(st.text(alphabet="xyz", min_size=1, max_size=12), min_size=1), st.integers(1, 10**8))
def test_spread_words_fill_the_utterance(tokens: list[str], lasts_us: int) -> None:
    words = spread(" ".join(tokens), lasts_us)
    assert [word.text for word in words] == tokens
    assert (words[0].start_us, words[-1].end_us) == (0, lasts_us)
    assert all(one.end_us == other.start_us for one, other in pairwise(words))


_EVIDENCE = st.sampled_from([(), (), (VoiceStarted(Span(0, 0), -20.0),), (VoiceStopped(Span(0, 0)),)])
_ACTS = st.lists(
    st.tuples(st.sampled_from(["feed", "feed", "feed", "inject", "yield"]), st.integers(0, 5), _EVIDENCE), max_size=60
)


@settings(max_examples=80)
@given(_ACTS)
def test_whatever_happens_steps_are_in_order_and_never_of_an_old_epoch(acts: list[tuple[str, int, Any]]) -> None:
    turns = (
        "{on: open, say: one two three four, speed_x: 1}, {on: turn_end, nth: every, say: five six seven, speed_x: 2},"
        "{on: turn_start, nth: every, backchannel: Mm}, {on: yield, nth: every, after_ms: 150, say: eight nine}"
    )
    mind, epoch, number = recital(turns), 0, 0
    finished: set[str] = set()
    for act, value, evidence in acts:
        if act == "inject":
            mind.inject(BackendMessage(f"a{value}", "secret"))
        elif act == "yield":
            mind.yield_floor(value)
            epoch = max(epoch, value)
        else:
            steps = mind.feed(unit(number, *evidence))
            number += 1
            assert steps[-1] == Listening(Span((number - 1) * UNIT_US, number * UNIT_US))
            for step in steps[:-1]:
                assert isinstance(step, Speech)
                assert step.epoch == epoch
                assert step.utterance_id not in finished
                assert "secret" not in step.text
                if step.final:
                    finished.add(step.utterance_id)
