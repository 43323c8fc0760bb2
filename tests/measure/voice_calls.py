"""Real calls on a line in memory, in real time, to a worker in a process of its own: what a caller waits for an answer.

Times are taken at the agent's edge: from where the last loud sample of the caller reached us (before the jitter buffer) to where
the first loud sample of the answer left. Loud is above −50 dB of full scale.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from agent.app.supervisor import supervise, worker_command
from agent.call import Call
from agent.clock import Clock, LoopClock
from agent.frontends.base import Ears, Frontend
from agent.frontends.pool import connect_pool
from agent.line import Pcm
from agent.lines import CallLines
from agent.pace import keep_pace
from agent.parts import CallParts
from agent.tasks import install_task_factory
from agent.ticker import Ticker
from agent.timeline.events import FrontendLost, SpeechArrived, Transcript, TurnProbability
from agent.timeline.kinds import Role
from agent.timeline.log import Entry
from agent.voice_activity import SileroGate, SileroModel
from agent.weights.store import model_file
from tests.measure.callers import LOUD, Samples
from tests.voice_sounds import RATE_HZ, to_rate
from transports.memory import WireSettings, pair

QUIET_FIRST_MS = 300
"""The caller begins so long after the answer of the line."""
GIVE_UP_S = 6.0
"""An answer that has not begun by then, after the question, is none."""


@dataclass(slots=True)
class Asked:
    """What became of a question. `answer_ms` from its last loud sample; None: nothing was said. `early_ms`: when something was
    said before that, from the question's beginning."""

    answer_ms: float | None = None
    early_ms: float | None = None
    heard: str = ""
    answer: str = ""
    turn_probability: float | None = None
    faults: list[str] = field(default_factory=list)


class Tap:
    """Keeps when sound came and went, in place of a recorder (`agent.record.recorder`)."""

    def __init__(self) -> None:
        self.rate_hz = 0
        self.caller_us: list[tuple[int, int]] = []
        """First and last loud sample of each tick with one, µs of the call's clock."""
        self.agent_us: list[int] = []
        """First loud sample of each tick with one."""

    def open(self, call_id: str, rate_hz: int, on_failure: object) -> "Tap":
        self.rate_hz = rate_hz
        return self

    def entry(self, line: bytes) -> None:
        pass

    def audio(self, t_us: int, caller_ago_us: int, caller: Pcm | None, agent: Pcm | None) -> None:
        threshold = LOUD * 32768
        if caller is not None:
            (loud,) = np.nonzero(np.abs(caller) > threshold)
            if len(loud):
                begin = t_us - caller_ago_us
                self.caller_us.append((begin + self._us(int(loud[0])), begin + self._us(int(loud[-1]))))
        if agent is not None:
            (loud,) = np.nonzero(np.abs(agent) > threshold)
            if len(loud):
                self.agent_us.append(t_us + self._us(int(loud[0])))

    def _us(self, samples: int) -> int:
        return samples * 1_000_000 // self.rate_hz

    def close(self, end_us: int) -> None:
        pass

    async def written(self) -> Path:
        return Path()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What calls share."""

    ticker: Ticker
    clock: Clock
    frontend: Frontend
    ears: Ears
    gate: SileroModel
    pid: int


@asynccontextmanager
async def surroundings(knowledge: Path) -> AsyncIterator[Surroundings]:
    """A worker process with the embedded default, and a ticker."""
    install_task_factory(asyncio.get_running_loop())
    keep_pace()
    clock = LoopClock()
    ticker = Ticker(clock)
    gate = SileroModel(model_file("silero-vad", "silero_vad.onnx").parent)
    command = worker_command("--knowledge", str(knowledge))
    async with supervise(command, clock) as workers, connect_pool(workers.roster, clock) as pool:
        ticking = asyncio.ensure_future(ticker.run())
        try:
            yield Surroundings(ticker, clock, pool, pool.ears, gate, workers.running[0].pid)
        finally:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)


async def ask(around: Surroundings, sound: Samples, telephone: bool, until_ms: int | None = None) -> Asked:
    """One call with one question, `sound` at 16 kHz; over as soon as the answer's text is whole and its sound has begun.

    With `until_ms` the call ends so long after the question began, whatever is said.
    """
    wire = WireSettings(codec="ulaw" if telephone else "l16", rate_hz=8_000 if telephone else RATE_HZ, delay_ms=0)
    line, far = pair(around.clock, wire)
    tap, asked = Tap(), Asked()
    parts = CallParts(
        line=line,
        frontend=around.frontend,
        ears=around.ears,
        lines=CallLines(),
        recorder=tap,
        voice_gate=lambda rate_hz: SileroGate(around.gate, rate_hz),
    )
    call = Call(parts, around.ticker)
    whole = asyncio.Event()

    def learn(entry: Entry) -> None:
        match entry.event:
            case Transcript(final=True, text=text):
                asked.heard = f"{asked.heard} {text}".strip()
            case TurnProbability(probability=probability):
                asked.turn_probability = probability
            case SpeechArrived(role=Role.ANSWER, text=text, final=final):
                asked.answer = f"{asked.answer} {text}".strip()
                if final:
                    whole.set()
            case FrontendLost(reason=reason):
                asked.faults.append(reason)

    call.timeline.subscribe(learn)
    running = asyncio.ensure_future(call.run())
    pcm = (to_rate(sound, RATE_HZ, wire.rate_hz) * 32767).astype(np.int16)
    far.say(np.concatenate([np.zeros(QUIET_FIRST_MS * wire.rate_hz // 1000, np.int16), pcm]))
    try:
        await _over(around.clock, tap, whole, len(sound) / RATE_HZ, until_ms)
    finally:
        far.hang_up()
        await running
    _judge(tap, asked)
    return asked


async def _over(clock: Clock, tap: Tap, whole: asyncio.Event, lasts_s: float, until_ms: int | None) -> None:
    if until_ms is not None:
        await clock.sleep_until(clock.now_us() + (QUIET_FIRST_MS + until_ms) * 1000)
        return
    try:
        async with asyncio.timeout(QUIET_FIRST_MS / 1000 + lasts_s + GIVE_UP_S):
            await whole.wait()
            while not tap.agent_us:
                await clock.sleep_until(clock.now_us() + 20_000)
    except TimeoutError:
        pass


def _judge(tap: Tap, asked: Asked) -> None:
    if not tap.caller_us or not tap.agent_us:
        return
    first_us, last_us = tap.agent_us[0], tap.caller_us[-1][1]
    if first_us < last_us:
        asked.early_ms = (first_us - tap.caller_us[0][0]) / 1000
    else:
        asked.answer_ms = (first_us - last_us) / 1000
