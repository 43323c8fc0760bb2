"""What a call asks of whoever keeps its record.

`RecorderClient` hands everything to a process, `InlineRecorder` writes itself.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from agent.line import Pcm

OnFailure = Callable[[str, str], None]
"""Told `(call_id, sentence)` at most once a call, from the loop and never from inside a call of the recorder."""


class CallRecorder(Protocol):
    """The record of one call. Nothing here blocks or raises: a record that fails says so through `on_failure`."""

    def entry(self, line: bytes) -> None:
        """One encoded line of the timeline, with its newline, in order."""

    def audio(self, t_us: int, caller_ago_us: int, caller: Pcm | None, agent: Pcm | None) -> None:
        """One tick of both sides, `rate_hz // 50` samples each; None is silence. The agent's first sample belongs at `t_us`, the
        caller's `caller_ago_us` earlier: where it reached us, before the jitter buffer.

        Call it on every tick, also while there is nothing to hear: it paces the sending. The arrays may be used again at once.
        """

    def close(self, end_us: int) -> None:
        """The call ended at `end_us`; its audio is as long. Further calls do nothing."""

    async def written(self) -> Path:
        """The folder, once everything is in it. Raises `Gone` when the recorder died or could not even say
        what is missing (a full disk, a folder that was taken away), `Timeout` after its bound."""


class Recorder(Protocol):
    """Keeps the records of all calls of a process."""

    def open(self, call_id: str, rate_hz: int, on_failure: OnFailure) -> CallRecorder:
        """Begin a record. Raises `Refused` on an id that cannot name a folder or is known to be taken."""

    async def close(self) -> None:
        """Finish what is being written, within a bound, and give everything back. Always safe, any number of times."""
