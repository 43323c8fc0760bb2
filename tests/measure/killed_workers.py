"""What the death of a worker costs the caller: `python -m tests.measure.killed_workers SCRIPT [KILLS] [WORKER OPTION ...]`.

One call after the other by the script, each with its only worker killed at a random moment; the worker is the scripted one unless
options of `venus worker` are given. Prints seconds.
"""

import asyncio
import random
import sys
from dataclasses import astuple, fields
from pathlib import Path
from statistics import median

from agent.app.supervisor import worker_command
from agent.frontends.script import Script, load_script
from agent.tasks import install_task_factory
from tests.peers.kills import Cost, cost, killing, observed_call, workplace

SEED = 1
EARLIEST_US, LATEST_US = 500_000, 4_500_000


async def measured(script: Script, kills: int, options: tuple[str, ...]) -> list[Cost]:
    """The cost of each kill."""
    install_task_factory(asyncio.get_running_loop())
    randomness = random.Random(SEED)
    costs = []
    for _ in range(kills):
        async with workplace(worker_command(*options)) as place:
            at_us = round(randomness.uniform(EARLIEST_US, LATEST_US))
            costs.append(cost(await observed_call(place, script, at_us, killing(place.workers))))
    return costs


def main(path: str, kills: str = "5", *options: str) -> None:
    """Print the median and the worst of each figure."""
    costs = asyncio.run(measured(load_script(Path(path)), int(kills), options or ("--script", path)))
    for field, values in zip(fields(Cost), zip(*map(astuple, costs), strict=True), strict=True):
        print(f"{field.name:15} median {median(values):5.2f}   worst {max(values):5.2f}   of {len(values)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
