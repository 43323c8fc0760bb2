"""Whole calls in which the caller cuts an answer at every 20 ms: the heard ledger against what the far end really received."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from agent.call import Call
from agent.clock import LoopClock
from agent.parts import CallParts
from agent.settings import TICK_US, CallSettings, FloorSettings
from agent.ticker import Ticker
from agent.timeline.events import UtteranceEnded, UtteranceStarted
from agent.timeline.kinds import EndReason, Outcome
from agent.timeline.log import Entry
from agent.virtual import VirtualLoop
from tests.measure.plain import Plain, PlainFrontend, even_words, steady
from transports.memory import FarEnd, WireSettings, pair

RATE_HZ = 16_000
WORD_MS = 130
WORDS = 30


@dataclass(frozen=True, slots=True)
class Cut:
    """One cut, ms: the ledger's marks less what the far end received, and by how much the words counted miss the cut."""

    at_ms: int
    sent_error_ms: float
    onset_error_ms: float
    word_error_ms: float

    @property
    def worst_ms(self) -> float:
        return max(abs(self.sent_error_ms), abs(self.onset_error_ms), self.word_error_ms)


def cut_everywhere(every: int = 1) -> list[Cut]:
    """The caller begins to speak at each 20 ms (or each `every`-th) of an answer of 3.9 s."""
    return [_virtual(at_ms) for at_ms in range(0, WORD_MS * WORDS - 900, 20 * every)]


def _virtual(at_ms: int) -> Cut:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_one(at_ms))


async def _one(at_ms: int) -> Cut:
    clock = LoopClock()
    ticker = Ticker(clock)
    line, far = pair(clock, WireSettings(rate_hz=RATE_HZ, delay_ms=30), keep_all=True)
    plain = Plain(steady(RATE_HZ * WORD_MS * WORDS // 1000), even_words(WORDS, WORD_MS), RATE_HZ)
    settings = CallSettings(floor=FloorSettings(duck_db=-12.0))
    call = Call(CallParts(line, PlainFrontend(plain)), ticker, settings)
    entries: list[Entry] = []
    call.timeline.subscribe(entries.append)
    ticking = asyncio.ensure_future(ticker.run())
    running = asyncio.ensure_future(call.run())
    began = clock.now_us()
    await _until(clock, lambda: any(isinstance(entry.event, UtteranceStarted) for entry in entries))
    await clock.sleep_until(clock.now_us() + at_ms * 1000)
    far.say(steady(RATE_HZ * 1200 // 1000))
    await _until(clock, lambda: any(isinstance(entry.event, UtteranceEnded) for entry in entries))
    await clock.sleep_until(clock.now_us() + 300_000)
    heard = _heard(far)
    call.end(EndReason.OPERATOR, "measured", at_once=True)
    await running
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)
    return _judge(at_ms, entries, heard, began)


async def _until(clock: LoopClock, met: Callable[[], bool]) -> None:
    deadline = clock.now_us() + 20_000_000
    while not met():
        if clock.now_us() > deadline:
            raise AssertionError("what the measurement waits for did not happen within 20 s")
        await clock.sleep_until(clock.now_us() + TICK_US)


def _heard(far: FarEnd) -> list[tuple[int, int]]:
    """(time at which the frame began to be heard, samples of it that are not silence)."""
    return [(frame.at_us, int(np.count_nonzero(frame.pcm))) for frame in far.frames if np.any(frame.pcm)]


def _judge(at_ms: int, entries: list[Entry], heard: list[tuple[int, int]], began_us: int) -> Cut:
    ended = next(entry.event for entry in entries if isinstance(entry.event, UtteranceEnded))
    assert isinstance(ended, UtteranceEnded)
    assert ended.outcome is Outcome.CUT, f"the answer was not cut but {ended.outcome}"
    per_ms = RATE_HZ / 1000
    received = sum(samples for _, samples in heard)
    onset_us = began_us + next(
        entry.event.onset_us for entry in entries if entry.event.kind == "floor.verdict" and entry.event.verdict == "yield"
    )
    by_onset = 0.0
    for from_us, samples in heard:
        by_onset += min(samples, max(0.0, (onset_us - from_us) / 1000 * per_ms))
    expected_words = int(received / per_ms // WORD_MS)
    wrong = abs(ended.words_sent - expected_words)
    distance = min(abs(received / per_ms - n * WORD_MS) for n in range(WORDS + 1))
    return Cut(
        at_ms=at_ms,
        sent_error_ms=(ended.samples_sent - received) / per_ms,
        onset_error_ms=(ended.samples_heard_at_onset - by_onset) / per_ms,
        word_error_ms=0.0 if wrong == 0 else (distance if wrong == 1 else wrong * WORD_MS),
    )
