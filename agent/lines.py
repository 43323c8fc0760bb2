"""The lines a call keeps rendered: what must be said even when nothing that could say it is there."""

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from agent.speech import SpokenLine
from media.resample import Resampler


@dataclass(frozen=True, slots=True)
class CallLines:
    """Rendered before the service is ready and kept in the media process. A line that is None is not said."""

    greeting: SpokenLine | None = None
    recovery: SpokenLine | None = None
    """Said when the caller's turn was not answered in time."""
    apology: SpokenLine | None = None
    """Said when the frontend is lost, or something of ours broke."""
    farewell: SpokenLine | None = None

    def at(self, rate_hz: int) -> Self:
        """The same lines at another rate. Takes milliseconds a line: call it before the first call, not in one."""
        lines = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(self, **{name: line and _at(line, rate_hz) for name, line in lines.items()})


def _at(line: SpokenLine, rate_hz: int) -> SpokenLine:
    if line.rate_hz == rate_hz:
        return line
    resampler = Resampler(line.rate_hz, rate_hz)
    return replace(line, pcm=np.concatenate([resampler.push(line.pcm), resampler.flush()]), rate_hz=rate_hz)
