"""Voice evidence from frames, and its way into the units."""

import re
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.intake import PAUSED_AFTER_US, TOLD_EVERY_US, Intake, VoiceActivity, VoiceEvidence
from agent.line import MediaFrame, MediaState
from agent.settings import TICK_US
from agent.timeline.events import VoiceContinued, VoicePaused, VoiceStarted, VoiceStopped
from agent.timeline.kinds import Span
from media.level import GateChange, LevelGate

pytestmark = pytest.mark.unit

RATE = 8_000
FRAME = RATE // 50
MS = 1_000


class ScriptedGate:
    """Opens, closes and is quiet as told, one entry a frame: a change, or how long it has been quiet, in ms."""

    def __init__(self, script: Iterable[GateChange | int | None]) -> None:
        self._script = iter(script)
        self.speaking = False
        self.level_dbov = -20.0
        self.quiet_samples = 0

    def step(self, pcm: np.ndarray) -> GateChange | None:
        told = next(self._script, None)
        if isinstance(told, GateChange):
            self.speaking = told.speaking
            self.quiet_samples = 0
            return told
        self.quiet_samples = (told or 0) * RATE // 1000
        return None


OPENS, CLOSES = GateChange(True, 60 * RATE // 1000, -20.04), GateChange(False, 200 * RATE // 1000, -21.0)


def frame(pcm: np.ndarray | None = None, delay_us: int = 0) -> MediaFrame:
    return MediaFrame(np.zeros(FRAME, np.int16) if pcm is None else pcm, MediaState.RECEIVED, delay_us)


def told(gate: ScriptedGate | LevelGate, frames: Iterable[MediaFrame]) -> list[tuple[int, VoiceEvidence]]:
    """When each piece of evidence was told, in ms, and the evidence."""
    voice = VoiceActivity(RATE, gate)
    return [(tick * 20, event) for tick, one in enumerate(frames, 1) for event in voice.step(tick * TICK_US, one)]


def test_a_voice_starts_goes_on_pauses_and_stops() -> None:
    found = told(ScriptedGate([None] * 4 + [OPENS] + [0] * 6 + [20, 40, 60, 80, 100, 120, 140, 160, 180, CLOSES]), [frame()] * 21)
    assert found == [
        (100, VoiceStarted(Span(40 * MS, 100 * MS), -20.0)),
        (140, VoiceContinued(Span(40 * MS, 140 * MS), -20.0)),
        (320, VoicePaused(Span(40 * MS, 220 * MS))),
        (420, VoiceStopped(Span(40 * MS, 220 * MS))),
    ]


def test_a_pause_is_told_once_and_its_end_at_once() -> None:
    found = told(ScriptedGate([OPENS, 0, 0, 80, 100, 120, 10, 10, 80, 100, 120, 140]), [frame()] * 12)
    assert [(at, type(event).__name__) for at, event in found] == [
        (20, "VoiceStarted"),
        (100, "VoicePaused"),
        (140, "VoiceContinued"),
        (200, "VoicePaused"),
    ]
    assert found[2][1].covers.to_us == 130 * MS


def test_a_short_breath_is_no_pause() -> None:
    found = told(ScriptedGate([OPENS, 0, 20, 40, 60, 90, 0, 0]), [frame()] * 8)
    assert [type(event) for _, event in found] == [VoiceStarted, VoiceContinued]


def test_who_stops_has_paused_however_fast_the_gate_is() -> None:
    found = told(ScriptedGate([OPENS, 0, 0, GateChange(False, 30 * RATE // 1000, -20.0)]), [frame()] * 4)
    assert [event for _, event in found[1:]] == [VoicePaused(Span(0, 50 * MS)), VoiceStopped(Span(0, 50 * MS))]


def test_a_stretch_of_voice_after_another_pauses_for_itself() -> None:
    found = told(ScriptedGate([OPENS, 100, CLOSES, OPENS, 0, 100]), [frame()] * 6)
    assert [type(event) for _, event in found] == [VoiceStarted, VoicePaused, VoiceStopped, VoiceStarted, VoicePaused]


def test_evidence_is_placed_where_the_sound_reached_us() -> None:
    found = told(ScriptedGate([None] * 9 + [OPENS]), [frame(delay_us=70 * MS)] * 10)
    assert found == [(200, VoiceStarted(Span(90 * MS, 150 * MS), -20.0))]


def test_units_carry_all_voice_evidence_in_its_order() -> None:
    gate = ScriptedGate([OPENS] + [0] * 5 + [100, 0, 100, CLOSES])
    intake = Intake(RATE, 100_000, 0, gate)
    units = [unit for tick in range(1, 11) for unit in intake.frame(tick * TICK_US, frame())[1]]
    names = [[type(evidence).__name__ for evidence in unit.evidence] for unit in units]
    assert names == [["VoiceStarted", "VoiceContinued"], ["VoicePaused", "VoiceContinued", "VoicePaused", "VoiceStopped"]]


def test_what_is_learned_is_also_told_to_the_call() -> None:
    intake = Intake(RATE, 100_000, 0, ScriptedGate([OPENS, GateChange(False, 0, -20.0)]))
    assert [type(event) for event in intake.frame(TICK_US, frame())[0]] == [VoiceStarted]
    assert [type(event) for event in intake.frame(2 * TICK_US, frame())[0]] == [VoicePaused, VoiceStopped]


def test_a_level_gate_listens_where_no_other_is_given() -> None:
    tone = np.tile(np.array([3000, -3000], np.int16), FRAME // 2)
    intake = Intake(RATE, 100_000, 0)
    events = [event for tick in range(1, 30) for event in intake.frame(tick * TICK_US, frame(tone if tick < 10 else None))[0]]
    assert [type(event) for event in events] == [VoiceStarted, VoiceContinued, VoicePaused, VoiceStopped]


WORD = {VoiceStarted: "s", VoiceContinued: "c", VoicePaused: "p", VoiceStopped: "e"}


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 20)), max_size=20), st.integers(0, 60))
def test_whatever_is_heard_the_evidence_is_in_order(stretches: list[tuple[bool, int]], delay_ms: int) -> None:
    tone = np.tile(np.array([3000, -3000], np.int16), FRAME // 2)
    frames = [frame(tone if loud else None, delay_ms * MS) for loud, length in stretches for _ in range(length)]
    found = told(LevelGate(RATE), frames)
    assert re.fullmatch("(sc*(pc+)*pe)*(sc*(pc+)*p?)?", "".join(WORD[type(event)] for _, event in found))
    ends = [event.covers.to_us for _, event in found]
    assert ends == sorted(ends)
    assert all(event.covers.from_us <= event.covers.to_us <= at * MS for at, event in found)
    assert all(at * MS - event.covers.to_us >= PAUSED_AFTER_US for at, event in found if isinstance(event, VoicePaused))


def test_a_voice_is_told_of_ten_times_a_second() -> None:
    found = told(ScriptedGate([OPENS] + [0] * 99), [frame()] * 100)
    went_on = [event.covers.to_us for _, event in found if isinstance(event, VoiceContinued)]
    assert went_on == list(range(TOLD_EVERY_US, 2_000 * MS + 1, TOLD_EVERY_US))
