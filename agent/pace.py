"""What a process that carries media does at its start so that its own upkeep does not break the pace."""

import gc

from agent.timeline import codec

ALLOCATIONS = 1_000
"""Objects allocated and not freed between two collections of the youngest generation."""
YOUNG_PER_MIDDLE = 5
"""Collections of the youngest generation before the middle one is collected: few, so that there is little to look at."""
MIDDLE_PER_OLD = 50
"""Collections of the middle generation before everything is looked at: with 50 busy calls every two minutes at most."""


def keep_pace() -> None:
    """Call once, when everything is imported and rendered and no call is up yet.

    Encoders that would be built at the first event of their kind are built now. What lives by then is never looked at again by
    the garbage collector, and what comes later is looked at in small portions: a full collection over the modules of this project
    alone takes some 50 ms, in which no tick runs. Calls free what they hold themselves (see `Call`), so little is left to find.
    """
    codec.prepare()
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS, YOUNG_PER_MIDDLE, MIDDLE_PER_OLD)
