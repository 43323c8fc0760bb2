"""The toned voice and sound files."""

import wave
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import Refused
from agent.frontends import tone
from agent.frontends.tone import PEAK, ToneVoice, load_wav

pytestmark = pytest.mark.unit


def test_word_times_follow_letters_and_punctuation() -> None:
    _, words = ToneVoice(16_000).speak("We are, finally open.")
    assert [(word.text, word.start_us, word.end_us) for word in words] == [
        ("We", 0, 150_000),
        ("are,", 210_000, 405_000),
        ("finally", 605_000, 980_000),
        ("open.", 1_040_000, 1_280_000),
    ]


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 48_000])
def test_sound_is_where_the_words_are_and_silence_between_them(rate_hz: int) -> None:
    pcm, words = ToneVoice(rate_hz).speak("One two, three.")
    spoken = np.zeros(len(pcm), bool)
    for word in words:
        spoken[word.start_us * rate_hz // 1_000_000 : word.end_us * rate_hz // 1_000_000] = True
    assert len(pcm) * 1_000_000 == words[-1].end_us * rate_hz
    assert not pcm[~spoken].any()
    for word in words:
        middle = pcm[(word.start_us + 30_000) * rate_hz // 1_000_000 : (word.end_us - 50_000) * rate_hz // 1_000_000]
        frames = middle[: len(middle) // (rate_hz // 50) * (rate_hz // 50)].reshape(-1, rate_hz // 50).astype(float)
        quietest_dbfs = 20 * np.log10(np.sqrt((frames**2).mean(axis=1)).min() / 32768)
        assert quietest_dbfs > -40


def test_peak_is_twelve_db_below_full_scale_and_the_same_text_sounds_the_same() -> None:
    first, _ = ToneVoice(24_000).speak("Mm-hm, I see!")
    tone._speak.cache_clear()
    again, _ = ToneVoice(24_000).speak("Mm-hm, I see!")
    assert np.abs(first.astype(int)).max() == PEAK == 8231
    assert first.tobytes() == again.tobytes()


def test_voices_differ_by_pitch_and_speed() -> None:
    def strongest_hz(pitch_hz: float) -> float:
        pcm, words = ToneVoice(8_000, pitch_hz).speak("aaaaaaaaaaaa bb")
        word = pcm[: words[0].end_us * 8 // 1000].astype(float)
        signal = np.correlate(word, word, "full")[len(word) - 1 :]
        lags = np.arange(16, 134)
        return 8_000 / lags[np.argmax(signal[16:134])]

    assert strongest_hz(100) == pytest.approx(100, rel=0.08)
    assert strongest_hz(250) == pytest.approx(250, rel=0.08)
    slow, _ = ToneVoice(8_000, speed=1.0).speak("hello there")
    fast, _ = ToneVoice(8_000, speed=2.0).speak("hello there")
    assert len(fast) == pytest.approx(len(slow) / 2, rel=0.02)


def test_pitch_falls_at_the_end_of_a_sentence_and_rises_at_the_end_of_a_question() -> None:
    told, asked = ToneVoice(8_000).speak("banana.")[0], ToneVoice(8_000).speak("banana?")[0]

    def crossings(pcm: np.ndarray) -> int:
        spectrum = np.fft.rfft(pcm[-1200:].astype(float) * np.hanning(1200))
        return int(np.argmax(np.abs(spectrum[: 250 * 1200 // 8000])))

    assert crossings(asked) > crossings(told)


@settings(max_examples=40)
@given(st.text(max_size=60))
def test_any_text_is_spoken_word_by_word(text: str) -> None:
    pcm, words = ToneVoice(8_000).speak(text)
    assert [word.text for word in words] == text.split()
    assert len(pcm) == (words[-1].end_us * 8 // 1000 if words else 0)
    assert all(word.start_us < word.end_us for word in words)
    assert all(one.end_us < other.start_us for one, other in pairwise(words))


@pytest.mark.parametrize("wrong", [{"rate_hz": 4_000}, {"rate_hz": 8_000, "pitch_hz": 20}, {"rate_hz": 8_000, "speed": 9}])
def test_a_voice_out_of_range_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(Refused, match="must lie in"):
        ToneVoice(**wrong)  # type: ignore[arg-type]


def _write(path: Path, pcm: np.ndarray, rate_hz: int) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1 if pcm.ndim == 1 else pcm.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(pcm.astype("<i2").tobytes())
    return path


def test_a_wav_at_the_same_rate_is_read_sample_by_sample(tmp_path: Path) -> None:
    pcm, _ = ToneVoice(16_000).speak("unchanged")
    assert np.array_equal(load_wav(_write(tmp_path / "a.wav", pcm, 16_000), 16_000), pcm)


def test_a_stereo_wav_at_another_rate_becomes_mono_at_ours(tmp_path: Path) -> None:
    pcm, _ = ToneVoice(48_000).speak("both channels alike")
    read = load_wav(_write(tmp_path / "a.wav", np.stack([pcm, pcm], axis=1), 48_000), 16_000)
    assert len(read) == pytest.approx(len(pcm) / 3, abs=20)
    assert np.abs(read.astype(int)).max() == pytest.approx(PEAK, rel=0.1)


def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match=r"no sound file .*missing\.wav"):
        load_wav(tmp_path / "missing.wav", 8_000)
    with pytest.raises(Refused, match="no sound file"):
        load_wav(tmp_path, 8_000)
    (tmp_path / "text.wav").write_text("this is text")
    with pytest.raises(Refused, match="cannot read"):
        load_wav(tmp_path / "text.wav", 8_000)
    with pytest.raises(Refused, match=r"holds no sound|cannot read"):
        load_wav(_write(tmp_path / "empty.wav", np.zeros(0), 8_000), 8_000)
    monkeypatch.setattr(tone, "LONGEST_FILE_S", 1)
    with pytest.raises(Refused, match="longer than"):
        load_wav(_write(tmp_path / "long.wav", np.zeros(8_801), 8_000), 8_000)


def test_a_playlist_that_calls_itself_wav_is_not_followed(tmp_path: Path) -> None:
    _write(tmp_path / "secret.wav", np.ones(8_000), 8_000)
    (tmp_path / "list.wav").write_text("ffconcat version 1.0\nfile secret.wav\n")
    with pytest.raises(Refused, match="cannot read"):
        load_wav(tmp_path / "list.wav", 8_000)
