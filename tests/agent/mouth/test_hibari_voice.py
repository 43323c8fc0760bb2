"""The first voice with its real weights: the durations in the model, word times against the sound, and texts of all kinds."""

import socket
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hibari import Hibari  # type: ignore[import-untyped]
from hibari.tts import ASSETS  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.compute import never
from agent.ears.recogniser import Recogniser
from agent.line import Pcm
from agent.mouth import hibari_voice
from agent.mouth.clauses import Clause
from agent.mouth.hibari_voice import RATE_HZ, HibariVoice, with_output
from agent.mouth.mouth import Mouth
from agent.mouth.phonemes import LONGEST_PHRASE, Pronouncer
from agent.mouth.sound import LEVEL_DBFS, PEAK_DBFS
from agent.mouth.voice import Rendered
from agent.timeline.kinds import Alignment
from agent.weights.store import models_folder
from tests.agent.mouth.reading_back import CALL_CENTRE, converted, heard, telephone, word_errors

pytestmark = pytest.mark.model

BLOCK = RATE_HZ // 100


@pytest.fixture(scope="module")
def pronouncer() -> Pronouncer:
    return Pronouncer()


@pytest.fixture(scope="module")
def voice(pronouncer: Pronouncer) -> HibariVoice:
    return HibariVoice(pronouncer)


@pytest.fixture(scope="module")
def rendered(voice: HibariVoice) -> list[Rendered]:
    return [voice.render(text, never) for text in CALL_CENTRE]


@pytest.fixture(scope="module")
def recogniser() -> Recogniser:
    return Recogniser(models_folder() / "moonshine-tiny-en")


def loud_ms(pcm: Pcm, below_db: float = 40) -> tuple[float, float]:
    """Where the sound begins and ends, in steps of 1 ms, measured on its envelope."""
    step = RATE_HZ // 1_000
    power = np.square(pcm[: len(pcm) // step * step].astype(np.float64)).reshape(-1, step).mean(1)
    power = np.convolve(power, np.ones(10) / 10, mode="same")
    loud = np.flatnonzero(power > power.max() * 10 ** (-below_db / 10))
    return float(loud[0]), float(loud[-1] + 1)


# --- the model --------------------------------------------------------------------------------------------------------------


def test_the_durations_are_an_output_and_add_up_to_the_sound(voice: HibariVoice) -> None:
    for text in (*CALL_CENTRE, "Yes.", "Mm-hm."):
        (phrase,) = voice.pronouncer.pronounce(text).phrases
        sounded = voice._sound(phrase)
        assert sounded.exact
    assert voice.faults == 0


def test_the_sound_is_bit_by_bit_that_of_the_library(voice: HibariVoice) -> None:
    (phrase,) = voice.pronouncer.pronounce(CALL_CENTRE[0]).phrases
    theirs = Hibari(g2p=voice.pronouncer).from_phonemes(phrase.phonemes, seed=1)
    assert np.array_equal(voice._sound(phrase).pcm, theirs)


def test_naming_an_output_takes_20_bytes() -> None:
    assert with_output(b"model", hibari_voice.DURATIONS) == b"model" + b":\x12b\x10\n\x0e/Clip_output_0"


def test_another_model_still_speaks_with_estimated_times_and_a_counted_fault(tmp_path: Path, pronouncer: Pronouncer) -> None:
    other = tmp_path / "other.onnx"
    other.write_bytes((Path(ASSETS) / "hibari.onnx").read_bytes() + b"\x32\x01x")  # another doc_string
    told: list[str] = []
    voice = HibariVoice(pronouncer, told.append, other)
    rendered = voice.render("One moment please.", never)
    assert rendered.alignment is Alignment.ESTIMATED
    assert [word.text for word in rendered.words] == ["One", "moment", "please."]
    assert voice.faults == len(told) == 1
    assert "another model" in told[0]


def test_durations_that_do_not_add_up_are_a_counted_fault(voice: HibariVoice, monkeypatch: pytest.MonkeyPatch) -> None:
    before = voice.faults
    monkeypatch.setattr(hibari_voice, "STEP_SAMPLES", 601)
    assert voice.render("One moment please.", never).alignment is Alignment.ESTIMATED
    assert voice.faults == before + 1
    monkeypatch.undo()
    voice.faults = before


def test_no_network_is_needed(pronouncer: Pronouncer, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("the voice reached for the network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert len(HibariVoice().render("An unheard-of Zorblatt.", never).pcm) > 0


# --- time -------------------------------------------------------------------------------------------------------------------


def test_there_is_hardly_any_silence_at_the_ends(rendered: list[Rendered]) -> None:
    for one in rendered:
        start, end = loud_ms(one.pcm)
        assert start <= 20, one.text
        assert 40 <= len(one.pcm) * 1_000 / RATE_HZ - end <= 120, one.text


def test_the_first_word_starts_and_the_last_ends_with_the_sound(rendered: list[Rendered]) -> None:
    for one in rendered:
        start, end = loud_ms(one.pcm)
        assert abs(one.words[0].start_us / 1_000 - start) <= 30, one.text
        assert abs(one.words[-1].end_us / 1_000 - end) <= 30, one.text
        assert one.alignment is Alignment.EXACT


def test_words_are_those_written_and_follow_each_other(rendered: list[Rendered]) -> None:
    for one in rendered:
        assert [word.text for word in one.words] == one.text.split()
        edges = [edge for word in one.words for edge in (word.start_us, word.end_us)]
        assert edges == sorted(edges)
        assert edges[-1] <= len(one.pcm) * 1_000_000 / RATE_HZ


def test_a_pause_inside_belongs_to_no_word(voice: HibariVoice) -> None:
    rendered = voice.render("First Tuesday, then Friday.", never)
    tuesday, then = rendered.words[1:3]
    gap = rendered.pcm[tuesday.end_us * 24 // 1_000 : then.start_us * 24 // 1_000]
    assert then.start_us - tuesday.end_us >= 50_000
    assert np.square(gap, dtype=np.float64).mean() < np.square(rendered.pcm, dtype=np.float64).mean() / 100


def test_sound_cut_at_the_end_of_a_word_is_heard_up_to_that_word(rendered: list[Rendered], recogniser: Recogniser) -> None:
    cuts = right = 0
    silence = np.zeros(RATE_HZ * 3 // 10, np.int16)  # without it the recogniser goes on by itself
    for one in rendered[:6]:
        for number in range(2, len(one.words) - 1):
            until = one.words[number].end_us * RATE_HZ // 1_000_000
            words = heard(recogniser, converted(np.append(one.pcm[:until], silence), RATE_HZ, 16_000)).split()
            cuts, right = cuts + 1, right + (len(words) == number + 1)
    assert right >= 0.65 * cuts


def test_a_price_is_one_word_with_all_its_sound(voice: HibariVoice) -> None:
    only, price, today = voice.render("only $1,250.50 today", never).words
    assert price.text == "$1,250.50"
    assert price.end_us - price.start_us > 2 * (only.end_us - only.start_us + today.end_us - today.start_us)


def test_a_word_without_a_sound_has_no_length(voice: HibariVoice) -> None:
    yes, emoji, please = voice.render("yes 😀 please", never).words
    assert emoji.start_us == emoji.end_us == yes.end_us <= please.start_us


# --- sound ------------------------------------------------------------------------------------------------------------------


def test_the_level_is_steady_and_the_peaks_below_full_scale(rendered: list[Rendered]) -> None:
    for one in rendered:
        blocks = np.square(one.pcm[: len(one.pcm) // BLOCK * BLOCK] / 32_768).reshape(-1, BLOCK).mean(1)
        active = blocks[blocks >= blocks.max() * 1e-4]
        assert 10 * np.log10(active.mean()) == pytest.approx(LEVEL_DBFS, abs=1)
        assert 20 * np.log10(np.abs(one.pcm).max() / 32_768) <= PEAK_DBFS


def test_the_same_text_is_the_same_bytes(pronouncer: Pronouncer, rendered: list[Rendered]) -> None:
    again = HibariVoice(pronouncer).render(CALL_CENTRE[2], never)
    assert np.array_equal(again.pcm, rendered[2].pcm)
    assert again.words == rendered[2].words


def test_it_is_understood_over_the_telephone(rendered: list[Rendered], recogniser: Recogniser) -> None:
    assert word_errors(list(CALL_CENTRE), [heard(recogniser, telephone(one.pcm, RATE_HZ)) for one in rendered]) <= 0.05


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000])
def test_it_is_understood_at_every_rate_of_a_line(voice: HibariVoice, recogniser: Recogniser, rate_hz: int) -> None:
    mouth = Mouth(voice, None, rate_hz)
    lines = [mouth.line(text) for text in CALL_CENTRE[:6]]
    assert word_errors(list(CALL_CENTRE[:6]), [heard(recogniser, converted(line.pcm, rate_hz, 16_000)) for line in lines]) <= 0.05
    for line in lines:
        assert line.words[-1].end_us <= line.duration_us
        assert np.abs(line.pcm).max() < 32_767


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("The fee is $35 and we open at 8:00 am.", "The fee is thirty five dollars and we open at eight A.M."),
        ("Please call us at (555) 010-0142.", "Please call us at five five five zero one zero zero one four two"),
        ("It takes 1-2 weeks, Mon-Fri.", "It takes one to two weeks Monday to Friday"),
    ],
)
def test_numbers_are_heard_as_they_are_meant(voice: HibariVoice, recogniser: Recogniser, written: str, words: str) -> None:
    assert word_errors([words], [heard(recogniser, telephone(voice.render(written, never).pcm, RATE_HZ))]) <= 0.1


# --- any text ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "   ", "...", "—", "😀 🎉", "你好", "Привет", "\x00\x07", "$", "<b></b>"])
def test_without_a_speakable_character_there_is_no_sound(voice: HibariVoice, text: str) -> None:
    rendered = voice.render(text, never)
    assert (len(rendered.pcm), rendered.words) == (0, ())
    assert len(Mouth(voice, None, 8_000).speak(Clause(text, pause_us=100_000)).pcm) == 0


@pytest.mark.parametrize("text", ["x" * 3_000, "9" * 3_000, "(1 " * 200, "word " * 300, "'" * 300, "A1-" * 300])
def test_long_texts_are_said_phrase_by_phrase(voice: HibariVoice, text: str) -> None:
    said = voice.pronouncer.pronounce(text)
    assert said.exact
    assert max((len(phrase.phonemes) for phrase in said.phrases), default=0) <= LONGEST_PHRASE
    spans = [part for phrase in said.phrases for part in phrase.slices]
    assert [part.word for part in spans] == list(accumulate((part.word for part in spans), max))


def test_cancelled_work_is_not_done(voice: HibariVoice) -> None:
    assert len(voice.render("One moment please.", lambda: True).pcm) == 0


@settings(max_examples=30)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="aB1 .,$%-'’é:/(\n", max_size=40)))
def test_no_text_breaks_the_voice(voice: HibariVoice, text: str) -> None:
    rendered = voice.render(text, never)
    assert [word.text for word in rendered.words] in ([], text.split())
    assert bool(len(rendered.pcm)) == bool(rendered.words)
    assert voice.faults == 0
