"""A worker with the real ears, mind and mouth is killed in the middle of a call: the next one knows what this one knew."""

import random
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from agent.app.supervisor import worker_command
from agent.frontends.script import Script, load_script
from agent.lines import LineTexts, rendered
from agent.timeline.events import DelegationCreated, FrontendLost, FrontendOpened, SpeechArrived, Transcript, WorkEnded
from agent.voice_activity import SileroGate, SileroModel
from agent.weights.store import model_file
from tests.measure.callers import spoken, trimmed
from tests.voice_sounds import RATE_HZ

pytest.register_assert_rewrite("tests.peers.kills", "tests.rehearsal.accounts")

from tests.peers.kills import ObservedCall, apologised, is_sound, killing, observed_call, workplace  # noqa: E402

pytestmark = pytest.mark.model

SEED = 20_260_913
KILLS = 20
CLINIC = Path(__file__).parents[2] / "examples" / "clinic" / "knowledge"
NAME, BOOK, PRICE, NEWS, RECALL = (
    "Hello, my name is Anna Miller.",
    "I would like to book an appointment for Tuesday, please.",
    "And what does a crown cost?",
    "What about my appointment?",
    "What is my name?",
)
EARLIEST_US, LATEST_US = 200_000, 16_000_000
CALLER = """
name: killed cascade
limit_ms: 90000
line: {rate_hz: 16000, delay_ms: 20}
caller:
  says:
    - {at_ms: 5000, wav: name.wav}
    - {at_ms: 9500, wav: book.wav}
    - {at_ms: 16500, wav: price.wav}
    - {at_ms: 26000, wav: news.wav}
    - {at_ms: 32000, wav: recall.wav}
    - {at_ms: 37000, hang_up: true}
work:
  - after_ms: 60000
    status: succeeded
    text: You are booked.
    updates: [{after_ms: 100, phase: running, headline: booking Tuesday}]
"""


@pytest.fixture
def script(tmp_path: Path) -> Script:
    for name, text in (("name", NAME), ("book", BOOK), ("price", PRICE), ("news", NEWS), ("recall", RECALL)):
        pcm = trimmed(spoken(text, 0))
        with wave.open(str(tmp_path / f"{name}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE_HZ)
            file.writeframes((pcm * 32767).astype("<i2").tobytes())
    path = tmp_path / "killed.yaml"
    path.write_text(CALLER)
    return load_script(path)


def knows_everything(call: ObservedCall) -> None:
    """It was lost once and apologised for; the price was told to the end, the name known, the booking handed over once."""
    is_sound(call)
    assert len(call.told(FrontendLost)) == 1
    assert len(call.told(FrontendOpened)) == 2
    apologised(call)
    said = [event.text for _, event in call.told(SpeechArrived)]
    assert any("$1,150" in text for text in said), said
    assert any("Anna" in event.text for _, event in call.told(SpeechArrived) if event.utterance_id.endswith("@2")), said
    assert "I am still on it:" in said, said
    heard = " ".join(event.text for _, event in call.told(Transcript) if event.final)
    assert len(call.told(DelegationCreated)) == heard.lower().count("book an appointment"), heard
    assert len(call.told(WorkEnded)) == len(call.told(DelegationCreated))


def story(call: ObservedCall) -> list[str]:
    """What was heard and said when, for whoever reads a failure."""
    heard = [(t, f"heard {event.text}") for t, event in call.told(Transcript) if event.final]
    said = [(t, f"said {event.text} [{event.utterance_id}]") for t, event in call.told(SpeechArrived)]
    lost = [(t, f"lost: {event.reason}") for t, event in call.told(FrontendLost)]
    return [f"{t / 1e6:6.2f} {what}" for t, what in sorted(heard + said + lost)]


async def test_it_still_knows_the_name_the_open_question_and_the_pending_work(
    script: Script, loops: Callable[[int], int]
) -> None:
    moments = random.Random(SEED)
    gate = SileroModel(model_file("silero-vad", "silero_vad.onnx").parent)
    async with workplace(worker_command("--knowledge", str(CLINIC))) as place:
        lines = (await rendered(LineTexts(), place.pool)).at(RATE_HZ)
        for number in range(loops(KILLS)):
            at_us = moments.randrange(EARLIEST_US, LATEST_US)
            call = await observed_call(
                place,
                script,
                at_us,
                killing(place.workers),
                voice_gate=lambda rate_hz: SileroGate(gate, rate_hz),
                lines=lines,
                capabilities=("book an appointment",),
            )
            print(f"kill {number} at {at_us / 1e6:.2f} s")
            print("\n".join(story(call)))
            knows_everything(call)
            await place.freed()
    assert np.abs(lines.apology.pcm).max() > 1_000 if lines.apology else False
