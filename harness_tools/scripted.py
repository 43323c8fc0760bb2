"""A harness without capabilities: what becomes of each request is written down beforehand. For rehearsals and the demo."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from agent.clock import Clock
from agent.errors import Capacity, Gone
from agent.harness import WorkRequest, WorkResult, WorkUpdate
from agent.timeline.kinds import WorkPhase, WorkStatus

MOST_PENDING = 64
"""Works without an outcome, and reports that nobody has read, at once."""
NOT_SCRIPTED = "Nothing is known about this request."


@dataclass(frozen=True, slots=True)
class ScriptedUpdate:
    """Told `after_ms` after the work was accepted. `headline` is public and short."""

    after_ms: int
    phase: WorkPhase
    headline: str


@dataclass(frozen=True, slots=True)
class ScriptedWork:
    """What becomes of one request: `text` (private) and `status`, `after_ms` after it was accepted."""

    after_ms: int
    status: WorkStatus
    text: str
    updates: tuple[ScriptedUpdate, ...] = ()


class ScriptedHarness:
    """The n-th accepted request goes as the n-th of `works` says (`agent.harness.Harness`); those beyond the last fail at once.

    Runs on whatever time `clock` runs on. Works that are pending at `close` are CANCELLED, which `reports` still tells.
    """

    def __init__(self, works: Sequence[ScriptedWork], clock: Clock) -> None:
        self._works, self._clock = tuple(works), clock
        self._accepted: set[str] = set()
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._reports: list[WorkUpdate | WorkResult] = []
        self._changed = asyncio.Event()
        self._closed = False

    async def submit(self, request: WorkRequest) -> None:
        if self._closed:
            raise Gone("the harness is closed: the call is over")
        if request.work_id in self._accepted:
            return
        if len(self._pending) >= MOST_PENDING or len(self._reports) >= MOST_PENDING:
            raise Capacity(f"{len(self._pending)} works are pending and {len(self._reports)} reports unread")
        number = len(self._accepted)
        self._accepted.add(request.work_id)
        work = self._works[number] if number < len(self._works) else ScriptedWork(0, WorkStatus.FAILED, NOT_SCRIPTED)
        self._pending[request.work_id] = asyncio.create_task(self._run(request.work_id, work, self._clock.now_us()))

    async def _run(self, work_id: str, work: ScriptedWork, accepted_us: int) -> None:
        for update in sorted(work.updates, key=lambda update: update.after_ms):
            if update.after_ms <= work.after_ms:
                await self._clock.sleep_until(accepted_us + update.after_ms * 1000)
                self._report(WorkUpdate(work_id, update.phase, update.headline))
        await self._clock.sleep_until(accepted_us + work.after_ms * 1000)
        del self._pending[work_id]
        self._report(WorkResult(work_id, work.status, work.text))

    def _report(self, report: WorkUpdate | WorkResult) -> None:
        self._reports.append(report)
        self._changed.set()

    async def reports(self) -> AsyncIterator[WorkUpdate | WorkResult]:
        """As the protocol says; ends when the harness is closed and everything was told. One reader."""
        while True:
            while self._reports:
                yield self._reports.pop(0)
            if self._closed:
                return
            self._changed.clear()
            await self._changed.wait()

    async def close(self) -> None:
        self._closed = True
        pending, self._pending = self._pending, {}
        for work_id, task in pending.items():
            task.cancel()
            self._report(WorkResult(work_id, WorkStatus.CANCELLED, "The call ended before this was done."))
        self._changed.set()
        await asyncio.gather(*pending.values(), return_exceptions=True)
