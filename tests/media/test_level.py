"""The meter against its definition; the gate against a table of signals."""

import math

import numpy as np
import pytest

from media.frames import Pcm, silence
from media.level import GateChange, LevelGate, level_dbov

pytestmark = pytest.mark.unit

RATE = 8000
FRAME = RATE // 50


def tone(ms: float, dbov: float, rate: int = RATE, hz: float = 440.0) -> Pcm:
    amplitude = 32767 * 10 ** (dbov / 20) * math.sqrt(2)
    return np.round(amplitude * np.sin(2 * np.pi * hz * np.arange(round(rate * ms / 1000)) / rate)).astype(np.int16)


def noise(ms: float, dbov: float, seed: int = 1) -> Pcm:
    deviation = 32767 * 10 ** (dbov / 20)
    return np.random.default_rng(seed).normal(0, deviation, round(RATE * ms / 1000)).round().clip(-32767, 32767).astype(np.int16)


def rest(ms: float) -> Pcm:
    return silence(round(RATE * ms / 1000))


def changes(gate: LevelGate, *parts: Pcm, rate: int = RATE) -> list[tuple[float, float, bool]]:
    """(ms of the change, ms of the onset or end it names, speaking), the last frame filled up with silence."""
    sound = np.concatenate(parts)
    frame = rate // 50
    sound = np.concatenate((sound, np.zeros(-len(sound) % frame, np.int16)))
    found = []
    for at in range(0, len(sound), frame):
        change = gate.step(sound[at : at + frame])
        if change is not None:
            end = at + frame
            found.append((end * 1000 / rate, (end - change.samples_ago) * 1000 / rate, change.speaking))
    return found


@pytest.mark.parametrize(
    ("pcm", "expected"),
    [
        (np.array([32767, -32767] * 80, np.int16), 0.0),
        (np.full(160, -32768, np.int16), 0.0),
        (np.array([3277, -3277] * 80, np.int16), -20.0),
        (tone(100, -3.0103), -3.01),
        (tone(100, -40), -40.0),
        (np.zeros(160, np.int16), -127.0),
        (np.zeros(0, np.int16), -127.0),
        (np.array([1] + [0] * 159, np.int16), -112.35),
    ],
)
def test_level(pcm: Pcm, expected: float) -> None:
    assert level_dbov(pcm) == pytest.approx(expected, abs=0.02)


def test_speech_is_placed_to_the_sample() -> None:
    found = changes(LevelGate(RATE), rest(503), tone(700, -20), rest(400))
    (opened, onset, speaking), (closed, end, still) = found
    assert (speaking, still) == (True, False)
    assert onset == pytest.approx(503, abs=1)
    assert end == pytest.approx(1203, abs=1)
    assert 50 <= opened - 503 <= 90
    assert 200 <= closed - 1203 <= 230


@pytest.mark.parametrize("rate", [8000, 16000, 24000, 48000])
def test_every_rate_agrees(rate: int) -> None:
    sound = [np.zeros(rate // 10, np.int16), tone(300, -25, rate), np.zeros(rate // 2, np.int16)]
    assert [(round(edge), speaking) for _, edge, speaking in changes(LevelGate(rate), *sound, rate=rate)] == [
        (100, True),
        (400, False),
    ]


@pytest.mark.parametrize("ms", [0.2, 2, 10, 25, 39, 40])
@pytest.mark.parametrize("shift_ms", [0, 3, 7.5, 9.9])
def test_a_click_does_not_open(ms: float, shift_ms: float) -> None:
    assert changes(LevelGate(RATE), rest(200 + shift_ms), tone(ms, -6, hz=1000), rest(500)) == []


def test_two_clicks_apart_do_not_open() -> None:
    click = tone(30, -6)
    assert changes(LevelGate(RATE), rest(200), click, rest(30), click, rest(30), click, rest(500)) == []


def test_pauses_shorter_than_the_hang_over_do_not_close() -> None:
    found = changes(LevelGate(RATE), rest(100), tone(200, -20), rest(180), tone(200, -20), rest(400))
    assert [(round(edge), speaking) for _, edge, speaking in found] == [(100, True), (680, False)]


def test_a_pause_longer_than_the_hang_over_closes() -> None:
    found = changes(LevelGate(RATE), rest(100), tone(200, -20), rest(240), tone(200, -20), rest(400))
    assert [(round(edge), speaking) for _, edge, speaking in found] == [(100, True), (300, False), (540, True), (740, False)]


@pytest.mark.parametrize(("dbov", "opens"), [(-44, True), (-46, False), (-60, False), (-10, True)])
def test_absolute_threshold(dbov: float, opens: bool) -> None:
    assert bool(changes(LevelGate(RATE), rest(100), tone(500, dbov, hz=500))) is opens


def test_an_open_gate_takes_four_decibels_less() -> None:
    found = changes(LevelGate(RATE), rest(100), tone(200, -40, hz=500), tone(400, -48, hz=500), tone(400, -50, hz=500))
    assert [(round(edge), speaking) for _, edge, speaking in found] == [(100, True), (700, False)]


def test_steady_noise_is_learnt_and_speech_above_it_still_found() -> None:
    gate = LevelGate(RATE)
    learnt = changes(gate, noise(12_000, -38))
    assert [speaking for *_, speaking in learnt] == [True, False]
    assert learnt[1][0] < 6_500
    found = changes(gate, noise(500, -38, 2), tone(600, -18), noise(1000, -38, 3))
    assert [speaking for *_, speaking in found] == [True, False]
    assert found[0][1] == pytest.approx(500, abs=10)
    assert found[1][1] == pytest.approx(1100, abs=10)


def test_the_floor_falls_at_once_when_noise_stops() -> None:
    gate = LevelGate(RATE)
    changes(gate, noise(12_000, -38))
    assert [speaking for *_, speaking in changes(gate, rest(300), tone(300, -35), rest(300))] == [True, False]


def test_loud_steady_sound_stays_loud() -> None:
    found = changes(LevelGate(RATE), rest(100), tone(20_000, -20), rest(400))
    assert [(round(edge), speaking) for _, edge, speaking in found] == [(100, True), (20_100, False)]


def test_level_of_a_change_is_that_of_the_loud_part() -> None:
    gate = LevelGate(RATE)
    found = [c for part in (rest(100), tone(400, -20), rest(400)) for c in map(gate.step, part.reshape(-1, FRAME)) if c]
    assert [c.level_dbov for c in found] == pytest.approx([-20, -20], abs=0.3)
    assert all(isinstance(c, GateChange) for c in found)


def test_the_gate_tells_the_level_and_the_quiet_since_the_last_loud_block() -> None:
    gate, seen = LevelGate(RATE), []
    assert gate.level_dbov == -127
    for frame in np.concatenate((tone(110, -20), rest(50))).reshape(-1, FRAME):
        gate.step(frame)
        seen.append((round(gate.level_dbov), gate.quiet_samples))
    assert seen[4:] == [(-20, 0), (-23, 80), (-127, 240), (-127, 400)]


def test_a_reused_buffer_does_not_move_the_end() -> None:
    gate, buffer, sound = LevelGate(RATE), np.zeros(FRAME, np.int16), np.concatenate((tone(210, -20), rest(430)))
    ends = []
    for at in range(0, len(sound), FRAME):
        buffer[:] = sound[at : at + FRAME]
        change = gate.step(buffer)
        if change is not None and not change.speaking:
            ends.append((at + FRAME - change.samples_ago) * 1000 / RATE)
    assert ends == [pytest.approx(210, abs=1)]


@pytest.mark.parametrize("samples", [0, 81, 159, 560, 1600])
def test_odd_frames_are_refused(samples: int) -> None:
    with pytest.raises(ValueError, match="multiples of 80"):
        LevelGate(RATE).step(np.zeros(samples, np.int16))


@pytest.mark.parametrize(
    "arguments", [{"rate_hz": 11_025}, {"rate_hz": 8000, "attack_ms": 25}, {"rate_hz": 8000, "hang_over_ms": 0}]
)
def test_odd_settings_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="10 ms"):
        LevelGate(**arguments)
