import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import Fault
from agent.settings import TICK_US
from agent.timeline.events import DigitReceived, Event, LineAnswered, Sent, VoiceStarted
from agent.timeline.kinds import Span
from agent.timeline.log import Entry, Timeline

pytestmark = pytest.mark.unit


def voice(from_us: int, to_us: int) -> VoiceStarted:
    return VoiceStarted(Span(from_us, to_us), -20.0)


def test_entries_are_numbered_and_told_in_order() -> None:
    timeline, told = Timeline(), list[tuple[str, Entry]]()
    timeline.subscribe(lambda entry: told.append(("first", entry)))
    timeline.subscribe(lambda entry: told.append(("second", entry)))
    one = timeline.append(0, LineAnswered())
    two = timeline.append(TICK_US, voice(0, TICK_US), cause=0)
    assert (one, two) == (Entry(0, 0, None, LineAnswered()), Entry(1, TICK_US, 0, voice(0, TICK_US)))
    assert told == [("first", one), ("second", one), ("first", two), ("second", two)]
    assert timeline.recent == (one, two)
    assert timeline.next_seq == 2


def test_only_the_newest_entries_stay_in_memory() -> None:
    timeline = Timeline(kept=3)
    for _ in range(5):
        timeline.append(0, LineAnswered())
    assert [entry.seq for entry in timeline.recent] == [2, 3, 4]


@pytest.mark.parametrize(
    ("name", "t", "event", "cause", "rule"),
    [
        ("time falls", TICK_US, LineAnswered(), None, "times are ticks and never fall"),
        ("not a tick", 3 * TICK_US + 1, LineAnswered(), None, "times are ticks and never fall"),
        ("covers the future", 2 * TICK_US, voice(0, 2 * TICK_US + 1), None, "not its past"),
        ("covers a stretch backwards", 2 * TICK_US, voice(20, 10), None, "not its past"),
        ("sent in the future", 2 * TICK_US, Sent(Span(0, 3 * TICK_US), "u", 0, 0, 160, 0.0), None, "not its past"),
        ("its own cause", 2 * TICK_US, LineAnswered(), 1, "is caused by seq 1, which does not come before it"),
        ("a later cause", 2 * TICK_US, LineAnswered(), 7, "is caused by seq 7, which does not come before it"),
        ("a cause before the call", 2 * TICK_US, LineAnswered(), -1, "is caused by seq -1"),
    ],
)
def test_what_breaks_order_or_causality_is_a_fault_that_names_the_rule(
    name: str, t: int, event: Event, cause: int | None, rule: str
) -> None:
    timeline, told = Timeline(), list[Entry]()
    timeline.append(2 * TICK_US, LineAnswered())
    timeline.subscribe(told.append)
    with pytest.raises(Fault, match=rule) as fault:
        timeline.append(t, event, cause)
    assert str(fault.value).startswith(f"{event.kind} (seq 1)"), name
    assert told == [], "nothing was appended"
    assert timeline.append(2 * TICK_US, LineAnswered()).seq == 1


@pytest.mark.parametrize("covers", [Span(0, 2 * TICK_US), Span(2 * TICK_US, 2 * TICK_US), Span(0, 0)])
def test_the_bounds_are_inclusive(covers: Span) -> None:
    timeline = Timeline()
    timeline.append(2 * TICK_US, LineAnswered())
    assert timeline.append(2 * TICK_US, voice(covers.from_us, covers.to_us), cause=0).seq == 1


@given(
    st.lists(st.tuples(st.integers(-2, 6), st.integers(0, 9), st.integers(-1, 8), st.none() | st.integers(-1, 8)), max_size=20)
)
def test_whatever_is_appended_the_log_stays_in_order(wishes: list[tuple[int, int, int, int | None]]) -> None:
    timeline = Timeline()
    for step, from_ticks, length, cause in wishes:
        last = timeline.recent[-1].t if timeline.recent else 0
        t, from_us = last + step * TICK_US // 2, from_ticks * TICK_US
        to_us = from_us + length * TICK_US
        right = t >= last and t % TICK_US == 0 and from_us <= to_us <= t and (cause is None or 0 <= cause < timeline.next_seq)
        before = timeline.recent
        if right:
            assert timeline.append(t, voice(from_us, to_us), cause) == timeline.recent[-1]
        else:
            with pytest.raises(Fault):
                timeline.append(t, voice(from_us, to_us), cause)
            assert timeline.recent == before
    assert [entry.seq for entry in timeline.recent] == list(range(timeline.next_seq))


def test_an_event_without_a_stretch_needs_no_past() -> None:
    assert Timeline().append(0, DigitReceived("5", "memory")).event == DigitReceived("5", "memory")
