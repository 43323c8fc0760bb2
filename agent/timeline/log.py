"""The append-only log of one call: total order by (t, seq), and the causality check."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from agent.errors import Fault
from agent.settings import TICK_US
from agent.timeline.events import Event
from agent.timeline.kinds import Span


@dataclass(frozen=True, slots=True)
class Entry:
    """An event in its place: `seq` counts from 0, `t` is the tick (µs) at which the call learned it, `cause` an earlier seq."""

    seq: int
    t: int
    cause: int | None
    event: Event


Listener = Callable[[Entry], None]


class Timeline:
    """Append events, tell the listeners. Keeps only the newest `kept` entries in memory: the file has them all.

    Listeners are called in the order in which they subscribed, inside `append`: they must not raise, block or append.
    """

    def __init__(self, kept: int = 512) -> None:
        self._entries: deque[Entry] = deque(maxlen=kept)
        self._listeners: list[Listener] = []
        self._seq = 0
        self._t = 0

    @property
    def recent(self) -> tuple[Entry, ...]:
        """The newest entries, oldest first."""
        return tuple(self._entries)

    @property
    def next_seq(self) -> int:
        return self._seq

    def subscribe(self, listener: Listener) -> None:
        """Every later entry is given to `listener`."""
        self._listeners.append(listener)

    def close(self) -> None:
        """Nothing more is appended: let go of the listeners."""
        self._listeners.clear()

    def append(self, t: int, event: Event, cause: int | None = None) -> Entry:
        """Put `event` at tick `t`. Raises `Fault` when that breaks the order or lets an event know the future."""
        entry = Entry(self._seq, t, cause, event)
        check_order(entry, self._t)
        self._seq += 1
        self._t = t
        self._entries.append(entry)
        for listener in self._listeners:
            listener(entry)
        return entry


def check_order(entry: Entry, previous_t: int) -> None:
    """The rules of the timeline. Raises `Fault` naming the one that is broken.

    Times never fall and are whole ticks; what an event covers lies in its past (`covers.to_us <= t`); a cause comes first.
    """
    kind = entry.event.kind
    if entry.t < previous_t or entry.t % TICK_US:
        raise Fault(f"{kind} (seq {entry.seq}) at t = {entry.t} µs after t = {previous_t} µs: times are ticks and never fall")
    if entry.cause is not None and not 0 <= entry.cause < entry.seq:
        raise Fault(f"{kind} (seq {entry.seq}) is caused by seq {entry.cause}, which does not come before it")
    covers = getattr(entry.event, "covers", None)
    if isinstance(covers, Span) and not covers.from_us <= covers.to_us <= entry.t:
        raise Fault(f"{kind} (seq {entry.seq}) at t = {entry.t} µs covers {covers.from_us}..{covers.to_us} µs: not its past")
