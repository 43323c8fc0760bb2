"""The jitter buffer and what senders do: packet times, restarts, pauses, events, markers, other clocks, rubbish."""

import pytest

from media.jitter import FrameState, JitterBuffer
from tests.media.streams import FRAME, FRAME_US, RATE, CountingDecoder, Wire, buffer, counted, feed, frames_of, real

pytestmark = pytest.mark.unit

RECEIVED = FrameState.RECEIVED


@pytest.mark.parametrize("packet_ms", [10, 20, 30, 40, 60])
def test_any_packet_time_plays_whole(packet_ms: int) -> None:
    """SIPp's recording has 30 ms packets: a buffer that takes every packet for 20 ms conceals each third frame."""
    wire = Wire(buffer(), packet_ms=packet_ms)
    frames = frames_of(wire, 200)
    played = real(frames)
    assert played == list(range(len(played)))
    assert len(played) >= 190 * FRAME
    stats = wire.buffer.stats
    assert (stats.lost, stats.concealed_samples, stats.late, stats.skew_adjustments) == (0, 0, 0, 0)
    assert all(len(frame.pcm) == FRAME for frame in frames)


def test_sequence_and_timestamp_wrap() -> None:
    wire = Wire(buffer(), first_sequence=65_530, first_timestamp=2**32 - 500)
    played = real(frames_of(wire, 300))
    assert played == list(range(len(played)))
    assert wire.buffer.stats.lost == 0


@pytest.mark.parametrize(("sequence", "timestamp"), [(30_000, 5), (0, 2**31), (105, 900_000), (60_000, 105 * FRAME)])
def test_a_sender_that_restarts_is_followed(sequence: int, timestamp: int) -> None:
    jitter, frames = buffer(), []
    for tick in range(100):
        feed(jitter, [tick], tick * FRAME_US)
        frames.append(jitter.pull(tick * FRAME_US))
    for tick in range(100, 200):
        index = tick - 100
        jitter.put(
            (sequence + index) & 0xFFFF, (timestamp + index * FRAME) & 0xFFFFFFFF, counted(index * FRAME, FRAME), tick * FRAME_US
        )
        frames.append(jitter.pull(tick * FRAME_US))
    stats = jitter.stats
    assert stats.lost == 0
    assert stats.dropped <= 2
    assert stats.delay_ms == 40
    played = real(frames[104:])
    assert played == list(range(played[0], 98 * FRAME))
    assert played[0] <= 2 * FRAME


def test_stray_packets_that_do_not_agree_change_nothing() -> None:
    jitter, frames = buffer(), []
    for tick in range(100):
        feed(jitter, [tick], tick * FRAME_US)
        if tick == 50:
            jitter.put(40_000, 12_345, counted(7, FRAME), tick * FRAME_US)
            jitter.put(40_001, 2**31, counted(7, FRAME), tick * FRAME_US)
        frames.append(jitter.pull(tick * FRAME_US))
    played = real(frames)
    assert played == list(range(len(played)))
    assert (jitter.stats.dropped, jitter.stats.lost) == (2, 0)


@pytest.mark.parametrize("pause_ticks", [4, 10, 90])
@pytest.mark.parametrize("marker", [True, False])
def test_silence_suppression_is_not_loss(pause_ticks: int, marker: bool) -> None:
    """Consecutive sequence numbers and a jump of the timestamp: the sender had nothing to say."""
    jitter, frames, sequence = buffer(), [], 0
    for tick in range(60 + pause_ticks):
        if not 30 <= tick < 30 + pause_ticks:
            starts = marker and tick in (0, 30 + pause_ticks)
            jitter.put(sequence, tick * FRAME, counted(tick * FRAME, FRAME), tick * FRAME_US, starts)
            sequence += 1
        frames.append(jitter.pull(tick * FRAME_US))
    stats = jitter.stats
    assert (stats.lost, stats.late, stats.dropped) == (0, 0, 0)
    assert stats.concealed_samples <= RATE // 10
    assert stats.delay_ms == pytest.approx(40, abs=5)
    assert set(real(frames)) == set(range(30 * FRAME)) | set(range((30 + pause_ticks) * FRAME, (58 + pause_ticks) * FRAME))


def test_a_sender_whose_clock_stands_still_in_pauses_is_heard_at_once() -> None:
    jitter, frames = buffer(), []
    for tick in range(200):
        if not 30 <= tick < 70:
            feed(jitter, [tick if tick < 30 else tick - 40], tick * FRAME_US)
        frames.append(jitter.pull(tick * FRAME_US))
    played = real(frames)
    assert played == list(range(len(played)))
    assert len(played) == 158 * FRAME
    assert jitter.stats.late == 0


def test_telephone_events_and_comfort_noise_are_not_loss() -> None:
    jitter = buffer()
    for tick in range(100):
        event = 40 <= tick < 48
        payload = b"" if event else counted(tick * FRAME, FRAME)
        jitter.put(tick, (40 if event else tick) * FRAME, payload, tick * FRAME_US)
        jitter.pull(tick * FRAME_US)
    stats = jitter.stats
    assert (stats.lost, stats.late, stats.duplicate) == (0, 0, 0)
    assert stats.received == 92


def test_a_marker_on_every_packet_hides_no_loss() -> None:
    jitter = buffer()
    for tick in range(100):
        if tick % 10 != 5:
            jitter.put(tick, tick * FRAME, counted(tick * FRAME, FRAME), tick * FRAME_US, marker=True)
        jitter.pull(tick * FRAME_US)
    assert jitter.stats.lost == 10
    assert jitter.stats.concealed_samples == 10 * FRAME


def test_a_lost_start_of_a_talkspurt_is_silence() -> None:
    jitter = buffer()
    for tick in range(100):
        if tick < 30:
            jitter.put(tick, tick * FRAME, counted(tick * FRAME, FRAME), tick * FRAME_US)
        if tick >= 34:  # three frames of pause; the packet of tick 33 was lost
            jitter.put(tick - 3, tick * FRAME, counted(tick * FRAME, FRAME), tick * FRAME_US, marker=tick == 34)
        jitter.pull(tick * FRAME_US)
    assert jitter.stats.lost == 1
    assert jitter.stats.concealed_samples <= 3 * FRAME  # what the underrun made up before anything was known


def test_other_clock_rates() -> None:
    """G.722: 320 samples of 16 kHz on an 8 kHz RTP clock. Opus: 48 kHz clock, decoded at 16 kHz."""
    for clock in (8000, 48_000):
        jitter, frames = JitterBuffer(CountingDecoder(), 16_000, timestamp_rate_hz=clock), []
        for tick in range(100):
            jitter.put(tick, tick * clock // 50, counted(tick * 320, 320), tick * FRAME_US)
            frames.append(jitter.pull(tick * FRAME_US))
        played = real(frames)
        assert played == list(range(98 * 320))
        assert jitter.stats.delay_ms == 40


def test_a_packet_of_an_earlier_number_and_a_later_time_is_late() -> None:
    """A decoder with memory must never be given packets backwards, whatever their timestamps say."""
    jitter = buffer()
    for tick in range(50):
        if tick != 20:
            feed(jitter, [tick], tick * FRAME_US)
        if tick == 30:
            jitter.put(20, 31 * FRAME, counted(31 * FRAME, FRAME), tick * FRAME_US)
        jitter.pull(tick * FRAME_US)
    assert jitter.stats.late == 1
    assert jitter.stats.played + jitter.stats.held == 49


def test_a_flood_is_bounded_and_leaves_it_working() -> None:
    jitter = buffer()
    for index in range(5000):
        jitter.put(index & 0xFFFF, index * FRAME, counted(index * FRAME, FRAME), 0)
        assert jitter.stats.held <= 65
    stats = jitter.stats
    assert stats.received == 5000 == stats.played + stats.late + stats.duplicate + stats.dropped + stats.held
    frames = []
    for tick in range(200):
        index = 5000 + tick
        jitter.put(index & 0xFFFF, index * FRAME, counted(index * FRAME, FRAME), tick * FRAME_US)
        frames.append(jitter.pull(tick * FRAME_US))
    assert [frame.state for frame in frames[-100:]] == [RECEIVED] * 100
    assert jitter.stats.delay_ms <= 220


def test_packets_that_can_not_be_read_are_dropped() -> None:
    jitter = buffer()
    for tick in range(50):
        payload = (b"junk", bytes(9000), counted(tick * FRAME, 0))[tick % 3] if 20 <= tick < 26 else counted(tick * FRAME, FRAME)
        jitter.put(tick, tick * FRAME, payload, tick * FRAME_US)
        assert len(jitter.pull(tick * FRAME_US).pcm) == FRAME
    stats = jitter.stats
    assert stats.dropped == 6
    assert stats.received == 50 == stats.played + stats.dropped + stats.held
