import pytest

from agent.admission import Slots
from agent.errors import Capacity

pytestmark = pytest.mark.unit


def test_the_last_slot_is_given_once() -> None:
    slots = Slots(2, retry_after_s=7)
    slots.take()
    second = slots.take()
    with pytest.raises(Capacity, match="all 2 media slots are taken; try again in 7 s") as refused:
        slots.take()
    assert refused.value.retry_after_s == 7
    assert slots.taken == 2
    second.release()
    assert slots.taken == 1
    slots.take()
    assert slots.taken == 2


def test_a_slot_given_back_twice_is_one_slot() -> None:
    slots = Slots(1)
    lease = slots.take()
    lease.release()
    lease.release()
    assert slots.taken == 0
    slots.take()
    lease.release()
    assert slots.taken == 1, "an old lease does not give back another call's slot"


def fails_while_holding(slots: Slots) -> None:
    with slots.take():
        assert slots.taken == 1
        raise ValueError("the call failed")


def test_a_lease_ends_with_its_block_whatever_ends_it() -> None:
    slots = Slots(1)
    with pytest.raises(ValueError, match="the call failed"):
        fails_while_holding(slots)
    assert slots.taken == 0


def test_no_slots_at_all() -> None:
    with pytest.raises(Capacity):
        Slots(0).take()
