"""SIGTERM and SIGHUP end a command as Ctrl-C does: calls end with a reason, records are finished, and the status says which."""

import signal
from types import FrameType

INTERRUPTED = 130
"""Exit status after SIGINT; after another signal it is 128 + its number, as in every shell."""


class Stopping:
    """Make one at the start of the process. The first of these signals counts; to stop at once, send SIGINT twice or SIGKILL."""

    def __init__(self) -> None:
        self._number: int | None = None
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:  # ignored under nohup, and so it stays
                signal.signal(number, self._stop)

    def status(self, code: str | int | None) -> str | int | None:
        """The exit status of a process that would end with `code`."""
        return 128 + self._number if code == INTERRUPTED and self._number else code

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._number is not None:
            return
        self._number = number
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):  # in the background of a script SIGINT is ignored
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)
