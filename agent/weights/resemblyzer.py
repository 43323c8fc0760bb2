"""The speaker encoder's weights: from the legacy PyTorch file in its wheel to safetensors.

The network is GE2E (Wan et al. 2018): 40 mel bands, three LSTM layers of 256 units, one linear layer.
"""

import json
import struct
from collections.abc import Mapping

from agent.weights.legacy_torch import FloatTensor, read_tensors

MELS, UNITS, LAYERS = 40, 256, 3

_LAYER_SHAPES = {
    f"lstm.{name}_l{layer}": shape
    for layer in range(LAYERS)
    for name, shape in (
        ("weight_ih", (4 * UNITS, MELS if layer == 0 else UNITS)),
        ("weight_hh", (4 * UNITS, UNITS)),
        ("bias_ih", (4 * UNITS,)),
        ("bias_hh", (4 * UNITS,)),
    )
}
SHAPES: Mapping[str, tuple[int, ...]] = _LAYER_SHAPES | {"linear.weight": (UNITS, UNITS), "linear.bias": (UNITS,)}
"""Every tensor of the network, float32. The four gates of an LSTM layer lie one below the other: input, forget, cell, output."""


def convert(content: bytes) -> bytes:
    """A safetensors file with the tensors of `SHAPES` out of `pretrained.pt`; raises Refused when they are not all there."""
    return safetensors(read_tensors(content, "model_state", SHAPES))


def safetensors(tensors: Mapping[str, FloatTensor]) -> bytes:
    """Tensors as a safetensors file, in the order of their names.

    Written here and not by the library, whose header may be laid out otherwise in another version: the sha256 of these bytes is
    pinned.
    """
    header: dict[str, object] = {}
    end = 0
    for name, tensor in sorted(tensors.items()):
        start, end = end, end + tensor.data.nbytes
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join((struct.pack("<Q", len(text)), text, *(tensor.data for _, tensor in sorted(tensors.items()))))
