"""Where weights lie, and what is said when they are not what they should be."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import Fault, Refused
from agent.weights import catalogue, store
from agent.weights.catalogue import Model
from agent.weights.store import State, check_model, model_file, models_folder, state_of
from tests.agent.weights.made_up import EARS, MOUTH

pytestmark = pytest.mark.unit


def put(models_dir: Path, model: str, content: bytes) -> Path:
    path = models_dir / model / f"{model}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def refusal(model: str, *, thorough: bool = False) -> str:
    with pytest.raises(Refused) as refused:
        check_model(model) if thorough else model_file(model, f"{model}.bin")
    return str(refused.value)


def test_the_folder_is_the_one_that_is_named_else_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VENUS_MODELS_DIR", "~/weights")
    assert models_folder() == tmp_path / "weights"
    monkeypatch.setenv("VENUS_MODELS_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert models_folder() == tmp_path / "cache" / "venus-line" / "models"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert models_folder() == tmp_path / ".cache" / "venus-line" / "models"


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("VENUS_MODELS_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(Refused, match="say where the models are with VENUS_MODELS_DIR"):
        models_folder()


@pytest.mark.usefixtures("made_up_models")
def test_a_file_that_is_right_is_found(models_dir: Path) -> None:
    path = put(models_dir, "ears", EARS)
    assert model_file("ears", "ears.bin") == path
    check_model("ears")


@pytest.mark.usefixtures("made_up_models")
def test_a_missing_file_is_named_with_the_command_that_brings_it(models_dir: Path) -> None:
    assert refusal("ears") == f"{models_dir}/ears/ears.bin is missing: run `venus models install`"
    assert refusal("mouth") == f"{models_dir}/mouth/mouth.bin is missing: run `venus models install mouth`"
    models_dir.write_text("in the way")
    assert refusal("ears") == f"{models_dir}/ears/ears.bin is missing: run `venus models install`"


@pytest.mark.usefixtures("made_up_models")
def test_a_file_of_the_wrong_size_is_seen_at_once(models_dir: Path) -> None:
    path = put(models_dir, "ears", EARS[:-1])
    assert refusal("ears") == f"{path} has 4,999 bytes instead of 5,000: run `venus models install`"


@pytest.mark.usefixtures("made_up_models")
def test_wrong_bytes_are_seen_by_whoever_looks_thoroughly(models_dir: Path) -> None:
    path = put(models_dir, "mouth", MOUTH.swapcase())
    assert model_file("mouth", "mouth.bin") == path
    expected = f"{path} is not the pinned file, its sha256 differs: run `venus models install mouth`"
    assert refusal("mouth", thorough=True) == expected


@pytest.mark.usefixtures("made_up_models")
def test_what_is_no_file_or_cannot_be_read_is_said_so(models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (models_dir / "ears" / "ears.bin").mkdir(parents=True)
    assert "ears.bin is in the way: remove it, then run `venus models install`" in refusal("ears")
    put(models_dir, "mouth", MOUTH)

    def denied(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(store, "sha256_of", denied)
    assert "mouth.bin cannot be read (Permission denied): let this user read it" in refusal("mouth", thorough=True)


def test_a_file_that_no_model_has_is_a_fault_of_ours(made_up_models: tuple[Model, ...]) -> None:
    with pytest.raises(Fault, match=r"the model ears has no file 'nose.bin'"):
        model_file(made_up_models[0].name, "nose.bin")


@pytest.mark.usefixtures("made_up_models")
def test_the_state_of_a_model_is_that_of_its_worst_file(models_dir: Path, made_up_models: tuple[Model, ...]) -> None:
    ears = made_up_models[0]
    assert state_of(ears) is State.MISSING
    put(models_dir, "ears", EARS[1:])
    assert state_of(ears) is State.WRONG_SIZE
    put(models_dir, "ears", EARS.swapcase())
    assert (state_of(ears), state_of(ears, thorough=True)) == (State.INSTALLED, State.CORRUPT)


def test_a_bundled_model_lies_in_its_package(
    tmp_path: Path, made_up_models: tuple[Model, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    voice = replace(made_up_models[0], name="voice", group="bundled")
    monkeypatch.setattr(catalogue, "MODELS", (voice,))
    remedy = "run `pip install --force-reinstall --no-deps a-head==1.0`"
    with pytest.raises(Refused, match="a-head, which holds the model voice, is missing: " + remedy):
        model_file("voice", "ears.bin")
    site = tmp_path / "site"
    (site / "a_head-1.0.dist-info").mkdir(parents=True)
    (site / "a_head-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: a-head\nVersion: 1.0\n")
    (site / "head").mkdir()
    (site / "head" / "ears.bin").write_bytes(EARS)
    monkeypatch.syspath_prepend(str(site))
    assert model_file("voice", "ears.bin") == site / "head" / "ears.bin"
    (site / "head" / "ears.bin").write_bytes(EARS.swapcase())
    with pytest.raises(Refused, match="its sha256 differs: " + remedy):
        check_model("voice")
