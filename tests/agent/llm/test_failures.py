"""Statuses, reasons and Retry-After."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import Capacity, Gone, Refused, Timeout, VenusError
from agent.llm.base import UnusableAnswer
from agent.llm.failures import LONGEST_RETRY_S, RETRY_S, Server, failure, reason_of, retry_after

pytestmark = pytest.mark.unit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SERVER = Server("the model server x", "sk-secret-4711")


@pytest.mark.parametrize(
    ("status", "kind"),
    [(201, UnusableAnswer), (204, UnusableAnswer), (302, Refused), (308, Refused), (400, Refused), (401, Refused), (403, Refused),
     (404, Refused), (405, Refused), (408, Timeout), (413, Refused), (422, Refused), (429, Capacity), (500, Gone), (502, Gone),
     (503, Capacity), (504, Timeout), (529, Capacity), (599, Gone)],
)  # fmt: skip
def test_each_status_is_one_of_our_errors(status: int, kind: type[VenusError]) -> None:
    error = failure(SERVER, status, "because", 7)
    assert type(error) is kind
    assert str(error).startswith("the model server x ")
    assert getattr(error, "retry_after_s", 7) == 7


def test_the_key_is_in_no_error_and_no_representation() -> None:
    assert "4711" not in repr(SERVER)
    for status in range(300, 600):
        assert "4711" not in str(failure(SERVER, status, "no: sk-secret-4711"))
    straddling = "x" * 290 + " sk-secret-4711 " + "y" * 400
    assert "sk-" not in str(failure(SERVER, 400, straddling))


def test_a_refused_key_is_told_in_our_words_only() -> None:
    error = str(failure(SERVER, 401, "Incorrect API key provided: sk-s***4711"))
    assert error == "the model server x does not accept the key: check VENUS_LLM_KEY"


def test_a_reason_is_one_short_line() -> None:
    error = str(failure(SERVER, 400, "line\r\nline\x00 \ud800 " + "x" * 5_000))
    assert "\n" not in error
    assert len(error) < 450
    error.encode()


@pytest.mark.parametrize(
    ("body", "media_type", "reason"),
    [
        ({"error": {"message": "why"}}, "application/json", "why"),
        ({"error": "why"}, "application/json", "why"),
        ({"object": "error", "message": "why"}, "application/json", "why"),
        ({"detail": "why"}, "application/json", "why"),
        ([{"error": {"message": "why"}}], "", "why"),
        ({"error": {"message": ["why"]}}, "application/json", ""),
        ({}, "application/json", ""),
        ([], "application/json", ""),
        (3, "application/json", ""),
    ],
)
def test_reasons_in_json(body: object, media_type: str, reason: str) -> None:
    assert reason_of(json.dumps(body).encode(), media_type) == reason


def test_reasons_elsewhere() -> None:
    assert reason_of(b"<html><h1>502 Bad Gateway</h1>", "text/html") == ""
    assert reason_of(b"upstream is down", "text/plain") == "upstream is down"
    assert reason_of(b"\xff{", "application/json") == ""
    assert reason_of(b'{"error":' * 5_000, "application/json") == ""
    assert reason_of(b'{"error":' * 900 + b"1" + b"}" * 900, "application/json") == ""


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7), (" 7 ", 7), ("0", 1), ("99999999999999999999", LONGEST_RETRY_S), ("Thu, 01 Jan 2026 00:01:30 GMT", 90),
     ("Thu, 01 Jan 2026 00:01:30 -0000", 90), ("Wed, 31 Dec 2025 00:00:00 GMT", 1),
     ("Fri, 01 Jan 2027 00:00:00 GMT", LONGEST_RETRY_S),
     ("", RETRY_S), ("soon", RETRY_S), ("-5", RETRY_S), ("1.5", RETRY_S), ("٣", RETRY_S)],
)  # fmt: skip
def test_retry_after(value: str, seconds: int) -> None:
    assert retry_after({"retry-after": value}, NOW) == seconds


def test_no_retry_after() -> None:
    assert retry_after({}, NOW) == RETRY_S


@given(st.text(max_size=60))
def test_whatever_retry_after_says_it_is_in_bounds(value: str) -> None:
    assert 1 <= retry_after({"retry-after": value}, NOW) <= LONGEST_RETRY_S
