"""The longest silence, with sounds that are learned late and out of order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.record.silence import LongestSilence

pytestmark = pytest.mark.unit

S = 1_000_000


def figures(ms: int, at_s: float, after: str, before: str, works: int = 0) -> dict[str, Any]:
    return {"ms": ms, "at_s": at_s, "after": after, "before": before, "works_pending": works}


def test_not_answered() -> None:
    silence = LongestSilence()
    silence.agent(0, 20_000, 20_000)
    assert silence.figures(5 * S) is None


def test_between_caller_and_agent() -> None:
    silence = LongestSilence()
    silence.answered(0)
    silence.voice_started(S)
    silence.voice_stopped(S, 3 * S, 3 * S + 300_000)
    silence.agent(5 * S, 6 * S, 6 * S)
    silence.ended(7 * S)
    assert silence.figures(9 * S) == figures(2000, 3.0, "caller", "agent")


def test_an_onset_learned_after_our_own_sound() -> None:
    silence = LongestSilence()
    silence.answered(0)
    silence.agent(3 * S, 3 * S + 20_000, 3 * S + 20_000)
    silence.voice_started(2 * S)  # it was earlier
    silence.agent(3 * S + 20_000, 4 * S, 4 * S)
    silence.voice_stopped(2 * S, 5 * S, 5 * S + 300_000)
    assert silence.figures(6 * S) == figures(2000, 0.0, "answer", "caller")


def test_a_voice_that_never_stops_is_no_silence() -> None:
    silence = LongestSilence()
    silence.answered(0)
    silence.voice_started(S)
    assert silence.figures(60 * S) == figures(1000, 0.0, "answer", "caller")


def test_hold_does_not_count() -> None:
    silence = LongestSilence()
    silence.answered(0)
    silence.hold(2 * S)
    silence.resume(30 * S)
    silence.agent(31 * S, 32 * S, 32 * S)
    assert silence.figures(32 * S) == figures(2000, 0.0, "answer", "hold")


def test_works_pending_when_it_ended() -> None:
    silence = LongestSilence()
    silence.answered(0)
    silence.works_pending = 2
    silence.agent(3 * S, 4 * S, 4 * S)
    silence.works_pending = 0
    silence.agent(9 * S // 2, 5 * S, 5 * S)
    assert silence.figures(5 * S) == figures(3000, 0.0, "answer", "agent", 2)


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(1, 100), st.booleans()), min_size=1, max_size=40), st.integers(0, 50))
def test_against_a_picture_of_the_whole_call(stretches: list[tuple[int, int, bool]], tail: int) -> None:
    """One cell per 20 ms: sounds are drawn in, the longest run of empty cells is looked up."""
    silence, at, sounds = LongestSilence(), 0, []
    silence.answered(0)
    for gap, length, caller in stretches:
        begin = at + gap
        at = begin + length
        sounds.append((begin, at))
        if caller:
            silence.voice_started(begin * 20_000)
            silence.voice_stopped(begin * 20_000, at * 20_000, at * 20_000)
        else:
            for cell in range(begin, at):
                silence.agent(cell * 20_000, (cell + 1) * 20_000, (cell + 1) * 20_000)
    end = at + tail
    cells = "".join("x" if any(a <= cell < b for a, b in sounds) else "." for cell in range(end))
    longest = max(len(run) for run in cells.split("x"))
    found = silence.figures(end * 20_000)
    assert found is not None
    assert found["ms"] == longest * 20
    assert cells[round(found["at_s"] * 50) :][:longest] == "." * longest
