"""Chunks of servers, good and lying, made text or an error."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import Capacity, Gone, Refused, VenusError
from agent.llm.answer import LONGEST_TOKEN, Answer
from agent.llm.base import UnusableAnswer
from agent.llm.failures import Server

pytestmark = pytest.mark.unit

SERVER = Server("the model server x", "sk-secret-4711")


def delta(content: Any = None, finish: Any = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": content} | fields, "finish_reason": finish}]}


def reading(*chunks: dict[str, Any], max_tokens: int = 50) -> tuple[Answer, str]:
    answer = Answer(SERVER, max_tokens)
    return answer, "".join(answer.read_json(json.dumps(each)) for each in chunks)


def test_a_plain_stream() -> None:
    answer, text = reading(delta(role="assistant"), delta("Hel"), delta("lo"), {"choices": [], "usage": {}}, delta(None, "stop"))
    answer.check_end()
    assert text == "Hello"


def test_a_whole_completion_is_read_like_one_chunk() -> None:
    answer, text = reading({"choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "length"}]})
    answer.check_end()
    assert text == "Hello"


def test_done_is_an_end_too() -> None:
    answer, _ = reading(delta("Hello"))
    assert answer.read_event(" [DONE] ") == ""
    answer.check_end()


def test_only_the_first_choice_counts() -> None:
    assert reading({"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]})[1] == "a"


@pytest.mark.parametrize(
    "chunk",
    [{}, {"choices": None}, {"choices": []}, {"choices": [{}]}, {"choices": [{"delta": None}]}, delta(None), delta(""),
     delta(None, reasoning_content="Let me think")],
)  # fmt: skip
def test_chunks_without_text_are_no_text(chunk: dict[str, Any]) -> None:
    answer, text = reading(chunk)
    assert text == ""
    with pytest.raises(Gone, match="broke off"):
        answer.check_end()


@pytest.mark.parametrize(
    "data",
    ["", "{", "[]", "null", "3", '"text"', '{"choices": 3}', '{"choices": {"0": 1}}', '{"choices": ["text"]}',
     '{"choices": [{"delta": "text"}]}', '{"choices": [{"delta": {"content": 3}}]}',
     '{"choices": [{"delta": {"content": ["a"]}}]}', '{"choices": [{"delta": {"content": "\\ud83d"}}]}', "[" * 10_000,
     '{"choices": [{"delta": {}, "finish_reason": 3}]}'],
)  # fmt: skip
def test_what_is_no_chunk_is_refused(data: str) -> None:
    with pytest.raises(UnusableAnswer, match="the model server x sends something that is no chat completion"):
        Answer(SERVER, 50).read_event(data)


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300)))
def test_whatever_comes_only_our_errors_leave(data: bytes | str) -> None:
    with suppress(VenusError):
        assert isinstance(Answer(SERVER, 50).read_json(data), str)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["choices", "delta", "message", "content", "error", "code", "finish_reason", "object", "tool_calls"]),
        inner, max_size=4),
    max_leaves=15,
)  # fmt: skip


@given(JSON)
def test_whatever_json_comes_only_our_errors_leave(value: Any) -> None:
    for read in (lambda answer: answer.read(value), lambda answer: answer.read_json(json.dumps(value))):
        with suppress(VenusError):
            assert isinstance(read(Answer(SERVER, 50)), str)


@pytest.mark.parametrize(
    ("chunks", "what"),
    [
        ((delta(None, "stop"),), "no text"),
        ((delta(" \n"), delta(None, "stop")), "no text"),
        ((delta(None, "tool_calls", tool_calls=[{"function": {"name": "f", "arguments": "{}"}}]),), "the call of a tool"),
        ((delta(None, "stop", refusal="I can't help with that."),), "a refusal"),
    ],
)
def test_an_end_without_text_is_unusable(chunks: tuple[dict[str, Any], ...], what: str) -> None:
    answer, _ = reading(*chunks)
    with pytest.raises(UnusableAnswer, match=f"answered with {what}"):
        answer.check_end()


def test_a_content_filter_is_no_end_of_a_sentence() -> None:
    with pytest.raises(Refused, match="content filter"):
        reading(delta("And"), delta(None, "content_filter"))


def test_a_server_that_does_not_stop_is_stopped() -> None:
    answer = Answer(SERVER, 10)
    answer.read(delta("x" * 10 * LONGEST_TOKEN))
    with pytest.raises(UnusableAnswer, match="much more text than it was asked for"):
        answer.read(delta("x"))


@pytest.mark.parametrize(
    ("chunk", "kind", "said"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, Capacity, "busy (slow down)"),
        ({"error": {"code": 400, "message": "too long"}}, Refused, "status 400 (too long)"),
        ({"error": {"code": "server_error", "message": "out of memory"}}, Gone, "(out of memory)"),
        ({"error": "it broke"}, Gone, "(it broke)"),
        ({"error": {}}, Gone, "status 500:"),
        ({"error": True}, Gone, "status 500:"),
        ({"error": {"code": 10**30}}, Gone, "status 500"),
        ({"object": "error", "message": "no such model", "code": 404}, Refused, "(no such model)"),
        ({"error": {"code": 400, "message": "bad key sk-secret-4711!"}}, Refused, "(bad key …!)"),
    ],
)
def test_errors_inside_a_stream(chunk: dict[str, Any], kind: type[VenusError], said: str) -> None:
    with pytest.raises(kind) as caught:
        reading(chunk)
    assert type(caught.value) is kind
    assert said in str(caught.value)
