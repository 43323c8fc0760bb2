"""A models folder and a catalogue of its own for each test."""

from pathlib import Path

import pytest

from agent.weights import catalogue
from agent.weights.catalogue import Model
from tests.agent.weights.made_up import make_catalogue


@pytest.fixture
def models_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The models folder, not there yet."""
    folder = tmp_path / "models"
    monkeypatch.setenv("VENUS_MODELS_DIR", str(folder))
    return folder


@pytest.fixture
def wheels_dir(tmp_path: Path) -> Path:
    """Where the wheels of `made_up_models` lie."""
    return tmp_path / "wheels"


@pytest.fixture
def made_up_models(models_dir: Path, wheels_dir: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Model, ...]:
    """The catalogue, for this test: `ears`, `eyes` and the extra `mouth`."""
    models = make_catalogue(wheels_dir)
    monkeypatch.setattr(catalogue, "MODELS", models)
    return models
