"""The folder of a record: who may read it, what may be its name."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import Refused
from agent.record import folder as at

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("call_id", ["a", "A-1_b.c", "0" * 64, "_", "-"])
def test_good_ids(call_id: str) -> None:
    assert at.check_call_id(call_id) == call_id


@pytest.mark.parametrize("call_id", ["", ".", "..", ".a", "a/b", "../a", "a\n", "a b", "0" * 65, "é", "a\0"])
def test_bad_ids_are_refused(call_id: str) -> None:
    with pytest.raises(Refused, match="cannot be a call id"):
        at.check_call_id(call_id)


@given(st.text(max_size=70))
def test_no_accepted_id_leaves_the_folder(name: str) -> None:
    if at.is_call_id(name):
        path = Path(os.path.normpath(Path("/calls") / name))
        assert path.parent == Path("/calls")
        assert path.name == name


def test_modes_hold_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = tmp_path / "call"
        at.create_folder(folder)
        at.create_file(folder / "a").close()
        at.write_whole(folder / "b", b"x")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (folder, folder / "a", folder / "b")] == [0o700, 0o600, 0o600]


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    at.create_folder(tmp_path / "call")
    with pytest.raises(Refused, match="a call id is used once"):
        at.create_folder(tmp_path / "call")


def test_no_folder_for_calls(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="create it or name another one"):
        at.create_folder(tmp_path / "missing" / "call")
    with pytest.raises(Refused, match="create it or name another one"):
        at.check_calls_dir(tmp_path / "missing")


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match="cannot be made: not a directory"):
        at.create_folder(tmp_path / "file" / "call")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_the_right_to_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(Refused, match="the right to write"):
        at.check_calls_dir(tmp_path)
    with pytest.raises(Refused, match="permission denied"):
        at.create_folder(tmp_path / "call")


def test_write_whole_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    (tmp_path / at.unfinished(path.name)).write_bytes(b"of a process that died")
    at.write_whole(path, b"one")
    at.write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_being_written_ends_with_the_mark(tmp_path: Path) -> None:
    file = at.create_file(tmp_path / at.TIMELINE)
    mark = at.lock(file)
    assert at.is_being_written(tmp_path)
    file.close()
    assert at.is_being_written(tmp_path)
    os.close(mark)
    assert not at.is_being_written(tmp_path)
    assert not at.is_being_written(tmp_path / "missing")


def test_what_is_no_plain_file(tmp_path: Path) -> None:
    """Reading any of these would block, never end or lead elsewhere."""
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, target in (("link", "file"), ("endless", "/dev/zero"), ("nowhere", "missing"), ("itself", "itself")):
        (tmp_path / name).symlink_to(target)
    assert [path.name for path in tmp_path.iterdir() if at.is_plain(path)] == ["file"]
    assert not at.is_plain(tmp_path / "missing")
    os.mkfifo(tmp_path / at.TIMELINE)
    assert not at.is_being_written(tmp_path)


def test_sentences() -> None:
    assert at.clock_text(192_900_000) == "00:03:12"
    assert at.clock_text(36_061_000_000) == "10:01:01"
    assert at.incomplete("audio.ogg: no space left on device", 192_000_000) == (
        "the record is incomplete: audio.ogg: no space left on device at 00:03:12"
    )
