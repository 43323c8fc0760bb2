"""What a server's refusal means to us: its status and its reason made one of our errors. Pure, no I/O."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from agent.errors import Capacity, Gone, Refused, Timeout, VenusError
from agent.llm.base import UnusableAnswer
from agent.timeline.told import sentence

RETRY_S = 5
"""When to try a busy server again if it does not say, s."""
LONGEST_RETRY_S = 3_600

BUSY = (429, 503, 529)
LATE = (408, 504)
NOT_THERE = (404, 405)


@dataclass(frozen=True, slots=True)
class Server:
    """Who answers: what errors call it, and the key that none of them may show."""

    name: str
    key: str = field(default="", repr=False)

    def says(self, reason: str) -> str:
        """The server's reason as one line in brackets, without the key; empty when it gives none."""
        told = sentence(reason.replace(self.key, "…") if self.key else reason)
        return f" ({told})" if told else ""


def failure(server: Server, status: int, reason: str = "", retry_after_s: int = RETRY_S) -> VenusError:
    """The error for an HTTP status other than 200, or for such a number in a stream. `reason`: the server's, in any state."""
    name, said = server.name, server.says(reason)
    if status == 401:
        return Refused(f"{name} does not accept the key: check VENUS_LLM_KEY")
    if status in BUSY:
        return Capacity(f"{name} is busy{said}: try again in {retry_after_s} s", retry_after_s)
    if status in LATE:
        return Timeout(f"{name} gave up waiting for its model{said}: see whether it is overloaded")
    if status in NOT_THERE:
        return Refused(f"{name} has no such model or address{said}: check VENUS_LLM_URL and VENUS_LLM_MODEL")
    if 300 <= status < 400:
        return Refused(f"{name} redirects with status {status}, which is not followed: set VENUS_LLM_URL to where it leads")
    if 400 <= status < 500:
        return Refused(f"{name} refuses the request with status {status}{said}: change what it names")
    if status >= 500:
        return Gone(f"{name} failed with status {status}{said}: see its log")
    return UnusableAnswer(f"{name} answers with status {status}, which is no answer: see what serves that URL")


def reason_of(body: bytes, media_type: str) -> str:
    """What the body of an error says; empty for pages made for browsers."""
    text = body.decode(errors="replace")
    if media_type == "text/plain":
        return text
    try:
        return reason_in(json.loads(text))
    except (ValueError, RecursionError):
        return ""


def reason_in(error: object) -> str:
    """The sentence in an error object, in any of the shapes that servers give it; empty when there is none."""
    if isinstance(error, list) and error:
        return reason_in(error[0])
    for name in ("error", "message", "detail"):
        inner = error.get(name) if isinstance(error, dict) else None
        if isinstance(inner, str):
            return inner
        if isinstance(inner, dict):
            return reason_in(inner)
    return ""


def retry_after(headers: Mapping[str, str], now: datetime) -> int:
    """Seconds until the time in `Retry-After` (RFC 9110, 10.2.3), 1 to `LONGEST_RETRY_S`; `RETRY_S` if it says none."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return _within_bounds(float(value[:9]))
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, IndexError, TypeError):
        return RETRY_S
    return _within_bounds((at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())


def _within_bounds(seconds: float) -> int:
    return round(min(max(seconds, 1.0), float(LONGEST_RETRY_S)))
