"""What events of the timeline ask of the world: the frontend is told, the harness gets work, a rendered line is said."""

from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Protocol

from agent.arrivals import Arrival, Arrivals
from agent.core import CallCore
from agent.errors import Capacity, Refused, VenusError
from agent.frontend_link import FrontendLink
from agent.frontends.base import BackendMessage, MessageKind
from agent.harness import Harness, WorkRequest, WorkResult, WorkUpdate, check_report, told_text
from agent.parts import CallParts
from agent.speech import SpokenLine
from agent.tasks import run_until_one_ends, within
from agent.timeline.events import (
    CallEnded,
    DelegateClosed,
    DelegationCreated,
    DeliveryChanged,
    EpochChanged,
    FaultDetected,
    FaultReported,
    FrontendLost,
    FrontendOpened,
    PhaseChanged,
    SayRequested,
    Sent,
    UtteranceEnded,
    WorkChanged,
    WorkEnded,
)
from agent.timeline.kinds import DeliveryState, EndReason, Phase, Role, WorkStatus
from agent.timeline.log import Entry
from agent.timeline.told import sentence

NO_HARNESS = "Nothing is connected that could do this."
HARNESS_LOST = "Whatever does such things cannot be reached."
TOO_MUCH = "Too much is being done at once; ask again later."
SUBMIT_WITHIN_S = 5.0
"""A harness that has not taken a work by then may have taken it or not: what became of it is unknown."""
MOST_OPEN = 64
"""Works without an outcome at once; those beyond fail at once."""
MOST_LAST_REPORTS = 1_000
"""Reports read after the end of a call, at most."""


def is_line(utterance_id: str) -> bool:
    """Whether an utterance is a line kept ready; the ids of a frontend's own carry the session's number behind an @."""
    return "@" not in utterance_id


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
        self.arrivals = Arrivals()
        self._call = call
        self._link = link
        self._parts = parts
        # A request waits within one tick for its work, a result for the end of its delivery: of those the core bounds the number.
        self._requests: dict[str, str] = {}
        self._results: dict[str, str] = {}
        self._awaited: dict[str, None] = {}
        """Works whose outcome was not told yet, oldest first."""
        self._harness_lost = False
        self._apologised = self._parting = False

    def remember(self, arrival: Arrival) -> None:
        """Keep the private text that belongs to an event about to be written."""
        if isinstance(arrival.event, DelegateClosed):
            self._requests[arrival.event.delegation_id] = arrival.private
        elif isinstance(arrival.event, WorkEnded) and arrival.event.work_id in self._call.core.works.open:
            self._results[arrival.event.work_id] = arrival.private

    def react(self, entry: Entry) -> None:
        """The timeline listener."""
        match entry.event:
            case PhaseChanged(phase=Phase.ANSWERED):
                self._call.start_listening()
                self._say(self._parts.lines.greeting)
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
            case SayRequested(role=Role.FAREWELL):
                self._parting = True
            case UtteranceEnded(utterance_id=utterance_id, text_sent=text) if text and is_line(utterance_id):
                self._link.inject(BackendMessage(utterance_id, text, MessageKind.SAID))
            case PhaseChanged(phase=Phase.ENDING) if not self._parting:
                self._say(self._parts.lines.farewell)
            case FaultDetected(code="unanswered"):
                self._say(self._parts.lines.recovery)
            case FrontendOpened():
                self._apologised = False
            case FrontendLost(final=final, reason=reason):
                self._apologise()
                if final:
                    self._call.end(EndReason.FRONTEND_LOST, reason)
            case CallEnded() as ended:
                self._call.ended(ended)

    def fail(self, detail: str) -> None:
        """Something of ours broke: say the apology, then end the call."""
        self._apologise()
        self._call.end(EndReason.FAULT, detail)

    def _apologise(self) -> None:
        """Once, however often a session is not rebuilt."""
        if not self._apologised:
            self._say(self._parts.lines.apology)
        self._apologised = True

    def _say(self, line: SpokenLine | None) -> None:
        """A line kept ready. When very much waits already, silence is not what threatens."""
        if line:
            with suppress(Capacity):
                self._call.say(line)

    def _submit(self, created: DelegationCreated) -> None:
        request = self._requests.pop(created.delegation_id, "")
        self._awaited[created.work_id] = None
        if self._parts.harness is None:
            self._outcome(created.work_id, WorkStatus.FAILED, NO_HARNESS)
            return
        if self._harness_lost or len(self._awaited) > MOST_OPEN:
            self._outcome(created.work_id, WorkStatus.FAILED, HARNESS_LOST if self._harness_lost else TOO_MUCH)
            return
        work = WorkRequest(self._call.call_id, created.work_id, request, created.evidence_until_us)
        self._call.spawn(self._submitted(self._parts.harness, work), "submit")

    async def _submitted(self, harness: Harness, work: WorkRequest) -> None:
        try:
            await within(SUBMIT_WITHIN_S, harness.submit(work))
        except VenusError as error:
            self._outcome(work.work_id, WorkStatus.FAILED, str(error))
        except Exception as error:  # it may have been taken, or not; a message may quote the request
            self._fault(f"a work was not taken ({type(error).__name__})")
            self._outcome(work.work_id, WorkStatus.UNKNOWN, "")

    async def report(self, harness: Harness) -> None:
        """Take the harness's reports while the call lasts. If they break off, what became of the open works is unknown."""
        why = "it ended its reports"
        try:
            await run_until_one_ends(self._read(harness))
        except Exception as error:  # its message may quote a request, so it is not told
            why = type(error).__name__
        self._harness_lost = True
        self._fault(f"the harness is lost ({why})")
        for work_id in tuple(self._awaited):
            self._outcome(work_id, WorkStatus.UNKNOWN, "")

    async def _read(self, harness: Harness) -> None:
        async for report in harness.reports():
            await self.arrivals.room()
            self._learn(report)

    def _learn(self, report: WorkUpdate | WorkResult) -> None:
        try:
            check_report(report)
            if report.work_id not in self._awaited:
                raise Refused("a report about a work that is not under way")
        except Refused as error:
            self._fault(str(error))
            return
        if isinstance(report, WorkUpdate):
            self.arrivals.put(Arrival(WorkChanged(report.work_id, report.phase, sentence(report.headline))))
        else:
            self._outcome(report.work_id, report.status, report.text)

    def _outcome(self, work_id: str, status: WorkStatus, text: str) -> None:
        """The first outcome of a work; what else is said about it later is not heard."""
        if work_id in self._awaited:
            del self._awaited[work_id]
            text = told_text(text)
            self.arrivals.put(Arrival(WorkEnded(work_id, status, len(text)), private=text))

    def _fault(self, detail: str) -> None:
        self.arrivals.put(Arrival(FaultReported("harness", sentence(detail))))

    async def settle(self, harness: Harness) -> None:
        """The call is over: close the harness and take what it still reports, as far as works wait for it."""
        await harness.close()
        read = 0
        async for report in harness.reports():
            self._learn(report)
            read += 1
            if not self._awaited or read >= MOST_LAST_REPORTS:
                return

    def last_outcomes(self) -> list[Arrival]:
        """What is left to write after the end: the harness's last reports, then `unknown` for works it said nothing about."""
        arrivals = self.arrivals.drain()
        told = {one.event.work_id for one in arrivals if isinstance(one.event, WorkEnded)}
        silent = [work_id for work_id in self._call.core.works.open if work_id not in told]
        return arrivals + [Arrival(WorkEnded(work_id, WorkStatus.UNKNOWN, 0)) for work_id in silent]

    def close(self) -> None:
        """The call is over and given back: let go of it."""
        del self._call
