"""What a caller waits for an answer in a stock pipecat pipeline with the same weights on the same machine, in real time.

The pipeline is the one that pipecat's own scaffold writes (`pipecat init`, a cascade), every parameter at its default: Silero at
the user aggregator, smart-turn v3 to end a turn, a segmented recogniser, sentences to the voice, RTVI and turn tracking on. Our
weights stand in it as its local services run theirs, our mind where a language model would stand, and the line is in memory.
Kind to pipecat: the voice gives its sound without the silence in front (300 ms of its own), the whole answer is there at once,
and all questions are asked in one call, so that every model is warm but for a question before the first that is not counted.

Times are taken as `voice_calls` takes them: the first sample of a frame is where the frame went in or out.
"""

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

os.environ.setdefault("LOGURU_AUTOINIT", "0")  # pipecat writes a line when it is imported

import numpy as np
from loguru import logger
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames import frames
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair, LLMUserAggregatorParams
from pipecat.processors.frame_processor import FrameDirection
from pipecat.services.llm_service import LLMService
from pipecat.services.settings import STTSettings, TTSSettings
from pipecat.services.stt_service import SegmentedSTTService
from pipecat.services.tts_service import TTSService
from pipecat.transports.base_input import BaseInputTransport
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import TransportParams
from pipecat.utils.time import time_now_iso8601
from pipecat.workers.runner import WorkerRunner

from agent.clock import LoopClock
from agent.compute import never
from agent.ears.recogniser import Recogniser
from agent.errors import Fault
from agent.line import Pcm
from agent.mouth.hibari_voice import HibariVoice
from agent.mouth.voice import Voice
from agent.settings import TICK_US
from agent.weights.store import model_file
from tests.measure.callers import LOUD, Samples
from tests.voice_sounds import RATE_HZ, frames_of, telephone_band

GIVE_UP_S = 8.0
"""An answer that has not begun by then, after the question, is none: pipecat ends every turn within 5 s."""
QUIET_US = 1_000_000
"""Nothing has happened for so long before a question: as long as the sound that a segment keeps from before it."""
STARTS_WITHIN_S, RESTS_WITHIN_S, ENDS_WITHIN_S = 60.0, 20.0, 20.0

Decide = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class StockAnswer:
    """`answer_ms`: from the question's last loud sample to the answer's first one. None: nothing was said in time, or, with
    `early_ms`, something was said before the question's end, so long after its first loud sample."""

    answer_ms: float | None
    heard: str
    answer: str
    early_ms: float | None = None


async def ask_stock(
    decide: Decide, sounds: Sequence[Samples], telephone: bool, progress: Callable[[int], None]
) -> list[StockAnswer]:
    """Ask each question (16 kHz, −1..1) in real time, after silence; `telephone`: at the band of a G.711 call.

    `decide` answers what was heard, in a thread. `progress` is told how many are done. Raises `Fault` when pipecat reports an
    error or ends, `TimeoutError` when it does not start, come to rest or end in time.
    """
    logger.remove()
    said = [telephone_band(sound) if telephone else sound for sound in sounds]
    answers = []
    with ThreadPoolExecutor(3) as threads:
        async with _call(decide, threads) as call:
            for number, sound in enumerate([*said[:1], *said]):
                answers.append(await call.ask(sound))
                progress(number)
    return answers[1:]


class Watch:
    """When sound went in and came out since the question began, and whether anything is still going on. Times: the loop's, µs."""

    def __init__(self, clock: LoopClock) -> None:
        self.caller_us: list[int] = []
        """Loud samples of the question: the first and the last of each frame."""
        self.agent_us: list[int] = []
        """Loud samples of the agent: the first of each piece."""
        self.asked = False
        """Whether all of the question went in."""
        self.answered = asyncio.Event()
        """Something was heard after that."""
        self.heard = self.answer = ""
        self.started = asyncio.Event()
        self.errors: list[str] = []
        self._clock, self._stirred_us = clock, clock.now_us()
        self._turn_is_open = False

    def begin(self) -> None:
        """A new question."""
        self.caller_us.clear()
        self.agent_us.clear()
        self.answered.clear()
        self.asked, self.heard, self.answer = False, "", ""

    def stir(self) -> None:
        """Something happened."""
        self._stirred_us = self._clock.now_us()

    @property
    def is_quiet(self) -> bool:
        """Whether nothing happens any more."""
        return not self._turn_is_open and self._clock.now_us() - self._stirred_us > QUIET_US

    async def on_started(self, *_: object) -> None:
        self.started.set()

    async def on_error(self, _: PipelineWorker, frame: frames.ErrorFrame) -> None:
        self.errors.append(frame.error)

    async def on_turn_started(self, *_: object) -> None:
        self._turn_is_open = True
        self.stir()

    async def on_turn_stopped(self, *_: object) -> None:
        self._turn_is_open = False
        self.stir()

    def took(self, pcm: Pcm) -> None:
        """The frame goes in now."""
        self.caller_us += _loud(pcm, self._clock.now_us(), RATE_HZ)

    def gave(self, pcm: Pcm, from_us: int, rate_hz: int) -> None:
        """The frame is heard from `from_us` on."""
        self.stir()
        loud = _loud(pcm, from_us, rate_hz)
        self.agent_us += loud[:1]
        if loud and self.asked:
            self.answered.set()

    def result(self) -> StockAnswer:
        """What became of the question."""
        if not self.agent_us or not self.caller_us:
            return StockAnswer(None, self.heard, self.answer)
        wait_ms = (self.agent_us[0] - self.caller_us[-1]) / 1000
        if wait_ms > 0:
            return StockAnswer(wait_ms, self.heard, self.answer)
        return StockAnswer(None, self.heard, self.answer, (self.agent_us[0] - self.caller_us[0]) / 1000)


def _loud(pcm: Pcm, from_us: int, rate_hz: int) -> list[int]:
    """When the first and the last loud sample are; nothing without one."""
    (loud,) = np.nonzero(np.abs(pcm) > LOUD * 32768)
    return [from_us + int(at) * 1_000_000 // rate_hz for at in (loud[0], loud[-1])] if len(loud) else []


class MemoryInput(BaseInputTransport):
    """The caller's side: `Caller` pushes the sound, as the receiving loops of stock transports do."""

    async def start(self, frame: frames.StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)


class MemoryOutput(BaseOutputTransport):
    """The agent's side, paced as pipecat's websocket transports pace: a piece goes out when the one before it begins to play."""

    def __init__(self, params: TransportParams, watch: Watch, clock: LoopClock) -> None:
        super().__init__(params)
        self._watch, self._clock = watch, clock
        self._next_us = self._heard_until_us = 0

    async def start(self, frame: frames.StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def process_frame(self, frame: frames.Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, frames.InterruptionFrame):
            self._next_us = self._heard_until_us = 0

    async def write_audio_frame(self, frame: frames.OutputAudioRawFrame) -> bool:
        pcm, now_us = np.frombuffer(frame.audio, np.int16), self._clock.now_us()
        lasts_us = len(pcm) * 1_000_000 // frame.sample_rate
        from_us = max(now_us, self._heard_until_us)  # whoever hears it plays one piece after the other
        self._heard_until_us = from_us + lasts_us
        self._watch.gave(pcm, from_us, frame.sample_rate)
        due_us, self._next_us = self._next_us, max(now_us, self._next_us) + lasts_us
        await self._clock.sleep_until(due_us)
        return True


class Caller:
    """Says what it is given and silence otherwise, 20 ms at a time by absolute deadlines."""

    def __init__(self, line: MemoryInput, watch: Watch, clock: LoopClock) -> None:
        self._line, self._watch, self._clock = line, watch, clock
        self._frames: deque[Pcm] = deque()
        self._silence = np.zeros(RATE_HZ * TICK_US // 1_000_000, np.int16)

    def say(self, sound: Samples) -> None:
        """Begin now."""
        self._frames.extend(frames_of(np.append(sound, np.zeros(len(self._silence), np.float32)), RATE_HZ))

    async def run(self) -> None:
        """Until cancelled."""
        due_us = self._clock.now_us()
        while True:
            await self._clock.sleep_until(due_us)
            pcm = self._frames.popleft() if self._frames else self._silence
            self._watch.took(pcm)
            await self._line.push_audio_frame(frames.InputAudioRawFrame(pcm.tobytes(), RATE_HZ, 1))
            self._watch.asked = not self._frames
            due_us += TICK_US


class Hearing(SegmentedSTTService):
    """Our recogniser, as pipecat's `WhisperSTTService` runs its own."""

    def __init__(self, recogniser: Recogniser, threads: ThreadPoolExecutor) -> None:
        super().__init__(settings=STTSettings(model=None, language=None))
        self._recogniser, self._threads = recogniser, threads

    @property
    def wants_wav_segments(self) -> bool:
        return False

    async def run_stt(self, audio: bytes) -> AsyncGenerator[frames.Frame, None]:
        pcm = np.frombuffer(audio, np.int16).astype(np.float32) / np.float32(32768)
        reading = await self.get_event_loop().run_in_executor(self._threads, self._recogniser.read, pcm)
        if reading.text:
            yield frames.TranscriptionFrame(reading.text, self._user_id, time_now_iso8601())


class Answering(LLMService):
    """Where the language model stands: `decide` on all that the caller said since `begin`."""

    def __init__(self, decide: Decide, context: LLMContext, watch: Watch, threads: ThreadPoolExecutor) -> None:
        super().__init__()
        self._decide, self._context, self._watch, self._threads = decide, context, watch, threads
        self._begins_at = 0

    def begin(self) -> None:
        """A new question."""
        self._begins_at = len(self._context.messages)

    async def process_frame(self, frame: frames.Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, frames.LLMContextFrame):
            await self.push_frame(frame, direction)
            return
        await self.push_frame(frames.LLMFullResponseStartFrame())
        try:
            await self._push_llm_text(await self._answer(frame.context))
        finally:
            await self.push_frame(frames.LLMFullResponseEndFrame())

    async def _answer(self, context: LLMContext) -> str:
        said = [message["content"] for message in context.messages[self._begins_at :] if message["role"] == "user"]
        self._watch.heard = " ".join(said)
        self._watch.stir()
        self._watch.answer = await self.get_event_loop().run_in_executor(self._threads, self._decide, self._watch.heard)
        self._watch.stir()
        return self._watch.answer


class Speaking(TTSService):
    """Our mouth, as pipecat's `KokoroTTSService` runs its own."""

    def __init__(self, voice: Voice, threads: ThreadPoolExecutor) -> None:
        settings = TTSSettings(model=None, voice=None, language=None)
        super().__init__(push_start_frame=True, push_stop_frames=True, settings=settings)
        self._voice, self._threads = voice, threads

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[frames.Frame, None]:
        rendered = await self.get_event_loop().run_in_executor(self._threads, self._voice.render, text, never)
        yield frames.TTSAudioRawFrame(rendered.pcm.tobytes(), self._voice.rate_hz, 1, context_id=context_id)


@dataclass(frozen=True, slots=True)
class StockCall:
    """A call that is up; ask one question after the other."""

    clock: LoopClock
    watch: Watch
    caller: Caller
    answering: Answering
    worker: PipelineWorker
    tasks: list[asyncio.Task[None]]
    """All that the call lives by: done only when something went wrong."""

    async def ask(self, sound: Samples) -> StockAnswer:
        """The rest of the answer is cut off, and the call is at rest afterwards."""
        self.watch.begin()
        self.answering.begin()
        self.caller.say(sound)
        with suppress(TimeoutError):  # no answer: `result` says so
            async with asyncio.timeout(len(sound) / RATE_HZ + GIVE_UP_S):
                await self.watch.answered.wait()
        result = self.watch.result()
        async with asyncio.timeout(RESTS_WITHIN_S):
            await self._rest()
        broken = self.watch.errors + [f"a part ended, {task.exception()!r}" for task in self.tasks if task.done()]
        if broken:
            raise Fault(f"the stock pipeline does not work: {'; '.join(broken)}")
        return result

    async def _rest(self) -> None:
        self.watch.answered.set()
        while not self.watch.is_quiet:
            if self.watch.answered.is_set():
                self.watch.answered.clear()
                await self.worker.queue_frame(frames.InterruptionFrame())
            await self.clock.sleep_until(self.clock.now_us() + TICK_US)


@asynccontextmanager
async def _call(decide: Decide, threads: ThreadPoolExecutor) -> AsyncIterator[StockCall]:
    """A call that is up, and is over with all that belongs to it at the end."""
    clock = LoopClock()
    watch, context = Watch(clock), LLMContext()
    params = TransportParams(audio_in_enabled=True, audio_out_enabled=True)
    line_in, line_out = MemoryInput(params), MemoryOutput(params, watch, clock)
    user, assistant = LLMContextAggregatorPair(context, user_params=LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer()))
    hearing = Hearing(Recogniser(model_file("moonshine-tiny-en", "encoder_model.ort").parent), threads)
    answering = Answering(decide, context, watch, threads)
    speaking = Speaking(HibariVoice(), threads)
    worker = PipelineWorker(Pipeline([line_in, hearing, user, answering, speaking, line_out, assistant]))
    worker.add_event_handler("on_pipeline_started", watch.on_started)
    worker.add_event_handler("on_pipeline_error", watch.on_error)
    user.add_event_handler("on_user_turn_started", watch.on_turn_started)
    user.add_event_handler("on_user_turn_stopped", watch.on_turn_stopped)
    caller, runner = Caller(line_in, watch, clock), WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    tasks = [asyncio.ensure_future(runner.run())]
    try:
        await asyncio.wait_for(watch.started.wait(), STARTS_WITHIN_S)
        tasks.append(asyncio.ensure_future(caller.run()))
        yield StockCall(clock, watch, caller, answering, worker, tasks)
    finally:
        for task in tasks[1:]:
            task.cancel()
        await runner.cancel()
        _, left = await asyncio.wait(tasks, timeout=ENDS_WITHIN_S)
        if left:
            raise TimeoutError("pipecat does not end")
