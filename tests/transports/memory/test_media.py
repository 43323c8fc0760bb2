import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.line import LineEvent, MediaState
from agent.timeline.events import DigitReceived, FaultReported, LineQuality
from media.g711 import decode_alaw, decode_ulaw, encode_alaw, encode_ulaw
from tests.transports.memory.ticks import Ticks, answered, place_of, speech, tone
from transports.memory import HeardFrame, HeardState, WireSettings

pytestmark = pytest.mark.unit

LAWS = {"ulaw": lambda pcm: decode_ulaw(encode_ulaw(pcm)), "alaw": lambda pcm: decode_alaw(encode_alaw(pcm))}


# --- clean wires ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate_hz", [8000, 16_000, 24_000, 48_000])
@pytest.mark.parametrize("packet_ms", [10, 20, 30, 60])
async def test_the_far_end_arrives_bit_by_bit_after_a_constant_delay(rate_hz: int, packet_ms: int) -> None:
    ticks = await answered(WireSettings(rate_hz=rate_hz, packet_ms=packet_ms))
    said = speech(rate_hz)
    ticks.far.say(said)
    assert ticks.far.speaking
    await ticks.run(75)
    assert not ticks.far.speaking
    start = place_of(said, ticks.received())
    assert 30 <= start * 1000 / rate_hz <= 30 + 40 + 2 * packet_ms + 20
    assert np.count_nonzero(ticks.received()) == len(said)
    assert set(ticks.states(since=10)) == {MediaState.RECEIVED}


@pytest.mark.parametrize("rate_hz", [8000, 16_000, 48_000])
async def test_what_we_send_is_heard_bit_by_bit_at_its_time(rate_hz: int) -> None:
    ticks = await answered(WireSettings(rate_hz=rate_hz, delay_ms=45))
    said = speech(rate_hz)
    size = rate_hz // 50
    await ticks.run(60, lambda number: said[number * size :][:size] if number < 50 else None)
    frames = ticks.far.frames
    assert [frame.at_us for frame in frames] == [20_000 * (number + 1) + 45_000 for number in range(len(frames))]
    assert np.array_equal(ticks.far.heard()[: len(said)], said)
    assert {frame.state for frame in frames[50:]} == {HeardState.SILENT}


@pytest.mark.parametrize("law", ["ulaw", "alaw"])
async def test_g711_both_ways(law: str) -> None:
    ticks = await answered(WireSettings(codec=law, rate_hz=8000))  # type: ignore[arg-type]
    said = tone(8000, 8000)
    ticks.far.say(said)
    await ticks.run(75, lambda number: said[number * 160 :][:160] if number < 50 else None)
    assert place_of(LAWS[law](said), ticks.received()) > 0
    assert np.array_equal(ticks.far.heard()[:8000], LAWS[law](said))


async def test_the_sender_may_reuse_its_buffer() -> None:
    ticks = await answered()
    frame = np.full(320, 5, np.int16)
    ticks.line.send(frame)
    ticks.far.say(frame)
    frame[:] = 9
    await ticks.run(10)
    assert ticks.far.frames[0].pcm.tolist() == [5] * 320
    assert 9 not in ticks.received()


async def test_every_frame_the_far_end_hears_is_reported_once() -> None:
    ticks = await answered()
    seen: list[HeardFrame] = []
    ticks.far.on_frame = seen.append
    await ticks.run(20, lambda number: speech(320, number))
    assert tuple(seen) == ticks.far.frames
    assert len(seen) == 18


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 65_535), st.integers(0, 2**32 - 1), st.sampled_from([10, 20, 40]))
async def test_numbers_may_wrap_anywhere(sequence: int, timestamp: int, packet_ms: int) -> None:
    for first in ((sequence, timestamp), (65_535 - sequence % 40, 2**32 - 1 - timestamp % 12_000)):
        ticks = Ticks(WireSettings(packet_ms=packet_ms))
        ticks.far.restart_stream(*first)
        await ticks.line.accept()
        said = speech(16_000)
        ticks.far.say(said)
        await ticks.run(65)
        assert place_of(said, ticks.received()) > 0


# --- loss, jitter, bursts ---------------------------------------------------------------------------------------------------


async def test_lost_packets_are_concealed_where_they_are_missing() -> None:
    lost = {20, 33, 34}
    ticks = await answered(WireSettings(delay_ms=40, loss=lost, outward_loss=[5, 8]))
    ticks.far.source = lambda samples: tone(samples, 16_000, hz=400)
    await ticks.run(80, lambda number: speech(320))
    states = ticks.states()
    first = states.index(MediaState.RECEIVED)
    assert [number - first for number, state in enumerate(states) if state is MediaState.CONCEALED] == sorted(lost)
    assert [number for number, frame in enumerate(ticks.far.frames) if frame.state is HeardState.LOST] == [5, 8]
    assert ticks.told(LineQuality)[-1].lost == 3


async def test_jitter_and_overtaking_lose_nothing() -> None:
    ticks = await answered(WireSettings(jitter_ms=70, delay_ms=20, seed=4))
    ticks.far.source = lambda samples: np.zeros(samples, np.int16)
    await ticks.run(150)
    said = speech(32_000)
    ticks.far.say(said)
    await ticks.run(150)
    assert ticks.states(since=150).count(MediaState.CONCEALED) == 0
    assert place_of(said, ticks.received()) > 0
    quality = ticks.told(LineQuality)[-1]
    assert quality.lost == 0
    assert quality.far_end_delay_us == 90_000
    assert 5_000 < quality.jitter_us < 50_000


async def test_a_burst_withholds_sound_and_then_the_call_goes_on() -> None:
    ticks = await answered()
    ticks.far.source = lambda samples: tone(samples, 16_000, hz=400)
    await ticks.run(50)
    ticks.far.burst(400)
    await ticks.run(20)
    assert MediaState.RECEIVED not in ticks.states(since=58)
    await ticks.run(60)
    assert set(ticks.states(since=110)) == {MediaState.RECEIVED}


async def test_a_far_end_may_send_nothing_while_it_is_quiet() -> None:
    ticks = await answered(dtx=True)
    await ticks.run(50)
    assert set(ticks.states()) == {MediaState.SILENT}
    first, second = speech(8_000, 1), speech(8_000, 2)
    ticks.far.say(first)
    await ticks.run(100)
    ticks.far.say(second)
    await ticks.run(60)
    assert place_of(first, ticks.received()) > 0
    # The first 5 ms after a gap are faded in.
    assert place_of(second[80:], ticks.received()) > place_of(first, ticks.received())
    assert ticks.told(LineQuality)[-1].lost == 0


async def test_what_is_said_while_muted_is_lost() -> None:
    ticks = await answered()
    said = speech(16_000)
    ticks.far.say(said)
    await ticks.run(10)
    ticks.far.mute(200)
    await ticks.run(60)
    sound = ticks.received()
    assert place_of(said[:3200], sound) > 0
    assert place_of(said[6400:], sound) == place_of(said[:3200], sound) + 6400
    assert np.count_nonzero(sound) == 16_000 - 3200


async def test_a_new_stream_is_heard_like_the_old_one() -> None:
    ticks = await answered()
    await ticks.run(50)
    for sequence, timestamp in ((None, None), (0, 0), (65_535, 2**32 - 1)):
        ticks.far.restart_stream(sequence, timestamp)
        await ticks.run(50)
        said, since = speech(8_000), len(ticks.frames)
        ticks.far.say(said)
        await ticks.run(75)
        assert place_of(said, ticks.received(since)) > 0


async def test_a_flood_is_bounded_told_of_and_survived() -> None:
    ticks = await answered()
    ticks.far.source = lambda samples: tone(samples, 16_000, hz=400)
    await ticks.run(50)
    for _ in range(100):
        ticks.far.flood(1000)
        await ticks.run(1)
    for _ in range(4):
        ticks.far.flood(2048)
    ticks.far.press("1")
    await ticks.run(5)
    assert ticks.told(DigitReceived) == [DigitReceived("1", "memory")]
    told = ticks.told(FaultReported)
    assert 1 <= len(told) <= 3
    assert {fault.code for fault in told} == {"line_flood"}
    await ticks.run(150)
    assert ticks.states(since=255) == [MediaState.RECEIVED] * 50


# --- clocks -----------------------------------------------------------------------------------------------------------------


async def test_after_a_stall_of_our_ticker_the_delay_is_what_it_was() -> None:
    ticks = await answered()
    await ticks.run(50)
    before, since = speech(3200, 1), len(ticks.frames)
    ticks.far.say(before)
    await ticks.run(50)
    delay = place_of(before, ticks.received(since))
    ticks.far.say(speech(32_000, 2))
    await ticks.run(10, lambda number: speech(320))
    await ticks.stall(15)
    await ticks.run(10, lambda number: speech(320))
    await ticks.stall(100)
    await ticks.run(50, lambda number: speech(320))
    after, since = speech(3200, 3), len(ticks.frames)
    ticks.far.say(after)
    await ticks.run(50, lambda number: speech(320))
    assert abs(place_of(after, ticks.received(since)) - delay) <= 320
    times = [frame.at_us for frame in ticks.far.frames]
    assert sorted({b - a for a, b in itertools.pairwise(times)}) == [20_000, 320_000, 2_020_000]


@pytest.mark.parametrize("skew_ppm", [-200.0, 0.0, 200.0])
async def test_six_minutes_of_clock_skew_do_not_move_the_delay(skew_ppm: float) -> None:
    ticks = await answered(WireSettings(skew_ppm=skew_ppm, jitter_ms=10))
    click, delays = np.full(160, 12_000, np.int16), []
    for _ in range(36):
        since = len(ticks.frames)
        ticks.far.say(click)
        await ticks.run(500)
        delays.append(int(np.argmax(np.abs(ticks.received(since)) > 6_000)) / 16)
    assert min(delays) > 0
    assert max(delays) - min(delays) <= 45
    assert abs(np.mean(delays[-6:]) - np.mean(delays[3:9])) <= 15


async def test_a_late_tick_does_not_bend_what_the_far_end_hears() -> None:
    ticks = await answered()
    for number in range(20):
        await ticks.clock.sleep_until(20_000 * (number + 1) + (7_000 if number % 3 else 0))
        ticks.line.receive()
        ticks.line.send(speech(320))
    times = [frame.at_us for frame in ticks.far.frames]
    assert {b - a for a, b in itertools.pairwise(times)} == {20_000}


# --- echo -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("echo_ms", [0, 55, 300])
async def test_the_far_end_returns_what_it_hears(echo_ms: int) -> None:
    ticks = await answered(WireSettings(echo_db=-20, echo_ms=echo_ms, delay_ms=30))
    said = speech(3200)
    await ticks.run(100, lambda number: said[number * 320 :][:320] if number < 10 else None)
    echo = np.rint(said * np.float32(0.1)).astype(np.int16)
    since_sent_ms = place_of(echo, ticks.received()) / 16 - 20
    assert 60 + echo_ms <= since_sent_ms <= 60 + echo_ms + 80
    assert np.count_nonzero(ticks.received()) == np.count_nonzero(echo)


async def test_echo_is_added_to_speech_and_never_overflows() -> None:
    ticks = await answered(WireSettings(echo_db=0, echo_ms=0))
    ticks.far.source = lambda samples: np.full(samples, 30_000, np.int16)
    await ticks.run(50, lambda number: np.full(320, 20_000 if number < 25 else -20_000, np.int16))
    assert {30_000, 32_767, 10_000} <= set(ticks.received().tolist())
    assert ticks.received().min() >= 0


# --- determinism ------------------------------------------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(["l16", "ulaw", "alaw"]))
async def test_equal_seeds_give_equal_calls(seed: int, codec: str) -> None:
    async def call(seed: int) -> tuple[bytes, list[MediaState], bytes, list[LineEvent]]:
        ticks = await answered(
            WireSettings(
                codec=codec,  # type: ignore[arg-type]
                rate_hz=8000,
                loss=0.05,
                loss_burst=2,
                jitter_ms=50,
                skew_ppm=90,
                echo_db=-25,
                seed=seed,
            )
        )
        ticks.far.say(speech(12_000))
        await ticks.run(40, lambda number: speech(160, number))
        ticks.far.flood(20)
        ticks.far.press("12")
        await ticks.run(40, lambda number: speech(160, number))
        return ticks.received().tobytes(), ticks.states(), ticks.far.heard().tobytes(), ticks.events

    assert await call(seed) == await call(seed)
    assert (await call(seed))[:3] != (await call(seed + 1))[:3]
