"""Generated rehearsals, stored as JSON Lines and replayed strictly."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.app.rehearse import rehearse_virtually
from agent.replay import replay
from agent.timeline.codec import read, write
from tests.rehearsal.generate import generate


@dataclass(frozen=True, slots=True)
class StrictReplay:
    """One rehearsal's replay; `problem` is empty when every derived event came out again."""

    seed: int
    entries: int
    lasted_us: int
    problem: str


def replay_generated(seeds: range, folder: Path) -> Iterator[StrictReplay]:
    """Rehearse, store, read, replay."""
    path = folder / "timeline.jsonl"
    for seed in seeds:
        done = rehearse_virtually(generate(seed), call_id=f"generated-{seed}")
        write(path, done.entries)
        result = replay(read(path))
        problem = str(result.difference) if result.difference else "" if result.complete else "the timeline has no end"
        yield StrictReplay(seed, result.entries, result.lasted_us, problem)
