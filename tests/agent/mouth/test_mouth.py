import io
import threading
from collections.abc import Iterator

import numpy as np
import pytest
import structlog

from agent import logs
from agent.errors import Fault
from agent.mouth.clauses import Clause
from agent.mouth.mouth import Mouth
from agent.timeline.kinds import Alignment, Role, Word
from tests.agent.mouth.fake_voice import FakeVoice

pytestmark = pytest.mark.unit


@pytest.fixture
def told() -> Iterator[io.StringIO]:
    """What is logged, as JSON."""
    out = io.StringIO()
    logs.configure(json=True, file=out)
    yield out
    structlog.reset_defaults()


def loudest_hz(pcm: np.ndarray, rate_hz: int) -> float:
    return float(np.argmax(np.abs(np.fft.rfft(pcm))) * rate_hz / len(pcm))


@pytest.mark.parametrize("voice_hz", [22_050, 24_000])
@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000])
def test_a_clause_comes_out_at_the_rate_of_the_line(rate_hz: int, voice_hz: int) -> None:
    rendered = Mouth(FakeVoice(voice_hz), None, rate_hz).speak(Clause("one two three four five"))
    assert len(rendered.pcm) == pytest.approx(rate_hz // 2, abs=2)
    assert loudest_hz(rendered.pcm, rate_hz) == pytest.approx(440, abs=4)
    assert rendered.words[-1] == Word("five", 400_000, 500_000)


def test_another_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="not at 44100"):
        Mouth(FakeVoice(), None, 44_100)


def test_the_pause_comes_in_front_and_the_words_wait_for_it() -> None:
    rendered = Mouth(FakeVoice(), None, 8_000).speak(Clause("one two", pause_us=250_000))
    assert not rendered.pcm[:2_000].any()
    assert rendered.pcm[2_000:2_100].any()
    assert rendered.words == (Word("one", 250_000, 350_000), Word("two", 350_000, 450_000))


def test_the_same_phrase_is_rendered_once_whatever_pause_it_has() -> None:
    voice = FakeVoice()
    mouth = Mouth(voice, None, 8_000)
    first = mouth.speak(Clause("one moment"))
    again = mouth.speak(Clause("one moment", pause_us=100_000))
    assert voice.asked == ["one moment"]
    assert np.array_equal(again.pcm[800:], first.pcm)


def test_what_is_kept_is_bounded_by_its_bytes_and_the_one_unused_for_longest_goes() -> None:
    voice = FakeVoice()
    one_clause = 2 * 1_600  # bytes of 100 ms at 16 kHz
    mouth = Mouth(voice, None, 16_000, kept_bytes=2 * one_clause + 40)
    for text in ("one", "two", "one", "three", "one", "two"):
        mouth.speak(Clause(text))
    assert voice.asked == ["one", "two", "three", "two"]
    mouth.speak(Clause("much too long to be kept"))
    mouth.speak(Clause("two"))
    assert voice.asked[4:] == ["much too long to be kept"]


def test_a_kept_clause_cannot_be_written_over() -> None:
    rendered = Mouth(FakeVoice(), None, 8_000).speak(Clause("one"))
    with pytest.raises(ValueError, match="read-only"):
        rendered.pcm[0] = 1


def test_a_cancelled_clause_is_empty_and_not_kept() -> None:
    voice = FakeVoice()
    mouth = Mouth(voice, None, 8_000)
    assert len(mouth.speak(Clause("one", pause_us=1_000), lambda: True).pcm) == 0
    assert len(mouth.speak(Clause("one")).pcm) == 800
    assert len(voice.asked) == 2


def test_the_second_voice_speaks_when_the_first_fails_and_is_told_of_once(told: io.StringIO) -> None:
    voice, second = FakeVoice(name="first", broken=True), FakeVoice(22_050, name="second")
    mouth = Mouth(voice, second, 8_000)
    assert len(mouth.speak(Clause("one")).pcm) == pytest.approx(800, abs=2)
    assert len(mouth.speak(Clause("two")).pcm) == pytest.approx(800, abs=2)
    assert (mouth.fallbacks, mouth.faults) == (2, 2)
    (line,) = told.getvalue().splitlines()
    assert '"voice": "first"' in line
    assert "RuntimeError" in line
    voice.broken = False
    mouth.speak(Clause("one"))
    assert (voice.asked[-1], second.asked) == ("one", ["one", "two"])


def test_without_a_voice_that_can_say_it_the_fault_says_which_failed() -> None:
    broken = FakeVoice(name="first", broken=True)
    with pytest.raises(Fault, match="first failed and there is no second"):
        Mouth(broken, None, 8_000).speak(Clause("one"))
    with pytest.raises(Fault, match="first and second"):
        Mouth(broken, FakeVoice(name="second", broken=True), 8_000).speak(Clause("one"))


def test_the_faults_of_both_voices_are_counted() -> None:
    voice, second = FakeVoice(), FakeVoice()
    voice.faults, second.faults = 2, 3
    assert Mouth(voice, second, 8_000).faults == 5


def test_a_line_is_all_its_clauses_with_their_pauses() -> None:
    voice = FakeVoice()
    line = Mouth(voice, None, 8_000).line("Hello. How are you?", Role.GREETING, must_hear=True)
    assert voice.asked == ["Hello.", "How are you?"]
    assert (line.text, line.role, line.must_hear, line.rate_hz) == ("Hello. How are you?", Role.GREETING, True, 8_000)
    assert [word.text for word in line.words] == ["Hello.", "How", "are", "you?"]
    assert line.words[0].end_us == 100_000
    assert line.words[1].start_us > 300_000
    assert line.words[-1].end_us == line.duration_us
    assert line.alignment is Alignment.EXACT


def test_a_line_without_anything_to_say_is_empty() -> None:
    line = Mouth(FakeVoice(), None, 8_000).line("  ")
    assert (len(line.pcm), line.words, line.duration_us) == (0, (), 0)


def test_several_threads_may_speak_at_once() -> None:
    mouth = Mouth(FakeVoice(), None, 8_000, kept_bytes=8_000)
    lengths: list[int] = []

    def speak(name: str) -> None:
        for number in range(30):
            lengths.append(len(mouth.speak(Clause(f"{name} {number % 7}")).pcm))

    threads = [threading.Thread(target=speak, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lengths == [1_600] * 120
