"""The call's mirror of delegated works: each has one outcome, each outcome one end of its delivery. Pure.

Delegation → work → outcome → delivery. A delivery is offered to the frontend when nobody speaks, one at a time; it is
*delivered* when the utterance that tells it was sent to its end, *partial* when that was cut, *dropped* with a reason otherwise.
"""

from collections import deque
from dataclasses import dataclass

from agent.timeline.events import DelegateClosed, DelegateOpened, DelegationCreated, DeliveryChanged, WorkEnded
from agent.timeline.kinds import DeliveryState, Outcome

TELL_WITHIN_US = 10_000_000
"""A frontend that was given an outcome begins to tell it within this bound, or the delivery is dropped."""
MOST_EVIDENCE = 64
"""Delegations that were opened and not closed yet; of older ones it is forgotten when that was."""
MOST_READY = 64
"""Outcomes that wait to be told; those beyond are dropped."""
ENDS = {Outcome.FINISHED: DeliveryState.DELIVERED}


@dataclass(slots=True)
class _Delivery:
    delivery_id: str
    work_id: str
    since_us: int = 0
    utterance_id: str | None = None


class Works:
    """Works and deliveries of one call."""

    def __init__(self) -> None:
        self._evidence: dict[str, int] = {}
        self._open: dict[str, None] = {}
        self._ready: deque[_Delivery] = deque()
        self._telling: _Delivery | None = None
        self._alone = False
        self._count = self._deliveries = 0

    @property
    def open(self) -> tuple[str, ...]:
        """Works without an outcome, oldest first."""
        return tuple(self._open)

    def opened(self, event: DelegateOpened) -> None:
        """Evidence is frozen here."""
        self._evidence[event.delegation_id] = event.covers.to_us
        if len(self._evidence) > MOST_EVIDENCE:
            del self._evidence[next(iter(self._evidence))]

    def closed(self, event: DelegateClosed) -> DelegationCreated:
        """The request is whole: it becomes a work. Without an opening tag the evidence is what the closing step covers."""
        self._count += 1
        work_id = f"w{self._count}"
        self._open[work_id] = None
        until_us = self._evidence.pop(event.delegation_id, event.covers.to_us)
        return DelegationCreated(work_id, event.delegation_id, until_us, event.request_chars)

    def ended(self, event: WorkEnded) -> DeliveryChanged | None:
        """An outcome arrived. A second one for the same work is ignored (None)."""
        if event.work_id not in self._open:
            return None
        del self._open[event.work_id]
        self._deliveries += 1
        delivery = _Delivery(f"d{self._deliveries}", event.work_id)
        if len(self._ready) >= MOST_READY:
            return self._change(delivery, DeliveryState.DROPPED, "too much waits to be told")
        self._ready.append(delivery)
        return self._change(delivery, DeliveryState.READY, event.status.value)

    def step(self, t: int, quiet: bool) -> DeliveryChanged | None:
        """One tick; `quiet`: neither side speaks. Offers the next outcome, or gives up on one that is not told."""
        telling = self._telling
        if telling is None:
            if self._alone or not (quiet and self._ready):
                return None
            self._telling = self._ready.popleft()
            self._telling.since_us = t
            return self._change(self._telling, DeliveryState.DELIVERING, "nobody speaks")
        if telling.utterance_id is None and t - telling.since_us > TELL_WITHIN_US:
            self._telling = None
            return self._change(telling, DeliveryState.DROPPED, "the frontend did not tell it")
        return None

    def lost(self, lost_us: int) -> None:
        """So much time went by in which nothing could be said (a hold, a standstill): the bound moves on by it."""
        if self._telling:
            self._telling.since_us += lost_us

    def frontend_lost(self) -> DeliveryChanged | None:
        """What was given to a session that is gone, and not yet begun, is to be given to the next one, once there is one."""
        self._alone = True
        telling = self._telling
        if telling is None or telling.utterance_id is not None:
            return None
        self._telling = None
        self._ready.appendleft(telling)
        return self._change(telling, DeliveryState.READY, "the frontend was lost")

    def frontend_opened(self) -> None:
        """There is a session again that can tell things."""
        self._alone = False

    def speech(self, attempt_id: str | None, utterance_id: str) -> None:
        """An utterance arrived that tells what was given as `attempt_id` (the delivery's id)."""
        if self._telling and attempt_id == self._telling.delivery_id:
            self._telling.utterance_id = utterance_id

    def utterance_ended(self, utterance_id: str, outcome: Outcome, text_sent: str) -> DeliveryChanged | None:
        """An utterance is over; if it told an outcome, so is the delivery."""
        telling = self._telling
        if telling is None or telling.utterance_id != utterance_id:
            return None
        self._telling = None
        state = ENDS.get(outcome, DeliveryState.PARTIAL if text_sent else DeliveryState.DROPPED)
        return self._change(telling, state, outcome.value, text_sent)

    def abandon(self, reason: str) -> list[DeliveryChanged]:
        """The call is over: what was not told is dropped."""
        left = ([self._telling] if self._telling else []) + list(self._ready)
        self._telling = None
        self._ready.clear()
        return [self._change(delivery, DeliveryState.DROPPED, reason) for delivery in left]

    @staticmethod
    def _change(delivery: _Delivery, state: DeliveryState, reason: str, heard: str = "") -> DeliveryChanged:
        return DeliveryChanged(delivery.delivery_id, delivery.work_id, "outcome", state, reason, heard)
