"""The vocabulary file of the recogniser, and texts made of its pieces."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ears.pieces import VOCABULARY, Pieces, parse, text_of
from agent.errors import Refused
from tests.agent.ears.vocabulary import number_of, write_vocabulary, written

pytestmark = pytest.mark.unit


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_what_was_written_is_read(pieces: list[bytes]) -> None:
    whole = pieces + [b""] * (VOCABULARY - len(pieces))
    assert parse(written(whole)) == whole


@given(st.binary(max_size=200))
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(Refused, match="venus models install"):
        parse(content)


def test_a_file_cut_short_is_refused() -> None:
    whole = written([b"ab"] * VOCABULARY)
    assert len(parse(whole)) == VOCABULARY
    for cut in (1, 2, 3):
        with pytest.raises(Refused, match="venus models install"):
            parse(whole[:-cut])


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="venus models install"):
        Pieces(tmp_path / "tokenizer.bin")


def test_marks_and_spellings_are_known(tmp_path: Path) -> None:
    pieces = Pieces(write_vocabulary(tmp_path))
    marks = {number for number in range(VOCABULARY) if pieces.is_mark(number)}
    assert marks == {number_of(mark) for mark in (".", "?", "!", ",", "...", '▁."')} == set(pieces.marks.tolist())
    assert set(pieces.final.tolist()) == {number_of(mark) for mark in (".", "?", "!", '▁."')}
    assert set(pieces.spellings(number_of("▁yes")).tolist()) == {number_of("▁yes"), number_of("▁Yes")}
    assert pieces.spellings(3 + ord("a")).tolist() == [3 + ord("a")]


def test_marks_around_a_text_and_reserved_numbers_have_no_bytes(tmp_path: Path) -> None:
    pieces = Pieces(write_vocabulary(tmp_path))
    assert [pieces.piece(number) for number in (0, 1, 2, VOCABULARY - 1)] == [b""] * 4
    assert pieces.piece(3) == b"\0"
    assert pieces.piece(number_of("▁yes")) == "▁yes".encode()


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["▁Yes", ",", "▁please", "."], "Yes, please."),
        (["▁", "▁", "▁a"], "a"),
        ([], ""),
    ],
)
def test_pieces_join_to_words(pieces: list[str], text: str) -> None:
    assert text_of(piece.encode() for piece in pieces) == text


def test_a_letter_may_come_byte_by_byte_and_a_broken_one_is_left_out() -> None:
    assert text_of([b"caf", b"\xc3", b"\xa9"]) == "café"
    assert text_of([b"caf", b"\xc3", b"!"]) == "caf!"
