"""A disk that is full during a call: the caller notices nothing, the timeline and the record say so."""

import asyncio
import json
import resource
from pathlib import Path

import pytest

from agent.app.rehearse import rehearse
from agent.clock import LoopClock
from agent.frontends.script import Script
from agent.record.client import RecorderClient
from agent.timeline.events import RecordChanged, UtteranceEnded
from agent.timeline.kinds import EndReason, Outcome

pytestmark = pytest.mark.peer

BYTES = 9_000


async def test_the_call_goes_on_and_the_record_says_what_it_lacks(tmp_path: Path) -> None:
    script = Script.model_validate(
        {
            "name": "full disk",
            "limit_ms": 5_000,
            "lines": {"greeting": {"text": "hello and welcome to a rather long greeting of ours", "must_hear": True}},
            "caller": {"says": [{"at_ms": 200, "say": "a long sentence of the caller which is written as well"}]},
        }
    )
    async with RecorderClient(tmp_path, LoopClock()) as recorder:
        assert recorder.pid is not None
        resource.prlimit(recorder.pid, resource.RLIMIT_FSIZE, (BYTES, BYTES))
        done = await asyncio.wait_for(rehearse(script, recorder=recorder, call_id="full"), 30)
    assert done.outcome.reason is EndReason.CALLER_HUNG_UP
    said = [entry.event.outcome for entry in done.entries if isinstance(entry.event, UtteranceEnded)]
    assert said[0] is Outcome.FINISHED
    changed = [entry.event for entry in done.entries if isinstance(entry.event, RecordChanged)]
    assert [event.state for event in changed] == ["failed"]
    assert "file too large" in changed[0].detail
    summary = json.loads((tmp_path / "full" / "summary.json").read_bytes())
    assert summary["record"]["state"] == "failed"
    assert changed[0].detail in summary["record"]["detail"]
