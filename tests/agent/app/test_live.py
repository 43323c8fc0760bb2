"""The running call in the terminal."""

import io

import pytest
from rich.console import Console

from agent.app.live import LiveCall
from agent.timeline.events import FrontendLag
from agent.timeline.log import Entry

pytestmark = pytest.mark.unit


class ClosedTerminal(io.StringIO):
    """A terminal whose window was closed."""

    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")

    def flush(self) -> None:
        raise OSError(5, "Input/output error")


def lag(seconds: int) -> Entry:
    return Entry(0, 0, None, FrontendLag(seconds * 1_000_000))


def test_a_terminal_that_is_closed_does_not_reach_the_call() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True)
    with LiveCall(console) as live:
        live.learn(lag(2))
        console.file = ClosedTerminal()
        live.learn(lag(3))
    assert "2 s behind" in out.getvalue()


def test_output_that_was_never_there() -> None:
    LiveCall(Console(file=ClosedTerminal())).learn(lag(2))
