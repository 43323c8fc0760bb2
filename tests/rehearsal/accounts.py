"""What must add up at the end of any call."""

from collections.abc import Iterable

from agent.timeline.events import (
    CallEnded,
    DelegationCreated,
    DeliveryChanged,
    UtteranceEnded,
    UtteranceStarted,
    WorkEnded,
)
from agent.timeline.kinds import DeliveryState
from agent.timeline.log import Entry

ENDS = {DeliveryState.DELIVERED, DeliveryState.PARTIAL, DeliveryState.DROPPED}


def accounts_are_closed(entries: Iterable[Entry]) -> None:
    """Every utterance that began has one end, and the call has one."""
    entries = tuple(entries)
    started = [entry.event.utterance_id for entry in entries if isinstance(entry.event, UtteranceStarted)]
    ended = [entry.event.utterance_id for entry in entries if isinstance(entry.event, UtteranceEnded)]
    assert len(set(started)) == len(started)
    assert len(set(ended)) == len(ended)
    assert set(started) <= set(ended)
    assert sum(isinstance(entry.event, CallEnded) for entry in entries) == 1
    created = [entry.event.work_id for entry in entries if isinstance(entry.event, DelegationCreated)]
    outcomes = [entry.event.work_id for entry in entries if isinstance(entry.event, WorkEnded)]
    told = [entry.event.work_id for entry in entries if isinstance(entry.event, DeliveryChanged) and entry.event.state in ENDS]
    assert sorted(created) == sorted(outcomes) == sorted(told)
