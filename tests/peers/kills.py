"""Calls whose worker dies in the middle, with whatever worker and script: what becomes of them, and what it costs the caller.

async with workplace(worker_command("--script", path)) as place:
    call = await observed_call(place, script, lambda: place.kill_after(3.0))
survived(call)
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from agent.app.rehearse import Staged, stage
from agent.app.supervisor import CommandFactory, SupervisedWorkers, supervise
from agent.clock import LoopClock
from agent.frontends.pool import WorkerPool, connect_pool
from agent.frontends.remote import WorkerHealth, connect_worker
from agent.frontends.script import Script
from agent.line import Pcm
from agent.replay import check, replay
from agent.settings import CallSettings
from agent.ticker import Ticker
from agent.timeline.events import CallEnded, Event, FrontendLost, FrontendOpened, Transcript, UtteranceEnded, UtteranceStarted
from agent.timeline.kinds import EndReason, Outcome, Phase, Role
from agent.timeline.log import Entry
from tests.rehearsal.accounts import accounts_are_closed
from transports.memory import HeardFrame, HeardState

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class Workplace:
    """Supervised workers and a pool over them, on the running loop."""

    workers: SupervisedWorkers
    pool: WorkerPool
    ticker: Ticker

    async def freed(self) -> None:
        """Every worker that is up has all its slots back; fails when not so within seconds."""
        async with asyncio.timeout(5):
            for worker in self.workers.running:
                async with connect_worker(worker.address) as remote:
                    while not _all_free(await remote.health()):  # noqa: ASYNC110 (another process)
                        await asyncio.sleep(0.02)


def _all_free(health: WorkerHealth) -> bool:
    return health.frontend_free == health.ears_free == health.slots


@asynccontextmanager
async def workplace(command: CommandFactory, count: int = 1) -> AsyncIterator[Workplace]:
    """Workers, a pool and a ticker; none of them is there when the block is left."""
    clock = LoopClock()
    ticker = Ticker(clock)
    async with supervise(command, clock, count) as workers, connect_pool(workers.roster, clock) as pool:
        ticking = asyncio.create_task(ticker.run())
        try:
            yield Workplace(workers, pool, ticker)
        finally:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class ObservedCall:
    """A call that is over. `harmed_us` is the call's clock when it was harmed; `heard` the sound that reached the far end."""

    outcome: CallEnded
    entries: tuple[Entry, ...]
    heard: Pcm
    apology: Pcm
    harmed_us: int

    def told(self, kind: type[E]) -> list[tuple[int, E]]:
        """The events of one kind, each with its `t`."""
        return [(entry.t, entry.event) for entry in self.entries if isinstance(entry.event, kind)]


async def observed_call(
    place: Workplace, script: Script, harm_after_us: int, harm: Callable[[], Awaitable[None]], **options: Any
) -> ObservedCall:
    """One call by the script, harmed so long after it was answered. `options` are those of `agent.app.rehearse.stage`."""
    staged = stage(script, place.ticker, frontend=place.pool, ears=place.pool.ears, **options)
    entries = list(staged.call.timeline.recent)
    staged.call.timeline.subscribe(entries.append)
    frames: list[HeardFrame] = []
    staged.far_end.on_frame = frames.append
    running = asyncio.create_task(staged.call.run())
    harmed_us = await _harm(staged, place.ticker, harm_after_us, harm)
    outcome = await running
    lines = staged.call._parts.lines
    assert lines.apology is not None
    heard = [frame.pcm for frame in frames if frame.state is HeardState.RECEIVED]
    return ObservedCall(outcome, tuple(entries), np.concatenate(heard), lines.apology.pcm, harmed_us)


async def _harm(staged: Staged, ticker: Ticker, after_us: int, harm: Callable[[], Awaitable[None]]) -> int:
    clock, call = ticker.clock, staged.call
    while call.phase is Phase.RINGING:
        await clock.sleep_until(clock.now_us() + 1_000)
    await clock.sleep_until(clock.now_us() + after_us)
    assert call.phase is Phase.ANSWERED, "the script is over before anything happens"
    harmed_us = call.t
    await harm()
    return harmed_us


def killing(workers: SupervisedWorkers, number: int = 0, by: signal.Signals = signal.SIGKILL) -> Callable[[], Awaitable[None]]:
    """What sends the signal to a worker."""

    async def harm() -> None:
        (pid,) = [worker.pid for worker in workers.running if worker.number == number]
        os.kill(pid, by)

    return harm


# --- what must hold ---------------------------------------------------------------------------------------------------------


def is_sound(call: ObservedCall) -> None:
    """Everything adds up, and the timeline replays strictly."""
    accounts_are_closed(call.entries)
    check(replay(call.entries))


def apologised(call: ObservedCall) -> None:
    """The apology was said once and to its end, and this very sound reached the far end."""
    ids = [event.utterance_id for _, event in call.told(UtteranceStarted) if event.role is Role.APOLOGY]
    ends = [event.outcome for _, event in call.told(UtteranceEnded) if event.utterance_id in ids]
    assert ends == [Outcome.FINISHED]
    assert call.apology.astype("<i2").tobytes() in call.heard.astype("<i2").tobytes()


def survived(call: ObservedCall, settings: CallSettings | None = None) -> None:
    """One loss, one apology, one new session within the bound, and a conversation that goes on to the end the caller gives it."""
    is_sound(call)
    ((lost_us, lost),) = call.told(FrontendLost)
    (_, (opened_us, opened)) = call.told(FrontendOpened)
    assert (lost.attempt, lost.final, opened.attempt) == (1, False, 2)
    assert opened_us - lost_us <= (settings or CallSettings()).reopen_within_us + 200_000
    apologised(call)
    answers = [event for t, event in call.told(UtteranceStarted) if event.utterance_id.endswith("@2")]
    assert answers, "the new session speaks"
    assert [event for t, event in call.told(Transcript) if t > opened_us], "the new ears hear"
    assert call.outcome.reason is EndReason.CALLER_HUNG_UP


# --- what it costs ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cost:
    """What the caller notices, seconds.

    `until_noticed`: from the kill until the call knows. `until_apology`: until the apology begins. `until_open`: until the next
    session is open. `silent`: from the end of the apology until then, 0 if it was open before.
    """

    until_noticed: float
    until_apology: float
    until_open: float
    silent: float


def cost(call: ObservedCall) -> Cost:
    """Of a call that survived."""
    ((lost_us, _),) = call.told(FrontendLost)
    opened_us = call.told(FrontendOpened)[1][0]
    ((begun_us, begun),) = [(t, event) for t, event in call.told(UtteranceStarted) if event.role is Role.APOLOGY]
    (ended_us,) = [t for t, event in call.told(UtteranceEnded) if event.utterance_id == begun.utterance_id]
    since = (lost_us, begun_us, opened_us)
    return Cost(*((t - call.harmed_us) / 1e6 for t in since), max(0, opened_us - ended_us) / 1e6)
