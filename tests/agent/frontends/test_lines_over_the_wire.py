"""Lines rendered by a worker for whoever carries calls."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from agent.clock import LoopClock
from agent.errors import Gone, Refused
from agent.frontends.base import LineVoice
from agent.frontends.pool import WorkerPool, connect_pool
from agent.frontends.roster import Roster
from agent.frontends.script import load_script
from agent.frontends.scripted import ScriptedEars, ScriptedFrontend
from agent.frontends.server import serve_worker
from agent.frontends.wire import LONGEST_LINE
from agent.lines import LineTexts, rendered
from agent.speech import SpokenLine
from agent.timeline.kinds import Alignment, Role, Word

pytestmark = pytest.mark.peer


class Voice:
    """A word lasts 100 ms; one text cannot be said."""

    async def line(self, text: str, role: Role = Role.NOTICE, must_hear: bool = False) -> SpokenLine:
        if text == "unspeakable":
            raise Gone("the voice is lost")
        words = tuple(Word(word, place * 100_000, (place + 1) * 100_000) for place, word in enumerate(text.split()))
        return SpokenLine(text, np.arange(len(words) * 1600, dtype=np.int16), 16_000, words, role, must_hear, Alignment.ESTIMATED)


@asynccontextmanager
async def pool(folder: Path, voice: LineVoice | None) -> AsyncIterator[WorkerPool]:
    script = load_script("name: lines\n")
    address = f"unix:{folder}/w.sock"
    async with (
        serve_worker(ScriptedFrontend(script), ScriptedEars(script), address, 1, voice),
        connect_pool(Roster(address), LoopClock()) as workers,
    ):
        yield workers


async def test_a_line_comes_back_with_its_sound_and_words(tmp_path: Path) -> None:
    async with pool(tmp_path, Voice()) as workers:
        line = await workers.line("Good morning everybody.", Role.GREETING, must_hear=True)
    given = await Voice().line("Good morning everybody.", Role.GREETING, must_hear=True)
    assert np.array_equal(line.pcm, given.pcm)
    assert (line.text, line.words, line.role, line.must_hear) == (given.text, given.words, Role.GREETING, True)
    assert (line.rate_hz, line.alignment) == (16_000, Alignment.ESTIMATED)


async def test_all_lines_of_a_call_are_rendered_and_the_empty_ones_left_out(tmp_path: Path) -> None:
    async with pool(tmp_path, Voice()) as workers:
        lines = await rendered(LineTexts(greeting="Hello.", farewell=""), workers)
    assert lines.greeting is not None
    assert lines.apology is not None
    assert (lines.greeting.role, lines.greeting.must_hear) == (Role.GREETING, True)
    assert (lines.apology.role, lines.apology.must_hear) == (Role.APOLOGY, True)
    assert lines.farewell is None


async def test_a_worker_without_a_voice_says_so(tmp_path: Path) -> None:
    async with pool(tmp_path, None) as workers:
        with pytest.raises(Refused, match="this worker has no voice for lines"):
            await workers.line("Hello.")


@pytest.mark.parametrize("text", ["", "a" * (LONGEST_LINE + 1)])
async def test_a_line_of_no_or_too_many_characters_is_refused(tmp_path: Path, text: str) -> None:
    async with pool(tmp_path, Voice()) as workers:
        with pytest.raises(Refused, match="a line has 1 to 2000 characters"):
            await workers.line(text)


async def test_a_voice_that_fails_is_gone(tmp_path: Path) -> None:
    async with pool(tmp_path, Voice()) as workers:
        with pytest.raises(Gone, match="no worker is there that could say a line"):
            await workers.line("unspeakable")
