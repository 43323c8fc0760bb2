"""Request bodies and the schemas in them."""

import json
from enum import StrEnum
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from agent.llm import LlmRequest, Message
from agent.llm.body import body_of, response_format

pytestmark = pytest.mark.unit


class Day(StrEnum):
    MONDAY = "monday"


class Guest(BaseModel):
    title: str = Field(default="", description="How to address them.")
    default: int | None = None


class Booking(BaseModel):
    model_config = ConfigDict(title="A booking")
    action: Literal["book", "none"]
    day: Day = Day.MONDAY
    guests: list[Guest] = []


def test_everything_that_is_set_is_sent() -> None:
    messages = (Message("system", "Be brief."), Message("user", "Hi"), Message("assistant", "Hello."), Message("user", "So?"))
    request = LlmRequest(messages, max_tokens=9, temperature=0.5, stop=("\n",), seed=3)
    assert body_of(request, {"type": "x"}, "small", "max_completion_tokens") == {
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "model": "small",
        "max_completion_tokens": 9,
        "temperature": 0.5,
        "stop": ["\n"],
        "seed": 3,
        "stream": True,
        "response_format": {"type": "x"},
    }


def test_what_is_not_set_is_not_sent() -> None:
    body = body_of(LlmRequest((Message("user", "Hi"),), temperature=None), None)
    assert body.keys() == {"messages", "max_tokens", "stream"}
    assert body_of(LlmRequest((Message("user", "Hi"),)), None)["temperature"] == 0.0


def test_half_characters_are_replaced() -> None:
    body = body_of(LlmRequest((Message("user", "a\ud83db"),), stop=("\ud83d",)), None)
    assert body["messages"][0]["content"] == "a?b"
    assert body["stop"] == ["?"]
    json.dumps(body, ensure_ascii=False).encode()


def test_schemas_are_closed_and_fields_called_title_or_default_stay() -> None:
    form = response_format(Booking)["json_schema"]
    assert form["name"] == "Booking"
    assert form["strict"] is True
    assert form["schema"] == {
        "$defs": {
            "Day": {"enum": ["monday"], "type": "string"},
            "Guest": {
                "type": "object",
                "properties": {
                    "title": {"type": "string", "description": "How to address them."},
                    "default": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                },
                "required": ["title", "default"],
                "additionalProperties": False,
            },
        },
        "type": "object",
        "properties": {
            "action": {"enum": ["book", "none"], "type": "string"},
            "day": {"$ref": "#/$defs/Day"},
            "guests": {"items": {"$ref": "#/$defs/Guest"}, "type": "array"},
        },
        "required": ["action", "day", "guests"],
        "additionalProperties": False,
    }


def test_a_generic_name_is_made_fit() -> None:
    odd = type("Answer[int] " + "x" * 100, (BaseModel,), {})
    assert response_format(odd)["json_schema"]["name"] == ("Answer_int__" + "x" * 100)[:64]
