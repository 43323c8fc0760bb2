"""The embedded default as a worker hosts it."""

import asyncio
from pathlib import Path

import pytest

from agent.app import embedded as module
from agent.app.embedded import EmbeddedOptions, embedded, load_models
from agent.mind.memory import Memory
from agent.mind.mind import UNKNOWN

pytestmark = pytest.mark.model


async def test_documents_that_change_are_answered_from_while_calls_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FRESH_EVERY_US", 50_000)
    monkeypatch.setenv("VENUS_MODELS_DIR", str(module.model_file("minilm", "tokenizer.json").parents[1]))
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
