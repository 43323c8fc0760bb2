"""Opening again what was lost, within a bound: what is restarted elsewhere comes back in its own time."""

from collections.abc import Awaitable, Callable

from agent.clock import Clock
from agent.errors import VenusError

AGAIN_US = 250_000
"""Between two attempts."""
LONGEST_ATTEMPT_US = 3_000_000
"""One attempt that hangs must not cost the next."""
SETTLED_US = 60_000_000
"""A session that lasted so long was a good one: how often in a row it was rebuilt is counted anew."""


async def reopened(attempt: Callable[[int], Awaitable[None]], within_us: int, clock: Clock) -> str | None:
    """Run `attempt(within_us)` until one succeeds (None) or the bound is reached: why the last one failed.

    What it raises of our errors, and `TimeoutError`, is a failure; anything else is raised.
    """
    deadline_us = clock.now_us() + within_us
    while True:
        try:
            await attempt(min(deadline_us - clock.now_us(), LONGEST_ATTEMPT_US))
            return None
        except VenusError as error:
            reason = str(error)
        except TimeoutError:
            reason = "it did not open in time"
        if clock.now_us() + AGAIN_US >= deadline_us:
            return reason
        await clock.sleep_until(clock.now_us() + AGAIN_US)


class Rebuilding:
    """How often in a row a lost session was rebuilt. Pure."""

    def __init__(self, tries: int) -> None:
        self._tries, self._left = tries, tries

    def lost(self, lasted_us: int) -> bool:
        """A session that lasted so long is lost: whether it may be rebuilt."""
        if lasted_us > SETTLED_US:
            self._left = self._tries
        self._left -= 1
        return self._left >= 0
