"""The rules of the units that a session is fed with, checked wherever units come in."""

import numpy as np

from agent.errors import Refused
from agent.frontends.base import UNIT_RATE_HZ, Unit


class UnitOrder:
    """Units of one session: each `unit_us` long, its samples to match, and each where the one before ended.

    With `gaps` it may start later: ears that cannot keep up are spared units, a frontend never is.
    """

    def __init__(self, unit_us: int, gaps: bool = False) -> None:
        self._unit_us, self._gaps = unit_us, gaps
        self._next_us: int | None = None

    def check(self, unit: Unit) -> None:
        """Raises `Refused` with the broken rule; a refused unit does not count."""
        covers = unit.covers
        if covers.to_us - covers.from_us != self._unit_us:
            raise Refused(f"a unit covers {covers.from_us}..{covers.to_us} µs: it must be {self._unit_us} µs long")
        due_us = covers.from_us if self._next_us is None else self._next_us
        if covers.from_us < due_us or (covers.from_us > due_us and not self._gaps):
            raise Refused(f"a unit starts at {covers.from_us} µs: the one before ended at {due_us} µs, fill gaps with silence")
        samples = self._unit_us * UNIT_RATE_HZ // 1_000_000
        if unit.pcm.shape != (samples,) or unit.pcm.dtype != np.float32:
            raise Refused(f"a unit holds {unit.pcm.shape} samples of {unit.pcm.dtype}: it must hold {samples} of float32")
        if not np.isfinite(unit.pcm).all():
            raise Refused("a unit holds samples that are no numbers")
        self._next_us = covers.to_us
