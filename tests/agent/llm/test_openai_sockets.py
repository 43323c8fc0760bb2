"""The client over real sockets: what a server sees of it, and how it bears a server that dies, hangs or is not there."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from agent.clock import LoopClock
from agent.errors import Capacity, Gone, Refused, Timeout, VenusError
from agent.llm import Deadlines, LlmSettings, OpenAiClient
from tests.agent.llm.wire import answer, chunk, request

pytestmark = pytest.mark.peer

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
TEXTS = ["Hel", "lo."]
SHORT = Deadlines(first_token_us=600_000, between_tokens_us=300_000)
PATIENCE_S = 10.0
"""How long a test waits for what must come, real seconds."""
Talk = Callable[["Peer", asyncio.StreamWriter], Awaitable[None]]


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


HELLO = HEAD + chunked(answer(*TEXTS)) + b"0\r\n\r\n"


class Peer:
    """A raw byte server: what it was sent, how many connections it saw, and when the client left."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self.port = 0
        self.connections = 0
        self.requests: list[bytes] = []
        self.asked = asyncio.Event()
        self.left = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                self.requests.append(head + await reader.readexactly(length))
                self.asked.set()
                await self._talk(self, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.left.set()
        finally:
            writer.close()


@asynccontextmanager
async def talking(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:
    peer = Peer(talk)
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        await peer.serve(reader, writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    peer.port = server.sockets[0].getsockname()[1]
    async with server:
        yield peer
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def client_of(peer: Peer, scheme: str = "http", connections: int = 64) -> OpenAiClient:
    return OpenAiClient(LlmSettings(f"{scheme}://127.0.0.1:{peer.port}", key="k", connections=connections), LoopClock())


async def texts_of(client: OpenAiClient, deadline: Deadlines | None = None) -> list[str]:
    return [text async for text in client.stream(request(**({"deadline": deadline} if deadline else {})))]


def sending(*parts: bytes, close: bool = False) -> Talk:
    async def talk(peer: Peer, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)
        if close:
            writer.close()

    return talk


async def test_connections_are_used_again() -> None:
    async with talking(sending(HELLO)) as peer, client_of(peer) as client:
        for _ in range(5):
            assert await texts_of(client) == TEXTS
        assert peer.connections == 1
    assert b"\r\nAuthorization: Bearer k\r\n" in peer.requests[0]


async def test_a_connection_that_the_server_closes_as_it_is_used_again() -> None:
    async def talk(peer: Peer, writer: asyncio.StreamWriter) -> None:
        if len(peer.requests) % 2:
            writer.write(HELLO)
        else:
            writer.close()

    async with talking(talk) as peer, client_of(peer) as client:
        for requests in (1, 3, 5):
            assert await texts_of(client) == TEXTS
            assert len(peer.requests) == requests


async def test_a_response_cut_at_every_byte() -> None:
    cuts = iter(range(1, len(HELLO)))

    async def talk(peer: Peer, writer: asyncio.StreamWriter) -> None:
        at = next(cuts)
        await sending(HELLO[:at], HELLO[at:])(peer, writer)

    async with talking(talk) as peer, client_of(peer) as client:
        for _ in range(1, len(HELLO)):
            assert await texts_of(client) == TEXTS


async def test_the_server_sees_at_once_that_the_iterator_was_closed() -> None:
    async with talking(sending(HEAD + chunked(chunk("Hel")))) as peer, client_of(peer) as client:
        async with aclosing(client.stream(request())) as texts:
            assert await anext(texts) == "Hel"
            assert not peer.left.is_set()
        assert await turns_until(peer.left) <= 10


@pytest.mark.parametrize("part", [b"", HEAD, HEAD + chunked(chunk("Hel"))], ids=["headers", "first word", "next word"])
async def test_the_server_sees_at_once_that_the_task_was_cancelled(part: bytes) -> None:
    async with talking(sending(part)) as peer, client_of(peer) as client:
        reading = asyncio.create_task(texts_of(client))
        async with asyncio.timeout(PATIENCE_S):
            await peer.asked.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        reading.cancel()
        assert await turns_until(peer.left) <= 10
        with pytest.raises(asyncio.CancelledError):
            await reading


async def turns_until(event: asyncio.Event) -> int:
    """Passes of the loop until the event, counted."""
    for turn in range(1_000):
        if event.is_set():
            print("TURNS", turn)
            return turn
        await asyncio.sleep(0)
    raise AssertionError("it never came")


@pytest.mark.parametrize(
    ("parts", "close", "kind", "said"),
    [
        ((b"",), True, Gone, "broke the connection"),
        ((HEAD,), True, Gone, "broke the connection"),
        ((HEAD + chunked(chunk("Hel"))[:40],), True, Gone, "broke the connection"),
        ((b"\x16\x03\x01 this is no HTTP\r\n\r\n",), True, Gone, "broke the connection"),
        ((b"HTTP/1.1 200 OK\r\n" + b"x-junk: " + b"y" * 200_000,), False, Gone, "broke the connection"),
        ((HEAD + b"zz\r\n",), False, Gone, "broke the connection"),
        ((b"",), False, Timeout, "gave no word"),
        ((b"HTTP/1.1 200 OK\r\n",), False, Timeout, "gave no word"),
        ((HEAD,), False, Timeout, "gave no word"),
        ((HEAD + chunked(chunk("Hel"))[:40],), False, Timeout, "gave no word"),
        ((HEAD + chunked(chunk("Hel")),), False, Timeout, "gave no further word"),
        ((b"HTTP/1.1 307 Elsewhere\r\nlocation: /\r\ncontent-length: 0\r\n\r\n",), False, Refused, "redirects"),
        ((b"HTTP/1.1 429 Later\r\nretry-after: 9\r\ncontent-length: 0\r\n\r\n",), False, Capacity, "in 9 s"),
    ],
    ids=["at once", "after headers", "in a word", "no HTTP", "endless header", "no chunks", "hangs", "hangs in headers",
         "hangs after headers", "hangs in a word", "hangs between", "redirect", "busy"],
)  # fmt: skip
async def test_what_goes_wrong_on_the_way(parts: tuple[bytes, ...], close: bool, kind: type[VenusError], said: str) -> None:
    async with talking(sending(*parts, close=close)) as peer, client_of(peer) as client:
        with pytest.raises(kind, match=said):
            await texts_of(client, SHORT if kind is Timeout else None)
        async with asyncio.timeout(PATIENCE_S):
            await peer.left.wait() if kind is not Refused and kind is not Capacity else None
        assert len(peer.requests) == 1


async def test_nobody_listens() -> None:
    async with talking(sending(HELLO)) as peer:
        pass
    async with client_of(peer) as client:
        with pytest.raises(Gone, match=f"model server 127.0.0.1:{peer.port} cannot be reached .*check VENUS_LLM_URL"):
            await texts_of(client)


async def test_a_name_that_does_not_exist() -> None:
    async with OpenAiClient(LlmSettings("https://models.invalid"), LoopClock()) as client:
        with pytest.raises((Gone, Timeout), match=r"models\.invalid"):
            await texts_of(client)


async def test_all_connections_taken_is_capacity() -> None:
    begun = sending(HEAD + chunked(chunk("Hel")))
    async with talking(begun) as peer, client_of(peer, connections=1) as client, aclosing(client.stream(request())) as texts:
        assert await anext(texts) == "Hel"
        with pytest.raises(Capacity, match="1 answers of ours under way"):
            await texts_of(client, Deadlines(connect_us=100_000))


async def test_closing_the_client_ends_what_is_under_way() -> None:
    async with talking(sending(HEAD + chunked(chunk("Hel")))) as peer:
        async with client_of(peer) as client:
            reading = asyncio.create_task(texts_of(client))
            async with asyncio.timeout(PATIENCE_S):
                await peer.asked.wait()
        with pytest.raises(Gone):
            await reading
        async with asyncio.timeout(PATIENCE_S):
            await peer.left.wait()


async def test_proxies_of_the_environment_play_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with talking(sending(HELLO)) as peer, client_of(peer) as client:
        assert await texts_of(client) == TEXTS


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that nobody else vouches for, with its key, in one PEM file."""
    path = tmp_path / "peer.pem"
    subject = ["-subj", "/CN=peer", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", *subject]
    subprocess.run([*command, "-keyout", path, "-out", tmp_path / "only.pem"], check=True, capture_output=True)
    path.write_text(path.read_text() + (tmp_path / "only.pem").read_text())
    return path


async def test_certificates_are_checked(monkeypatch: pytest.MonkeyPatch, certificate: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    async with talking(sending(HELLO), tls) as peer:
        async with client_of(peer, "https") as client:
            with pytest.raises(Gone, match="certificate verify failed"):
                await texts_of(client)
        assert peer.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        async with client_of(peer, "https") as client:
            assert await texts_of(client) == TEXTS
