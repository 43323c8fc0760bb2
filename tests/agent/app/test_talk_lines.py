"""How `venus talk` shows a conversation, and how whoever types gets out of it; without any model."""

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from agent.app import talk
from agent.timeline import events as ev
from agent.timeline.kinds import Outcome, Role, Span
from agent.timeline.log import Entry

pytestmark = pytest.mark.unit


def written(width: int, *, terminal: bool = False) -> tuple[Console, Callable[[], list[str]]]:
    """A console, and the lines on it so far, without spaces at their ends."""
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None)
    return console, lambda: [line.rstrip() for line in file.getvalue().splitlines()]


def test_what_is_long_stands_beside_who_said_it() -> None:
    console, lines = written(40)
    talk._say(console, "agent", "We are open from eight to six on weekdays.", "hours.md#hours, 30 ms")
    assert lines() == ["agent  We are open from eight to six on", "       weekdays.", "       hours.md#hours, 30 ms"]


def test_what_is_short_has_its_source_behind_it() -> None:
    console, lines = written(80)
    talk._say(console, "agent", "At eight.", "hours.md#hours, 30 ms")
    assert lines() == ["agent  At eight.   hours.md#hours, 30 ms"]


@pytest.mark.parametrize("end", [EOFError, KeyboardInterrupt])
def test_the_prompt_ends_its_line(end: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(*_: object, **__: object) -> str:
        raise end

    console, lines = written(80, terminal=True)
    monkeypatch.setattr(console, "input", ended)
    if end is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            list(talk._lines(console))
    else:
        assert list(talk._lines(console)) == []
    assert lines() == ["Type what a caller would say; an empty line ends it.", ""]


def test_an_answer_is_shown_once_it_was_said_with_what_was_not() -> None:
    console, lines = written(120)
    listener = talk._Listener(console)
    happened = [
        (1_900_000, ev.Transcript(Span(300_000, 1_500_000), "When do you open?", True, 1.0)),
        (2_000_000, ev.UtteranceStarted("u1", 0, Role.ANSWER, False)),
        (3_000_000, ev.UtteranceEnded("u1", Outcome.CUT, 16_000, 16_000, 3, 3, "We open at", "eight.")),
    ]
    for seq, (at_us, event) in enumerate(happened):
        listener.learn(Entry(seq, at_us, None, event))
    assert not listener.quiet
    assert lines() == [
        "  you  When do you open?",
        "agent  We open at ‹never said: eight.›   0.50 s after the caller's last sound",
    ]
