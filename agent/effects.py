"""What events of the timeline ask of the world: the frontend is told, the harness gets work, a rendered line is said."""

from collections import deque
from collections.abc import Coroutine
from typing import Any, Protocol

from agent.core import CallCore
from agent.errors import VenusError
from agent.frontend_link import Arrival, FrontendLink
from agent.frontends.base import BackendMessage
from agent.harness import Harness, WorkRequest, WorkUpdate
from agent.parts import CallParts
from agent.speech import SpokenLine
from agent.timeline.events import (
    CallEnded,
    DelegateClosed,
    DelegationCreated,
    DeliveryChanged,
    EpochChanged,
    FaultDetected,
    FaultReported,
    FrontendLost,
    PhaseChanged,
    Sent,
    WorkChanged,
    WorkEnded,
)
from agent.timeline.kinds import DeliveryState, EndReason, Phase, WorkStatus
from agent.timeline.log import Entry

NO_HARNESS = "Nothing is connected that could do this."


class Acting(Protocol):
    """What a call can be told to do by its own timeline."""

    call_id: str
    core: CallCore

    def say(self, line: SpokenLine) -> str: ...

    def end(self, reason: EndReason, detail: str, at_once: bool = False) -> None: ...

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None: ...

    def start_listening(self) -> None: ...

    def ended(self, outcome: CallEnded) -> None: ...


class Effects:
    """A listener of one call's timeline. Private text is kept here, by id, and goes nowhere but to harness and frontend."""

    def __init__(self, call: Acting, link: FrontendLink, parts: CallParts) -> None:
        self.arrivals: deque[Arrival] = deque()
        self._call = call
        self._link = link
        self._parts = parts
        self._requests: dict[str, str] = {}
        self._results: dict[str, str] = {}

    def remember(self, arrival: Arrival) -> None:
        """Keep the private text that belongs to an event about to be written."""
        if isinstance(arrival.event, DelegateClosed):
            self._requests[arrival.event.delegation_id] = arrival.private
        elif isinstance(arrival.event, WorkEnded):
            self._results[arrival.event.work_id] = arrival.private

    def react(self, entry: Entry) -> None:
        """The timeline listener."""
        match entry.event:
            case PhaseChanged(phase=Phase.ANSWERED):
                self._call.start_listening()
                if self._parts.lines.greeting:
                    self._call.say(self._parts.lines.greeting)
            case Sent(utterance_id=utterance_id, start=start, samples=samples):
                self._link.acknowledge(utterance_id, start + samples)
            case EpochChanged(at_us=at_us, epoch=epoch):
                self._link.yield_floor(at_us, epoch)
            case DelegationCreated() as created:
                self._submit(created)
            case DeliveryChanged(state=DeliveryState.DELIVERING, delivery_id=delivery_id, work_id=work_id):
                self._link.inject(BackendMessage(delivery_id, self._results.get(work_id, "")))
            case DeliveryChanged(state=DeliveryState.DELIVERED | DeliveryState.PARTIAL | DeliveryState.DROPPED, work_id=work_id):
                self._results.pop(work_id, None)
            case FaultDetected(code="unanswered") if self._parts.lines.recovery:
                self._call.say(self._parts.lines.recovery)
            case FrontendLost(final=True, reason=reason):
                self.apologise(EndReason.FRONTEND_LOST, reason)
            case FrontendLost() if self._parts.lines.apology:
                self._call.say(self._parts.lines.apology)
            case CallEnded() as ended:
                self._call.ended(ended)

    def apologise(self, reason: EndReason, detail: str) -> None:
        """Say the apology, then end the call."""
        if self._parts.lines.apology:
            self._call.say(self._parts.lines.apology)
        self._call.end(reason, detail)

    def _submit(self, created: DelegationCreated) -> None:
        request = self._requests.pop(created.delegation_id, "")
        if self._parts.harness is None:
            self._outcome(created.work_id, WorkStatus.FAILED, NO_HARNESS)
            return
        work = WorkRequest(self._call.call_id, created.work_id, request, created.evidence_until_us)
        self._call.spawn(self._submitted(self._parts.harness, work), "submit")

    async def _submitted(self, harness: Harness, work: WorkRequest) -> None:
        try:
            await harness.submit(work)
        except VenusError as error:
            self._outcome(work.work_id, WorkStatus.FAILED, str(error))

    async def report(self, harness: Harness) -> None:
        """Take the harness's reports until the call ends. If they break off, what became of the open works is unknown."""
        try:
            async for report in harness.reports():
                if isinstance(report, WorkUpdate):
                    self.arrivals.append(Arrival(WorkChanged(report.work_id, report.phase, report.headline)))
                else:
                    self._outcome(report.work_id, report.status, report.text)
        except VenusError as error:  # its message may quote a request, so it is not told
            self.arrivals.append(Arrival(FaultReported("harness", f"the harness is lost ({type(error).__name__})")))
            for work_id in self._call.core.works.open:
                self._outcome(work_id, WorkStatus.UNKNOWN, "")

    def _outcome(self, work_id: str, status: WorkStatus, text: str) -> None:
        self.arrivals.append(Arrival(WorkEnded(work_id, status, len(text)), private=text))

    async def settle(self, harness: Harness) -> None:
        """The call is over: close the harness and take what it still reports."""
        await harness.close()
        await self.report(harness)

    def last_outcomes(self) -> list[Arrival]:
        """What is left to write after the end: the harness's last reports, then `unknown` for works it said nothing about."""
        arrivals, self.arrivals = list(self.arrivals), deque()
        told = {one.event.work_id for one in arrivals if isinstance(one.event, WorkEnded)}
        silent = [work_id for work_id in self._call.core.works.open if work_id not in told]
        return arrivals + [Arrival(WorkEnded(work_id, WorkStatus.UNKNOWN, 0)) for work_id in silent]

    def close(self) -> None:
        """The call is over and given back: let go of it."""
        del self._call
