"""The client for any server of the chat-completions kind (`/v1/chat/completions`), over HTTP/1.1 with server-sent events."""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Self, cast

import httpx

from agent.clock import Clock
from agent.errors import Capacity, Fault, Gone, Refused, Timeout, VenusError
from agent.llm.answer import Answer
from agent.llm.base import LlmRequest, T, UnusableAnswer
from agent.llm.body import Json, body_of
from agent.llm.deadlines import within
from agent.llm.event_stream import EventStream
from agent.llm.failures import Server, failure, reason_of, retry_after
from agent.llm.settings import LlmSettings
from agent.llm.structured import ask_structured
from agent.timeline.told import sentence

LONGEST_ANSWER = 8 * 1024 * 1024
"""Bytes of one response, whatever they hold: some 400 a token."""
LONGEST_WHOLE = 512 * 1024
"""Bytes of a response that is not streamed."""
LONGEST_REASON = 16 * 1024
"""Bytes of an error's body after which no more is read."""
REASON_S = 1.0
"""How long an error's body is awaited."""
DRAIN_S = 0.1
"""How long the rest of a response is awaited, after the end of the answer, so that its connection can be used again."""
KEEP_ALIVE_S = 30.0

_Raw = AsyncGenerator[bytes, None]


class OpenAiClient:
    """One a process, in an `async with`; any number of requests at the same time, on pooled connections (`agent.llm.base.Llm`).

    Proxies, `.netrc`, cookies and redirects play no part. Certificates are checked against `SSL_CERT_FILE` or `SSL_CERT_DIR`,
    else those of certifi. `transport` stands in for the network.
    """

    def __init__(self, settings: LlmSettings, clock: Clock, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._settings, self._clock, self._transport = settings, clock, transport
        self._server = Server(settings.name, settings.key)
        self._http: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        if self._http is not None:
            raise Fault("the client for the model server is open already")
        headers = {"Accept": "text/event-stream, application/json", "Accept-Encoding": "identity", "User-Agent": "venus-line"}
        if self._settings.key:
            headers["Authorization"] = f"Bearer {self._settings.key}"
        most = self._settings.connections
        self._http = httpx.AsyncClient(
            headers=headers,
            verify=_trust(self._settings),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            limits=httpx.Limits(max_connections=most, max_keepalive_connections=most, keepalive_expiry=KEEP_ALIVE_S),
            transport=self._transport,
            follow_redirects=False,
            trust_env=False,
        )
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Closes every connection; answers under way end with `Gone`."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    def stream(self, request: LlmRequest) -> AsyncGenerator[str, None]:
        """See `Llm.stream`."""
        return self._ask(request, None)

    async def structured(self, request: LlmRequest, schema: type[T]) -> T:
        """See `Llm.structured`."""
        return await ask_structured(self._ask, request, schema, self._clock, self._server.name)

    async def _ask(self, request: LlmRequest, response_format: Json | None) -> AsyncGenerator[str, None]:
        body = body_of(request, response_format, self._settings.model, self._settings.tokens_field)
        since_us, pieces = self._clock.now_us(), self._pieces(request, json.dumps(body).encode())
        async with aclosing(within(pieces, request.deadline, self._clock, since_us, self._server.name)) as bounded:
            async for piece in bounded:
                yield piece

    async def _pieces(self, request: LlmRequest, body: bytes) -> AsyncGenerator[str, None]:
        connect_s = request.deadline.connect_us / 1e6
        answer = Answer(self._server, request.max_tokens)
        try:
            response = await self._respond(body, connect_s)
            async with aclosing(response), aclosing(cast(_Raw, response.aiter_raw())) as raw:
                if response.status_code != 200:
                    raise await self._failure(response, raw)
                async with aclosing(self._texts(response, raw, answer)) as texts:
                    async for text in texts:
                        yield text
                await _drain(raw)
        except httpx.HTTPError as error:
            raise self._broken(error, connect_s) from None
        answer.check_end()

    async def _respond(self, body: bytes, connect_s: float) -> httpx.Response:
        """A response whose body is unread. A server may close a connection just as it is used again (llama.cpp closes it after
        each stream without saying so); that means nothing, and the request goes out once more."""
        if self._http is None:
            raise Fault("the client for the model server is used outside its async with")
        fresh = False

        async def trace(event: str, info: object) -> None:
            nonlocal fresh
            fresh = fresh or event == "connection.connect_tcp.complete"

        request = self._http.build_request(
            "POST",
            self._settings.endpoint,
            content=body,
            headers={"Content-Type": "application/json"},
            timeout=httpx.Timeout(None, connect=connect_s, pool=connect_s),
            extensions={"trace": trace},
        )
        try:
            return await self._http.send(request, stream=True)
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            if fresh:
                raise
        return await self._http.send(request, stream=True)

    async def _texts(self, response: httpx.Response, raw: _Raw, answer: Answer) -> AsyncGenerator[str, None]:
        """The texts of a response until its answer is complete or its bytes end."""
        kind = _media_type(response)
        if kind == "application/json":
            if text := answer.read_json(await self._read(raw, LONGEST_WHOLE)):
                yield text
            return
        if kind != "text/event-stream" or response.headers.get("content-encoding", "identity") != "identity":
            what = sentence(kind[:60], "an unnamed type")
            raise Refused(f"{self._server.name} answers with {what} instead of an event stream: check VENUS_LLM_URL")
        events, received = EventStream(), 0
        while not answer.complete and (data := await anext(raw, b"")):
            received += len(data)
            if received > LONGEST_ANSWER:
                raise UnusableAnswer(f"{self._server.name} sent more than {LONGEST_ANSWER} bytes: see what serves that URL")
            for event in events.feed(data):
                if not answer.complete and (text := answer.read_event(event)):
                    yield text

    async def _read(self, raw: _Raw, most: int) -> bytes:
        body = bytearray()
        async for data in raw:
            body += data
            if len(body) > most:
                raise UnusableAnswer(f"{self._server.name} sent more than {most} bytes at once: see what serves that URL")
        return bytes(body)

    async def _failure(self, response: httpx.Response, raw: _Raw) -> VenusError:
        body = bytearray()
        with suppress(TimeoutError, httpx.HTTPError):
            async with asyncio.timeout(REASON_S):
                while len(body) < LONGEST_REASON and (data := await anext(raw, b"")):
                    body += data
        reason = reason_of(bytes(body), _media_type(response))
        return failure(self._server, response.status_code, reason, retry_after(response.headers, self._clock.wall()))

    def _broken(self, error: httpx.HTTPError, connect_s: float) -> VenusError:
        """What httpx reports, without its words where they might quote a header."""
        name = self._server.name
        if isinstance(error, httpx.PoolTimeout):
            return Capacity(f"{name} has {self._settings.connections} answers of ours under way: try again later")
        if isinstance(error, httpx.ConnectTimeout):
            return Timeout(f"{name} took no connection within {connect_s:g} s: see whether it is reachable")
        if isinstance(error, httpx.ConnectError):
            return Gone(f"{name} cannot be reached{self._server.says(str(error))}: see whether it runs, and check VENUS_LLM_URL")
        if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
            return Fault(f"a request to {name} could not be written ({type(error).__name__})")
        return Gone(f"{name} broke the connection ({type(error).__name__}): ask again, or see its log")


def _trust(settings: LlmSettings) -> ssl.SSLContext:
    """Whose certificates are believed; for http nobody's (no redirect leads to https), which is quick to make."""
    if settings.endpoint.startswith("https:"):
        return httpx.create_ssl_context(trust_env=True)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


async def _drain(raw: _Raw) -> None:
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(DRAIN_S):
            async for _ in raw:
                pass


def _media_type(response: httpx.Response) -> str:
    media_type: str = response.headers.get("content-type", "")
    return media_type.partition(";")[0].strip().lower()
