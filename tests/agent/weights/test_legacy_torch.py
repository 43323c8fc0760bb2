"""Legacy PyTorch files: what weights need is read, and all else is refused without being run."""

import builtins
import os
import pickle
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import Refused
from agent.weights.legacy_torch import MOST_OPCODES, FloatTensor, read_tensors
from tests.agent.weights.made_up import Tensor, header, pickled_tensors, storages

pytestmark = pytest.mark.unit

FLOATS = struct.pack("<8f", *range(8))
SHAPES: dict[str, tuple[int, ...]] = {"layer.weight": (2, 3), "layer.bias": (2,)}
WEIGHT = Tensor("10", 8, 0, (2, 3), (3, 1))
BIAS = Tensor("10", 8, 6, (2,), (1,))


def legacy_file(weight: Tensor = WEIGHT, bias: Tensor = BIAS, data: bytes = FLOATS) -> bytes:
    return header() + pickled_tensors({"layer.weight": weight, "layer.bias": bias}) + storages({"10": data, "11": b""})


def refusal(content: bytes, entry: str = "model_state") -> str:
    with pytest.raises(Refused) as refused:
        read_tensors(content, entry, SHAPES)
    return str(refused.value)


def with_object(pickled: bytes) -> bytes:
    """A file whose object is this pickle."""
    return header() + pickled + storages({})


def test_tensors_are_views_of_their_storage() -> None:
    tensors = read_tensors(legacy_file(), "model_state", SHAPES)
    assert tensors == {
        "layer.weight": FloatTensor((2, 3), memoryview(struct.pack("<6f", 0, 1, 2, 3, 4, 5))),
        "layer.bias": FloatTensor((2,), memoryview(struct.pack("<2f", 6, 7))),
    }


def test_every_truncated_file_is_refused() -> None:
    content = legacy_file()
    for length in range(len(content)):
        assert "not a legacy PyTorch file with nothing but weights" in refusal(content[:length])


@pytest.mark.parametrize(
    ("weight", "reason"),
    [
        (Tensor("10", 8, 3, (2, 3), (3, 1)), "layer.weight lies outside its storage"),
        (Tensor("10", 8, -1, (2, 3), (3, 1)), "layer.weight lies outside its storage"),
        (Tensor("10", 8, 2**70, (2, 3), (3, 1)), "layer.weight lies outside its storage"),
        (Tensor("10", 8, None, (2, 3), (3, 1)), "layer.weight lies outside its storage"),
        (Tensor("10", 8, 0, (3, 2), (2, 1)), "layer.weight is not a dense tensor of shape (2, 3)"),
        (Tensor("10", 8, 0, (2, 3), (1, 2)), "layer.weight is not a dense tensor of shape (2, 3)"),
        (Tensor("10", 8, 0, (2, 3), (0, 0)), "layer.weight is not a dense tensor of shape (2, 3)"),
        (Tensor("10", 2**60, 0, (2, 3), (3, 1)), "the storage of layer.weight is missing or of another length"),
        (Tensor("12", 8, 0, (2, 3), (3, 1)), "the storage of layer.weight is missing or of another length"),
    ],
)
def test_a_tensor_that_lies_about_itself_is_refused(weight: Tensor, reason: str) -> None:
    assert reason in refusal(legacy_file(weight))


@pytest.mark.parametrize("count", [9, 2**61, -1, -(2**63)])
def test_a_storage_that_lies_about_its_length_is_refused(count: int) -> None:
    content = header() + pickled_tensors({"layer.weight": WEIGHT}) + pickle.dumps(["10"], 2) + struct.pack("<q", count) + FLOATS
    assert "a storage is longer than the file" in refusal(content)


def test_a_lying_length_in_a_pickle_is_refused() -> None:
    assert "damaged or ends too early" in refusal(with_object(b"\x80\x02X\xff\xff\xff\x7fa."))


def test_what_lacks_something_is_refused() -> None:
    assert "it has no tensor layer.bias" in refusal(
        header() + pickled_tensors({"layer.weight": WEIGHT}) + storages({"10": FLOATS})
    )
    assert "it has no elsewhere" in refusal(legacy_file(), "elsewhere")
    assert "it has no model_state" in refusal(with_object(pickle.dumps([1], 2)))
    assert "it does not begin as one" in refusal(pickle.dumps(1, 2) * 5)
    assert "little-endian" in refusal(header({"little_endian": False}) + legacy_file()[len(header()) :])
    assert "something follows its last storage" in refusal(legacy_file() + b"\0")
    assert "its list of storages is broken" in refusal(header() + pickle.dumps({}, 2) + pickle.dumps(["1", "1"], 2) + bytes(16))
    assert "it has no list of storages" in refusal(header() + pickle.dumps({}, 2) * 2)


class Calls:
    """Pickles as a call."""

    def __init__(self, function: object, *arguments: object) -> None:
        self._call = (function, arguments)

    def __reduce__(self) -> tuple[object, ...]:
        return self._call


def test_nothing_that_a_file_names_is_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    for called in (
        Calls(os.system, f"touch {trace}"),
        Calls(builtins.eval, f"open({str(trace)!r}, 'w')"),
        Calls(builtins.open, trace),
    ):
        for content in (with_object(pickle.dumps(called, 2)), pickle.dumps(called, 2) + legacy_file()):
            assert "which no weights need" in refusal(content)
    assert not trace.exists()


@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x02cos\nsystem\n.",
        b"\x80\x02c" + b"x" * 5000 + b"\ny\n.",
        b"\x80\x02(ios\nsystem\n.",
        b"\x80\x02(cos\nsystem\no.",
        b"\x80\x02)\x81.",
        b"\x80\x02\x82\x01.",
        b"\x80\x02Vos\nVsystem\n\x93.",
        b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00N.",
        b"\x80\x02ccollections\nOrderedDict\n(K\x01tR.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.",
        b"\x80\x02ctorch\nFloatStorage\n)R.",
        b"\x80\x02K\x01)R.",
        b"\x80\x02Vevil\nQ.",
        b"\x80\x02Pevil\n.",
        b"\x80\x02h\x07.",
        b"\x80\x02t.",
        b"\x80\x02K\x01a.",
        b"\x80\x02K\x01K\x01K\x01s.",
        b"\x80\x02}(K\x01u.",
        b"\x80\x02.",
        b"q\x00.",
        b"\x80\x02I" + b"9" * 10_000 + b"\n.",
    ],
)
def test_opcodes_that_weights_do_not_need_are_refused(pickled: bytes) -> None:
    assert len(refusal(with_object(pickled))) < 250


def test_a_file_cannot_take_memory_time_or_the_stack() -> None:
    deep = b"\x80\x02]" + b"\x85" * (MOST_OPCODES - 10) + b"."
    assert "it has no model_state" in refusal(with_object(deep))
    assert "far longer than such files are" in refusal(with_object(b"\x80\x02" + b"(" * MOST_OPCODES + b"."))
    assert "it has no model_state" in refusal(with_object(b"\x80\x02Nr\xff\xff\xff\xff."))  # a memo of 2**32 entries
    doubled = b"\x80\x02}K\x01" + b"q\x00h\x00\x86" * 100 + b"Ns."  # a key whose hash takes 2**100 steps
    assert "a key is neither a text nor a number" in refusal(with_object(doubled))


@given(st.data())
def test_a_damaged_file_is_read_right_or_refused(data: st.DataObject) -> None:
    content = bytearray(legacy_file())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        tensors = read_tensors(bytes(content), "model_state", SHAPES)
    except Refused:
        return
    assert {name: (tensor.shape, len(tensor.data)) for name, tensor in tensors.items()} == {
        "layer.weight": ((2, 3), 24),
        "layer.bias": ((2,), 8),
    }


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(content: bytes) -> None:
    refusal(content)
    refusal(with_object(content))
