"""`venus doctor` on the speech models: there, or the command that brings them."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from agent.app import doctor
from agent.weights.store import State

pytestmark = pytest.mark.unit


def told(monkeypatch: pytest.MonkeyPatch, calls: Path, knowledge: Path | None = None) -> tuple[bool, list[str]]:
    """Whether all is well, and the lines that say so; the pace, which takes its time, is not measured."""
    monkeypatch.setattr(doctor, "_pace", lambda: iter(()))
    written = io.StringIO()
    good = doctor.run(Console(file=written, width=160), calls, knowledge)
    return good, written.getvalue().splitlines()


def test_models_that_are_missing_are_named_with_the_command_that_brings_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VENUS_MODELS_DIR", str(tmp_path))
    good, lines = told(monkeypatch, tmp_path)
    place = next(place for place, line in enumerate(lines) if line.startswith("✗ models"))
    assert not good
    assert "minilm missing" in lines[place]
    assert "smollm2" not in lines[place]  # nobody needs it
    assert lines[place + 1] == "  → run `venus models install`"


def test_models_that_are_there_are_told_with_their_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VENUS_MODELS_DIR", str(tmp_path))
    monkeypatch.setattr(doctor, "state_of", lambda model: State.INSTALLED)
    _, lines = told(monkeypatch, tmp_path)
    assert f"✓ models    all there, in {tmp_path}" in [line.rstrip() for line in lines]


def test_a_user_without_a_home_folder_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("VENUS_MODELS_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    good, lines = told(monkeypatch, tmp_path)
    assert not good
    assert any("this user has no home folder" in line for line in lines)


def test_documents_are_looked_at_where_they_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "hours.md").write_text("# Hours\n\n## Opening hours\nWe are open from 9:00 am to 5:00 pm.\n")
    (tmp_path / "broken.md").write_bytes(b"# Prices\n\n\xff\xfe\n")
    good, lines = told(monkeypatch, tmp_path, tmp_path)
    place = next(place for place, line in enumerate(lines) if "broken.md:3" in line)
    assert not good
    assert lines[place].startswith("✗ documents")
    assert lines[place + 1] == "  → the file is not UTF-8 text: save it as UTF-8."
    (tmp_path / "broken.md").unlink()
    _, lines = told(monkeypatch, tmp_path, tmp_path)
    assert any(line.startswith("✓ documents") for line in lines)
    _, lines = told(monkeypatch, tmp_path)
    assert not any(line[2:].startswith("documents") for line in lines)
