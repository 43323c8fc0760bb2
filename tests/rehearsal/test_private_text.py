"""The canary: private text reaches nothing that leaves: no speech, timeline, summary, report, log or terminal."""

from collections.abc import AsyncIterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from agent import logs
from agent.app.live import LiveCall
from agent.app.rehearse import rehearse_virtually
from agent.errors import Refused
from agent.frontends.script import Script
from agent.frontends.scripted import ScriptedFrontend
from agent.harness import WorkRequest, WorkResult
from agent.parts import CallParts
from agent.record.inline import InlineRecorder
from agent.timeline.codec import encode
from agent.timeline.events import CallEnded, DelegationCreated, WorkEnded
from tests.measure.plain import steady
from tests.rehearsal.stages import RATE_HZ, spoken, staged, with_lines

pytestmark = pytest.mark.rehearsal

CANARY = "xyzzy-4711-plugh"

SCRIPT = {
    "name": "canary",
    "limit_ms": 14_000,
    "agent": {
        "turns": [
            {"on": "turn_end", "delegate": f"look up {CANARY} for the caller"},
            {"on": "turn_end", "after_ms": 400, "say": "one moment please"},
        ]
    },
    "caller": {"says": [{"after": "agent_utterance_end", "delay_ms": 300, "say": "what is my balance"}]},
    "work": [{"after_ms": 1_500, "text": f"the secret is {CANARY}"}],
}


@pytest.fixture
def log() -> StringIO:
    """Everything that is logged, at the lowest level, personal values included."""
    out = StringIO()
    logs.configure(json=True, personal=True, level="DEBUG", file=out)
    return out


def test_private_text_is_in_nothing_that_leaves(tmp_path: Path, log: StringIO, capfd: pytest.CaptureFixture[str]) -> None:
    screen = StringIO()
    live = LiveCall(Console(file=screen, width=200))
    script = Script.model_validate(SCRIPT)
    done = rehearse_virtually(script, recorder=lambda: InlineRecorder(tmp_path), call_id="canary", listener=live.learn)
    assert any(isinstance(entry.event, WorkEnded) and entry.event.text_chars for entry in done.entries), "it was delegated"
    files = {path.name: path.read_bytes() for path in (tmp_path / "canary").iterdir()}
    assert set(files) == {"timeline.jsonl", "audio.ogg", "peaks.json", "summary.json", "report.html"}
    leaked = [name for name, content in files.items() if CANARY.encode() in content]
    assert leaked == []
    assert all(CANARY.encode() not in encode(entry) for entry in done.entries)
    out, err = capfd.readouterr()
    assert CANARY not in screen.getvalue() + log.getvalue() + out + err


class LeakyHarness:
    """Whatever goes wrong in it quotes the request."""

    def __init__(self, error: Exception, where: str) -> None:
        self._error = error
        self._where = where

    async def submit(self, request: WorkRequest) -> None:
        if self._where == "submit":
            raise self._error

    async def reports(self) -> AsyncIterator[WorkResult]:
        if self._where == "reports":
            raise self._error
        return
        yield

    async def close(self) -> None:
        if self._where == "close":
            raise self._error


@pytest.mark.parametrize("error", [Refused(f"no {CANARY}"), RuntimeError(f"no {CANARY}")], ids=["refused", "broken"])
@pytest.mark.parametrize("where", ["submit", "reports", "close"])
async def test_a_harness_whose_errors_quote_the_request_leaks_nothing(error: Exception, where: str, log: StringIO) -> None:
    def parts(parts: CallParts) -> CallParts:
        lines = with_lines(greeting=spoken("hello"), apology=spoken("i am sorry"))(parts)
        return replace(lines, harness=LeakyHarness(error, where))

    async with staged(ScriptedFrontend(Script.model_validate(SCRIPT)), parts=parts) as stage:
        await stage.wait(1_500)
        stage.far_end.say(steady(RATE_HZ))
        await stage.wait(6_000)
        stage.far_end.hang_up()
        await stage.over(12_000)
    assert sum(isinstance(entry.event, CallEnded) for entry in stage.entries) == 1
    created = sum(isinstance(entry.event, DelegationCreated) for entry in stage.entries)
    assert created == sum(isinstance(entry.event, WorkEnded) for entry in stage.entries)
    assert created == 1, "a harness that breaks ends no call"
    assert all(CANARY.encode() not in encode(entry) for entry in stage.entries)
    assert CANARY not in log.getvalue()
