"""What the call asks of whoever does delegated work. The harness itself lives in `harness_tools`, outside this package."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from agent.errors import Refused
from agent.timeline.kinds import WorkPhase, WorkStatus

LONGEST_RESULT = 20_000
"""Characters of an outcome that a frontend is given; the rest is cut, visibly."""


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


def check_report(report: WorkUpdate | WorkResult) -> None:
    """Raises `Refused` for what is no report."""
    if isinstance(report, WorkUpdate):
        sound = isinstance(report.phase, WorkPhase) and isinstance(report.headline, str)
    elif isinstance(report, WorkResult):
        sound = isinstance(report.status, WorkStatus) and isinstance(report.text, str)
    else:
        raise Refused(f"the harness reported a {type(report).__name__}, which is no report")
    if not (sound and isinstance(report.work_id, str)):
        raise Refused(f"the harness sent a {type(report).__name__} with fields of the wrong kind")


def told_text(text: str) -> str:
    """The text of an outcome as it is given to a frontend: half characters replaced, cut to `LONGEST_RESULT`."""
    whole = text[: LONGEST_RESULT + 1].encode(errors="replace").decode()
    return whole if len(whole) <= LONGEST_RESULT else whole[: LONGEST_RESULT - 1] + "…"
