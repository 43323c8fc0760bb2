"""A few events as lines, sounds with clicks at known places, and reading back what a recorder wrote."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from agent.line import Pcm
from agent.settings import TICK_US, CallSettings
from agent.timeline import codec, kinds
from agent.timeline import events as ev
from agent.timeline.log import Timeline
from media.oggopus import read_ogg_opus

SECRET = "zebra-4711"
"""Stands in every personal field below: no summary may hold it."""


def started(call_id: str = "call", rate_hz: int = 8000) -> ev.CallStarted:
    return ev.CallStarted(
        call_id=call_id,
        node_id="n1",
        direction="inbound",
        line="memory",
        sample_rate_hz=rate_hz,
        remote=SECRET,
        wall_anchor="2026-01-01T00:00:00+00:00",
        seed=1,
        record="on",
        far_end_delay_us=100_000,
        owns_floor=False,
        settings=CallSettings(),
        versions={"venus-line": "0.1.0"},
    )


def span(from_ms: int, to_ms: int) -> kinds.Span:
    return kinds.Span(from_ms * 1000, to_ms * 1000)


def lines(timed: Iterable[tuple[int, ev.Event]]) -> list[bytes]:
    """`(ms, event)` pairs as lines of a timeline."""
    timeline = Timeline()
    return [codec.encode(timeline.append(ms * 1000, event)) for ms, event in timed]


def short_call(call_id: str = "call", rate_hz: int = 8000, seconds: int = 1) -> list[tuple[int, ev.Event]]:
    """Answered at 0 and hung up after `seconds`."""
    end_ms = seconds * 1000
    return [
        (0, started(call_id, rate_hz)),
        (0, ev.PhaseChanged(kinds.Phase.ANSWERED, "")),
        *((at, ev.MediaReceived(span(at - 20, at), rate_hz // 50, 0, 0, -30.0)) for at in range(20, end_ms + 1, 20)),
        (end_ms, ev.CallEnded(kinds.EndReason.CALLER_HUNG_UP, SECRET, end_ms * 1000)),
        (end_ms, ev.PhaseChanged(kinds.Phase.ENDED, "")),
    ]


def click(samples: int, at: int) -> Pcm:
    """Silence with a short loud burst that begins at sample `at`."""
    pcm = np.zeros(samples, np.int16)
    burst = np.array([24000, -24000] * 4, np.int16)
    pcm[at : at + 8] = burst[: samples - at]
    return pcm


def ticks(rate_hz: int, count: int, clicks_ms: Iterable[int] = (), first_us: int = 0) -> Iterator[tuple[int, Pcm]]:
    """`count` frames of 20 ms from `first_us` on, as `(t_us, pcm)`; a click at each of these times of the call."""
    wanted = sorted(clicks_ms)
    samples = rate_hz // 50
    for number in range(count):
        t_us = first_us + number * TICK_US
        inside = [ms for ms in wanted if t_us <= ms * 1000 < t_us + TICK_US]
        yield t_us, click(samples, (inside[0] * 1000 - t_us) * rate_hz // 1_000_000) if inside else np.zeros(samples, np.int16)


def clicks_at_ms(path: Path, channel: int) -> list[float]:
    """Where the clicks of one channel begin, ms: the first loud sample after 100 ms without any."""
    rate_hz, samples = read_ogg_opus(path)
    loud = np.flatnonzero(np.abs(samples[:, channel].astype(int)) > 4000)
    first = [index for number, index in enumerate(loud) if not number or index - loud[number - 1] > rate_hz // 10]
    return [1000 * int(index) / rate_hz for index in first]


def summary_of(folder: Path) -> dict[str, Any]:
    stored = json.loads((folder / "summary.json").read_text())
    assert isinstance(stored, dict)
    return stored
