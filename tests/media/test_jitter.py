"""The jitter buffer on streams with one thing wrong at a time: loss, jitter, skew, our own clock."""

import numpy as np
import pytest

from media.frames import Pcm
from media.g711 import encode_ulaw
from media.jitter import FrameState, G711Decoder, JitterBuffer, L16Decoder
from tests.media.streams import FRAME, FRAME_US, RATE, CountingDecoder, Wire, buffer, counted, feed, frames_of, random_delay, real

pytestmark = pytest.mark.unit

RECEIVED, CONCEALED, SILENT = FrameState.RECEIVED, FrameState.CONCEALED, FrameState.SILENT


def test_the_delay_is_what_it_says() -> None:
    """Network 30 ms, buffer 40: sample k, spoken at k / 8000 s and sent at once, is played 70 ms later."""
    wire = Wire(buffer())
    for now_us, frame in wire.run(100):
        if frame.state is RECEIVED and frame.pcm[0] > 0:
            spoken_us = (int(frame.pcm[0]) - 1) * 1_000_000 // RATE
            assert now_us - spoken_us == 70_000
            assert wire.buffer.delay_us == 40_000
    assert wire.buffer.stats.delay_ms == 40
    assert wire.buffer.stats.jitter_ms == pytest.approx(0, abs=0.01)


def test_before_the_first_packet_and_after_the_last_there_is_silence() -> None:
    jitter = buffer()
    assert [jitter.pull(k * FRAME_US).state for k in range(5)] == [SILENT] * 5
    states = []
    for tick in range(5, 20):
        if tick < 7:
            feed(jitter, [tick - 5], tick * FRAME_US - 10_000)
        states.append(jitter.pull(tick * FRAME_US).state)
    assert states[:2] == [SILENT, RECEIVED]  # 40 ms after 90: from the middle of the frame of 120
    assert states.count(RECEIVED) == 2
    assert states[-5:] == [SILENT] * 5
    assert jitter.stats.delay_ms == 0
    assert not jitter.pull(400_000).pcm.any()


def test_loss_is_concealed_and_counted_and_adds_no_delay() -> None:
    wire = Wire(buffer(), delay_s=lambda index: None if index % 10 == 7 else 0.03)
    frames = frames_of(wire, 500)
    stats = wire.buffer.stats
    assert stats.lost == stats.concealed_samples // FRAME == 49
    played = real(frames)
    assert played == [k for k in range(played[-1] + 1) if k // FRAME % 10 != 7]
    assert stats.delay_ms == 40


def test_redundancy_in_the_next_packet_is_used() -> None:
    wire = Wire(JitterBuffer(CountingDecoder(redundant=True), RATE), delay_s=lambda index: None if index % 10 == 7 else 0.03)
    played = real(frames_of(wire, 200))
    assert played == list(range(len(played)))
    assert wire.buffer.stats.concealed_samples == 0
    assert wire.buffer.stats.lost == 19


def test_a_burst_of_losses_adds_no_delay() -> None:
    """The creep: every underrun that conceals without moving on would stay in the delay for ever."""
    wire = Wire(buffer(), delay_s=lambda index: None if index % 50 < 4 and index > 4 else 0.03)
    delays = []
    for now_us, frame in wire.run(3000):
        if frame.state is RECEIVED and frame.pcm[0] > 0:
            spoken = int(frame.pcm[0]) - 1
            late = (now_us * RATE // 1_000_000 - spoken) % 30_000
            delays.append(late * 1000 / RATE)
    assert delays[-1] == pytest.approx(70, abs=5)
    assert max(delays) <= 115
    assert np.mean(delays) < 75


def test_an_underrun_waits_and_the_delay_comes_back() -> None:
    """One hiccup of 100 ms: no sound is lost, the delay grows by it, and in quiet it is back within ten seconds."""
    quiet = JitterBuffer(L16Decoder(RATE), RATE)
    wire = Wire(
        quiet,
        delay_s=lambda index: 0.03 + max(0, 0.1 - 0.02 * (index - 100)) * (index >= 100),
        payload=lambda at, n: bytes(2 * n),
    )
    delays = []
    for _ in wire.run(1000):
        delays.append(quiet.delay_us // 1000)
    assert quiet.stats.lost == quiet.stats.late == 0
    assert max(delays) >= 100
    assert delays[-1] <= 45
    assert quiet.stats.skew_adjustments > 5


def test_jitter_makes_it_deeper_at_once_and_calm_shallower_slowly() -> None:
    shaky = random_delay(1, 0.03, 0.11)
    quiet = JitterBuffer(L16Decoder(RATE), RATE)
    wire = Wire(quiet, delay_s=lambda index: shaky(index) if index < 1000 else 0.03, payload=lambda at, n: bytes(2 * n))
    delays = [quiet.delay_us / 1000 for _ in wire.run(3000)]
    assert 85 <= np.mean(delays[200:1000]) <= 125
    assert quiet.stats.concealed_samples < 0.01 * 1000 * FRAME
    assert delays[1100] > 80
    assert delays[-1] < 46


def test_the_depth_is_bounded() -> None:
    wire = Wire(buffer(max_delay_ms=120), delay_s=random_delay(2, 0.03, 0.5))
    for _ in wire.run(1500):
        assert wire.buffer.delay_us <= 140_000
    stats = wire.buffer.stats
    assert 60 < stats.target_ms <= 120
    assert stats.received == stats.played + stats.late + stats.duplicate + stats.dropped + stats.held


def test_reordering_and_duplicates() -> None:
    jitter, frames = buffer(min_delay_ms=60), []
    for tick in range(100):
        first = 2 * tick
        feed(jitter, [first + 1, first, first + 1], tick * 2 * FRAME_US + 5000)
        frames += [jitter.pull((2 * tick + half) * FRAME_US + 10_000) for half in range(2)]
    stats = jitter.stats
    assert (stats.duplicate, stats.reordered, stats.lost) == (100, 100, 0)
    played = real(frames)
    assert played == list(range(played[0], played[0] + len(played)))


def test_a_packet_behind_its_time_is_late_and_not_played() -> None:
    jitter, frames = buffer(), []
    for tick in range(60):
        if tick != 20:
            feed(jitter, [tick], tick * FRAME_US)
        if tick == 30:
            feed(jitter, [20], tick * FRAME_US)
        frames.append(jitter.pull(tick * FRAME_US))
    stats = jitter.stats
    assert (stats.lost, stats.late, stats.reordered) == (1, 1, 1)
    assert not set(range(20 * FRAME, 21 * FRAME)) & set(real(frames))


def test_our_own_stall_made_up_by_a_burst_of_pulls_loses_nothing() -> None:
    jitter, frames = buffer(), []
    for tick in range(100):
        if 50 <= tick < 65:
            continue
        if tick == 65:  # everything of the stall is read at once, then the ticks are made up
            feed(jitter, list(range(50, 66)), tick * FRAME_US)
            frames += [jitter.pull(tick * FRAME_US) for _ in range(16)]
            continue
        feed(jitter, [tick], tick * FRAME_US)
        frames.append(jitter.pull(tick * FRAME_US))
    played = real(frames)
    assert played == list(range(98 * FRAME))
    assert jitter.stats.delay_ms == 40
    assert jitter.stats.target_ms == 40


def test_a_jump_of_our_clock_drops_what_was_due_and_keeps_the_delay() -> None:
    jitter, frames = buffer(), []
    for tick in range(200):
        if 50 <= tick < 80:
            continue
        if tick == 80:
            feed(jitter, list(range(50, 80)), tick * FRAME_US)
            jitter.skip(30 * FRAME)
        feed(jitter, [tick], tick * FRAME_US)
        frames.append(jitter.pull(tick * FRAME_US))
    stats = jitter.stats
    assert stats.delay_ms == 40
    assert stats.dropped == 30
    assert stats.lost == 0
    played = real(frames)
    assert played == [*range(48 * FRAME), *range(78 * FRAME, 198 * FRAME)]


def test_packets_before_the_first_pull_do_not_lengthen_the_delay() -> None:
    jitter = buffer()
    for tick in range(50):
        feed(jitter, [tick], tick * FRAME_US)
    frames = []
    for tick in range(50, 100):
        feed(jitter, [tick], tick * FRAME_US)
        frames.append(jitter.pull(tick * FRAME_US))
    assert jitter.stats.delay_ms == pytest.approx(40, abs=5)
    assert real(frames)[0] >= 47 * FRAME


def test_a_long_jump_of_our_clock_is_no_restart() -> None:
    jitter = buffer()
    for tick in (*range(50), *range(250, 300)):
        if tick == 250:
            jitter.skip(200 * FRAME)
        feed(jitter, [tick], tick * FRAME_US)
        jitter.pull(tick * FRAME_US)
    assert jitter.stats.dropped == 2  # what was due in the jump
    assert jitter.stats.lost == 200
    assert jitter.stats.delay_ms == 40


def test_a_long_run_of_losses_ends_in_silence() -> None:
    wire = Wire(buffer(), delay_s=lambda index: None if 50 <= index < 70 else 0.03)
    states = [frame.state for frame in frames_of(wire, 120)]
    assert wire.buffer.stats.lost == 20
    assert RATE // 10 <= wire.buffer.stats.concealed_samples < RATE // 10 + FRAME
    concealed, silent = states.count(CONCEALED), states[40:].count(SILENT)
    assert 5 <= concealed <= 6
    assert 13 <= silent <= 15
    first = states.index(CONCEALED)
    assert states[first:] == [CONCEALED] * concealed + [SILENT] * silent + [RECEIVED] * (120 - first - concealed - silent)


def test_deeper_jitter_is_met_in_the_pauses() -> None:
    """Talkspurts with pauses of 20 ms; from 2 s on some packets are 22 ms late. A pause grows, no sound is stretched."""
    jitter, sequence, under_way = buffer(), 0, dict[int, list[tuple[int, int, int]]]()
    for tick in range(490):
        if tick % 20 < 19:
            late_us = 22_000 if tick >= 100 and tick % 20 == 3 else 0
            under_way.setdefault(tick + (2 if late_us else 0), []).append((sequence, tick, late_us))
            sequence += 1
        for number, spoken, late_us in under_way.pop(tick, []):
            jitter.put(number, spoken * FRAME, counted(spoken * FRAME, FRAME), spoken * FRAME_US + late_us)
        jitter.pull(tick * FRAME_US)
    stats = jitter.stats
    assert stats.target_ms == 47
    assert stats.delay_ms == pytest.approx(47, abs=1)
    assert stats.skew_adjustments == 0


def test_late_packets_make_it_deeper_at_once_even_in_loud_sound() -> None:
    """From 4 s on every fifth packet is 80 ms late, and there is never an underrun: the sixth one makes more than 2 %, and 65 ms
    are grown within a third of a second."""
    wire = Wire(buffer(), delay_s=lambda index: 0.11 if index >= 200 and index % 5 == 0 else 0.03)
    delays = [wire.buffer.delay_us / 1000 for _ in wire.run(300)]
    assert delays[190] == 40
    assert delays[255] >= 95
    assert wire.buffer.stats.late <= 10


def test_a_packet_that_is_half_too_late_joins_without_a_click() -> None:
    """Concealment had covered the first 10 ms of it: the rest is blended with how that would have gone on."""
    jitter, heard = JitterBuffer(L16Decoder(RATE), RATE), []
    sound = 8000 * np.sin(np.arange(60 * FRAME) * 2 * np.pi * 137 / RATE)
    sound[20 * FRAME :] *= -1  # what was made up can not fit what then comes
    sound = np.round(sound).astype(">i2")
    for tick in range(55):
        if tick != 20:
            jitter.put(tick, tick * FRAME, sound[tick * FRAME : (tick + 1) * FRAME].tobytes(), tick * FRAME_US + 10_000)
        if tick == 23:
            jitter.put(20, 20 * FRAME, sound[20 * FRAME : 21 * FRAME].tobytes(), tick * FRAME_US)
        heard.append(jitter.pull(tick * FRAME_US).pcm)
    assert 0 < jitter.stats.concealed_samples < FRAME
    assert jitter.stats.late == 0
    assert np.abs(np.diff(np.concatenate(heard[20:24]).astype(int))).max() < 950  # the tone itself steps by up to 861


def speech(samples: int, start: int) -> Pcm:
    """Loud and quiet seconds in turn."""
    at = np.arange(start, start + samples)
    return np.round(np.where(at // RATE % 2 == 0, 8000, 100) * np.sin(at * 2 * np.pi * 200 / RATE)).astype(np.int16)


@pytest.mark.parametrize("ppm", [200, -200])
def test_skew_is_removed_where_it_is_quiet(ppm: int) -> None:
    wire = Wire(JitterBuffer(G711Decoder("ulaw"), RATE), ppm=ppm, payload=lambda at, n: encode_ulaw(speech(n, at)))
    before = 0
    for _, frame in wire.run(6000):
        adjusted = wire.buffer.stats.skew_adjustments
        if adjusted > before:
            assert np.abs(frame.pcm).max() < 300
        before = adjusted
    assert before >= 4
    assert wire.buffer.stats.concealed_samples == 0


@pytest.mark.parametrize("ppm", [200, -200])
def test_in_sound_that_never_rests_skew_is_removed_without_a_click(ppm: int) -> None:

    def tone(at: int, samples: int) -> bytes:
        return encode_ulaw(np.round(8000 * np.sin(np.arange(at, at + samples) * 2 * np.pi * 265 / RATE)).astype(np.int16))

    wire = Wire(JitterBuffer(G711Decoder("ulaw"), RATE), ppm=ppm, payload=tone)
    heard = np.concatenate([frame.pcm for _, frame in wire.run(6000)]).astype(int)
    assert wire.buffer.stats.skew_adjustments >= 4
    assert wire.buffer.stats.concealed_samples == 0
    assert np.abs(np.diff(heard)).max() < 2200  # the tone itself steps by up to 1665, µ-law adds up to 512


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="0 < least <= most"):
        buffer(min_delay_ms=100, max_delay_ms=50)
    with pytest.raises(ValueError, match="no whole number of samples"):
        JitterBuffer(CountingDecoder(), 11_025)
    with pytest.raises(ValueError, match="does not jump back"):
        buffer().skip(-1)
