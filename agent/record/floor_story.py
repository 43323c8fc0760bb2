"""Who had the floor, read from the arbiter's verdicts and from who was heard."""

from dataclasses import dataclass, field
from typing import Literal

from agent.timeline.kinds import Verdict

Holder = Literal["agent", "caller", "ducked", "held"]


@dataclass(frozen=True, slots=True)
class FloorStretch:
    """`holder` from `from_us` to `to_us`: `ducked` while it is undecided, `held` while the agent waits at a word's end."""

    from_us: int
    to_us: int
    holder: Holder


@dataclass(frozen=True, slots=True)
class YieldMark:
    """The caller took the floor at `t_us`; the voice that did it set in at `onset_us`."""

    t_us: int
    onset_us: int
    seq: int
    reason: str


@dataclass(slots=True)
class FloorTrace:
    """Collects verdicts; `stretches` draws the conclusion."""

    yields: list[YieldMark] = field(default_factory=list)
    _ducked: list[tuple[int, int]] = field(default_factory=list)
    _held: list[tuple[int, int]] = field(default_factory=list)
    _open: dict[str, tuple[Verdict, int]] = field(default_factory=dict)

    def verdict(self, t: int, seq: int, verdict: Verdict, utterance_id: str, onset_us: int, reason: str) -> None:
        """A verdict about an utterance at tick `t`."""
        self.ended(t, utterance_id)
        if verdict in (Verdict.DUCK, Verdict.HOLD):
            self._open[utterance_id] = (verdict, t)
        if verdict == Verdict.YIELD:
            self.yields.append(YieldMark(t, onset_us, seq, reason))

    def ended(self, t: int, utterance_id: str) -> None:
        """Nothing of the utterance is ducked or held any more."""
        if utterance_id in self._open:
            verdict, since = self._open.pop(utterance_id)
            (self._held if verdict == Verdict.HOLD else self._ducked).append((since, t))

    def stretches(self, speaking: list[tuple[int, int]], voices: list[tuple[int, int]], length_us: int) -> list[FloorStretch]:
        """The floor from start to end; where nobody has it there is no stretch.

        `speaking`: when speech of ours went out; `voices`: when the caller's voice was heard. µs.
        """
        for verdict, since in self._open.values():
            (self._held if verdict == Verdict.HOLD else self._ducked).append((since, length_us))
        layers: list[tuple[Holder, list[tuple[int, int]]]] = [
            ("held", self._held),
            ("ducked", self._ducked),
            ("agent", speaking),
            ("caller", voices),
        ]
        changes = sorted(
            (at_us, step, holder)
            for holder, spans in layers
            for from_us, to_us in spans
            for at_us, step in ((from_us, 1), (to_us, -1))
            if to_us > from_us
        )
        return _sweep(changes, [holder for holder, _ in layers])


def _sweep(changes: list[tuple[int, int, Holder]], order: list[Holder]) -> list[FloorStretch]:
    """The first holder in `order` that is active, stretch by stretch; equal neighbours joined."""
    active = dict.fromkeys(order, 0)
    found: list[FloorStretch] = []
    since = 0
    for at_us, step, holder in changes:
        top = next((name for name in order if active[name] > 0), None)
        if top is not None and at_us > since:
            if found and found[-1].holder == top and found[-1].to_us == since:
                found[-1] = FloorStretch(found[-1].from_us, at_us, top)
            else:
                found.append(FloorStretch(since, at_us, top))
        since = max(since, at_us)
        active[holder] += step
    return found
