"""What happens when a model can not be opened."""

from pathlib import Path

import pytest

from agent.errors import Refused
from agent.onnx import open_session

pytestmark = pytest.mark.unit


def test_a_missing_model_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"no some\.onnx in the models folder: run `venus models install`"):
        open_session(tmp_path / "some.onnx")


@pytest.mark.parametrize("content", [b"", b"something else", b"\x08\x07\x12\x00"])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "some.onnx").write_bytes(content)
    with pytest.raises(Refused, match="venus models install"):
        open_session(tmp_path / "some.onnx")
