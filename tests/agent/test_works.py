import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agent.settings import TICK_US
from agent.timeline.events import DelegateClosed, DelegateOpened, DelegationCreated, DeliveryChanged, WorkEnded
from agent.timeline.kinds import DeliveryState, Outcome, Span, WorkStatus
from agent.works import TELL_WITHIN_US, Works

pytestmark = pytest.mark.unit

READY, DELIVERING = DeliveryState.READY, DeliveryState.DELIVERING
DELIVERED, PARTIAL, DROPPED = DeliveryState.DELIVERED, DeliveryState.PARTIAL, DeliveryState.DROPPED
ENDS = {DELIVERED, PARTIAL, DROPPED}


def delivering(works: Works, t: int = TICK_US) -> DeliveryChanged:
    """A work with an outcome that is being offered to the frontend."""
    works.closed(DelegateClosed(Span(0, 0), "g", 3))
    assert works.ended(WorkEnded("w1", WorkStatus.SUCCEEDED, 3)) is not None
    change = works.step(t, quiet=True)
    assert change is not None
    return change


def test_a_delegation_becomes_a_work_with_its_frozen_evidence() -> None:
    works = Works()
    works.opened(DelegateOpened(Span(0, 1_000_000), "g1"))
    assert works.closed(DelegateClosed(Span(0, 2_000_000), "g1", 12)) == DelegationCreated("w1", "g1", 1_000_000, 12)
    assert works.closed(DelegateClosed(Span(0, 3_000_000), "g1", 4)) == DelegationCreated("w2", "g1", 3_000_000, 4)
    assert works.open == ("w1", "w2")


@pytest.mark.parametrize("status", list(WorkStatus))
def test_every_outcome_is_told_whatever_it_is(status: WorkStatus) -> None:
    works = Works()
    works.closed(DelegateClosed(Span(0, 0), "g", 3))
    assert works.ended(WorkEnded("w1", status, 5)) == DeliveryChanged("d1", "w1", "outcome", READY, status.value, "")
    assert works.open == ()
    assert works.ended(WorkEnded("w1", status, 5)) is None, "one outcome per work"


def test_an_outcome_of_nothing_is_ignored() -> None:
    assert Works().ended(WorkEnded("w9", WorkStatus.SUCCEEDED, 1)) is None


def test_an_outcome_waits_until_nobody_speaks() -> None:
    works = Works()
    works.closed(DelegateClosed(Span(0, 0), "g", 3))
    works.ended(WorkEnded("w1", WorkStatus.SUCCEEDED, 3))
    assert works.step(TICK_US, quiet=False) is None
    change = works.step(2 * TICK_US, quiet=True)
    assert change is not None
    assert change.state is DELIVERING
    assert works.step(3 * TICK_US, quiet=True) is None


@pytest.mark.parametrize(
    ("outcome", "sent", "state"),
    [
        (Outcome.FINISHED, "it is booked", DELIVERED),
        (Outcome.CUT, "it is", PARTIAL),
        (Outcome.CUT, "", DROPPED),
        (Outcome.STARVED, "it is", PARTIAL),
        (Outcome.DROPPED, "", DROPPED),
    ],
)
def test_the_delivery_ends_as_its_utterance_ends(outcome: Outcome, sent: str, state: DeliveryState) -> None:
    works = Works()
    attempt = delivering(works).delivery_id
    works.speech("other", "u0")
    assert works.utterance_ended("u0", Outcome.FINISHED, "something else") is None
    works.speech(attempt, "u1")
    assert works.step(TICK_US + 2 * TELL_WITHIN_US, quiet=True) is None, "it is being told"
    change = works.utterance_ended("u1", outcome, sent)
    assert change == DeliveryChanged("d1", "w1", "outcome", state, outcome.value, sent)
    assert works.utterance_ended("u1", outcome, sent) is None


def test_a_frontend_that_says_nothing_loses_the_delivery_after_ten_seconds() -> None:
    works = Works()
    delivering(works, TICK_US)
    assert works.step(TICK_US + TELL_WITHIN_US, quiet=True) is None
    change = works.step(2 * TICK_US + TELL_WITHIN_US, quiet=False)
    assert change is not None
    assert (change.state, change.reason) == (DROPPED, "the frontend did not tell it")


def test_outcomes_are_offered_one_at_a_time_in_the_order_they_came() -> None:
    works = Works()
    for _ in range(2):
        works.closed(DelegateClosed(Span(0, 0), "g", 3))
    works.ended(WorkEnded("w2", WorkStatus.SUCCEEDED, 1))
    works.ended(WorkEnded("w1", WorkStatus.FAILED, 1))
    first = works.step(TICK_US, quiet=True)
    assert first is not None
    assert first.work_id == "w2"
    works.speech(first.delivery_id, "u")
    works.utterance_ended("u", Outcome.FINISHED, "done")
    second = works.step(2 * TICK_US, quiet=True)
    assert second is not None
    assert second.work_id == "w1"


def test_the_end_of_the_call_drops_what_is_not_told() -> None:
    works = Works()
    for _ in range(3):
        works.closed(DelegateClosed(Span(0, 0), "g", 3))
    works.ended(WorkEnded("w1", WorkStatus.SUCCEEDED, 1))
    works.ended(WorkEnded("w2", WorkStatus.SUCCEEDED, 1))
    works.step(TICK_US, quiet=True)
    assert [(change.work_id, change.state) for change in works.abandon("over")] == [("w1", DROPPED), ("w2", DROPPED)]
    assert works.abandon("over") == []
    assert works.open == ("w3",)


class WorksMachine(RuleBasedStateMachine):
    """Whatever happens in whatever order: one outcome a work, one delivery end an outcome, one delivery at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.works = Works()
        self.created: list[str] = []
        self.outcomes: set[str] = set()
        self.states: dict[str, list[DeliveryState]] = {}
        self.telling: DeliveryChanged | None = None
        self.speaking: str | None = None
        self.t = 0

    def _take(self, change: DeliveryChanged | None) -> None:
        if change is None:
            return
        self.states.setdefault(change.work_id, []).append(change.state)
        self.telling = change if change.state is DELIVERING else None if change.state in ENDS else self.telling

    @rule()
    def delegate(self) -> None:
        self.created.append(self.works.closed(DelegateClosed(Span(0, 0), "g", 3)).work_id)

    @precondition(lambda self: self.created)
    @rule(data=st.data())
    def end_work(self, data: st.DataObject) -> None:
        work_id = data.draw(st.sampled_from(self.created))
        change = self.works.ended(WorkEnded(work_id, WorkStatus.UNKNOWN, 0))
        assert (change is None) == (work_id in self.outcomes)
        self.outcomes.add(work_id)
        self._take(change)

    @rule(ticks=st.integers(1, 600), quiet=st.booleans())
    def step(self, ticks: int, quiet: bool) -> None:
        self.t += ticks * TICK_US
        self._take(self.works.step(self.t, quiet))

    @rule(attempt=st.integers(0, 5), utterance=st.integers(0, 3))
    def speech(self, attempt: int, utterance: int) -> None:
        self.works.speech(f"d{attempt}" if attempt else None, f"u{utterance}")

    @rule(utterance=st.integers(0, 3), outcome=st.sampled_from(list(Outcome)), text=st.sampled_from(["", "some of it"]))
    def utterance_ends(self, utterance: int, outcome: Outcome, text: str) -> None:
        self._take(self.works.utterance_ended(f"u{utterance}", outcome, text))

    @invariant()
    def each_delivery_moves_downwards(self) -> None:
        for states in self.states.values():
            assert states in ([READY], [READY, DELIVERING], *([READY, DELIVERING, end] for end in ENDS))
        assert sum(states[-1] is DELIVERING for states in self.states.values()) <= 1
        assert set(self.states) == self.outcomes

    def teardown(self) -> None:
        for change in self.works.abandon("over"):
            self._take(change)
        for states in self.states.values():
            assert sum(state in ENDS for state in states) == 1
        assert set(self.works.open) == set(self.created) - self.outcomes


TestWorksMachine = WorksMachine.TestCase
