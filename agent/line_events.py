"""What a line says happened, on its way to the tick: a storm of it makes no tick long and hides no hang-up. Pure."""

from collections import deque
from collections.abc import Sequence

from agent.arrivals import ARRIVALS_A_TICK
from agent.line import LineEvent
from agent.timeline.events import FaultReported, LineAnswered, LineClosed, LineHeld, LineResumed
from agent.timeline.told import with_sentences

MOST_WAITING = 500
"""Events that may wait; what comes beyond them is dropped and counted, but for what says how the line stands now."""
TOLD_EVERY_US = 1_000_000
"""Between two reports of dropped events."""


class LineEvents:
    """The events of one line."""

    def __init__(self) -> None:
        self._waiting: deque[LineEvent] = deque()
        self._dropped = 0
        self._tell_us = 0

    def put(self, happened: Sequence[LineEvent]) -> None:
        """What happened since the last call."""
        room = max(0, MOST_WAITING - len(self._waiting))
        self._waiting.extend(happened[:room])
        beyond = happened[room:]
        if beyond:
            standing: list[LineEvent] = [event for event in beyond if isinstance(event, LineAnswered | LineClosed)]
            standing += {event.by: event for event in beyond if isinstance(event, LineHeld | LineResumed)}.values()
            self._waiting.extend(standing)
            self._dropped += len(beyond) - len(standing)

    def take(self, t: int) -> list[LineEvent]:
        """What the tick at `t` learns."""
        waiting = self._waiting
        if len(waiting) > ARRIVALS_A_TICK and (end := next((one for one in waiting if isinstance(one, LineClosed)), None)):
            waiting.clear()  # what was before the end matters no more
            waiting.append(end)
        taken = [waiting.popleft() for _ in range(min(len(waiting), ARRIVALS_A_TICK))]
        if self._dropped and t >= self._tell_us:
            taken.append(FaultReported("line_events", f"{self._dropped} events of the line were dropped: too many at once"))
            self._dropped, self._tell_us = 0, t + TOLD_EVERY_US
        return [with_sentences(event) for event in taken]
