"""Loading a model that cannot be loaded."""

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from agent.errors import Fault, Refused
from agent.llm import LocalSettings
from agent.llm.engine import Engine

pytestmark = pytest.mark.unit


class FakeServer:
    """Stands for `xllamacpp.Server`: raises what the test wants."""

    error: Exception | None = None

    def __init__(self, parameters: object) -> None:
        self.parameters = parameters
        if isinstance(self.error, MemoryError):
            raise RuntimeError("Failed to init server, please check the input params.")

    def handle_chat_completions(self, body: dict[str, object], on_chunk: object) -> None:
        if self.error:
            raise self.error


class Parameters:
    """Stands for `xllamacpp.CommonParams`: takes any attribute."""

    def __init__(self) -> None:
        self.model = ModuleType("model")
        self.cpuparams = ModuleType("cpuparams")
        self.cpuparams_batch = ModuleType("cpuparams_batch")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakeServer]:
    class Server(FakeServer):
        pass

    module = ModuleType("xllamacpp")
    module.Server = Server  # type: ignore[attr-defined]
    module.CommonParams = Parameters  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "xllamacpp", module)
    monkeypatch.setenv("GOMP_SPINCOUNT", "restored afterwards")
    monkeypatch.delenv("GOMP_SPINCOUNT")
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    return Server


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    return path


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, gguf: Path, tmp_path: Path) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(Refused, match=r"pip install 'venus-line\[llm\]'"):
        Engine(LocalSettings(gguf), tmp_path)


def test_no_file(fake: type[FakeServer], tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"there is no model at .*other\.gguf"):
        Engine(LocalSettings(tmp_path / "other.gguf"), tmp_path)


def test_a_file_that_is_no_model(fake: type[FakeServer], gguf: Path, tmp_path: Path) -> None:
    fake.error = MemoryError()
    with pytest.raises(Refused, match=r"cannot load model\.gguf"):
        Engine(LocalSettings(gguf), tmp_path)


def test_a_folder_too_long_for_a_socket(fake: type[FakeServer], gguf: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="TMPDIR"):
        Engine(LocalSettings(gguf), tmp_path / ("x" * 120))


def test_what_it_listens_on_is_hidden_and_needs_a_key(fake: type[FakeServer], gguf: Path, tmp_path: Path) -> None:
    first, second = (vars(Engine(LocalSettings(gguf, threads=1, slots=3), tmp_path)._server.parameters) for _ in range(2))
    assert first["hostnames"] == [str(tmp_path / "llama.sock")]
    assert len(first["api_keys"][0]) >= 32
    assert first["api_keys"] != second["api_keys"]
    assert (first["ui"], first["endpoint_slots"], first["verbosity"]) == (False, False, -1)
    assert (first["n_parallel"], first["n_ctx"], first["cache_ram_mib"]) == (3, 3 * 4_096, 256)
    assert first["cpuparams"].n_threads == first["cpuparams_batch"].n_threads == 1


def test_openmp_is_told_to_stop_spinning_unless_somebody_chose(fake: type[FakeServer], gguf: Path, tmp_path: Path) -> None:
    Engine(LocalSettings(gguf), tmp_path)
    assert os.environ["GOMP_SPINCOUNT"] == "1000"
    os.environ["GOMP_SPINCOUNT"] = "7"
    Engine(LocalSettings(gguf), tmp_path)
    assert os.environ["GOMP_SPINCOUNT"] == "7"


@pytest.mark.parametrize(("error", "kind"), [(ValueError("no\nrole"), Refused), (RuntimeError("bad_alloc"), Fault)])
def test_errors_of_a_generation(
    fake: type[FakeServer], gguf: Path, tmp_path: Path, error: Exception, kind: type[Exception]
) -> None:
    engine = Engine(LocalSettings(gguf), tmp_path)
    fake.error = error
    with pytest.raises(kind, match=r"no role|bad_alloc"):
        engine.generate({}, lambda chunk: False)
