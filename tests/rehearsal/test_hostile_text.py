"""Text that attacks: through timeline, terminal, record and report it stays text."""

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from agent.app.live import LiveCall
from agent.record.inline import InlineRecorder
from agent.timeline.codec import read
from agent.timeline.events import Transcript, UtteranceEnded
from tests.rehearsal.hostile import Rogue, hung_up, once, speech
from tests.rehearsal.stages import staged
from tests.rehearsal.test_hostile_surroundings import Ears

pytestmark = pytest.mark.rehearsal

ATTACKS = {
    "clear": "\x1b[2J\x1b[H",
    "title": "\x1b]0;owned\x07",
    "one byte csi": "\x9b31m",
    "backspace": "safe\x08\x08\x08\x08evil",
    "return": "safe\revil",
    "nul": "a\x00b",
    "delete": "a\x7fb",
    "right to left": "\u202eevil\u2066\u200f",
    "line separator": "a\u2028b\u2029c",
    "script": "</script><script>alert(1)</script><!-- ]]> &amp; \" ' `${1}`",
    "long": "x" * 19_000,
}
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


@pytest.mark.parametrize("name", list(ATTACKS))
async def test_text_that_attacks_stays_text(name: str, tmp_path: Path) -> None:
    attack = ATTACKS[name]
    recorder = InlineRecorder(tmp_path)
    ears = Ears(lambda unit: [Transcript(unit.covers, attack, True, 0.9)])
    rogue = Rogue(once(lambda unit: speech(unit, text=attack)))
    async with staged(rogue, parts=lambda parts: replace(parts, ears=ears, recorder=recorder)) as stage:
        screen = StringIO()
        live = LiveCall(Console(file=screen, width=100, color_system=None))
        stage.call.timeline.subscribe(live.learn)
        await stage.until(lambda: bool(stage.events(UtteranceEnded)))
        await hung_up(stage)
    folder = await stage.call.recorded()
    await recorder.close()
    assert folder is not None
    stored = list(read(folder / "timeline.jsonl"))
    assert attack in [entry.event.text for entry in stored if isinstance(entry.event, Transcript)]
    assert not FORBIDDEN.search(screen.getvalue())
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", page)
