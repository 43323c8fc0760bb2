"""What the call asks of whoever does delegated work. The harness itself lives in `harness_tools`, outside this package."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from agent.timeline.kinds import WorkPhase, WorkStatus


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """One piece of delegated work. `request` is private text, complete in itself; evidence is what was known by then."""

    call_id: str
    work_id: str
    request: str
    evidence_until_us: int


@dataclass(frozen=True, slots=True)
class WorkUpdate:
    """A work moved on. `headline` is public and short."""

    work_id: str
    phase: WorkPhase
    headline: str


@dataclass(frozen=True, slots=True)
class WorkResult:
    """The one outcome of a work; `text` is private and meant for the frontend, which tells it in its own words."""

    work_id: str
    status: WorkStatus
    text: str


class Harness(Protocol):
    """Takes work and reports on it; one per call, closed with it."""

    async def submit(self, request: WorkRequest) -> None:
        """Accept the work; idempotent by `work_id`. Raises `Refused` or `Capacity`, which become its outcome."""

    def reports(self) -> AsyncIterator[WorkUpdate | WorkResult]:
        """Updates and outcomes in the order they happen; every work accepted ends in exactly one `WorkResult`."""

    async def close(self) -> None:
        """The call is over: works that may not outlive it are cancelled. Always safe."""
