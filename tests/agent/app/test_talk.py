"""`venus talk` on the real weights: text and recordings in, text and sound out, and what it says when it cannot."""

import os
import re
import subprocess
import sys
import wave
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from agent.app import talk
from agent.app.cli import app
from agent.app.embedded import EmbeddedOptions, Models, load_models
from agent.errors import VenusError
from agent.frontends.tone import load_wav
from agent.line import Pcm
from agent.mind.mind import NOTHING_KNOWN, UNKNOWN
from tests.measure import callers

pytestmark = pytest.mark.model

KNOWLEDGE = Path(__file__).parents[3] / "examples" / "clinic" / "knowledge"
CLOSES = next(one for one in callers.questions("dev") if one.id == "q001")
"""Until when the clinic is open on a Friday."""


@cache
def _loaded(options: EmbeddedOptions) -> Models:
    return load_models(options)


@pytest.fixture(scope="module", autouse=True)
def _models() -> Iterator[None]:
    """Loading takes seconds: it is done once, before the tests, and no longer than they need it."""
    for knowledge in (KNOWLEDGE, None):
        _loaded(EmbeddedOptions(knowledge, talk.RATE_HZ))
    yield
    _loaded.cache_clear()


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(talk, "load_models", lambda options, told: _loaded(options))
    monkeypatch.setattr("agent.app.cli.console.width", 1_000)  # what is said stays on one line


def venus(*arguments: str | Path, typed: str = "") -> str:
    """What a command that succeeds prints."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=typed, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def refusal(*arguments: str | Path) -> str:
    """The sentence that `venus talk` fails with."""
    done = CliRunner().invoke(app, ["talk", *map(str, arguments)])
    assert isinstance(done.exception, VenusError), done.output
    return str(done.exception)


def lines(told: str, who: str) -> list[str]:
    """What was said by `you` or `agent`."""
    return [line.split(maxsplit=1)[1] for line in told.splitlines() if line.split(maxsplit=1)[:1] == [who]]


def understood(pcm: Pcm) -> str:
    """What the recogniser reads in sound at 16 kHz."""
    models = _loaded(EmbeddedOptions(KNOWLEDGE, talk.RATE_HZ))
    return models.ears.recogniser.read(pcm.astype(np.float32) / np.float32(32768)).text


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A caller's question, with half a second of silence on both sides."""
    sound = callers.trimmed(callers.spoken(CLOSES.ask, 0))
    path = tmp_path_factory.mktemp("caller") / "question.wav"
    talk.write_wav(path, (np.pad(sound, 8_000) * 32767).astype(np.int16), talk.RATE_HZ)
    return path


def test_text_is_answered_from_the_documents_and_spoken(tmp_path: Path) -> None:
    out = tmp_path / "answers.wav"
    asked = ("Hello!", "When are you open on Saturday?", "What is the capital of France?")
    told = venus("talk", "--knowledge", KNOWLEDGE, "--out", out, *asked)
    assert lines(told, "you") == list(asked)
    greeting, hours, unknown = lines(told, "agent")
    assert greeting.startswith("Hello. How can I help you?   chat, ")
    assert "from 9:00 am to 1:00 pm." in hours
    assert re.search(r"01-hours-and-holidays\.md.*, \d+ ms$", hours)
    assert unknown.startswith(UNKNOWN)
    with wave.open(str(out)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
    assert "Saturday" in understood(load_wav(out, talk.RATE_HZ))


def test_what_is_typed_is_read_up_to_an_empty_line() -> None:
    told = venus("talk", typed="Are you a robot?\nWhat does a filling cost?\n\nNot read\n")
    robot, nothing = lines(told, "agent")
    assert robot.startswith("I am an automated assistant, not a person.")
    assert nothing.startswith(NOTHING_KNOWN)


def test_a_recording_makes_a_call_whose_record_replays_byte_for_byte(recording: Path, tmp_path: Path) -> None:
    out, calls = tmp_path / "answer.wav", tmp_path / "calls"
    told = venus("talk", "--knowledge", KNOWLEDGE, "--wav", recording, "--out", out, "--record", calls)
    (heard,) = lines(told, "you")
    (answer,) = lines(told, "agent")
    assert "Friday" in heard
    assert CLOSES.says[0][0] in answer
    assert re.search(r"   \d+\.\d\d s after the caller's last sound$", answer)
    assert "Friday" in understood(load_wav(out, talk.RATE_HZ))
    (record,) = calls.iterdir()
    assert (record / "report.html").is_file()
    assert "evidence.voice_paused" in (record / "timeline.jsonl").read_text()
    assert "every derived event came out again, byte for byte" in venus("replay", record, "--strict")


def test_a_recording_without_speech_is_answered_by_nothing(tmp_path: Path) -> None:
    silence, out = tmp_path / "silence.wav", tmp_path / "answer.wav"
    talk.write_wav(silence, np.zeros(talk.RATE_HZ, np.int16), talk.RATE_HZ)
    told = venus("talk", "--wav", silence, "--out", out)
    assert "no speech was heard in it, and nothing was said" in told
    assert lines(told, "you") == lines(told, "agent") == []
    with wave.open(str(out)) as file:
        assert file.getnframes() == 0


def test_what_cannot_be_used_is_refused_in_one_sentence(recording: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "noise.wav").write_bytes(b"no sound at all")
    said = {
        "two ways in": refusal("Hello", "--wav", recording),
        "no call": refusal("Hello", "--record", tmp_path),
        "no file": refusal("--wav", tmp_path / "none.wav"),
        "no sound": refusal("--wav", tmp_path / "noise.wav"),
        "no place": refusal("Hello", "--out", tmp_path / "none" / "answer.wav"),
        "no folder": refusal("Hello", "--knowledge", tmp_path / "none"),
        "no documents": refusal("Hello", "--knowledge", tmp_path / "empty"),
        "too long": refusal("a" * 2_001),
    }
    begins = {
        "two ways in": "give either text or --wav, not both",
        "no call": "only a recording makes a call that can be recorded: --record goes with --wav",
        "no file": f"no sound file {tmp_path / 'none.wav'}: give the path of a WAV or FLAC file",
        "no sound": f"cannot read {tmp_path / 'noise.wav'} as WAV or FLAC (",
        "no place": f"there is no folder {tmp_path / 'none'} for --out: make it, or name another file",
        "no folder": f"The knowledge folder {tmp_path / 'none'} is not there: ",
        "no documents": f"The knowledge folder {tmp_path / 'empty'} holds no Markdown text that could be read: ",
        "too long": "a turn of 2001 characters: give at most 2000",
    }
    assert {name: said[name][: len(begin)] for name, begin in begins.items()} == begins
    assert [name for name, sentence in said.items() if "\n" in sentence] == []


def test_without_weights_the_command_that_brings_them_is_told_and_the_status_is_2(tmp_path: Path) -> None:
    environment = os.environ | {"VENUS_MODELS_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "agent.app.cli", "talk", "Hello"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(rf"error {tmp_path}/\S+ is missing: run `venus models install`\n", done.stderr)
