"""The embedded default as a worker hosts it."""

import asyncio
import shutil
from pathlib import Path

import numpy as np
import pytest
from structlog.testing import capture_logs

from agent.app import embedded as module
from agent.app.embedded import WEIGHTS, EmbeddedOptions, SecondVoice, embedded, load_models
from agent.clock import LoopClock
from agent.compute import Cancelled
from agent.errors import Refused
from agent.mind.grounded import GroundedWording
from agent.mind.memory import Memory
from agent.mind.mind import UNKNOWN
from agent.mouth.clauses import Clause
from agent.mouth.mouth import Mouth
from agent.mouth.phonemes import Pronouncer
from agent.mouth.voice import Rendered
from agent.weights.catalogue import find_model
from agent.weights.store import model_file, models_folder

pytestmark = pytest.mark.model


async def test_documents_that_change_are_answered_from_while_calls_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FRESH_EVERY_US", 50_000)
    monkeypatch.setenv("VENUS_MODELS_DIR", str(model_file("minilm", "tokenizer.json").parents[1]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "hours.md").write_text("# Hours\n\n## Opening hours\nWe are open from 9:00 am to 5:00 pm on weekdays.\n")
    models = load_models(EmbeddedOptions(documents))
    asked = "How much is an oil change?"
    assert models.mind.decide(asked, 1.0, Memory()).text == UNKNOWN
    async with embedded(models):
        (documents / "prices.md").write_text("# Prices\n\n## Price of an oil change\nAn oil change is $79.\n")
        async with asyncio.timeout(20):
            while "$79" not in models.mind.decide(asked, 1.0, Memory()).text:  # noqa: ASYNC110 (files, looked at by a thread)
                await asyncio.sleep(0.05)


class BrokenVoice:
    name, rate_hz, faults = "broken", 24_000, 0

    def render(self, text: str, cancelled: Cancelled) -> Rendered:
        raise RuntimeError("no sound")


def test_when_the_first_voice_breaks_the_second_one_is_loaded_and_says_it() -> None:
    second = SecondVoice(model_file("piper-joe", "en_US-joe-medium.onnx").parent, Pronouncer())
    mouth = Mouth(BrokenVoice(), second, 16_000)
    said = mouth.speak(Clause("We are open on Saturday."))
    assert len(said.pcm) > 16_000
    assert np.abs(said.pcm).max() > 3_000
    assert mouth.fallbacks == 1


@pytest.mark.parametrize("model", [name for name in WEIGHTS if name != "hibari"])  # that lies inside an installed package
def test_weights_that_were_tampered_with_are_refused_at_the_start_with_what_mends_them(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in models_folder().iterdir():
        if folder.is_dir() and folder.name != model and not folder.name.startswith("."):
            (tmp_path / folder.name).symlink_to(folder)
    shutil.copytree(models_folder() / model, tmp_path / model)
    largest = max((tmp_path / model / file.name for file in find_model(model).files), key=lambda path: path.stat().st_size)
    largest.chmod(0o600)
    with largest.open("r+b") as file:
        file.seek(largest.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
    monkeypatch.setenv("VENUS_MODELS_DIR", str(tmp_path))
    with pytest.raises(Refused, match="is not the pinned file, its sha256 differs: run `venus models install`"):
        load_models(EmbeddedOptions())


async def test_a_language_model_that_does_not_answer_is_told_of_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENUS_LLM_URL", "http://127.0.0.1:9")
    with capture_logs() as logged:
        async with asyncio.timeout(10), module.chosen_wording(LoopClock()) as wording:
            assert isinstance(wording, GroundedWording)
            while not logged:  # noqa: ASYNC110 (a log has no event)
                await asyncio.sleep(0.01)
    assert logged[0]["log_level"] == "warning"
    assert "check VENUS_LLM_URL" in logged[0]["because"]
