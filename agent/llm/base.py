"""What the project asks of a language model, whoever serves it."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from pydantic import BaseModel

from agent.errors import Refused

T = TypeVar("T", bound=BaseModel)

LONGEST_DEADLINE_US = 600_000_000
"""No bound of a deadline is longer, µs."""
MOST_TOKENS = 8_192
"""Tokens that one answer may be asked to have at most."""
MOST_MESSAGES = 1_000
"""Messages in one request."""
MOST_CHARACTERS = 400_000
"""Characters of all messages of a request together."""


class UnusableAnswer(Refused):
    """What came back is not what was asked for: no chat completion, no text, too much of it, or JSON that does not fit.

    The sentence never quotes the answer, which may repeat what a caller said.
    """


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation that the model is to go on with."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long one answer may take, µs; each is above 0 and at most `LONGEST_DEADLINE_US`. Only text counts as progress:
    comments, empty pieces and reasoning that is not spoken do not.

    `connect_us`: until a connection is there. `first_token_us`: from the request to the first text; waiting for a connection or
    for a free slot is part of it. `between_tokens_us`: between two texts. `total_us`: from the request to the end, whatever the
    one who reads it does in between.
    """

    connect_us: int = 2_000_000
    first_token_us: int = 4_000_000
    between_tokens_us: int = 3_000_000
    total_us: int = 30_000_000

    def __post_init__(self) -> None:
        bounds = self.connect_us, self.first_token_us, self.between_tokens_us, self.total_us
        if not all(0 < bound <= LONGEST_DEADLINE_US for bound in bounds):
            raise Refused(f"every deadline of a language model is between 1 and {LONGEST_DEADLINE_US} µs")


@dataclass(frozen=True, slots=True)
class LlmRequest:
    """One question. Raises `Refused` for what no model can be asked.

    `max_tokens`: 1 to `MOST_TOKENS`. `temperature`: 0 to 2, None leaves it to the server (some models take no other).
    `stop`: the answer ends before any of these texts, at most four. `seed`: the same seed, the same answer, where the server can.
    """

    messages: tuple[Message, ...]
    max_tokens: int = 256
    temperature: float | None = 0.0
    deadline: Deadlines = field(default_factory=Deadlines)
    stop: tuple[str, ...] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.messages) <= MOST_MESSAGES:
            raise Refused(f"a language model is asked with 1 to {MOST_MESSAGES} messages, not {len(self.messages)}")
        if sum(len(message.content) for message in self.messages) > MOST_CHARACTERS:
            raise Refused(f"the messages for a language model have more than {MOST_CHARACTERS} characters: shorten the history")
        if not 1 <= self.max_tokens <= MOST_TOKENS:
            raise Refused(f"max_tokens is between 1 and {MOST_TOKENS}, not {self.max_tokens}")
        if self.temperature is not None and not 0.0 <= self.temperature <= 2.0:
            raise Refused(f"temperature is between 0 and 2, not {self.temperature}")
        if len(self.stop) > 4 or not all(self.stop):
            raise Refused("stop takes at most four texts, none of them empty")


class Llm(Protocol):
    """A language model. Both ways of asking raise, besides `Refused` (and its `UnusableAnswer`):

    `Timeout` when a bound of the request's deadline was reached, `Capacity` when the server or the machine is busy, `Gone` when
    it cannot be reached, failed, or broke off, `Fault` when it is used outside its `async with`.
    """

    def stream(self, request: LlmRequest) -> AsyncGenerator[str, None]:
        """The answer, in pieces as they are made, none of them empty. What was yielded before an error stands.

        Closing the generator (`contextlib.aclosing`) or cancelling the task that reads it stops the generation.
        """

    async def structured(self, request: LlmRequest, schema: type[T]) -> T:
        """The answer as an instance of `schema`, checked here whatever the server promised.

        An answer that does not fit is asked for once more, inside the same total bound; then it raises `UnusableAnswer`.
        """
