"""The speaker encoder's conversion: the right tensors, in bytes that never change."""

from math import prod

import numpy as np
import pytest
from safetensors import numpy as safetensors_library

from agent.errors import Refused
from agent.weights.resemblyzer import SHAPES, convert
from tests.agent.weights.made_up import Tensor, header, pickled_tensors, sha256, storages

pytestmark = pytest.mark.unit


def dense(shape: tuple[int, ...], offset: int, count: int) -> Tensor:
    return Tensor("7", count, offset, shape, (shape[1], 1) if len(shape) == 2 else (1,))


def pretrained(without: str = "") -> tuple[bytes, dict[str, np.ndarray]]:
    """A file as the wheel has one, with an entry that is of no use, and its values."""
    total = sum(prod(shape) for shape in SHAPES.values())
    values = np.arange(total, dtype="<f4")
    tensors, arrays, offset = {"similarity_bias": Tensor("8", 1, 0, (1,), (1,))}, {}, 0
    for name, shape in reversed(SHAPES.items()):
        tensors[name] = dense(shape, offset, total)
        arrays[name] = values[offset : offset + prod(shape)].reshape(shape)
        offset += prod(shape)
    tensors.pop(without, None)
    return header() + pickled_tensors(tensors) + storages({"7": values.tobytes(), "8": bytes(4)}), arrays


def test_the_library_reads_what_was_converted() -> None:
    content, arrays = pretrained()
    read = safetensors_library.load(convert(content))
    assert read.keys() == arrays.keys()
    assert all(np.array_equal(read[name], arrays[name]) for name in arrays)


def test_the_bytes_never_change() -> None:
    assert sha256(convert(pretrained()[0])) == "f6e8cde6fcb420185173b701fcce0a9bdb05c535fec934fb6e32a1cc519cecb7"


def test_a_file_without_one_of_the_tensors_is_refused() -> None:
    content, _ = pretrained(without="lstm.bias_hh_l2")
    with pytest.raises(Refused, match=r"it has no tensor lstm\.bias_hh_l2"):
        convert(content)
