"""A running call in the terminal: its clock, both levels, and the timeline as it grows."""

from contextlib import suppress

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from agent.app.lines import LANES, TerminalLine, clock_text, line_of
from agent.timeline.events import CallEnded, UtteranceEnded, UtteranceStarted, VoiceStarted, VoiceStopped
from agent.timeline.log import Entry


def styled(line: TerminalLine) -> Table:
    """One line of the timeline, wrapped in its own column; whatever the caller said stays plain text."""
    colour = LANES[line.lane]
    row = Table.grid(padding=(0, 1))
    row.add_column(width=8, justify="right", style="dim")
    row.add_column(width=6, style=f"bold {colour}")
    row.add_column(overflow="fold")
    row.add_row(clock_text(line.t), line.lane, Text(line.text, style=f"dim {colour}" if line.faint else "default"))
    return row


class LiveCall:
    """A timeline listener. On a terminal it keeps a status line below the growing timeline; elsewhere it prints lines.

    Use it as a context manager around the call.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._t = 0
        self._caller = self._agent = False

    def __enter__(self) -> "LiveCall":
        if self._console.is_terminal:
            self._live = Live(self._status(), console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._live:
            with suppress(OSError):
                self._live.stop()

    def learn(self, entry: Entry) -> None:
        """The timeline listener. A terminal that was closed is no reason for the call to fail."""
        with suppress(OSError):
            self._show(entry)

    def _show(self, entry: Entry) -> None:
        self._t = entry.t
        match entry.event:
            case VoiceStarted():
                self._caller = True
            case VoiceStopped():
                self._caller = False
            case UtteranceStarted():
                self._agent = True
            case UtteranceEnded() | CallEnded():
                self._agent = False
        line = line_of(entry)
        if line:
            self._console.print(styled(line))
        if self._live:
            self._live.update(self._status(), refresh=True)

    def _status(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        table.add_row(
            Text(clock_text(self._t), style="bold"),
            _lamp("caller", self._caller),
            _lamp("agent", self._agent),
        )
        return Group(Text("─" * min(60, self._console.width), style="dim"), table)


def _lamp(lane: str, on: bool) -> Text:
    mark = "●" if on else "○"
    return Text(f"{mark} {lane} {'speaks' if on else ''}".rstrip(), style=f"bold {LANES[lane]}" if on else "dim")
