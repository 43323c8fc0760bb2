import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.frontends.base import UNIT_RATE_HZ, Unit
from agent.settings import TICK_US
from agent.timeline.events import TurnProbability
from agent.timeline.kinds import Span
from agent.units import EVIDENCE_BOUND, FlightWindow, UnitCutter

pytestmark = pytest.mark.unit

TICK_SAMPLES = TICK_US * UNIT_RATE_HZ // 1_000_000


def unit(from_us: int, to_us: int) -> Unit:
    return Unit(Span(from_us, to_us), np.zeros((to_us - from_us) * UNIT_RATE_HZ // 1_000_000, np.float32))


@given(
    unit_ticks=st.integers(1, 60),
    start_ticks=st.integers(0, 1000),
    acts=st.lists(
        st.one_of(
            st.tuples(st.just("push"), st.integers(0, 3 * TICK_SAMPLES)),
            st.tuples(st.just("skip"), st.integers(1, 80)),
            st.tuples(st.just("learn"), st.just(0)),
        ),
        max_size=60,
    ),
)
def test_every_sample_is_in_exactly_one_unit(unit_ticks: int, start_ticks: int, acts: list[tuple[str, int]]) -> None:
    unit_us, t = unit_ticks * TICK_US, start_ticks * TICK_US
    cutter = UnitCutter(unit_us, t)
    given_samples: list[int] = []
    units: list[Unit] = []
    learned: list[TurnProbability] = []
    for act, size in acts:
        if act == "learn":
            learned.append(TurnProbability(Span(0, len(learned)), 0.5))
            cutter.learn(learned[-1])
        elif act == "skip":
            given_samples += [0] * size * TICK_SAMPLES
            units += cutter.skip(size)
        else:
            pcm = np.arange(len(given_samples), len(given_samples) + size) % 30_000 + 1
            given_samples += pcm.tolist()
            units += cutter.push(pcm.astype(np.int16))
    size = unit_ticks * TICK_SAMPLES
    assert len(units) == len(given_samples) // size
    assert all(len(one.pcm) == size and one.pcm.dtype == np.float32 for one in units)
    sent = np.concatenate([one.pcm for one in units]) if units else np.zeros(0, np.float32)
    np.testing.assert_array_equal(sent * 32768, np.array(given_samples[: len(sent)], np.float32))
    assert [one.covers for one in units] == [Span(t + i * unit_us, t + (i + 1) * unit_us) for i in range(len(units))]
    told = [evidence for one in units for evidence in one.evidence]
    assert told == learned[: len(told)]


def test_evidence_goes_with_the_unit_completed_next() -> None:
    cutter = UnitCutter(TICK_US, 0)
    first, second = TurnProbability(Span(0, 1), 0.1), TurnProbability(Span(0, 2), 0.2)
    silence = np.zeros(TICK_SAMPLES, np.int16)
    cutter.learn(first)
    assert [one.evidence for one in cutter.push(silence)] == [(first,)]
    cutter.learn(second)
    assert [one.evidence for one in cutter.skip(2)] == [(second,), ()]


def test_evidence_waiting_is_bounded_and_the_newest_stays() -> None:
    cutter = UnitCutter(TICK_US, 0)
    for i in range(EVIDENCE_BOUND + 5):
        cutter.learn(TurnProbability(Span(0, i), 0.5))
    (one,) = cutter.skip(1)
    assert len(one.evidence) == EVIDENCE_BOUND
    assert one.evidence[-1].covers.to_us == EVIDENCE_BOUND + 4


@pytest.mark.parametrize(("unit_us", "units"), [(1_000_000, 2), (100_000, 10), (80_000, 12), (2_000_000, 2)])
def test_two_units_or_one_second_are_under_way_at_most(unit_us: int, units: int) -> None:
    window = FlightWindow(unit_us)
    window.start(40_000)
    given = 0
    while window.open_for(one := unit(40_000 + given * unit_us, 40_000 + (given + 1) * unit_us)):
        window.given(one)
        given += 1
    assert given == units


@given(
    unit_us=st.sampled_from([100_000, 1_000_000]),
    claims=st.lists(st.integers(-1_000_000, 20_000_000), min_size=1, max_size=20),
)
def test_the_window_is_never_overrun_whatever_is_claimed_as_read(unit_us: int, claims: list[int]) -> None:
    window = FlightWindow(unit_us)
    window.start(0)
    given = read = 0
    for claim in claims:
        while window.open_for(one := unit(given, given + unit_us)):
            window.given(one)
            given += unit_us
            assert given - read <= max(2 * unit_us, 1_000_000)
        assert given + unit_us - read > max(2 * unit_us, 1_000_000), "it is open up to its bound"
        window.read(Span(0, claim))
        read = max(read, min(claim, given))


def test_lag_is_told_in_whole_seconds_when_it_changes() -> None:
    window = FlightWindow(100_000)
    window.start(0)
    assert window.lag(1_000_000) is None
    assert window.lag(1_999_999) is None
    assert window.lag(2_000_000) == 1_000_000
    assert window.lag(2_500_000) is None
    assert window.lag(3_100_000) == 2_000_000
    window.given(unit(0, 3_000_000))
    window.read(Span(0, 3_000_000))
    assert window.lag(3_200_000) == 0
    assert window.lag(3_300_000) is None
