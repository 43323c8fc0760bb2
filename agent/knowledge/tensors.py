"""Tensors of a safetensors file, mapped into memory or read (the format: 8 bytes of length, a JSON header, raw data)."""

import json
import math
import mmap
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from agent.errors import Refused

_LENGTH_BYTES = 8
_LONGEST_HEADER = 16 << 20
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1", "I16": "<i2"}


def map_tensors(path: Path) -> Mapping[str, npt.NDArray[Any]]:
    """Read-only arrays by name; their pages are shared with other processes. The mapping lives as long as any of them.

    Raises `Refused` when the file is missing, is not safetensors or is shorter than its header says.
    """
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise Refused(f"{path.name} cannot be opened ({error}): install the models again.") from error
    return read_tensors(data, path.name)


def read_tensors(data: mmap.mmap | bytes, name: str) -> Mapping[str, npt.NDArray[Any]]:
    """Read-only arrays by name, over the bytes of a file. Raises `Refused` when they are not safetensors."""
    try:
        return MappingProxyType(dict(_tensors(data)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(f"{name} is damaged or not a safetensors file: install the models again.") from error


def _tensors(data: mmap.mmap | bytes) -> list[tuple[str, npt.NDArray[Any]]]:
    header_bytes = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if header_bytes > _LONGEST_HEADER:
        raise ValueError("the header is too long")
    begin = _LENGTH_BYTES + header_bytes
    header = json.loads(data[_LENGTH_BYTES:begin])
    return [(name, _tensor(data, begin, entry)) for name, entry in header.items() if name != "__metadata__"]


def _tensor(data: mmap.mmap | bytes, begin: int, entry: dict[str, Any]) -> npt.NDArray[Any]:
    shape = entry["shape"]
    first, last = entry["data_offsets"]
    dtype = np.dtype(_TYPES[entry["dtype"]])
    if not 0 <= first <= last or last - first != math.prod(shape) * dtype.itemsize:
        raise ValueError("a tensor's length does not fit its shape")
    return np.frombuffer(data, dtype, math.prod(shape), begin + first).reshape(shape)
