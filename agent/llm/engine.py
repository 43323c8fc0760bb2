"""llama.cpp in this process, through `xllamacpp`, which is an extra and imported only when a model is loaded.

What version 2026.10.11549 does, and what is made of it here. `Server` listens whether asked to or not: it gets a socket in a
folder of this user, and a key that nobody knows. Its callback stops a generation by returning True; `return_progress` has it
called between the batches of a prompt as well, so that a long prompt can be stopped too. It logs to stderr unless told not to,
and keeps up to 8 GiB of old prompts unless bounded. Loading and unloading hold the interpreter's lock. Two OpenMP threads that
spin while a third wants the processor wait for each other for seconds per token: they must stop spinning soon.
"""

import importlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from agent.errors import Fault, Refused
from agent.llm.body import Json
from agent.llm.settings import LocalSettings
from agent.timeline.told import sentence

BATCH_TOKENS = 64
"""Tokens of a prompt that are read at once: what a cancelled prompt still costs."""
LONGEST_SOCKET_PATH = 100
"""Longest path of a Unix socket, bytes; the kernel allows 107."""
SPIN = "GOMP_SPINCOUNT"
SPINS = "1000"


class Engine:
    """A loaded model. Everything blocks, the making of it for seconds, and belongs into a thread; `generate` into any number."""

    def __init__(self, settings: LocalSettings, folder: Path) -> None:
        """Raises `Refused` when the extra is missing or the file is no model. `folder`: empty, of this user only."""
        xllamacpp = import_xllamacpp()
        if not settings.model.is_file():
            raise Refused(f"there is no model at {settings.model}: give the path of a GGUF file")
        try:
            self._server = xllamacpp.Server(_parameters(xllamacpp, settings, folder))
        except RuntimeError:
            raise Refused(
                f"llama.cpp cannot load {settings.model.name}: give a GGUF file that it knows and memory allows"
            ) from None

    def generate(self, body: Json, on_chunk: Callable[[Json], bool]) -> None:
        """Answer a chat-completions request, chunk by chunk, until the end or until `on_chunk` returns True.

        Raises `Refused` for what cannot be asked; `on_chunk` must not raise.
        """
        try:
            self._server.handle_chat_completions(body | {"cache_prompt": True, "return_progress": True}, on_chunk)
        except ValueError as error:
            raise Refused(f"the embedded model cannot be asked that ({sentence(error)}): change the request") from None
        except RuntimeError as error:
            raise Fault(f"llama.cpp failed: {sentence(error, 'it does not say why')}") from None

    def unload(self) -> None:
        """Give the memory back. Nothing may be generating."""
        del self._server


def import_xllamacpp() -> ModuleType:
    """The module, with its OpenMP runtime told not to spin for long, unless somebody chose how it waits. Raises `Refused`."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault(SPIN, SPINS)  # read once, when the runtime is loaded
    try:
        return importlib.import_module("xllamacpp")
    except ModuleNotFoundError:
        raise Refused("the embedded language model is an extra: run pip install 'venus-line[llm]'") from None
    except ImportError as error:
        raise Refused(f"xllamacpp does not load ({sentence(error)}): on Debian, apt-get install libgomp1") from None


def _parameters(xllamacpp: ModuleType, settings: LocalSettings, folder: Path) -> Any:
    socket = str(folder / "llama.sock")
    if len(socket.encode()) > LONGEST_SOCKET_PATH:
        raise Refused(f"{folder} is too long a path for a socket: set TMPDIR to a shorter one")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(settings.model)
    parameters.n_ctx = settings.context_tokens * settings.slots
    parameters.n_parallel = settings.slots
    parameters.n_batch = parameters.n_ubatch = BATCH_TOKENS
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = settings.threads
    parameters.cache_ram_mib = settings.cache_mib
    parameters.use_jinja = True
    parameters.verbosity = -1
    parameters.hostnames = [socket]
    parameters.api_keys = [secrets.token_urlsafe(32)]
    parameters.n_threads_http = 1
    parameters.ui = parameters.endpoint_slots = parameters.endpoint_props = parameters.endpoint_metrics = False
    return parameters
