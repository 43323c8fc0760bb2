"""The sentence encoder on its real weights."""

from pathlib import Path

import numpy as np
import pytest

from agent.errors import Refused
from agent.knowledge.minilm import DIMENSIONS, MiniLM
from agent.weights.store import model_file
from tests.agent.knowledge.weights import real_encoder

pytestmark = pytest.mark.model


@pytest.fixture(scope="module", autouse=True)
def _encoder_outlives_each_test() -> None:
    real_encoder()


def test_near_meanings_are_near_and_far_ones_far() -> None:
    vectors = real_encoder().encode(
        ["How much does the premium plan cost?", "What is the price of the upgraded subscription?", "My internet is down."]
    )
    assert vectors.shape == (3, DIMENSIONS)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] == pytest.approx(0.580, abs=0.002)  # 0.58 in sentence-transformers
    assert abs(vectors[0] @ vectors[2]) < 0.1


def test_a_text_gets_the_same_vector_alone_and_among_others() -> None:
    encoder = real_encoder()
    texts = ["short", "a text of middle length, with a comma", "word " * 400, "", "[SEP] is text", "你好"] * 5
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-5
    assert encoder.encode([]).shape == (0, DIMENSIONS)


def test_tokens_stand_where_they_are_read() -> None:
    text = "A root canal is $850."
    (reading,) = real_encoder().read([text])
    assert np.allclose(np.linalg.norm(reading.tokens, axis=1), 1, atol=1e-5)
    pieces = [text[first:last] for first, last in reading.spans]
    assert pieces == ["", "A", "root", "canal", "is", "$", "850", ".", ""]
    assert np.allclose(reading.whole, real_encoder().encode([text])[0], atol=1e-6)


def test_common_words_are_known() -> None:
    assert [word for word in ("night", "flew", "cannel", "okafur") if real_encoder().knows(word)] == ["night", "flew"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    model, tokenizer = model_file("minilm", "model.safetensors"), model_file("minilm", "tokenizer.json")
    with pytest.raises(Refused, match="tokenizer"):
        MiniLM(model, model)
    with pytest.raises(Refused, match="damaged"):
        MiniLM(tokenizer, tokenizer)
    empty = tmp_path / "empty.safetensors"
    empty.write_bytes((2).to_bytes(8, "little") + b"{}")
    with pytest.raises(Refused, match="does not hold"):
        MiniLM(empty, tokenizer)
