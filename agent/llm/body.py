"""The body of a chat-completions request, which every server of the kind understands. Pure, no I/O."""

import re
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from agent.llm.base import LlmRequest

Json = dict[str, Any]


def body_of(request: LlmRequest, response_format: Json | None, model: str = "", tokens_field: str = "max_tokens") -> Json:
    """What is asked, as a JSON object. Half characters (lone surrogates), which no server can read, are replaced."""
    body: Json = {
        "messages": [{"role": message.role, "content": _whole(message.content)} for message in request.messages],
        "stream": True,
        tokens_field: request.max_tokens,
    }
    given = {
        "model": model or None,
        "temperature": request.temperature,
        "stop": [_whole(text) for text in request.stop] or None,
        "seed": request.seed,
        "response_format": response_format,
    }
    return body | {name: value for name, value in given.items() if value is not None}


@lru_cache(maxsize=256)
def response_format(schema: type[BaseModel]) -> Json:
    """The `response_format` that holds an answer to `schema`. Not to be changed: the same object is given every time.

    Every field is required and none may be added, as servers with strict schemas demand and as makes small models answer in full.
    """
    name = re.sub(r"[^A-Za-z0-9_-]", "_", schema.__name__)[:64]
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": _closed(schema.model_json_schema())}}


def _closed(node: Any) -> Any:
    """A JSON schema with its objects closed, and without the defaults and titles that strict servers refuse."""
    if isinstance(node, list):
        return [_closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    closed = {
        key: {name: _closed(each) for name, each in value.items()} if key in ("properties", "$defs") else _closed(value)
        for key, value in node.items()
        if key not in ("default", "title")
    }
    if "properties" in node:
        closed |= {"additionalProperties": False, "required": list(node["properties"])}
    return closed


def _whole(text: str) -> str:
    return text.encode(errors="replace").decode()
