"""How many calls a worker takes at once, from what one turn costs on this machine. Pure.

Load is not the limit: a call has a turn every few seconds, and between turns it costs next to nothing. Turns that end together
are. When all calls end theirs in the same moment, their turns share the cores, and the last of them is answered after

    calls * CPU seconds of a turn / cores

which must not be longer than twice what one alone is allowed at the median: 1.2 s. So many calls are the slots.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from agent.errors import Fault

ANSWER_S = 0.6
"""What a caller alone may wait for the first sound of the answer, median, seconds."""
TOGETHER_S = 2 * ANSWER_S
"""What the last caller may wait when all turns end in the same moment, seconds."""
LEAST_SLOTS, MOST_SLOTS = 1, 64
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Speed:
    """What was measured: CPU seconds of one turn (median of the rounds), on so many cores."""

    turn_s: float
    cores: float

    @property
    def slots(self) -> int:
        """Calls at once, by the rule above: 1 to 64."""
        return max(LEAST_SLOTS, min(MOST_SLOTS, math.floor(TOGETHER_S * self.cores / self.turn_s + 1e-9)))


def measure(turn_seconds: Callable[[], float], cores: float) -> Speed:
    """Run a few rounds, with the models warm; `turn_seconds` does the work of one turn and returns its CPU seconds.

    Raises `Fault` when that is no time.
    """
    turn_s = median(turn_seconds() for _ in range(ROUNDS))
    if not math.isfinite(turn_s) or turn_s <= 0:
        raise Fault(f"the speed test measured {turn_s} s for a turn: give the number of calls with --slots")
    return Speed(turn_s, cores)


def usable_cores(allowed: int, cpu_max: str) -> float:
    """Cores this process may keep busy: those it is `allowed` to run on, or less by the quota of its control group.

    `cpu_max` is the text of the group's `cpu.max` (cgroup v2: `max PERIOD` or `QUOTA PERIOD`, µs); empty where there is none.
    """
    quota, _, period = cpu_max.partition(" ")
    if not quota.isdecimal() or not period.strip().isdecimal() or int(period) == 0:
        return float(allowed)
    return min(float(allowed), int(quota) / int(period))
