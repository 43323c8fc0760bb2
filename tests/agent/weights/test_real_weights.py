"""The weights of this machine are the pinned ones, and what was converted is what the network needs."""

import pytest
from safetensors.numpy import load_file

from agent.weights.catalogue import INSTALLED_UNASKED, MODELS, Model
from agent.weights.resemblyzer import SHAPES
from agent.weights.store import check_model, model_file

pytestmark = pytest.mark.model


@pytest.mark.parametrize(
    "model", [model for model in MODELS if model.group in (*INSTALLED_UNASKED, "bundled")], ids=lambda model: model.name
)
def test_every_file_is_the_pinned_one(model: Model) -> None:
    check_model(model.name)
    assert all(model_file(model.name, file.name).stat().st_size == file.size for file in model.files)


def test_the_speaker_encoder_has_the_tensors_of_its_network() -> None:
    tensors = load_file(model_file("resemblyzer", "model.safetensors"))
    assert {name: tensor.shape for name, tensor in tensors.items()} == SHAPES
