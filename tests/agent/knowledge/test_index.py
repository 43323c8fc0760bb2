"""The cache of vectors."""

import os
from pathlib import Path

import numpy as np
import pytest

from agent.errors import Refused
from agent.knowledge.documents import read_folder
from agent.knowledge.index import Arrays, build
from agent.knowledge.tensors import map_tensors
from tests.agent.knowledge.fake_encoder import FakeEncoder

pytestmark = pytest.mark.unit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "documents"
    place.mkdir()
    (place / "a.md").write_text("# Hours\n\nWe open at nine. Closed on Sunday.\n\n# Price\n\n- Wash: $5\n- Wax: $7\n")
    return place


def encoded(folder: Path, cache: Path, identity: str = "fake/1") -> tuple[int, Arrays]:
    """How many texts were encoded, and the result."""
    encoder = FakeEncoder(identity)
    index = build(read_folder(folder), encoder, cache)
    return encoder.texts, index.arrays


def test_the_second_time_nothing_is_encoded_and_all_is_the_same(folder: Path, tmp_path: Path) -> None:
    first, made = encoded(folder, tmp_path / "cache")
    again, loaded = encoded(folder, tmp_path / "cache")
    assert (first > 0, again) == (True, 0)
    for name in Arrays.__slots__:
        assert np.array_equal(getattr(made, name), getattr(loaded, name)), name


def test_a_change_of_text_or_encoder_encodes_anew(folder: Path, tmp_path: Path) -> None:
    encoded(folder, tmp_path)
    assert encoded(folder, tmp_path, "other/2")[0] > 0
    (folder / "a.md").write_text("# Hours\n\nWe open at ten.\n")
    assert encoded(folder, tmp_path)[0] > 0


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text", "huge header"])
def test_a_damaged_cache_is_made_anew(folder: Path, tmp_path: Path, damage: str) -> None:
    cache = tmp_path / "cache"
    encoded(folder, cache)
    (path,) = cache.iterdir()
    data = bytearray(path.read_bytes())
    data[-5] ^= 0xFF
    path.write_bytes(
        {
            "cut": bytes(data[:-7]),
            "flip": bytes(data),
            "empty": b"",
            "text": b"not a cache at all, but long enough to have a header",
            "huge header": b"\xff" * 64,
        }[damage]
    )
    assert encoded(folder, cache)[0] > 0
    assert encoded(folder, cache)[0] == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_folder_that_cannot_be_written_costs_time_only(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    assert encoded(folder, tmp_path / "closed" / "cache")[0] > 0


def test_a_cache_folder_that_is_a_file_costs_time_only(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert encoded(folder, tmp_path / "file")[0] > 0
    assert (tmp_path / "file").read_text() == "in the way"


def test_writing_leaves_one_file_for_its_owner_only(folder: Path, tmp_path: Path) -> None:
    encoded(folder, tmp_path / "cache")
    (path,) = (tmp_path / "cache").iterdir()
    assert path.suffix == ".safetensors"
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_tokens_belong_to_their_sentences(folder: Path, tmp_path: Path) -> None:
    index = build(read_folder(folder), FakeEncoder())
    starts, parts = index.arrays.token_starts, index.arrays.token_parts
    assert parts[starts[0] : starts[1]].tolist() == [-1, 0, 1, 1, 1, 1, 2, 2, 2]
    assert index.owner.tolist() == [0, 0, 1, 1]
    assert index.first_sentence.tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    "header",
    [
        b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,8]}}',
        b'{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}',
        b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}',
        b'{"a":{"dtype":"X","shape":[2],"data_offsets":[0,8]}}',
        b'{"a":{"dtype":"F32","shape":"ab","data_offsets":[0,8]}}',
        b'{"a":7}',
        b"[]",
        b"{",
    ],
)
def test_hostile_headers_are_refused(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(Refused, match="damaged"):
        map_tensors(path)


def test_a_missing_tensor_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be opened"):
        map_tensors(tmp_path / "none")


def test_progress_is_told_to_its_end_and_not_for_a_cache_that_fits(folder: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    build(read_folder(folder), FakeEncoder(), tmp_path, lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1]
    told.clear()
    build(read_folder(folder), FakeEncoder(), tmp_path, lambda done, total: told.append((done, total)))
    assert told == []
