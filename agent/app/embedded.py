"""The embedded default put together: ears, mind and mouth on a CPU, from the installed weights."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np

from agent.clock import Clock, LoopClock, stopwatch_us, thread_cpu_us
from agent.compute import Cancelled, Compute, Kind, ThreadCompute, never
from agent.ears.embedded import EarModels, EmbeddedEars
from agent.ears.finished import prepare
from agent.ears.hearing import FIRST_PARTIAL_US, PARTIAL_EVERY_US
from agent.ears.recogniser import Recogniser
from agent.ears.speaker import SpeakerModel
from agent.ears.turn_model import TurnModel
from agent.errors import VenusError
from agent.frontends.base import UNIT_RATE_HZ
from agent.frontends.cascade import UNIT_US, CascadeFrontend, CascadeParts
from agent.knowledge import Finding, Knowledge, MiniLM
from agent.knowledge.index import Told, silently
from agent.llm import Llm, LlmRequest, Message, llm_from_environment
from agent.llm.settings import GGUF as LLM_GGUF
from agent.llm.settings import URL as LLM_URL
from agent.logs import get_logger
from agent.mind.grounded import GroundedWording
from agent.mind.memory import Memory
from agent.mind.mind import Mind
from agent.mind.wording import Wording
from agent.mouth.hibari_voice import HibariVoice
from agent.mouth.mouth import Mouth
from agent.mouth.phonemes import Pronouncer
from agent.mouth.piper_voice import PiperVoice
from agent.mouth.voice import Rendered, Voice
from agent.speech import SpokenLine
from agent.timeline.kinds import Role
from agent.weights.store import check_model, model_file
from media.frames import Samples
from media.resample import Resampler

log = get_logger("venus.worker")

FRESH_EVERY_US = 5_000_000
"""How often documents are looked at for changes."""
WEIGHTS = ("moonshine-tiny-en", "smart-turn", "resemblyzer", "hibari", "piper-joe")
"""What every worker needs; the sentence embeddings only where there are documents."""


@dataclass(frozen=True, slots=True)
class EmbeddedOptions:
    """What a business sets. `knowledge`: its folder of Markdown, None for an agent that knows nothing."""

    knowledge: Path | None = None
    output_rate_hz: int = 16_000


class SecondVoice:
    """The voice behind the first. Its 200 MB are loaded when the first one fails for the first time, and not before."""

    def __init__(self, folder: Path, pronouncer: Pronouncer) -> None:
        self.name, self.rate_hz = "piper-joe", 22_050
        self._folder, self._pronouncer = folder, pronouncer
        self._loading = Lock()
        self._voice: PiperVoice | None = None

    @property
    def faults(self) -> int:
        """Those of the voice itself."""
        return self._voice.faults if self._voice else 0

    def render(self, text: str, cancelled: Cancelled) -> Rendered:
        """As `Voice.render`; the first time takes some two seconds longer."""
        with self._loading:
            self._voice = self._voice or PiperVoice(self._folder, self._pronouncer)
        return self._voice.render(text, cancelled)


@dataclass(frozen=True, slots=True)
class Models:
    """All weights, loaded and warm; what sessions share."""

    ears: EarModels
    mind: Mind
    mouth: Mouth
    voice: Voice

    def host(self, compute: Compute, wording: Wording | None = None) -> tuple[CascadeFrontend, EmbeddedEars]:
        """A frontend and ears whose models run in `compute`; without a `wording` the mind's own words are spoken."""
        parts = CascadeParts(self.mind, wording or Wording(), self.mouth, compute)
        return CascadeFrontend(parts), EmbeddedEars(self.ears, compute, UNIT_US)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What somebody should look at in the documents."""
        return self.mind.knowledge.findings if self.mind.knowledge else ()

    def costs_us(self) -> dict[Kind, int]:
        """What a run of each model takes on this machine, µs."""
        return {kind: _took_us(work) for kind, work in self._runs(self._question()).items()}

    def _runs(self, sound: Samples) -> dict[Kind, Callable[[], object]]:
        return {
            Kind.RECOGNISE: lambda: self.ears.recogniser.read(sound),
            Kind.TURN: lambda: self.ears.turn.probability(sound),
            Kind.SEARCH: lambda: self.mind.decide("What time do you open on Saturday?", 1.0, Memory()),
            Kind.RENDER: lambda: self.voice.render("We are open on Saturday,", never),
            Kind.SPEAKER: lambda: self.ears.speaker.embed(sound),
        }

    def turn_seconds(self) -> float:
        """The processor time of one turn's work, done here and now, seconds: its parts are read while it is spoken, then it is
        looked at, answered, and the first clause of the answer rendered."""
        sound = self._question()
        runs = self._runs(sound)
        began_us = thread_cpu_us()
        for until in range(FIRST_PARTIAL_US, len(sound) * 1_000_000 // UNIT_RATE_HZ, PARTIAL_EVERY_US):
            self.ears.recogniser.read(sound[: until * UNIT_RATE_HZ // 1_000_000])
        for kind in (Kind.RECOGNISE, Kind.TURN, Kind.SEARCH, Kind.RENDER):
            runs[kind]()
        return (thread_cpu_us() - began_us) / 1e6

    def _question(self) -> Samples:
        """A caller's question of some three seconds, in our own voice."""
        said = self.voice.render("I would like to know whether you are open on Saturday mornings.", never)
        resampler = Resampler(self.voice.rate_hz, UNIT_RATE_HZ)
        pcm = np.concatenate([resampler.push(said.pcm), resampler.flush()])
        return pcm.astype(np.float32) / np.float32(32768)


class MouthVoice:
    """A mouth as the voice of lines (`agent.frontends.base.LineVoice`)."""

    def __init__(self, mouth: Mouth) -> None:
        self._mouth = mouth

    async def line(self, text: str, role: Role = Role.NOTICE, must_hear: bool = False) -> SpokenLine:
        """Rendered in a thread of its own: lines are made before calls."""
        return await asyncio.to_thread(self._mouth.line, text, role, must_hear)


def load_models(options: EmbeddedOptions, told: Told = silently) -> Models:
    """Check and load all weights; takes seconds, and longer for documents that changed: `told(done, total)` says how far it is.

    Raises `Refused` with the command that mends what is wrong.
    """
    for model in WEIGHTS:
        check_model(model)
    ears = EarModels(
        Recogniser(model_file("moonshine-tiny-en", "encoder_model.ort").parent),
        TurnModel(model_file("smart-turn", "smart-turn-v3.2-cpu.onnx").parent),
        SpeakerModel(model_file("resemblyzer", "model.safetensors").parent),
    )
    voice = HibariVoice()
    second = SecondVoice(model_file("piper-joe", "en_US-joe-medium.onnx").parent, voice.pronouncer)
    models = Models(ears, Mind(_knowledge(options.knowledge, told)), Mouth(voice, second, options.output_rate_hz), voice)
    prepare()
    models.turn_seconds()  # the first run of each model is slower
    return models


@asynccontextmanager
async def embedded(models: Models) -> AsyncIterator[tuple[CascadeFrontend, EmbeddedEars]]:
    """Frontend and ears with threads for as many models at once as there are processors, and with the language model that the
    environment names, if it names one. Documents that change are read again while it is open."""
    compute = ThreadCompute(os.cpu_count() or 1)
    clock = LoopClock()
    refreshing = asyncio.create_task(_keep_fresh(models.mind.knowledge, clock))
    try:
        async with chosen_wording(clock) as wording:
            yield models.host(compute, wording)
    finally:
        refreshing.cancel()
        await asyncio.gather(refreshing, return_exceptions=True)
        compute.close()


@asynccontextmanager
async def chosen_wording(clock: Clock) -> AsyncIterator[Wording]:
    """By the language model that the environment names, if it names one; it is asked something once, and a failure is logged."""
    if not (os.environ.get(LLM_URL) or os.environ.get(LLM_GGUF)):
        yield Wording()
        return
    async with llm_from_environment(clock) as llm:
        trying = asyncio.create_task(_try_out(llm))
        try:
            yield GroundedWording(llm)
        finally:
            trying.cancel()
            await asyncio.gather(trying, return_exceptions=True)


async def _try_out(llm: Llm) -> None:
    """One word, so that an operator hears of a wrong address or key before a caller's answer needs it."""
    try:
        async with aclosing(llm.stream(LlmRequest((Message("user", "Say yes."),), max_tokens=4))) as pieces:
            async for _ in pieces:
                break
    except VenusError as error:
        log.warning("the language model does not answer: answers are told as the documents word them", because=str(error))
    else:
        log.info("the language model answers")


async def _keep_fresh(knowledge: Knowledge | None, clock: Clock) -> None:
    """Look now and then whether the documents have changed. Calls go on with what was read before until that is done."""
    while knowledge is not None:
        await clock.sleep_until(clock.now_us() + FRESH_EVERY_US)
        if await asyncio.to_thread(knowledge.refresh):
            log.info("the documents were read again", passages=len(knowledge.passages))
            for finding in knowledge.findings:
                log.warning("the documents", finding=str(finding))


def _took_us(work: Callable[[], object]) -> int:
    began_us = stopwatch_us()
    work()
    return stopwatch_us() - began_us


def _knowledge(folder: Path | None, told: Told) -> Knowledge | None:
    if folder is None:
        return None
    check_model("minilm")
    encoder = MiniLM(model_file("minilm", "model.safetensors"), model_file("minilm", "tokenizer.json"))
    return Knowledge.load(folder, encoder, told=told)
