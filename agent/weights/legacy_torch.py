"""Reads the tensors of a legacy PyTorch file (`torch.save` before version 1.6) without PyTorch and without `pickle`.

Such a file is five pickles (magic number, protocol, machine, object, keys of the storages), then each storage: its number of
elements, int64, and its elements, little-endian. Unpickling runs what the file names; here the opcodes are interpreted one by one
instead, on a stack of plain values. Exactly the opcodes and the three names that such a file needs are known, none of them calls
anything, and all else is refused.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate
from math import prod
from pickletools import genops

from agent.errors import Refused

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
MOST_OPCODES = 10_000
"""Per pickle; the speaker encoder's largest has 1,787."""

_LITERALS = frozenset(("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE"))
_CONSTANTS: Mapping[str, object] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_NAMES = frozenset(("collections OrderedDict", "torch._utils _rebuild_tensor_v2", "torch FloatStorage"))


@dataclass(frozen=True, slots=True)
class FloatTensor:
    """`data`: float32, little-endian, the last axis running fastest; four bytes for each element of `shape`."""

    shape: tuple[int, ...]
    data: memoryview


@dataclass(frozen=True, slots=True)
class _Name:
    """A name the file may mention; it stands for itself and is never imported."""

    name: str


@dataclass(frozen=True, slots=True)
class _Storage:
    key: str
    count: int


@dataclass(frozen=True, slots=True)
class _View:
    storage: _Storage
    offset: object
    shape: object
    strides: object


def read_tensors(content: bytes, entry: str, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, FloatTensor]:
    """The tensors named in `shapes`, out of the dictionary `entry` of the file's object.

    Raises Refused when the file is not of this format, asks for more than data, lacks a tensor or has it in another shape.
    """
    file = BytesIO(content)
    magic, protocol, machine, root, keys = (_unpickle(file) for _ in range(5))
    if magic != MAGIC or protocol != PROTOCOL:
        raise _refused("it does not begin as one")
    if not isinstance(machine, dict) or machine.get("little_endian") is not True:
        raise _refused("it was not written on a little-endian machine")
    storages = _storages(memoryview(content)[file.tell() :], keys)
    tensors = root.get(entry) if isinstance(root, dict) else None
    if not isinstance(tensors, dict):
        raise _refused(f"it has no {entry}")
    return {name: _tensor(name, tensors.get(name), shape, storages) for name, shape in shapes.items()}


def _refused(why: str) -> Refused:
    return Refused(f"it is not a legacy PyTorch file with nothing but weights: {why}")


def _storages(content: memoryview, keys: object) -> dict[str, memoryview]:
    if not isinstance(keys, list):
        raise _refused("it has no list of storages")
    storages: dict[str, memoryview] = {}
    for key in keys:
        if not isinstance(key, str) or key in storages:
            raise _refused("its list of storages is broken")
        if len(content) < 8:
            raise _refused("it ends too early")
        count: int = struct.unpack_from("<q", content)[0]
        end = 8 + 4 * count
        if count < 0 or end > len(content):
            raise _refused("a storage is longer than the file")
        storages[key], content = content[8:end], content[end:]
    if content:
        raise _refused("something follows its last storage")
    return storages


def _tensor(name: str, view: object, shape: tuple[int, ...], storages: Mapping[str, memoryview]) -> FloatTensor:
    if not isinstance(view, _View):
        raise _refused(f"it has no tensor {name}")
    if view.shape != shape or view.strides != _contiguous(shape):
        raise _refused(f"{name} is not a dense tensor of shape {shape}")
    storage = storages.get(view.storage.key)
    if storage is None or len(storage) != 4 * view.storage.count:
        raise _refused(f"the storage of {name} is missing or of another length")
    offset, count = view.offset, prod(shape)
    if type(offset) is not int or not 0 <= offset <= view.storage.count - count:
        raise _refused(f"{name} lies outside its storage")
    return FloatTensor(shape, storage[4 * offset : 4 * (offset + count)])


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a dense tensor whose last axis runs fastest."""
    return tuple(accumulate(shape[:0:-1], lambda stride, length: stride * length, initial=1))[::-1]


def _unpickle(file: BytesIO) -> object:
    """The value of the pickle at the file's position, which is behind it afterwards."""
    machine = _Machine()
    try:
        for number, (opcode, argument, _) in enumerate(genops(file)):
            if number == MOST_OPCODES:
                raise _refused("it is far longer than such files are")
            machine.step(opcode.name, argument)
    except ValueError as error:  # what genops raises, whatever is wrong
        raise _refused("it is damaged or ends too early") from error
    return machine.pop()


class _Machine:
    """The stack machine of pickle protocol 2, as far as weights need it. Values are plain ones, `_Name`, `_Storage`, `_View`."""

    def __init__(self) -> None:
        self._stack: list[object] = []
        self._marks: list[int] = []
        self._memo: dict[object, object] = {}

    def pop(self) -> object:
        """Take the topmost value."""
        if not self._stack:
            raise _refused("it takes what it never put")
        return self._stack.pop()

    def step(self, opcode: str, argument: object) -> None:
        """Execute one opcode; raises Refused for any that weights do not need."""
        if opcode in _LITERALS:
            self._stack.append(argument)
        elif opcode in _CONSTANTS:
            self._stack.append(_CONSTANTS[opcode])
        elif opcode in _TUPLES:
            self._stack.append(tuple([self.pop() for _ in range(_TUPLES[opcode])][::-1]))
        elif opcode in ("BINPUT", "LONG_BINPUT"):
            self._memo[argument] = self._top()
        elif opcode == "BINGET":
            self._get(argument)
        elif opcode == "GLOBAL":
            self._name(argument)
        elif opcode == "PROTO":
            if argument != 2:
                raise _refused("its pickles are not of protocol 2")
        elif opcode != "STOP":
            self._build(opcode)

    def _build(self, opcode: str) -> None:
        """The opcodes that make a value out of others."""
        match opcode:
            case "MARK":
                self._marks.append(len(self._stack))
            case "EMPTY_DICT":
                self._stack.append({})
            case "EMPTY_LIST":
                self._stack.append([])
            case "TUPLE":
                self._stack.append(tuple(self._above_mark()))
            case "APPEND":
                self._extend([self.pop()])
            case "APPENDS":
                self._extend(self._above_mark())
            case "SETITEM":
                self._set([self.pop(), self.pop()][::-1])
            case "SETITEMS":
                self._set(self._above_mark())
            case "REDUCE":
                self._reduce()
            case "BINPERSID":
                self._storage()
            case "BUILD":
                self.pop()  # attributes of a dictionary: versions of layers, of no use here
            case _:
                raise _refused(f"it uses {opcode}, which no weights need")

    def _top(self) -> object:
        value = self.pop()
        self._stack.append(value)
        return value

    def _above_mark(self) -> list[object]:
        if not self._marks:
            raise _refused("it closes what it never opened")
        mark = self._marks.pop()
        values = self._stack[mark:]
        del self._stack[mark:]
        return values

    def _get(self, index: object) -> None:
        if index not in self._memo:
            raise _refused("it takes what it never put")
        self._stack.append(self._memo[index])

    def _name(self, name: object) -> None:
        if name not in _NAMES:
            raise _refused(f"it asks for {str(name)[:80]!r}, which no weights need")
        self._stack.append(_Name(str(name)))

    def _extend(self, values: list[object]) -> None:
        target = self._top()
        if not isinstance(target, list):
            raise _refused("it appends to what is no list")
        target.extend(values)

    def _set(self, values: list[object]) -> None:
        target = self._top()
        if not isinstance(target, dict) or len(values) % 2:
            raise _refused("it sets items of what is no dictionary")
        for key, value in zip(values[::2], values[1::2], strict=True):
            if type(key) not in (str, int):  # a tuple of tuples takes for ever to hash
                raise _refused("a key is neither a text nor a number")
            target[key] = value

    def _reduce(self) -> None:
        arguments, name = self.pop(), self.pop()
        match name, arguments:
            case _Name("collections OrderedDict"), ():
                self._stack.append({})
            case _Name("torch._utils _rebuild_tensor_v2"), (_Storage() as storage, offset, shape, strides, _, _):
                self._stack.append(_View(storage, offset, shape, strides))
            case _:
                raise _refused("it calls what no weights need")

    def _storage(self) -> None:
        match self.pop():
            case ("storage", _Name("torch FloatStorage"), str(key), str(), int(count), None):
                self._stack.append(_Storage(key, count))
            case _:
                raise _refused("a storage is not described as one")
