import numpy as np
import pytest

from agent.frontends.tone import ToneVoice
from agent.lines import CallLines
from agent.speech import SpokenLine
from agent.timeline.kinds import Role

pytestmark = pytest.mark.unit


def greeting(rate_hz: int) -> SpokenLine:
    pcm, words = ToneVoice(rate_hz).speak("hello there")
    return SpokenLine("hello there", pcm, rate_hz, words, Role.GREETING, must_hear=True)


@pytest.mark.parametrize("rate_hz", [8_000, 24_000, 48_000])
def test_lines_at_another_rate_are_the_same_lines_to_the_sample(rate_hz: int) -> None:
    line = greeting(16_000)
    other = CallLines(greeting=line).at(rate_hz).greeting
    assert other is not None
    assert (other.text, other.words, other.role, other.must_hear, other.rate_hz) == (*_what(line), rate_hz)
    assert len(other.pcm) == pytest.approx(len(line.pcm) * rate_hz / 16_000, abs=1)
    assert other.duration_us == pytest.approx(line.duration_us, abs=1_000_000 // rate_hz)
    loud = np.flatnonzero(np.abs(other.pcm.astype(int)) > 1_000) / rate_hz
    expected = np.flatnonzero(np.abs(line.pcm.astype(int)) > 1_000) / line.rate_hz
    assert loud[0] == pytest.approx(expected[0], abs=0.002)
    assert loud[-1] == pytest.approx(expected[-1], abs=0.002)


def _what(line: SpokenLine) -> tuple[object, ...]:
    return line.text, line.words, line.role, line.must_hear


def test_lines_at_their_own_rate_and_lines_that_are_none_stay_as_they_are() -> None:
    lines = CallLines(greeting=greeting(16_000))
    assert lines.at(16_000).greeting is lines.greeting
    assert lines.at(8_000).apology is None
