"""What a log line holds and what it never holds."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from agent import logs
from agent.errors import Refused

pytestmark = pytest.mark.unit

SECRET = "zebra-4711"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


class Gone(io.StringIO):
    """A stream whose disk is full or whose terminal is closed."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")

    def flush(self) -> None:
        raise OSError(5, "Input/output error")


def logged(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


@given(text=st.text(), key=st.text(min_size=1))
def test_one_object_a_line_whatever_the_text(text: str, key: str) -> None:
    out = io.StringIO()
    logs.configure(json=True, file=out)
    structlog.get_logger().info(text, call_id=text, detail={key: text})
    lines = out.getvalue().split("\n")
    assert len(lines) == 2
    assert lines[1] == ""
    event = json.loads(lines[0])
    assert (event["event"], event["call_id"], event["detail"]) == (text, text, {key: text})
    assert event["level"] == "info"
    assert event["timestamp"].endswith("Z")


@pytest.mark.parametrize("value", [object(), b"\xff", {1, 2}, float("nan"), OSError("x"), {"a": object()}])
def test_a_value_that_json_does_not_know(value: object) -> None:
    out = io.StringIO()
    logs.configure(json=True, file=out)
    structlog.get_logger().info("x", value=value)
    assert [event["event"] for event in logged(out)] == ["x"]


@pytest.mark.parametrize("as_json", [True, False])
def test_personal_values_are_dropped_unless_wanted(as_json: bool) -> None:
    out = io.StringIO()
    logs.configure(json=as_json, file=out)
    structlog.get_logger().warning("line refused", call_id="c1", personal={"remote": SECRET})
    assert SECRET not in out.getvalue()
    assert "c1" in out.getvalue()
    logs.configure(json=as_json, personal=True, file=out)
    structlog.get_logger().warning("line refused", personal={"remote": SECRET})
    assert SECRET in out.getvalue()


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("given_as", ["exc_info", "exception"])
def test_an_exception_without_its_message(as_json: bool, given_as: str) -> None:
    out = io.StringIO()
    logs.configure(json=as_json, file=out)
    log = structlog.get_logger()
    try:
        raise LookupError(SECRET)
    except LookupError as error:
        if given_as == "exception":
            log.exception("it failed")
        else:
            log.error("it failed", exc_info=error)
    assert SECRET not in out.getvalue()
    assert "LookupError" in out.getvalue()
    assert "test_logs.py:" in out.getvalue()
    assert out.getvalue().count("\n") == 1


def test_exception_outside_of_one() -> None:
    out = io.StringIO()
    logs.configure(json=True, file=out)
    structlog.get_logger().exception("nothing was raised")
    assert "error" not in logged(out)[0]


def test_the_level() -> None:
    out = io.StringIO()
    logs.configure(json=True, level="warning", file=out)
    log = structlog.get_logger()
    for level in ("debug", "info", "warning", "error", "critical"):
        getattr(log, level)(level)
    assert [event["event"] for event in logged(out)] == ["warning", "error", "critical"]


@pytest.mark.parametrize("level", ["", "loud", "INFO ", "10", "x" * 1000])
def test_a_level_that_there_is_not(level: str) -> None:
    with pytest.raises(Refused, match="use DEBUG, INFO, WARNING, ERROR, CRITICAL"):
        logs.configure(level=level)


def test_every_level_that_is_named_can_be_used() -> None:
    for level in logs.LEVELS:
        logs.configure(level=level.lower(), file=io.StringIO())
        assert logging.getLevelNamesMapping()[level] >= logging.DEBUG


@pytest.mark.parametrize("as_json", [True, False])
def test_no_log_call_raises_when_nothing_can_be_written(as_json: bool) -> None:
    logs.configure(json=as_json, file=Gone())
    structlog.get_logger().error("the disk is full")
    closed = io.StringIO()
    logs.configure(json=as_json, file=closed)
    closed.close()
    structlog.get_logger().error("the terminal is gone")


def test_the_environment(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("VENUS_LOG", "json")
    monkeypatch.setenv("VENUS_LOG_LEVEL", "error")
    logs.configure_from_environment()
    structlog.get_logger().warning("too low")
    structlog.get_logger().error("seen")
    assert json.loads(capsys.readouterr().err)["event"] == "seen"
    monkeypatch.setenv("VENUS_LOG_LEVEL", "")
    logs.configure_from_environment()
    monkeypatch.setenv("VENUS_LOG_LEVEL", "chatty")
    with pytest.raises(Refused, match="there is no log level 'chatty'"):
        logs.configure_from_environment()


def test_what_a_library_logs_is_told_without_what_it_fills_in() -> None:
    out = io.StringIO()
    logs.configure(json=True, file=out)
    try:
        raise ValueError("secret 4711")
    except ValueError:
        logging.getLogger("foreign.library").exception("cannot read %s", "secret 4711")
    line = json.loads(out.getvalue())
    assert (line["library"], line["says"], line["error"]) == ("foreign.library", "cannot read %s", "ValueError")
    assert "4711" not in out.getvalue()
