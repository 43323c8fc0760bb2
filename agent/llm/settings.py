"""Which server is asked, and with which key. The key comes from the environment and goes into one header, nowhere else."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, cast, get_args

import httpx

from agent.errors import Refused

URL = "VENUS_LLM_URL"
MODEL = "VENUS_LLM_MODEL"
KEY = "VENUS_LLM_KEY"
ALLOW_HTTP = "VENUS_LLM_ALLOW_HTTP"
TOKENS_FIELD = "VENUS_LLM_TOKENS_FIELD"
GGUF = "VENUS_LLM_GGUF"
THREADS = "VENUS_LLM_THREADS"

LONGEST_KEY = 4_096
MOST_THREADS = 16
MOST_SLOTS = 16

TokensField = Literal["max_tokens", "max_completion_tokens"]


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """A chat-completions server. Raises `Refused` with what to change, never with the key.

    `url`: its base (`http://127.0.0.1:8080`, `https://api.example.com/v1`) or the whole address of its chat completions, without
    user, query or fragment. `model`: sent along unless empty. `tokens_field`: what the server calls the bound on tokens.
    `connections`: how many answers may be under way at once.
    """

    url: str
    model: str = ""
    key: str = field(default="", repr=False)
    allow_http: bool = False
    tokens_field: TokensField = "max_tokens"
    connections: int = 64

    def __post_init__(self) -> None:
        url = _parsed(self.url)
        if url.scheme == "http" and not self.allow_http and not _is_loopback(url.host):
            raise Refused(
                f"{URL} leads to {url.host} without encryption: use https, or set {ALLOW_HTTP}=1 if that network is yours alone"
            )
        if len(self.key) > LONGEST_KEY or not all("!" <= letter <= "~" for letter in self.key):
            raise Refused(f"{KEY} holds no key: letters, digits and signs without blanks, at most {LONGEST_KEY}")
        if self.connections < 1:
            raise Refused("at least one connection to the model server is needed")

    @property
    def endpoint(self) -> str:
        """The address that requests are posted to."""
        url = _parsed(self.url)
        path = url.path.rstrip("/")
        if path.endswith("/chat/completions"):
            return str(url.copy_with(path=path))
        return str(url.copy_with(path=(path or "/v1") + "/chat/completions"))

    @property
    def name(self) -> str:
        """What errors call this server."""
        url = _parsed(self.url)
        host = f"[{url.host}]" if ":" in url.host else url.host
        return f"the model server {host}" + (f":{url.port}" if url.port else "")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "LlmSettings":
        """`VENUS_LLM_URL` and, where given, `_MODEL`, `_KEY`, `_ALLOW_HTTP` (0 or 1) and `_TOKENS_FIELD`."""
        if not environment.get(URL):
            raise Refused(f"no model server is named: set {URL}, for example to http://127.0.0.1:8080")
        return cls(
            url=environment[URL],
            model=environment.get(MODEL, ""),
            key=environment.get(KEY, ""),
            allow_http=_yes(environment, ALLOW_HTTP),
            tokens_field=_tokens_field(environment.get(TOKENS_FIELD) or "max_tokens"),
        )


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """A GGUF file that this process runs itself. Raises `Refused` for numbers out of range.

    `threads`: of computation, for all slots together. `slots`: answers made at the same time. `context_tokens`: prompt and
    answer of one slot together. `cache_mib`: memory for prompts that were read before and are not in a slot, MiB.
    """

    model: Path
    threads: int = 2
    slots: int = 1
    context_tokens: int = 4_096
    cache_mib: int = 256

    def __post_init__(self) -> None:
        if not 1 <= self.threads <= MOST_THREADS:
            raise Refused(f"the embedded model takes 1 to {MOST_THREADS} threads ({THREADS}), not {self.threads}")
        if not 1 <= self.slots <= MOST_SLOTS:
            raise Refused(f"the embedded model takes 1 to {MOST_SLOTS} slots, not {self.slots}")
        if not 256 <= self.context_tokens <= 131_072 or not 0 <= self.cache_mib <= 65_536:
            raise Refused("the embedded model takes a context of 256 to 131072 tokens and a cache of 0 to 65536 MiB")


def _parsed(text: str) -> httpx.URL:
    """The URL, checked; nothing of it is quoted in an error, because a key may be in the wrong place."""
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, UnicodeError):
        raise Refused(f"{URL} holds no address: give one like http://127.0.0.1:8080 or https://api.example.com/v1") from None
    if url.scheme not in ("http", "https") or not url.host or not 1 <= (443 if url.port is None else url.port) <= 65_535:
        raise Refused(f"{URL} holds no address: it begins with http:// or https://, and a host follows")
    if url.userinfo or url.query or url.fragment:
        raise Refused(f"{URL} holds more than host, port and path: remove user, ? and #; the key belongs into {KEY}")
    return url


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _yes(environment: Mapping[str, str], name: str) -> bool:
    value = environment.get(name, "")
    if value not in ("", "0", "1"):
        raise Refused(f"{name} is 1 (yes) or 0 (no)")
    return value == "1"


def _tokens_field(value: str) -> TokensField:
    if value in get_args(TokensField):
        return cast(TokensField, value)
    raise Refused(f"{TOKENS_FIELD} is max_tokens or max_completion_tokens")
