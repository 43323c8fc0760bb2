"""One answer of a chat-completions server: its chunks read and checked, its text counted, its end judged. Pure, no I/O."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from agent.errors import Gone, Refused, VenusError
from agent.llm.base import UnusableAnswer
from agent.llm.failures import Server, failure, reason_in

DONE = "[DONE]"
LONGEST_TOKEN = 64
"""Characters per token asked for beyond which an answer is a flood. Real tokens are shorter, runs of blanks aside."""


class _Part(BaseModel):
    """The `delta` of a streamed choice, or the `message` of a whole one."""

    content: str | None = None
    refusal: str | None = None
    tool_calls: list[Any] | None = None


class _Choice(BaseModel):
    delta: _Part | None = None
    message: _Part | None = None
    finish_reason: str | None = None


class _Chunk(BaseModel):
    """A chunk, or an error in one of its two shapes: `{"error": …}`, `{"object": "error", "message": …, "code": …}`."""

    choices: list[_Choice] | None = None
    error: Any = None
    object: str | None = None
    message: Any = None
    code: Any = None


class Answer:
    """What has come of an answer so far."""

    def __init__(self, server: Server, max_tokens: int) -> None:
        self._server = server
        self._room = max_tokens * LONGEST_TOKEN
        self._said = False
        self._instead = ""
        self.complete = False
        """The answer has come to its end: what follows is no part of it."""

    def read_event(self, data: str) -> str:
        """The text of one event of a stream, possibly none. Raises as `read`."""
        if data.strip() == DONE:
            self.complete = True
            return ""
        return self.read_json(data)

    def read_json(self, data: str | bytes) -> str:
        """The text of one chunk, or of a whole completion, in JSON. Raises as `read`."""
        try:
            return self._read(_Chunk.model_validate_json(data))
        except ValidationError:
            raise self._no_completion() from None

    def read(self, chunk: Mapping[str, Any]) -> str:
        """The text of one chunk, possibly none.

        Raises `UnusableAnswer` when it is no chat completion or more text than was asked for, and what the error stands for that
        a server reports inside a stream.
        """
        try:
            return self._read(_Chunk.model_validate(chunk))
        except ValidationError:
            raise self._no_completion() from None

    def check_end(self) -> None:
        """When nothing more comes. Raises `Gone` when the end is missing, `UnusableAnswer` when there was no text."""
        if not self.complete:
            raise Gone(f"{self._server.name} broke off in the middle of an answer: ask again")
        if not self._said:
            raise UnusableAnswer(f"{self._server.name} answered with {self._instead or 'no text'}: try another model")

    def _read(self, chunk: _Chunk) -> str:
        if chunk.error is not None:
            raise self._reported(chunk.error)
        if chunk.object == "error":
            raise self._reported({"message": chunk.message, "code": chunk.code})
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        part = choice.delta or choice.message or _Part()
        self._note(choice, part)
        text = part.content or ""
        self._said = self._said or bool(text.strip())
        self._room -= len(text)
        if self._room < 0:
            raise UnusableAnswer(f"{self._server.name} answers with much more text than it was asked for: try another model")
        return text

    def _note(self, choice: _Choice, part: _Part) -> None:
        if part.tool_calls:
            self._instead = "the call of a tool, which nobody offered it"
        if part.refusal:
            self._instead = "a refusal"
        if choice.finish_reason == "content_filter":
            raise Refused(f"the content filter of {self._server.name} stopped the answer: ask for something else")
        self.complete = self.complete or choice.finish_reason is not None

    def _reported(self, error: object) -> VenusError:
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 300 <= code < 600 else 500
        return failure(self._server, status, reason_in({"error": error}))

    def _no_completion(self) -> UnusableAnswer:
        return UnusableAnswer(f"{self._server.name} sends something that is no chat completion: see what serves that URL")
