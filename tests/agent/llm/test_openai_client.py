"""The client over a fake wire, in virtual time: what servers do wrong, and what is made of it."""

import asyncio
import logging
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from agent.clock import LoopClock
from agent.errors import Capacity, Fault, Gone, Refused, Timeout, VenusError
from agent.llm import Deadlines, LlmSettings, Message, OpenAiClient, UnusableAnswer
from agent.llm.openai_client import LONGEST_ANSWER
from tests.agent.llm.wire import EVENTS, HANG, KEY, SETTINGS, Response, Step, answer, chunk, event, request, response, wired

pytestmark = pytest.mark.unit

HELLO = answer("Hel", "lo ", "wörld.")
TEXTS = ["Hel", "lo ", "wörld."]
JSON = {"content-type": "application/json; charset=utf-8"}


def now_s() -> float:
    return asyncio.get_running_loop().time()


async def test_an_answer_comes_in_pieces() -> None:
    async with wired(response(HELLO)) as wire:
        assert await wire.texts(request(seed=1)) == TEXTS
    sent = wire.requests[0]
    assert (sent.method, str(sent.url)) == ("POST", "http://127.0.0.1:8080/v1/chat/completions")
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["accept-encoding"] == "identity"
    assert sent.headers["content-type"] == "application/json"
    assert wire.bodies[0] == {
        "messages": [{"role": "user", "content": "Hello?"}],
        "model": "small",
        "max_tokens": 50,
        "temperature": 0.0,
        "seed": 1,
        "stream": True,
    }


async def test_without_a_key_none_is_sent() -> None:
    async with wired(response(HELLO), settings=LlmSettings("http://127.0.0.1:8080")) as wire:
        await wire.texts()
    assert "authorization" not in wire.requests[0].headers


async def test_split_at_every_byte() -> None:
    responses = [response(HELLO[:at], HELLO[at:]) for at in range(1, len(HELLO))]
    responses.append(response(*(HELLO[at : at + 1] for at in range(len(HELLO)))))
    async with wired(*responses) as wire:
        for _ in responses:
            assert await wire.texts() == TEXTS


@pytest.mark.parametrize(
    "body",
    [
        HELLO.replace(b"\n", b"\r\n"),
        b": keep-alive\n\n" + HELLO.replace(b"\n\n", b"\n\n: still here\n\n"),
        answer("Hel", "lo ", "wörld.", done=False),
        answer("Hel", "lo ", "wörld.", finish="length"),
        b"".join(map(chunk, TEXTS)) + event("[DONE]"),
        HELLO + b"data: what comes after the end is nobody's business\n\n",
        HELLO.replace(b"data: [DONE]", event({"choices": [], "usage": {"total_tokens": 9}}) + b"data: [DONE]"),
    ],
    ids=["CRLF", "comments", "no [DONE]", "length", "no finish_reason", "more after the end", "usage"],
)
async def test_streams_as_servers_write_them(body: bytes) -> None:
    async with wired(response(body)) as wire:
        assert await wire.texts() == TEXTS


async def test_a_server_that_does_not_stream_is_read_too() -> None:
    body = b'{"choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]}'
    async with wired(response(body[:20], body[20:], headers=JSON)) as wire:
        assert await wire.texts() == ["Hello."]


async def test_an_end_that_the_server_does_not_close_is_an_end() -> None:
    async with wired(response(HELLO, HANG)) as wire:
        assert await wire.texts() == TEXTS
        assert now_s() < 1.0
        assert wire.all_closed


@pytest.mark.parametrize(
    ("steps", "kind", "said"),
    [
        ((b"",), Gone, "broke off"),
        ((chunk("Hel"),), Gone, "broke off"),
        ((chunk("Hel"), chunk("lo")[:30]), Gone, "broke off"),
        ((chunk("Hel"), httpx.ReadError("reset")), Gone, "broke the connection (ReadError)"),
        ((chunk("Hel"), httpx.RemoteProtocolError("incomplete")), Gone, "broke the connection (RemoteProtocolError)"),
        ((chunk("Hel"), event({"error": {"code": 503, "message": "no slot"}})), Capacity, "(no slot)"),
        ((chunk("Hel"), b"data: x" + b"x" * 300_000), UnusableAnswer, "event of more than"),
        ((chunk("Hel"), b"data: {\xff\xfe}\n\n"), UnusableAnswer, "no chat completion"),
        ((chunk("Hel"), chunk(None, "content_filter")), Refused, "content filter"),
        ((chunk("Hel"), chunk("x" * 10_000)), UnusableAnswer, "much more text"),
    ],
)  # fmt: skip
async def test_what_was_said_before_an_error_stands(steps: tuple[Step, ...], kind: type[VenusError], said: str) -> None:
    heard = ""
    async with wired(response(*steps)) as wire:
        with pytest.raises(kind) as caught:  # noqa: PT012
            async for text in wire.client.stream(request()):
                heard += text
    assert type(caught.value) is kind
    assert said in str(caught.value)
    assert heard == ("Hel" if chunk("Hel") in steps else "")
    assert wire.all_closed


async def test_invalid_utf8_inside_a_text_is_replaced() -> None:
    async with wired(response(answer("caf#").replace(b"#", b"\xc3"))) as wire:
        assert await wire.texts() == ["caf�"]


@pytest.mark.parametrize(
    "body",
    [
        answer(),
        answer("", ""),
        chunk(None, "tool_calls", tool_calls=[{"index": 0, "function": {"name": "book", "arguments": "{}"}}]) + event("[DONE]"),
        event({"choices": []}) + event("[DONE]"),
        chunk(None) + event("[DONE]"),
    ],
    ids=["only ends", "empty texts", "a tool call", "no choices", "content null"],
)
async def test_no_text_is_an_error(body: bytes) -> None:
    async with wired(response(body)) as wire:
        with pytest.raises(UnusableAnswer, match="answered with"):
            await wire.texts()


async def test_a_flood_of_nothing_ends() -> None:
    comments = b": nothing\n" * 1_000
    async with wired(response(*[comments] * (LONGEST_ANSWER // len(comments) + 2))) as wire:
        with pytest.raises(UnusableAnswer, match="more than 8388608 bytes"):
            await wire.texts()
        assert wire.all_closed


@pytest.mark.parametrize(
    ("headers", "what"),
    [
        ({"content-type": "text/html"}, "text/html"),
        ({"content-type": "application/octet-stream"}, "application/octet-stream"),
        ({"content-type": "x" * 5_000}, "x" * 60),
        ({}, "an unnamed type"),
        (EVENTS | {"content-encoding": "br"}, "text/event-stream"),
    ],
)
async def test_another_content_type_is_refused(headers: dict[str, str], what: str) -> None:
    async with wired(response(b"<html>", headers=headers)) as wire:
        with pytest.raises(Refused, match=f"answers with {what} .*check VENUS_LLM_URL"):
            await wire.texts()


async def test_a_gigantic_answer_in_one_piece_is_refused() -> None:
    async with wired(response(*[b" " * 65_536] * 20, headers=JSON)) as wire:
        with pytest.raises(UnusableAnswer, match="more than 524288 bytes at once"):
            await wire.texts()
        assert wire.streams[0].sent < 10


@pytest.mark.parametrize(
    ("answered", "kind", "said"),
    [
        (
            response(b"<html><h1>It broke</h1>", status=500, headers={"content-type": "text/html"}),
            Gone,
            "failed with status 500: see",
        ),
        (response(b'{"error": {"message": "out of memory"}}', status=500, headers=JSON), Gone, "(out of memory)"),
        (response(b'{"error": {"message": "slow down"}}', status=429, headers=JSON | {"retry-after": "17"}), Capacity, "in 17 s"),
        (response(status=503), Capacity, "in 5 s"),
        (response(b'{"error": {"message": "model x not found"}}', status=404, headers=JSON), Refused, "(model x not found)"),
        (response(b'{"error": {"message": "bad: ' + KEY.encode() + b'"}}', status=400, headers=JSON), Refused, "(bad: …)"),
        (response(status=401), Refused, "check VENUS_LLM_KEY"),
        (response(status=302, headers={"location": "http://127.0.0.1:1/"}), Refused, "redirects with status 302"),
        (response(status=204, headers={}), UnusableAnswer, "status 204"),
        (response(b"x" * 100_000, status=400, headers={"content-type": "text/plain"}), Refused, "xxx"),
        (response(b"half", httpx.ReadError("reset"), status=400, headers={"content-type": "text/plain"}), Refused, "(half)"),
        (response(b"slow", HANG, status=429, headers={"content-type": "text/plain"}), Capacity, "(slow)"),
    ],
)
async def test_other_statuses(answered: Response, kind: type[VenusError], said: str) -> None:
    async with wired(answered) as wire:
        with pytest.raises(kind) as caught:
            await wire.texts()
        assert type(caught.value) is kind
        assert said in str(caught.value)
        assert KEY not in str(caught.value)
        assert len(wire.requests) == 1
        assert wire.all_closed
        assert now_s() <= 1.0


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (httpx.ConnectError("All connection attempts failed"), Gone, "cannot be reached (All connection attempts failed)"),
        (httpx.ConnectTimeout(""), Timeout, "took no connection within 2 s"),
        (httpx.PoolTimeout(""), Capacity, "64 answers of ours"),
        (httpx.RemoteProtocolError("Server disconnected"), Gone, "broke the connection"),
        (httpx.WriteError(""), Gone, "broke the connection"),
        (httpx.LocalProtocolError(f"Illegal header value b'Bearer {KEY}'"), Fault, "could not be written (LocalProtocolError)"),
    ],
)
async def test_a_connection_that_fails(error: httpx.HTTPError, kind: type[VenusError], said: str) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise error

    async with OpenAiClient(SETTINGS, LoopClock(), httpx.MockTransport(fail)) as client:
        with pytest.raises(kind) as caught:
            await anext(client.stream(request()))
    assert said in str(caught.value)
    assert KEY not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("before_s", "steps", "at_s", "said"),
    [
        (HANG, (HELLO,), 4.0, "gave no word within 4 s"),
        (0.0, (HANG,), 4.0, "gave no word within 4 s"),
        (1.0, (1.0, chunk(None, role="assistant"), HANG), 4.0, "gave no word within 4 s"),
        (0.0, (2.0, b": waiting\n\n") * 9, 4.0, "gave no word within 4 s"),
        (0.0, (2.0, chunk(None, reasoning_content="hm")) * 9, 4.0, "gave no word within 4 s"),
        (0.0, (1.0, chunk("Hel"), HANG), 4.0, "gave no further word within 3 s"),
        (0.0, (1.0, chunk("Hel"), chunk("lo")[:9], HANG), 4.0, "gave no further word within 3 s"),
        (0.0, (chunk("a"), 2.0) * 50, 30.0, "did not finish within 30 s"),
    ],
    ids=[
        "before headers",
        "after headers",
        "after the role",
        "comments only",
        "thinking",
        "between words",
        "in a word",
        "for ever",
    ],
)
async def test_each_wait_has_its_bound(before_s: float, steps: tuple[Step, ...], at_s: float, said: str) -> None:
    async with wired(response(*steps), before_s=before_s) as wire:
        with pytest.raises(Timeout, match=said):
            await wire.texts()
        assert now_s() == pytest.approx(at_s)
        assert wire.all_closed


async def test_a_slow_reader_costs_the_server_nothing_but_the_whole() -> None:
    async with wired(response(*[chunk("a")] * 9, HANG)) as wire, aclosing(wire.client.stream(request())) as texts:
        for _ in range(8):
            assert await anext(texts) == "a"
            await asyncio.sleep(3.5)
        assert await anext(texts) == "a"
        await asyncio.sleep(3.5)
        with pytest.raises(Timeout, match="did not finish within 30 s"):
            await anext(texts)
        assert wire.all_closed


async def test_closing_the_iterator_closes_the_stream() -> None:
    async with wired(response(chunk("Hel"), HANG)) as wire:
        texts = wire.client.stream(request())
        assert await anext(texts) == "Hel"
        assert not wire.all_closed
        await texts.aclose()
        assert wire.all_closed


@pytest.mark.parametrize("steps", [(HANG,), (chunk("Hel"), HANG)], ids=["before the first word", "in the middle"])
async def test_cancelling_the_task_closes_the_stream_in_one_turn(steps: tuple[Step, ...]) -> None:
    async with wired(response(*steps)) as wire:
        reading = asyncio.create_task(wire.texts())
        await asyncio.sleep(1.0)
        reading.cancel()
        await asyncio.sleep(0)
        assert wire.all_closed
        with pytest.raises(asyncio.CancelledError):
            await reading


async def test_requests_at_the_same_time_do_not_mix() -> None:
    slow = response(chunk("slow"), 1.0, answer("ly"))
    async with wired(slow, response(HELLO)) as wire:
        assert await asyncio.gather(wire.texts(), wire.texts()) == [["slow", "ly"], TEXTS]


async def test_outside_its_context_it_is_our_fault() -> None:
    async with wired(response(HELLO)) as wire:
        with pytest.raises(Fault, match="open already"):
            await wire.client.__aenter__()
        assert await wire.texts() == TEXTS
    with pytest.raises(Fault, match="outside its async with"):
        await wire.texts()
    with pytest.raises(Fault, match="outside its async with"):
        await anext(OpenAiClient(SETTINGS, LoopClock()).stream(request()))


async def test_cookies_are_not_kept() -> None:
    async with wired(response(HELLO, headers=EVENTS | {"set-cookie": "who=me; Path=/"})) as wire:
        await wire.texts()
        await wire.texts()
    assert all("cookie" not in each.headers for each in wire.requests)


async def test_the_key_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with wired(response(HELLO), response(status=401)) as wire:
        await wire.texts()
        with pytest.raises(Refused):
            await wire.texts()
    assert caplog.records
    assert KEY not in caplog.text
    assert KEY not in repr((wire.client, SETTINGS))


@pytest.mark.parametrize("fields", [{"max_tokens": 8_192}, {"messages": (Message("user", "é" * 400_000),)}])
async def test_the_largest_request_goes_out(fields: dict[str, Any]) -> None:
    async with wired(response(HELLO)) as wire:
        assert await wire.texts(request(**fields)) == TEXTS


async def test_a_bound_shorter_than_the_first_word_is_the_whole() -> None:
    deadline = Deadlines(total_us=500_000)
    async with wired(response(HANG)) as wire:
        with pytest.raises(Timeout, match=r"did not finish within 0\.5 s"):
            await wire.texts(request(deadline=deadline))
        assert now_s() == pytest.approx(0.5)
