"""Which language model the environment asks for."""

import os
from collections.abc import Mapping
from pathlib import Path

from agent.clock import Clock
from agent.errors import Refused
from agent.llm.local import LocalLlm
from agent.llm.openai_client import OpenAiClient
from agent.llm.settings import GGUF, THREADS, URL, LlmSettings, LocalSettings
from agent.weights.store import model_file

EMBEDDED = ("smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")


def llm_from_environment(clock: Clock, environment: Mapping[str, str] = os.environ) -> OpenAiClient | LocalLlm:
    """The server at `VENUS_LLM_URL`; without one the embedded model, of `VENUS_LLM_GGUF` or the one that `venus models` installs.

    Nothing is connected or loaded before its `async with`. Raises `Refused` when a variable makes no sense, or no model is there.
    """
    if environment.get(URL):
        return OpenAiClient(LlmSettings.from_environment(environment), clock)
    model = Path(environment[GGUF]).expanduser() if environment.get(GGUF) else model_file(*EMBEDDED)
    threads = environment.get(THREADS) or "2"
    if not (threads.isascii() and threads.isdigit()):
        raise Refused(f"{THREADS} is a number of threads, for example 2")
    return LocalLlm(LocalSettings(model, threads=int(threads[:9])), clock)
