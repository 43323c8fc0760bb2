import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import Refused
from agent.timeline.kinds import TransferState
from transports.memory import TransferScript, WireSettings
from transports.memory.wire import MAX_UNDER_WAY, Fate, UnderWay, Wire

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        ({"codec": "g729"}, "g729"),
        ({"codec": "ulaw", "rate_hz": 16_000}, "8000"),
        ({"rate_hz": 44_100}, "44100"),
        ({"packet_ms": 25}, "packet_ms"),
        ({"delay_ms": -1}, "delay_ms"),
        ({"jitter_ms": 10_001}, "jitter_ms"),
        ({"jitter_shape": "pareto"}, "pareto"),
        ({"loss": 1.5}, "1.5"),
        ({"outward_loss": -0.1}, "-0.1"),
        ({"loss": 0.9, "loss_burst": 2}, "longer"),
        ({"loss": 0.1, "loss_burst": 0.5}, "loss_burst"),
        ({"skew_ppm": 1001}, "1001"),
        ({"echo_db": 3.0}, "echo_db"),
    ],
)
def test_a_wire_that_cannot_be_is_refused_by_name(wrong: dict[str, object], names: str) -> None:
    with pytest.raises(Refused, match=names):
        WireSettings(**wrong)  # type: ignore[arg-type]


def test_a_transfer_script_must_end() -> None:
    with pytest.raises(Refused, match="RINGING"):
        TransferScript(then=TransferState.RINGING)
    with pytest.raises(Refused, match="ring_ms"):
        TransferScript(ring_ms=-1)


def losses(fate: Fate, packets: int) -> list[bool]:
    return [fate.lost() for _ in range(packets)]


def test_loss_by_numbers_and_by_function() -> None:
    settings = WireSettings()
    assert losses(Fate(settings, [1, 3], "inward"), 5) == [False, True, False, True, False]
    assert losses(Fate(settings, lambda number: number % 2 == 0, "inward"), 4) == [True, False, True, False]
    assert losses(Fate(settings, 0.0, "inward"), 3) == [False] * 3
    assert losses(Fate(settings, 1, "inward"), 3) == [True] * 3


def test_a_fraction_is_met_and_directions_and_seeds_differ() -> None:
    settings = WireSettings(loss=0.1)
    wire = Wire(settings)
    inward, outward = losses(wire.inward_fate, 20_000), losses(wire.outward_fate, 20_000)
    assert abs(np.mean(inward) - 0.1) < 0.01
    assert inward != outward
    assert losses(Wire(settings).inward_fate, 20_000) == inward
    assert losses(Wire(WireSettings(loss=0.1, seed=1)).inward_fate, 20_000) != inward


def test_burst_loss_keeps_the_fraction_and_the_mean_run() -> None:
    lost = losses(Wire(WireSettings(loss=0.1, loss_burst=5)).inward_fate, 100_000)
    runs = [len(run) for run in "".join("x" if one else " " for one in lost).split()]
    assert abs(np.mean(lost) - 0.1) < 0.01
    assert abs(np.mean(runs) - 5) < 0.3


@given(st.sampled_from(["uniform", "normal"]), st.integers(1, 200), st.integers(0, 5))
def test_jitter_stays_between_its_bounds(shape: str, jitter_ms: int, seed: int) -> None:
    settings = WireSettings(delay_ms=30, jitter_ms=jitter_ms, jitter_shape=shape, seed=seed)  # type: ignore[arg-type]
    delays = [Fate(settings, 0.0, "inward").delay_us() for _ in range(3)] + [
        fate.delay_us() for fate in [Fate(settings, 0.0, "outward")] for _ in range(50)
    ]
    assert min(delays) >= 30_000
    assert max(delays) <= 30_000 + jitter_ms * 1000
    assert len(set(delays)) > 25


def test_normal_jitter_gathers_around_the_middle() -> None:
    def spread(shape: str) -> float:
        fate = Fate(WireSettings(delay_ms=0, jitter_ms=100, jitter_shape=shape), 0.0, "inward")  # type: ignore[arg-type]
        delays = np.array([fate.delay_us() for _ in range(5000)])
        assert abs(delays.mean() - 50_000) < 1500
        return float(delays.std())

    assert abs(spread("uniform") - 28_868) < 600
    assert abs(spread("normal") - 22_000) < 600


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(0, 60))
def test_things_arrive_in_order_of_time_then_of_sending(arrivals: list[int], now: int) -> None:
    way: UnderWay[int] = UnderWay()
    for number, at in enumerate(arrivals):
        way.put(at, number)
    came = list(way.due(now))
    assert came == sorted((at, number) for number, at in enumerate(arrivals) if at <= now)
    assert len(way) == len(arrivals) - len(came)


def test_what_is_under_way_is_bounded_and_counted() -> None:
    way: UnderWay[int] = UnderWay()
    for number in range(MAX_UNDER_WAY + 7):
        way.put(0, number)
    assert (len(way), way.dropped) == (MAX_UNDER_WAY, 7)
    way.put(0, -1, always=True)
    assert [item for _, item in way.due(0)][-1] == -1
