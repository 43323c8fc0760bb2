"""Wheels from the package index, by pip in a process of its own: the user's index, proxy and certificates hold as everywhere."""

import os
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO

from agent.errors import Refused
from agent.weights.catalogue import Wheel
from agent.weights.plan import Watch
from agent.weights.store import sha256_of

RAW_PROGRESS_SINCE = (24, 1)
RESUMES_SINCE = (25, 1)
RESUME_RETRIES = 20
LINES_KEPT = 200
"""The last lines that pip said: enough to tell why it failed."""

ELSEWHERE = "or fetch the wheels elsewhere and give their folder with --from"

_PROGRESS = re.compile(r"Progress (\d+) of \d+")
_TRIES_AGAIN = re.compile(r"Retrying \(|resume incomplete")
_REASONS = (
    (
        r"DO NOT MATCH THE HASHES",
        f"the package index serves another file as {{pin}} than the pinned one: ask who runs it, {ELSEWHERE}",
    ),
    (
        r"SSLError|certificate.verify.failed|SSL certificate",
        f"the certificate of the package index is not trusted: run `pip config set global.cert FILE`, {ELSEWHERE}",
    ),
    (
        r"ProxyError|Proxy Authentication",
        f"the proxy does not let pip through: run `pip config set global.proxy URL`, {ELSEWHERE}",
    ),
    (
        r"Retrying \(|not enough bytes|timed out|ConnectionError|Connection refused|Max retries",
        f"the package index cannot be reached, or breaks off: check the network, {ELSEWHERE}",
    ),
    (
        r"No matching distribution",
        f"the package index has no {{filename}}: name one that has with `pip config set global.index-url URL`, {ELSEWHERE}",
    ),
)


class PipIndex:
    """The index, or the indexes, that pip is set to in this environment."""

    def require(self, wheels: Sequence[Wheel]) -> None:
        """Raise Refused when this environment has no pip."""
        _pip_version()

    def room(self, wheels: Sequence[Wheel]) -> int:
        """The greatest wheel twice: pip downloads to a temporary file and copies that."""
        return 2 * max((wheel.size for wheel in wheels), default=0)

    def fetch(self, wheel: Wheel, folder: Path, watch: Watch) -> Path:
        """Download one wheel into `folder`, by way of `folder`/download, which is gone afterwards."""
        kept = folder / wheel.filename
        if kept.is_file() and sha256_of(kept) == wheel.sha256:
            watch.received(wheel, wheel.size)
            return kept
        workplace = folder / "download"
        shutil.rmtree(workplace, ignore_errors=True)  # left by one that was killed
        try:
            (workplace / "temporary").mkdir(parents=True)
            _run(_command(wheel, workplace), workplace / "temporary", wheel, watch)
            downloaded = next(workplace.glob("*.whl"), None)
            if downloaded is None or sha256_of(downloaded) != wheel.sha256:
                raise Refused(f"pip did not bring the pinned {wheel.filename}: try again, {ELSEWHERE}")
            return downloaded.replace(kept)
        finally:
            shutil.rmtree(workplace, ignore_errors=True)


def _pip_version() -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in re.findall(r"\d+", version("pip"))[:2])
    except PackageNotFoundError as error:
        raise Refused(f"this environment has no pip: run `{sys.executable} -m ensurepip`, {ELSEWHERE}") from error


def _command(wheel: Wheel, workplace: Path) -> list[str]:
    requirements = workplace / "requirements.txt"
    requirements.write_text(f"{wheel.pin} --hash=sha256:{wheel.sha256}\n", "utf-8")
    pip = _pip_version()
    # -P: a folder named pip where the user happens to stand is not run
    command = [
        sys.executable,
        "-P",
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
        "--no-input",
    ]
    command += ["--disable-pip-version-check", "--dest", str(workplace), "--requirement", str(requirements)]
    command += ["--progress-bar", "raw" if pip >= RAW_PROGRESS_SINCE else "off"]
    if pip >= RESUMES_SINCE:
        command += ["--resume-retries", str(RESUME_RETRIES)]
    if wheel.platform:
        command += ["--platform", wheel.platform]
    return command


def _run(command: Sequence[str], temporary: Path, wheel: Wheel, watch: Watch) -> None:
    """Run pip to its end and pass on its progress; raises Refused with the reason when it fails."""
    said: deque[str] = deque(maxlen=LINES_KEPT)
    with _process(command, temporary) as (process, lines):
        for line in lines:
            if progress := _PROGRESS.match(line):
                watch.received(wheel, int(progress[1]))
                continue
            said.append(line.rstrip())
            if _TRIES_AGAIN.search(line):
                watch.noted(wheel, "trying again")
        status = process.wait()
    if status:
        raise Refused(_reason(wheel, said))


@contextmanager
def _process(command: Sequence[str], temporary: Path) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """A process that is gone afterwards, whatever happens, and the lines that it says.

    Its temporary files are on the disk of the models, where room was looked for. It has a group of its own, because Ctrl-C is
    ours to handle.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"TMPDIR": str(temporary)},
        text=True,
        errors="replace",
        process_group=0,
    )
    assert process.stdout is not None
    with process.stdout:
        try:
            yield process, process.stdout
        finally:
            process.kill()
            process.wait()


def _reason(wheel: Wheel, said: Iterable[str]) -> str:
    text = "\n".join(said)
    for pattern, sentence in _REASONS:
        if re.search(pattern, text, re.IGNORECASE):
            return sentence.format(pin=wheel.pin, filename=wheel.filename)
    error = re.search(r"^ERROR: (.*)", text, re.MULTILINE)
    return f"pip cannot fetch {wheel.pin} ({error[1] if error else text[-300:]}): mend that, {ELSEWHERE}"
