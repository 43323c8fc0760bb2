"""The scripted recogniser as a state machine: voice evidence in, transcripts out."""

from typing import Any

import numpy as np
import pytest

from agent.frontends.base import Brief, Unit
from agent.frontends.script import load_script
from agent.frontends.scripted_ears import Reading, ScriptedEars, _lines
from agent.timeline.events import Transcript, TurnProbability, VoiceStarted, VoiceStopped
from agent.timeline.kinds import Span

pytestmark = pytest.mark.unit

UNIT_US = 100_000


def read(says: str, voice: list[tuple[int, int]], until_ms: int = 8_000) -> list[Any]:
    """What is read of a caller whose voice is heard in these stretches (ms); evidence comes with the unit it ends in."""
    reading = Reading(_lines(load_script(f"name: x\ncaller: {{says: [{says}]}}").caller))
    heard: list[Any] = []
    for number in range(until_ms // 100):
        from_us, to_us = number * UNIT_US, (number + 1) * UNIT_US
        evidence: list[Any] = []
        for onset, end in voice:
            if from_us <= onset * 1000 < to_us:
                evidence.append(VoiceStarted(Span(onset * 1000, onset * 1000 + 20_000), -20.0))
            if from_us <= end * 1000 < to_us:
                evidence.append(VoiceStopped(Span(onset * 1000, end * 1000)))
        heard += reading.feed(Unit(Span(from_us, to_us), np.zeros(1600, np.float32), tuple(evidence)))
    return heard


def finals(heard: list[Any]) -> list[tuple[str, int]]:
    return [(item.text, item.covers.to_us // 1000) for item in heard if isinstance(item, Transcript) and item.final]


def test_lines_are_read_one_after_the_other() -> None:
    heard = read("{at_ms: 0, say: good morning}, {at_ms: 0, press: '1'}, {at_ms: 3000, say: thanks}", [(200, 815), (3010, 3400)])
    assert finals(heard) == [("good morning", 815), ("thanks", 3400)]
    assert [item.probability for item in heard if isinstance(item, TurnProbability)] == [0.95, 0.95]


def test_a_partial_comes_240_ms_after_the_onset_with_the_words_begun_by_then() -> None:
    heard = read("{at_ms: 0, say: I am here}", [(500, 1_000)])
    assert heard[0] == Transcript(Span(500_000, 740_000), "I am", False, 0.6)


def test_a_voice_that_ends_sooner_gives_no_partial() -> None:
    heard = read("{at_ms: 0, say: I}", [(510, 600)])
    assert [(item.text, item.final) for item in heard if isinstance(item, Transcript)] == [("I", True)]


def test_a_pause_inside_a_line_splits_the_transcript_and_not_the_count() -> None:
    """ "Hello, my friend." is 285 ms, a pause of 200, then 150 + 60 + 330."""
    heard = read("{at_ms: 0, say: 'Hello, my friend.'}, {at_ms: 0, say: next}", [(1_000, 1_280), (1_490, 2_025), (4_000, 4_240)])
    assert finals(heard) == [("Hello,", 1_280), ("my friend.", 2_025), ("next", 4_240)]
    assert [item.probability for item in heard if isinstance(item, TurnProbability)] == [0.1, 0.95, 0.95]


def test_noise_takes_its_place_and_is_not_read() -> None:
    heard = read("{at_ms: 0, noise_ms: 300}, {at_ms: 0, say: hello}", [(1_000, 1_300), (3_000, 3_280)])
    assert finals(heard) == [("hello", 3_280)]
    assert not any(item.covers.from_us < 3_000_000 for item in heard)


def test_a_line_that_broke_off_is_over_when_the_voice_comes_back_late() -> None:
    heard = read("{at_ms: 0, say: one two three four five}, {at_ms: 0, say: again}", [(1_000, 1_400), (4_000, 4_280)])
    assert finals(heard) == [("one two", 1_400), ("again", 4_280)]


def test_more_voice_than_lines_is_not_read() -> None:
    assert finals(read("{at_ms: 0, say: hi}", [(1_000, 1_150), (3_000, 4_000), (5_000, 6_000)])) == [("hi", 1_150)]


def test_an_end_without_a_beginning_is_ignored() -> None:
    reading = Reading(_lines(load_script("name: x\ncaller: {says: [{at_ms: 0, say: hi}]}").caller))
    assert reading.feed(Unit(Span(0, UNIT_US), np.zeros(1600, np.float32), (VoiceStopped(Span(0, 50_000)),))) == []


async def test_ears_may_miss_units() -> None:
    session = await ScriptedEars(load_script("name: x")).open(Brief("c"))
    await session.feed(Unit(Span(0, UNIT_US), np.zeros(1600, np.float32)))
    await session.feed(Unit(Span(5 * UNIT_US, 6 * UNIT_US), np.zeros(1600, np.float32)))
    await session.close()
