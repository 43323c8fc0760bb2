"""How a reading is made of what a decoder says, with a decoder that says what it is told."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ears import recogniser as module
from agent.ears.pieces import END, START, VOCABULARY
from agent.ears.recogniser import LONGEST_S, QUIETEST, RATE_HZ, EndOfText, Reading, Recogniser, repeated
from agent.errors import Refused
from tests.agent.ears.vocabulary import number_of, write_vocabulary

pytestmark = pytest.mark.unit

SECOND = np.full(RATE_HZ, 0.5, np.float32)
Position = dict[str, float]
"""Probabilities by piece; "" is the end. What is missing to 1 is spread over all others."""


class ToldEncoder:
    def __init__(self) -> None:
        self.heard: list[np.ndarray] = []

    def run(self, names: Sequence[str] | None, inputs: Mapping[str, Any]) -> list[np.ndarray]:
        self.heard.append(inputs["input_values"][0])
        return [np.zeros((1, inputs["input_values"].shape[1] // 384, 288), np.float32)]


class ToldDecoder:
    """Answers position by position; `given` keeps the token it was fed at each."""

    def __init__(self, text: Sequence[Position]) -> None:
        self._text = text
        self.given: list[int] = []

    def run(self, names: Sequence[str], inputs: Mapping[str, Any]) -> list[np.ndarray]:
        position = inputs["past_key_values.0.decoder.key"].shape[2]
        assert bool(inputs["use_cache_branch"][0]) is (position > 0)
        self.given.append(int(inputs["input_ids"][0, 0]))
        told = {END if not piece else number_of(piece): p for piece, p in self._text[position % len(self._text)].items()}
        likely = np.full(VOCABULARY, max(1e-9, 1 - sum(told.values())) / VOCABULARY)
        likely[list(told)] = list(told.values())
        grown = np.zeros((1, 8, position + 1, 36), np.float32)
        return [np.log(likely).astype(np.float32)[None, None], *[grown] * (len(names) - 1)]


class Told:
    """A recogniser whose decoder says `text`, position by position, and begins again after its end."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, text: Sequence[Position]) -> None:
        self.encoder, self.decoder = ToldEncoder(), ToldDecoder(text)
        write_vocabulary(folder)
        sessions = {"encoder_model.ort": self.encoder, "decoder_model_merged.ort": self.decoder}
        monkeypatch.setattr(module, "open_session", lambda path: sessions[path.name])
        self.recogniser = Recogniser(folder)


YES_PLEASE: list[Position] = [{"▁Yes": 0.9}, {",": 0.6, "▁please": 0.3}, {"▁please": 0.8}, {".": 0.7, "?": 0.2}, {"": 0.99}]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda text: Told(tmp_path, monkeypatch, text)


def test_a_text_is_read_token_by_token(told: Any) -> None:
    one = told(YES_PLEASE)
    reading = one.recogniser.read(SECOND)
    assert reading.text == "Yes, please."
    assert [token.piece.decode() for token in reading.tokens] == ["▁Yes", ",", "▁please", "."]
    assert one.decoder.given == [START, *(number_of(piece) for piece in ("▁Yes", ",", "▁please", "."))]


def test_confidence_is_that_of_the_words_and_of_their_end(told: Any) -> None:
    reading = told([{"▁yes": 0.5, "▁Yes": 0.3}, {"▁please": 0.4, ".": 0.2, ",": 0.2}, {"": 0.6, ".": 0.3}]).recogniser.read(
        SECOND
    )
    assert [token.probability for token in reading.tokens] == pytest.approx([0.8, 0.4 / 0.6], abs=1e-3)
    assert reading.confidence == pytest.approx((0.8 * 0.4 / 0.6) ** 0.5 * 0.9, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (YES_PLEASE, EndOfText(".", 0.9, 0.99)),
        ([{"▁yes": 0.9}, {"?": 0.6, ",": 0.3}, {"": 0.9}], EndOfText("?", 0.6, 0.9)),
        ([{"▁yes": 0.9}, {",": 0.6, ".": 0.3}, {"": 0.9}], EndOfText(",", 0.3, 0.9)),
        ([{"▁yes": 0.9}, {"": 0.5, ".": 0.4}], EndOfText("", 0.4, 0.5)),
        ([{"▁yes": 0.9}, {"...": 0.8, ".": 0.1}, {"": 0.9}], EndOfText(".", 0.1, 0.9)),
    ],
)
def test_the_end_says_whether_the_sentence_was_over(told: Any, text: list[Position], end: EndOfText) -> None:
    found = told(text).recogniser.read(SECOND).end
    assert found.mark == end.mark
    assert (found.final, found.end_probability) == pytest.approx((end.final, end.end_probability), abs=1e-3)


def test_a_decoder_that_finds_no_end_is_stopped_by_the_length_of_the_sound(told: Any) -> None:
    rambling = ["▁yes", "▁no", "▁one", "▁yes", "▁two", "▁no", "▁no", "▁please", "▁one", "▁one", "▁yes", "▁please", "▁two"]
    rambling += ["▁two", "▁no", "▁please", "▁please", "▁two"]
    one = told([{piece: 0.9} for piece in rambling])
    reading = one.recogniser.read(np.tile(SECOND, 2))
    assert len(reading.tokens) == len(one.decoder.given) == 2 * 6.5 + 4
    assert reading.end == EndOfText("")
    assert reading.confidence < 0.01


def test_a_decoder_that_repeats_itself_is_stopped_and_said_once(told: Any) -> None:
    one = told([{"▁one": 0.9}, {"▁two": 0.9}, {"▁yes": 0.9}])
    reading = one.recogniser.read(np.tile(SECOND, 10))
    assert reading.text == "one two yes"
    assert len(one.decoder.given) == 12
    assert reading.confidence < 0.01


def test_what_has_no_letters_is_nothing(told: Any) -> None:
    assert told([{"♪": 0.9}, {".": 0.9}, {"": 0.9}]).recogniser.read(SECOND) == Reading()
    assert told([{"": 0.9}]).recogniser.read(SECOND) == Reading()


@pytest.mark.parametrize(
    "pcm", [SECOND[:0], SECOND[:1599], np.full(RATE_HZ, QUIETEST * 0.9, np.float32), np.zeros(RATE_HZ, np.float32)]
)
def test_too_little_sound_is_not_even_tried(told: Any, pcm: np.ndarray) -> None:
    one = told(YES_PLEASE)
    assert one.recogniser.read(pcm) == Reading()
    assert one.encoder.heard == []


def test_only_the_last_of_long_sound_is_read(told: Any) -> None:
    one = told(YES_PLEASE)
    pcm = np.linspace(0.1, 0.9, RATE_HZ * 20, dtype=np.float32)
    one.recogniser.read(pcm)
    np.testing.assert_array_equal(one.encoder.heard[0], pcm[-int(LONGEST_S * RATE_HZ) :])


@pytest.mark.parametrize(("loudest", "heard"), [(0.01, 0.9), (0.29, 0.9), (0.31, 0.31), (1.0, 1.0)])
def test_quiet_sound_is_lifted(told: Any, loudest: float, heard: float) -> None:
    one = told(YES_PLEASE)
    one.recogniser.read(SECOND * np.float32(2 * loudest))
    assert float(np.abs(one.encoder.heard[0]).max()) == pytest.approx(heard)


@pytest.mark.parametrize("after", range(5))
def test_a_reading_nobody_waits_for_ends_at_the_next_token(told: Any, after: int) -> None:
    one, asked = told(YES_PLEASE), iter([False] * after)
    assert one.recogniser.read(SECOND, lambda: next(asked, True)) == Reading()
    assert len(one.decoder.given) == after
    assert len(one.encoder.heard) == (after > 0)


def test_readings_of_several_threads_do_not_mix(told: Any) -> None:
    one, found = told(YES_PLEASE), []
    threads = [threading.Thread(target=lambda: found.append(one.recogniser.read(SECOND))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [reading.text for reading in found] == ["Yes, please."] * 8


def test_missing_weights_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="venus models install"):
        Recogniser(tmp_path)


@pytest.mark.parametrize(
    ("tokens", "copies"),
    [
        ([], 0),
        ([9] * 8, 0),
        ([9] * 9, 8),
        ([1, 2] * 4, 0),
        ([1, 2] * 5, 8),
        ([1, 2, 3] * 3, 0),
        ([7, *[1, 2, 3] * 4], 9),
        ([1, 2, 3, 4, 5] * 2, 0),
        ([7, 8, *[1, 2, 3, 4, 5] * 3], 10),
        ([*range(12)] * 3, 24),
        ([*range(13)] * 3, 0),
    ],
)
def test_a_loop_is_what_comes_too_often(tokens: list[int], copies: int) -> None:
    assert repeated(tokens) == copies


@given(st.lists(st.integers(0, 3), max_size=60))
def test_what_is_cut_off_is_what_stood_before_it(tokens: list[int]) -> None:
    copies = repeated(tokens)
    if copies:
        kept = tokens[: len(tokens) - copies]
        assert any(tokens[len(kept) :] == kept[-length:] * (copies // length) for length in range(1, 13) if copies % length == 0)
