"""The lines a call keeps rendered: what must be said even when nothing that could say it is there."""

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from agent.frontends.base import LineVoice
from agent.speech import SpokenLine
from agent.timeline.kinds import Role
from media.resample import Resampler


@dataclass(frozen=True, slots=True)
class LineTexts:
    """What a call itself says, whatever its frontend; an empty text is never spoken. Greeting and apology must be heard."""

    greeting: str = "Hello, this is the automated assistant. How can I help you?"
    recovery: str = "One moment, please."
    apology: str = "I am sorry, something went wrong on my side. One moment, please."
    farewell: str = "Goodbye."


async def rendered(texts: LineTexts, voice: LineVoice) -> "CallLines":
    """The lines in `voice`. Raises as `LineVoice.line`."""

    async def line(text: str, role: Role, must_hear: bool = False) -> SpokenLine | None:
        return await voice.line(text, role, must_hear) if text else None

    return CallLines(
        greeting=await line(texts.greeting, Role.GREETING, must_hear=True),
        recovery=await line(texts.recovery, Role.NOTICE),
        apology=await line(texts.apology, Role.APOLOGY, must_hear=True),
        farewell=await line(texts.farewell, Role.FAREWELL),
    )


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
