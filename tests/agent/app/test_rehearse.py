"""What a script asks of caller and line is what happens."""

import wave
from pathlib import Path

import numpy as np
import pytest

from agent.app.rehearse import Rehearsed, rehearse_virtually
from agent.frontends.script import Script
from agent.timeline.events import (
    CallStarted,
    DigitReceived,
    Event,
    LineQuality,
    UtteranceStarted,
    VoiceContinued,
    VoiceStarted,
    VoiceStopped,
)
from agent.timeline.kinds import EndReason, Role, Span

pytestmark = pytest.mark.rehearsal

LATE_US = 70_000
"""From the far end's mouth to our clock: 30 ms of wire, packets of 20 ms and the least of the jitter buffer."""


def rehearsed(*says: dict[str, object], **more: object) -> Rehearsed:
    lines = {"greeting": {"text": "hello there", "must_hear": True}}
    line = {"delay_ms": 30, "jitter_ms": 0, "loss_pct": 0}
    asked = {"name": "asked", "limit_ms": 8_000, "lines": lines, "line": line, "caller": {"says": list(says)}} | more
    return rehearse_virtually(Script.model_validate(asked))


def times(done: Rehearsed, kind: type[Event]) -> list[int]:
    return [entry.t for entry in done.entries if isinstance(entry.event, kind)]


def voices(done: Rehearsed) -> list[Span]:
    return [entry.event.covers for entry in done.entries if isinstance(entry.event, VoiceStopped)]


def levels(done: Rehearsed) -> list[float]:
    return [entry.event.level_dbov for entry in done.entries if isinstance(entry.event, VoiceContinued)]


def test_acts_happen_at_their_times_and_the_call_ends_at_its_limit() -> None:
    done = rehearsed({"at_ms": 3_000, "press": "7"}, {"after": "answered", "delay_ms": 5_000, "noise_ms": 500})
    assert times(done, DigitReceived) == [pytest.approx(3_000_000 + 30_000, abs=60_000)]
    (voice,) = voices(done)
    assert voice.from_us == pytest.approx(5_000_000 + LATE_US, abs=60_000)
    assert voice.to_us - voice.from_us == pytest.approx(500_000, abs=30_000)
    assert done.outcome.reason is EndReason.CALLER_HUNG_UP
    assert done.entries[-1].t == pytest.approx(8_000_000, abs=100_000)


def test_acts_after_the_agent_wait_for_it() -> None:
    done = rehearsed({"after": "agent_utterance_start", "nth": 1, "delay_ms": 3_000, "press": "7"})
    (started,), (pressed,) = times(done, UtteranceStarted), times(done, DigitReceived)
    assert pressed - started == pytest.approx(3_000_000 + 60_000, abs=60_000)


@pytest.mark.parametrize("level_dbfs", [-30, -6])
def test_a_sound_is_as_loud_as_it_is_asked_for(level_dbfs: int) -> None:
    done = rehearsed({"at_ms": 3_000, "noise_ms": 800, "level_dbfs": level_dbfs})
    # Even noise: its power is a third (4.8 dB) below its peak's.
    assert np.median(levels(done)) == pytest.approx(level_dbfs - 4.8, abs=1)


def test_a_sound_file_is_what_the_caller_says(tmp_path: Path) -> None:
    path = tmp_path / "tone.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        tone = np.sin(np.arange(16_000 * 7 // 10) * 0.2) * 16_384
        file.writeframes(tone.astype(np.int16).tobytes())
    (voice,) = voices(rehearsed({"at_ms": 3_000, "wav": str(path)}))
    assert voice.to_us - voice.from_us == pytest.approx(700_000, abs=30_000)


def test_the_line_loses_what_it_is_told_to_lose_in_the_order_of_its_seed() -> None:
    line = {"delay_ms": 30, "jitter_ms": 0, "loss_pct": 20}
    talk = {"at_ms": 500, "noise_ms": 7_000}
    one, other, third = (rehearsed(talk, line=line, seed=seed) for seed in (1, 1, 2))
    lost = [entry.event.lost / entry.event.expected for entry in one.entries if isinstance(entry.event, LineQuality)]
    assert lost[-1] == pytest.approx(0.2, abs=0.08)
    assert _lost(one) == _lost(other) != _lost(third)
    started = one.entries[0].event
    assert isinstance(started, CallStarted)
    assert started.seed == 1


def _lost(done: Rehearsed) -> list[int]:
    return [entry.event.lost for entry in done.entries if isinstance(entry.event, LineQuality)]


def test_lines_are_said_as_the_script_has_them() -> None:
    (greeting,) = [entry.event for entry in rehearsed().entries if isinstance(entry.event, UtteranceStarted)]
    assert (greeting.role, greeting.must_hear) == (Role.GREETING, True)


def test_who_vanishes_is_given_up() -> None:
    done = rehearsed({"at_ms": 3_000, "vanish": True}, limit_ms=60_000)
    assert done.outcome.reason is EndReason.MEDIA_LOST
    assert times(done, VoiceStarted) == []
