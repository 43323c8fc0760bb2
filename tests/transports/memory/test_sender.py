import numpy as np
import pytest

from agent.errors import Refused
from tests.transports.memory.ticks import speech
from transports.memory import WireSettings
from transports.memory.codecs import encode_of
from transports.memory.sender import Sender
from transports.memory.wire import MAX_UNDER_WAY, Packet, Wire

pytestmark = pytest.mark.unit


def sender(wire: WireSettings | None = None) -> tuple[Sender, Wire]:
    whole = Wire(wire or WireSettings(rate_hz=8000))
    return Sender(whole, encode_of("l16")), whole


def arrived(wire: Wire) -> list[tuple[int, Packet]]:
    return [(at_us, item) for at_us, item in wire.inward.due(10**12) if isinstance(item, Packet)]


def test_sequence_counts_packets_timestamps_samples_and_a_marker_begins_a_talkspurt() -> None:
    one, wire = sender()
    one.restart(65_534, 2**32 - 160)
    silence = np.zeros(160, np.int16)
    one.send(20_000, speech(160))
    one.send_quiet(40_000, 160, silence)
    one.pause(160)
    one.pause(160)
    one.send(100_000, speech(160))
    assert arrived(wire) == [
        (50_000, Packet(65_534, 2**32 - 160, speech(160).astype(">i2").tobytes(), True)),
        (70_000, Packet(65_535, 0, bytes(320), False)),
        (130_000, Packet(0, 480, speech(160).astype(">i2").tobytes(), True)),
    ]


def test_a_lost_packet_keeps_its_number_and_its_time() -> None:
    one, wire = sender(WireSettings(rate_hz=8000, loss=[1]))
    one.restart(7, 70)
    for tick in range(3):
        one.send(tick * 20_000, speech(160))
    assert [(packet.sequence, packet.timestamp) for _, packet in arrived(wire)] == [(7, 70), (9, 390)]


def test_withheld_packets_leave_together() -> None:
    one, wire = sender()
    one.withhold(50_000)
    for tick in range(4):
        one.send(tick * 20_000, speech(160))
    assert [at_us for at_us, _ in arrived(wire)] == [80_000, 80_000, 80_000, 90_000]


@pytest.mark.parametrize("packets", [0, -1, MAX_UNDER_WAY + 1])
def test_a_flood_that_no_wire_carries_is_refused(packets: int) -> None:
    one, _ = sender()
    with pytest.raises(Refused, match="flood"):
        one.garbage(0, packets)
