import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import Refused
from tests.transports.memory.ticks import speech
from transports.memory.ear import Ear, HeardState
from transports.memory.mouth import Mouth
from transports.memory.wire import Sound

pytestmark = pytest.mark.unit


@given(st.lists(st.integers(0, 50), max_size=12), st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_what_is_taken_is_what_was_said_with_silence_behind(lengths: list[int], takes: list[int]) -> None:
    mouth = Mouth(8000)
    said = [speech(length, seed) for seed, length in enumerate(lengths)]
    for pcm in said:
        mouth.say(pcm)
    left = np.concatenate([*said, np.zeros(0, np.int16)])
    for samples in takes:
        taken = mouth.take(samples)
        if not len(left):
            assert taken is None
            continue
        assert taken is not None
        due, left = left[:samples], left[samples:]
        assert np.array_equal(taken, np.concatenate([due, np.zeros(samples - len(due), np.int16)]))
        assert mouth.queued == len(left)


def test_the_source_speaks_only_when_nothing_is_queued() -> None:
    mouth = Mouth(8000)
    mouth.source = lambda samples: np.full(samples, 7, np.int16)
    mouth.say(np.full(3, 5, np.int16))
    first, second = mouth.take(4), mouth.take(2)
    assert first is not None
    assert second is not None
    assert (first.tolist(), second.tolist()) == ([5, 5, 5, 0], [7, 7])
    mouth.stop()
    assert mouth.take(2) is None


def test_audio_of_a_wrong_kind_is_refused() -> None:
    mouth = Mouth(8000)
    with pytest.raises(Refused, match="float32"):
        mouth.say(np.zeros(4, np.float32))
    with pytest.raises(Refused, match="axes"):
        mouth.say(np.zeros((4, 2), np.int16))
    mouth.source = lambda samples: np.zeros(samples + 1, np.int16)
    with pytest.raises(Refused, match="the source gave"):
        mouth.take(4)


def test_a_queue_longer_than_a_call_is_refused() -> None:
    mouth = Mouth(1)
    mouth.say(np.ones(14_000, np.int16))
    with pytest.raises(Refused, match="14000"):
        mouth.say(np.ones(1_000, np.int16))


def ear(echo_gain: float = 0.0, keep_all: bool = False) -> Ear:
    return Ear(lambda payload: np.frombuffer(payload, np.int16), 8000, keep_all=keep_all, echo_gain=echo_gain)


def test_an_ear_remembers_ten_seconds_or_all() -> None:
    short, long = ear(), ear(keep_all=True)
    for one in (short, long):
        for number in range(700):
            one.hear(number * 20_000, Sound(None, False))
    assert (len(short.frames), short.frames[0].at_us) == (500, 200 * 20_000)
    assert len(long.frames) == 700


def test_lost_and_unsent_sound_are_told_apart() -> None:
    one = ear()
    states = [one.hear(0, sound).state for sound in (Sound(b"\0\0" * 160, False), Sound(None, True), Sound(None, False))]
    assert states == [HeardState.RECEIVED, HeardState.LOST, HeardState.SILENT]
    assert len(one.heard()) == 480


def test_the_echo_is_the_stretch_that_was_heard_attenuated() -> None:
    one, sound = ear(echo_gain=0.5), speech(480)
    for number in range(3):
        one.hear(number * 20_000, Sound(sound[number * 160 :][:160].tobytes(), False))
    echo = one.echo(50_000, 160)
    assert echo is not None
    assert np.array_equal(echo, np.rint(sound[240:400] * 0.5).astype(np.int16))
    assert one.echo(500_000, 160) is None
