"""How this project runs a model of ONNX Runtime: one thread, on the CPU. Throughput comes from running several at once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt
import onnxruntime as ort  # type: ignore[import-untyped]

from agent.errors import Refused

_ERRORS_ONLY = 3


class Session(Protocol):
    """The part of `onnxruntime.InferenceSession` that is used here. Safe to call from several threads at once."""

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        """The outputs named (all for None), in that order. Holds no lock of the interpreter while it computes."""

    def get_outputs(self) -> Sequence[Any]:
        """What it gives, each with its `name`."""


def open_session(path: Path) -> Session:
    """A model file (.onnx or .ort), ready to run. Raises `Refused` when it is missing or no model."""
    if not path.is_file():
        raise Refused(f"there is no {path.name} in the models folder: run `venus models install`")
    try:
        return _opened(str(path))
    except Exception as error:  # the runtime's own classes share no base but Exception
        raise Refused(f"{path.name} is no model that can be run: run `venus models install` again") from error


def open_bytes(model: bytes) -> Session:
    """A model from memory. Whatever the runtime raises for what is none comes through."""
    return _opened(model)


def outputs_of(session: Session) -> list[str]:
    """The names of all outputs, in order."""
    return [output.name for output in session.get_outputs()]


def _opened(model: str | bytes) -> Session:
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    session: Session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session
