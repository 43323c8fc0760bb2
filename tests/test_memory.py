"""Pain 14: memory grows until the box dies. Short calls on real time, the recorder in its own process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.measure.short_calls import run_short

pytestmark = pytest.mark.peer


async def test_pain_14_short_calls_leave_nothing_behind(tmp_path: Path, loops: Callable[[int], int]) -> None:
    seen = await run_short(tmp_path, calls=loops(2_000), warm_up=100)
    assert seen.tasks_left == 0
    # One tenth of the loop cannot tell 4 kB a call from the allocator's own steps; the full one can.
    assert seen.slope_kb <= (4 if seen.calls == 2_000 else 40), seen
