"""The real encoder, loaded once for all tests that need it."""

from functools import cache

from agent.knowledge.minilm import MiniLM
from agent.weights.store import model_file


@cache
def real_encoder() -> MiniLM:
    """Raises `Refused` when the weights are not installed."""
    return MiniLM(model_file("minilm", "model.safetensors"), model_file("minilm", "tokenizer.json"))
