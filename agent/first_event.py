"""The first event of a call: everything that a replay needs to know before anything happens."""

from functools import cache
from importlib.metadata import version

from agent.clock import Clock
from agent.parts import CallParts
from agent.settings import CallSettings
from agent.timeline.events import CallStarted
from agent.timeline.told import sentence


def first_event(call_id: str, node_id: str, seed: int, parts: CallParts, settings: CallSettings, clock: Clock) -> CallStarted:
    """What is known when the Call object is made. Whatever the far end calls itself is cut to a sentence."""
    info = parts.line.info
    return CallStarted(
        call_id=call_id,
        node_id=node_id,
        direction=info.direction,
        line=info.kind,
        sample_rate_hz=info.sample_rate_hz,
        remote=sentence(info.remote),
        wall_anchor=clock.wall().isoformat(timespec="milliseconds"),
        seed=seed,
        record="on" if parts.recorder else "off",
        far_end_delay_us=info.far_end_delay_us,
        owns_floor=parts.frontend.info.owns_floor,
        settings=settings,
        versions=_versions(),
    )


@cache
def _versions() -> dict[str, str]:
    """Read from disk once, not in every call."""
    return {name: version(name) for name in ("venus-line", "numpy", "av")}
