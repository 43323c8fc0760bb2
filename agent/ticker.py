"""One ticker of 20 ms for all calls of a process: absolute deadlines, lateness measured for each call's own tick."""

from dataclasses import dataclass
from typing import Protocol

from agent.clock import Clock
from agent.logs import get_logger
from agent.settings import TICK_US

log = get_logger("venus.ticker")

RESYNC_US = 500_000
"""A delay up to this is caught up tick by tick; beyond it the ticker jumps and says by how much."""
SLOW_US = 2_000
"""No call's tick should take longer."""
TOLD_US = 10_000
"""One that does is named in the log."""
SLOTS = 4
"""Moments within a tick over which calls are spread."""
STEP_US = 100
BUCKETS = 2_000


class Histogram:
    """Durations in steps of 0.1 ms up to 200 ms; what is longer counts as the last step. Constant memory."""

    def __init__(self) -> None:
        self._counts = [0] * (BUCKETS + 1)
        self.count = 0
        self.max_us = 0

    def add(self, value_us: int) -> None:
        """Count one duration; a negative one counts as 0."""
        value_us = max(0, value_us)
        self._counts[min(value_us // STEP_US, BUCKETS)] += 1
        self.count += 1
        self.max_us = max(self.max_us, value_us)

    def quantile_ms(self, q: float) -> float:
        """The duration below which a share `q` lies, ms, rounded up to the step; 0 when nothing was counted."""
        wanted, seen = q * self.count, 0
        for index, count in enumerate(self._counts):
            seen += count
            if count and seen >= wanted:
                return (index + 1) * STEP_US / 1000
        return 0.0


class Ticking(Protocol):
    """Something that is moved on by the ticker."""

    def tick(self, skipped: int) -> None:
        """20 ms are over; before them `skipped` ticks were jumped."""

    def crashed(self, error: Exception) -> None:
        """`tick` raised: it is not called again. Must not raise."""


@dataclass(slots=True)
class TickerStats:
    """What the ticker counted since it was made."""

    ticks: int = 0
    slow: int = 0
    """Ticks of one subscriber that took longer than `SLOW_US`."""
    resyncs: int = 0
    skipped: int = 0


class Ticker:
    """Runs until cancelled. Each subscriber ticks at absolute deadlines 20 ms apart, however late the one before was.

    Subscribers are spread over `slots` moments within the 20 ms, so that a call waits for the work of few others.
    """

    def __init__(self, clock: Clock, slots: int = SLOTS) -> None:
        self._clock = clock
        self._slots: list[dict[Ticking, None]] = [{} for _ in range(slots)]
        self._skips: dict[Ticking, int] = {}
        self._names: dict[Ticking, str] = {}
        self.lateness = Histogram()
        self.stats = TickerStats()

    @property
    def clock(self) -> Clock:
        return self._clock

    def attach(self, subscriber: Ticking, name: str = "") -> None:
        """From its slot's next tick on. Those of one slot tick in the order in which they came. `name` is for the log."""
        self._names[subscriber] = name
        if not any(subscriber in slot for slot in self._slots):
            min(self._slots, key=len)[subscriber] = None

    def detach(self, subscriber: Ticking) -> None:
        """No tick reaches it any more; harmless when it is not attached."""
        for slot in self._slots:
            slot.pop(subscriber, None)
        self._skips.pop(subscriber, None)
        self._names.pop(subscriber, None)

    async def run(self) -> None:
        """Tick for ever."""
        round_us = self._clock.now_us()
        while True:
            round_us += TICK_US
            for number, slot in enumerate(self._slots):
                if not slot and number:
                    continue
                deadline = round_us + number * TICK_US // len(self._slots)
                await self._clock.sleep_until(deadline)
                late = self._clock.now_us() - deadline
                skipped = late // TICK_US if late > RESYNC_US else 0
                if skipped:
                    self._jump(skipped)
                    round_us += skipped * TICK_US
                self._tick(slot, deadline + skipped * TICK_US)
            self.stats.ticks += 1

    def _jump(self, skipped: int) -> None:
        self.stats.resyncs += 1
        self.stats.skipped += skipped
        for slot in self._slots:
            for subscriber in slot:
                self._skips[subscriber] = self._skips.get(subscriber, 0) + skipped

    def _tick(self, slot: dict[Ticking, None], deadline: int) -> None:
        for subscriber in list(slot):
            if subscriber not in slot:  # one before it took it off
                continue
            began_us = self._clock.now_us()
            self.lateness.add(began_us - deadline)
            try:
                subscriber.tick(self._skips.pop(subscriber, 0))
            except Exception as error:  # one call's fault must not stop the others' media
                self.detach(subscriber)
                subscriber.crashed(error)
            self._note(subscriber, self._clock.now_us() - began_us)

    def _note(self, subscriber: Ticking, took_us: int) -> None:
        """Count a tick that was long; say once a call when it was long enough for the others to be heard waiting."""
        self.stats.slow += took_us > SLOW_US
        if took_us > TOLD_US and (name := self._names.get(subscriber)):
            self._names[subscriber] = ""
            log.warning("the tick of a call took long, all others waited", call_id=name, ms=took_us // 1000)
