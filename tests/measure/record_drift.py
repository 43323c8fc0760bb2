"""A click a second on both sides of a long call with stalls, bursts, mute and clock skew: where the record has them."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agent.call import Call
from agent.clock import LoopClock
from agent.line import Pcm
from agent.parts import CallParts
from agent.record.inline import InlineRecorder
from agent.settings import CallSettings, FloorSettings
from agent.ticker import Ticker
from agent.timeline.events import Sent
from agent.timeline.kinds import EndReason
from agent.timeline.log import Entry
from agent.virtual import VirtualLoop
from media.oggopus import iter_ogg_opus
from tests.measure.plain import Plain, PlainFrontend, even_words
from transports.memory import FarEnd, WireSettings, pair

RATE_HZ = 8_000
CLICK = (np.sin(np.arange(RATE_HZ // 100) * 2 * np.pi * 1000 / RATE_HZ) * 20_000).astype(np.int16)
"""10 ms of 1 kHz: short enough to be placed, long enough for a codec, too short for the voice gate."""
LOUD = 4_000
NEVER_US = 10**12


@dataclass(frozen=True, slots=True)
class Drift:
    """Deviation of the clicks in the record from where they belong, after each side's constant delay is taken off, ms."""

    minutes: int
    skew_ppm: float
    caller_ms: float
    agent_ms: float
    apart_ms: float
    clicks: int
    expected: int
    length_error_ms: float

    @property
    def worst_ms(self) -> float:
        return max(self.caller_ms, self.agent_ms, self.apart_ms)


class ClickSource:
    """The far end's microphone: a click at every whole second of true time, whatever the far end's clock says."""

    def __init__(self, skew_ppm: float) -> None:
        self._rate = RATE_HZ * (1 + skew_ppm / 1e6)
        self._sample = 0

    def __call__(self, samples: int) -> Pcm:
        pcm = np.zeros(samples + len(CLICK), np.int16)
        second = int(self._sample / self._rate)
        for n in (second, second + 1):
            at = round(n * self._rate) - self._sample
            for place, value in enumerate(CLICK):
                if 0 <= at + place < samples:
                    pcm[at + place] = value
        self._sample += samples
        return pcm[:samples]


def clicks(seconds: int) -> Pcm:
    """A click at each second, silence between."""
    pcm = np.zeros(seconds * RATE_HZ, np.int16)
    for second in range(seconds):
        pcm[second * RATE_HZ : second * RATE_HZ + len(CLICK)] = CLICK
    return pcm


def measure(folder: Path, minutes: int, skew_ppm: float, report: Callable[[int], None] | None = None) -> Drift:
    """Run the call on virtual time with a record in `folder`, then look where the clicks are; told each minute."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        path, entries, lasted_us = runner.run(_call(folder, minutes, skew_ppm, report))
    caller, agent, samples = _found(path / "audio.ogg")
    expected = _expected_agent(entries)
    on_caller = _deviation([at - round(at) for at in caller])
    on_agent = _deviation([_nearest(at, expected) for at in agent])
    apart = max(abs(a - b) for a in on_caller[1] for b in on_agent[1]) if on_caller[1] and on_agent[1] else 1e9
    return Drift(
        minutes=minutes,
        skew_ppm=skew_ppm,
        caller_ms=on_caller[0],
        agent_ms=on_agent[0],
        apart_ms=apart,
        clicks=len(caller) + len(agent),
        expected=len(expected) + minutes * 60,
        length_error_ms=1000 * samples / RATE_HZ - lasted_us / 1000,
    )


async def _call(
    folder: Path, minutes: int, skew_ppm: float, report: Callable[[int], None] | None
) -> tuple[Path, list[Entry], int]:
    clock = LoopClock()
    ticker = Ticker(clock)
    line, far = pair(clock, WireSettings(rate_hz=RATE_HZ, delay_ms=30, jitter_ms=20, skew_ppm=skew_ppm, seed=3))
    far.source = ClickSource(skew_ppm)
    seconds = minutes * 60
    plain = Plain(clicks(seconds), even_words(seconds, 1000), RATE_HZ)
    settings = CallSettings(floor=FloorSettings(yield_after_us=NEVER_US), pending_us=2 * seconds * 1_000_000)
    recorder = InlineRecorder(folder, report=False)
    call = Call(CallParts(line, PlainFrontend(plain), recorder=recorder), ticker, settings)
    entries: list[Entry] = []
    call.timeline.subscribe(entries.append)
    ticking = asyncio.ensure_future(ticker.run())
    running = asyncio.ensure_future(call.run())
    await _disturb(clock, far, seconds, report)
    call.end(EndReason.OPERATOR, "measured", at_once=True)
    await running
    path = await call.recorded()
    assert path is not None
    await recorder.close()
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)
    return path, entries, call.t


async def _disturb(clock: LoopClock, far: FarEnd, seconds: int, report: Callable[[int], None] | None) -> None:
    """Every ten seconds something: a short stall of ours, a long one, a burst of the network, a mute."""
    rng = random.Random(5)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    for second in range(10, seconds, 10):
        await clock.sleep_until(second * 1_000_000 + rng.randrange(100_000, 900_000))
        match (second // 10) % 4:
            case 0:
                loop.advance(rng.uniform(0.05, 0.45))
            case 1:
                far.burst(rng.randrange(60, 300))
            case 2:
                far.mute(rng.randrange(500, 3_000))
            case 3:
                loop.advance(rng.uniform(0.6, 1.5))
        if report and second % 60 == 0:
            report(second // 60)
    await clock.sleep_until(seconds * 1_000_000)


def _found(path: Path) -> tuple[list[float], list[float], int]:
    """Seconds at which a click begins, for each channel, and the length in samples."""
    found: tuple[list[float], list[float]] = ([], [])
    samples = 0
    for block in iter_ogg_opus(path):
        for channel in (0, 1):
            for index in np.flatnonzero(np.abs(block[:, channel].astype(np.int32)) > LOUD):
                at = float(samples + index) / RATE_HZ
                if not found[channel] or at - found[channel][-1] > 0.3:
                    found[channel].append(at)
        samples += len(block)
    return found[0], found[1], samples


def _expected_agent(entries: list[Entry]) -> list[float]:
    """Seconds at which the agent's clicks went out, from what the timeline says was sent."""
    spans = [entry.event for entry in entries if isinstance(entry.event, Sent)]
    expected = []
    for span in spans:
        first = -(-span.start // RATE_HZ)
        for second in range(first, (span.start + span.samples - 1) // RATE_HZ + 1):
            expected.append(span.covers.from_us / 1e6 + (second * RATE_HZ - span.start) / RATE_HZ)
    return expected


def _nearest(at: float, expected: list[float]) -> float:
    return min((at - one for one in expected), key=abs, default=1e9)


def _deviation(offsets: list[float]) -> tuple[float, list[float]]:
    """Largest deviation from the median, and the deviations, ms."""
    if not offsets:
        return 1e9, []
    middle = float(np.median(offsets))
    deviations = [1000 * (offset - middle) for offset in offsets]
    return max(abs(one) for one in deviations), deviations
