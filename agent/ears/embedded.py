"""The embedded ears: recogniser, turn model and speaker model on a CPU, for several calls at once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import numpy as np

from agent.compute import Cancelled, Compute, Kind, Urgency
from agent.ears.finished import finished, last_word_certainty
from agent.ears.hearing import Act, Drop, Hearing, Judgement, Look, Read, Turn
from agent.ears.recogniser import Reading, Recogniser
from agent.ears.speaker import SpeakerModel, similarity
from agent.ears.turn_model import TurnModel
from agent.errors import Capacity, Gone
from agent.frontends.base import UNIT_RATE_HZ, Brief, Heard, Unit
from agent.frontends.outbox import Outbox
from agent.frontends.unit_order import UnitOrder
from agent.logs import get_logger
from agent.timeline.events import SpeakerScore, Transcript, TurnProbability
from agent.understanding.asked import Asked, what_was_asked

log = get_logger("venus.ears")

WAITING_EVIDENCE = 256
"""Pieces of evidence that may wait for the reader; beyond it `feed` waits."""
ENROL_TURNS = 3
"""Turns of the first caller from which their voice is learned."""
SHORTEST_SCORED = UNIT_RATE_HZ
"""A turn of fewer samples says too little about a voice."""


@dataclass(frozen=True, slots=True)
class EarModels:
    """What all sessions share."""

    recogniser: Recogniser
    turn: TurnModel
    speaker: SpeakerModel


class _Voice:
    """The voice of the call's first turns. It lives in this session and is written nowhere."""

    def __init__(self, model: SpeakerModel) -> None:
        self._model = model
        self._enrolled: list[np.ndarray[Any, np.dtype[np.float32]]] = []

    def score(self, pcm: np.ndarray[Any, np.dtype[np.float32]]) -> float | None:
        """None while the voice is being learned."""
        vector = self._model.embed(pcm)
        if len(self._enrolled) < ENROL_TURNS:
            self._enrolled.append(vector)
            return None
        mean = np.mean(self._enrolled, axis=0)
        return similarity(mean / np.linalg.norm(mean), vector)


class EmbeddedEarsSession:
    """One call's ears (`agent.frontends.base.EarsSession`)."""

    def __init__(self, models: EarModels, compute: Compute, brief: Brief, unit_us: int, on_end: Callable[[], None]) -> None:
        self._models, self._compute, self._on_end = models, compute, on_end
        self._call_id = brief.call_id
        self._units = UnitOrder(unit_us, gaps=True)
        self._hearing = Hearing()
        self._outbox: Outbox[Heard] = Outbox(WAITING_EVIDENCE)
        last = next((turn.text for turn in reversed(brief.history) if turn.who == "agent"), "")
        self._asked = what_was_asked(last)
        self._voice = _Voice(models.speaker) if brief.scores_speaker else None
        self._looking: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def feed(self, unit: Unit) -> None:
        await self._outbox.room()
        self._units.check(unit)
        if unit.said:
            self._asked = what_was_asked(unit.said)
        self._do(self._hearing.feed(unit))

    async def evidence(self) -> AsyncIterator[Heard]:
        async for heard in self._outbox:
            yield heard

    async def close(self) -> None:
        self._end(None)

    def _end(self, error: Gone | None) -> None:
        if not self._outbox.ended:
            self._on_end()
        self._outbox.end(error)
        for task in tuple(self._tasks):
            task.cancel()

    def _do(self, acts: list[Act]) -> None:
        for act in acts:
            match act:
                case Transcript() | TurnProbability():
                    self._outbox.put((act,))
                    if isinstance(act, Transcript) and act.final:
                        self._asked = Asked.NOTHING
                case Read():
                    self._spawn(self._read(act))
                case Look():
                    self._drop()
                    self._looking = self._spawn(self._look(act))
                case Drop():
                    self._drop()
                case Turn() if self._voice and len(act.pcm) >= SHORTEST_SCORED:
                    self._spawn(self._score(act, self._voice))

    def _drop(self) -> None:
        if self._looking:
            self._looking.cancel()
        self._looking = None

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())
        return task

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Ears that break are lost as a whole: the call's link says so and opens others."""
        try:
            await work
        except Exception as error:
            log.error("the ears of a call failed", call_id=self._call_id, exc_info=error)
            self._end(Gone(f"the recogniser failed ({type(error).__name__})"))

    async def _read(self, act: Read) -> None:
        try:
            reading = await self._recognise(act.pcm, Urgency.PARTIAL)
        except Capacity:  # a partial may be left out
            self._do(self._hearing.read(act, "", 0.0))
            return
        self._do(self._hearing.read(act, reading.text, reading.confidence))

    async def _look(self, act: Look) -> None:
        sound = asyncio.ensure_future(
            self._compute.run(Kind.TURN, lambda _: self._models.turn.probability(act.pcm), Urgency.ANSWER)
        )
        try:
            reading, probability = await asyncio.gather(self._recognise(act.pcm, Urgency.ANSWER), sound)
        finally:
            sound.cancel()  # when the other one failed
        whole = f"{self._hearing.before()} {reading.text}".strip()
        over = finished(whole, probability, reading.end, self._asked, last_word_certainty(reading.tokens))
        self._do(self._hearing.looked(act, Judgement(reading.text, reading.confidence, over.probability, over.patience_us)))

    async def _recognise(self, pcm: np.ndarray[Any, np.dtype[np.float32]], urgency: Urgency) -> Reading:
        def work(cancelled: Cancelled) -> Reading:
            return self._models.recogniser.read(pcm, cancelled)

        return await self._compute.run(Kind.RECOGNISE, work, urgency)

    async def _score(self, act: Turn, voice: _Voice) -> None:
        try:
            score = await self._compute.run(Kind.SPEAKER, lambda _: voice.score(act.pcm), Urgency.AHEAD)
        except Capacity:  # a score may be left out
            return
        except Exception as error:
            self._voice = None
            log.error("voices are not compared any more in a call", call_id=self._call_id, exc_info=error)
            return
        if score is not None:
            self._outbox.put((SpeakerScore(act.covers, score),))


class EmbeddedEars:
    """Opens ears (`agent.frontends.base.Ears`), `slots` at once."""

    def __init__(self, models: EarModels, compute: Compute, unit_us: int, slots: int = 1_000) -> None:
        self._models, self._compute = models, compute
        self._unit_us, self._slots, self._open = unit_us, slots, 0

    async def open(self, brief: Brief) -> EmbeddedEarsSession:
        if self._open >= self._slots:
            raise Capacity(f"all {self._slots} recognisers are taken")
        self._open += 1
        return EmbeddedEarsSession(self._models, self._compute, brief, self._unit_us, self._ended)

    def _ended(self) -> None:
        self._open -= 1
