"""The embedded cascade: a mind and a mouth over the evidence of the ears (`agent.frontends.base.Frontend`).

When the caller's voice pauses, the answer to what was said so far is worked out ahead of time, up to the sound of its first
clause. If the turn is over, that sound is there; if the caller goes on, it is thrown away.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from typing import Any

from agent.compute import Cancelled, Compute, Kind, Urgency
from agent.errors import Capacity, Gone, Refused
from agent.frontends.base import (
    BackendMessage,
    Brief,
    DelegationClosed,
    DelegationOpened,
    FrontendInfo,
    Listening,
    MessageKind,
    PastTurn,
    Step,
    Unit,
)
from agent.frontends.outbox import Outbox
from agent.frontends.replies import Pieces, Replies, Reply, joined
from agent.frontends.unit_order import UnitOrder
from agent.logs import get_logger
from agent.mind.chat import is_backchannel
from agent.mind.memory import Memory
from agent.mind.mind import Decision, Mind, Move
from agent.mind.wording import Wording, spoken_result
from agent.mouth.clauses import Clause
from agent.mouth.mouth import Mouth
from agent.mouth.voice import Rendered
from agent.timeline.events import Transcript, TurnProbability, VoiceContinued, VoiceStarted
from agent.timeline.kinds import Cause, Span

log = get_logger("venus.cascade")

UNIT_US = 40_000
"""Length of its units: what comes in waits half of it on average."""
WAITING_STEPS = 256
"""Steps that may wait for the reader; beyond it `feed` waits."""
WORTH_GUESSING = 0.3
"""A turn less probably over than this is not answered ahead of time."""
REMEMBERED = 64
"""Messages whose ids are kept, so that the same one twice is one message."""


@dataclass(frozen=True, slots=True)
class CascadeParts:
    """What all sessions of a worker share."""

    mind: Mind
    wording: Wording
    mouth: Mouth
    compute: Compute


@dataclass(frozen=True, slots=True)
class _Prepared:
    """An answer worked out: what was decided, and the sound of its first clause."""

    decision: Decision
    sound: Rendered | None
    rest: AsyncGenerator[Clause, None]


_Prepare = Callable[[], Coroutine[Any, Any, _Prepared]]


@dataclass(slots=True)
class _Guess:
    """An answer under way to the turn `text`, and what was remembered when it was begun."""

    text: str
    turns: tuple[PastTurn, ...]
    pending: tuple[str, ...]
    task: "asyncio.Task[_Prepared]"


class CascadeSession:
    """One call's mind and mouth (`agent.frontends.base.Session`)."""

    def __init__(self, parts: CascadeParts, brief: Brief, on_end: Callable[[], None]) -> None:
        self._parts, self._on_end = parts, on_end
        self._call_id = brief.call_id
        self._units = UnitOrder(UNIT_US)
        self._outbox: Outbox[Step] = Outbox(WAITING_STEPS)
        self._memory = Memory.of(brief)
        self._epoch = brief.epoch
        self._turns = sum(1 for turn in brief.history if turn.who == "caller")
        self._utterances = self._delegations = 0
        self._covers = Span(0, 0)
        self._partial: Transcript | None = None
        self._unfinished = ""
        self._open = brief.unanswered
        self._over_ours = False
        self._guess: _Guess | None = None
        self._replies = Replies()
        self._told: dict[str, None] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    # --- the interface ---

    async def feed(self, unit: Unit) -> None:
        await self._outbox.room()
        self._units.check(unit)
        self._covers = unit.covers
        if unit.said:
            self._memory.said(unit.said)
        if self._open:
            self._open, turn = "", self._open
            self._speak(turn, lambda: self._prepare(turn, 1.0), Cause(turn=self._turns))
        for evidence in unit.evidence:
            match evidence:
                case Transcript(final=True):
                    self._heard(evidence.text, evidence.confidence)
                case Transcript():
                    self._partial = evidence
                case TurnProbability(probability=probability) if probability >= WORTH_GUESSING and self._partial:
                    self._guess_at(self._partial)
                case VoiceStarted():
                    self._over_ours = unit.speaking
                    self._forget_guess()
                case VoiceContinued():
                    self._forget_guess()
        self._outbox.put((Listening(unit.covers),))

    async def steps(self) -> AsyncIterator[Step]:
        async for step in self._outbox:
            yield step

    async def inject(self, message: BackendMessage) -> None:
        self._outbox.check()
        if message.kind is MessageKind.SAID or message.attempt_id in self._told:
            return  # what was said comes with the units, as the caller heard it
        self._told[message.attempt_id] = None
        while len(self._told) > REMEMBERED:
            del self._told[next(iter(self._told))]
        self._memory.one_is_done()
        self._speak("", lambda: self._tell(message.text), Cause(attempt_id=message.attempt_id))

    async def yield_floor(self, at_us: int, epoch: int) -> None:
        self._outbox.check()
        self._epoch = max(self._epoch, epoch)
        self._over_ours = False  # what silenced us wants an answer, whatever it is
        self._unfinished = self._replies.cut() or self._unfinished

    async def acknowledge(self, utterance_id: str, samples: int) -> None:
        self._outbox.check()
        self._replies.sent(utterance_id, self._lasts_us(samples))

    async def close(self) -> None:
        self._end(None)

    # --- a turn ---

    def _guess_at(self, heard: Transcript) -> None:
        whole = joined(self._unfinished, heard.text)
        if self._guess and self._guess.text == whole:
            return
        self._forget_guess()
        task = self._spawn(self._prepare(whole, heard.confidence))
        self._guess = _Guess(whole, self._memory.turns, self._memory.pending, task)

    def _forget_guess(self) -> None:
        guess, self._guess = self._guess, None
        if guess is None:
            return
        if guess.task.done() and not _failed(guess.task):
            self._spawn(_closed(guess.task.result().rest))
        else:
            guess.task.cancel()

    def _heard(self, text: str, confidence: float) -> None:
        """The caller's turn is over."""
        self._partial = None
        self._turns += 1
        if self._over_ours and is_backchannel(text):
            self._forget_guess()
            return
        turn, self._unfinished = joined(self._unfinished, text), ""
        if self._guess and self._fits(self._guess, turn):
            task, self._guess = self._guess.task, None
            self._speak(turn, lambda: _awaited(task), Cause(turn=self._turns))
        else:
            self._forget_guess()
            self._speak(turn, lambda: self._prepare(turn, confidence), Cause(turn=self._turns))

    def _fits(self, guess: _Guess, turn: str) -> bool:
        """Whether it is what would be answered now: the same words, after the same conversation."""
        same = guess.turns is self._memory.turns and guess.pending == self._memory.pending and self._replies.all_learned
        return same and guess.text == turn and not _failed(guess.task)

    async def _prepare(self, turn: str, confidence: float) -> _Prepared:
        memory = self._memory.copy()  # as it is now, for another thread to read
        decision = await self._parts.compute.run(
            Kind.SEARCH, lambda _: self._parts.mind.decide(turn, confidence, memory), Urgency.ANSWER
        )
        return await self._begin(decision, self._parts.wording.clauses(decision, turn, memory))

    async def _tell(self, text: str) -> _Prepared:
        decision = Decision(Move.CHAT, spoken_result(text))
        return await self._begin(decision, self._parts.wording.clauses(decision, "", self._memory))

    async def _begin(self, decision: Decision, clauses: AsyncGenerator[Clause, None]) -> _Prepared:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(aclosing(clauses))
            first = await anext(clauses, None)
            sound = await self._render(first, Urgency.ANSWER) if first else None
            stack.pop_all()  # whoever speaks the rest closes it
        return _Prepared(decision, sound, clauses)

    async def _render(self, clause: Clause, urgency: Urgency) -> Rendered:
        def work(cancelled: Cancelled) -> Rendered:
            return self._parts.mouth.speak(clause, cancelled)

        return await self._parts.compute.run(Kind.RENDER, work, urgency)

    # --- speaking ---

    def _speak(self, turn: str, prepare: _Prepare, cause: Cause) -> None:
        self._utterances += 1
        before = self._replies.last
        reply = Reply(f"u{self._utterances}", turn)
        if not turn:
            reply.learned.set()
        self._replies.add(reply)
        reply.task = self._spawn(self._spoken(reply, prepare, cause, self._epoch, before))

    async def _spoken(self, reply: Reply, prepare: _Prepare, cause: Cause, epoch: int, before: Reply | None) -> None:
        """One utterance, clause by clause, after the one before it."""
        try:
            if before:
                await before.learned.wait()  # the turn before is part of what this one is understood by
            answer = await prepare()
            async with aclosing(answer.rest):
                if before and before.task:
                    await asyncio.wait((before.task,))
                self._learn(reply, answer.decision)
                if answer.sound is not None:
                    await self._say(reply, Pieces(reply.utterance_id, epoch, cause, self._covers, self._rate_hz), answer)
        finally:
            reply.learned.set()

    def _learn(self, reply: Reply, decision: Decision) -> None:
        if reply.turn:
            self._parts.mind.learn(reply.turn, decision, self._memory)
        reply.learned.set()
        if decision.move is Move.DELEGATE:
            self._delegate(decision.request)
            reply.turn = ""  # it is being done: who cuts us does not ask for it again

    async def _say(self, reply: Reply, pieces: Pieces, answer: _Prepared) -> None:
        sound = answer.sound
        assert sound is not None
        async for clause in answer.rest:
            await self._outbox.room()
            self._outbox.put((pieces.speech(sound),))
            sound = await self._render(clause, Urgency.AHEAD)
        await self._outbox.room()
        self._outbox.put((replace(pieces.speech(sound), final=True),))
        reply.whole_us = self._lasts_us(pieces.samples)

    @property
    def _rate_hz(self) -> int:
        return self._parts.mouth.output_rate_hz

    def _lasts_us(self, samples: int) -> int:
        return samples * 1_000_000 // self._rate_hz

    def _delegate(self, request: str) -> None:
        self._delegations += 1
        delegation_id = f"g{self._turns}.{self._delegations}"
        self._outbox.put((DelegationOpened(self._covers, delegation_id), DelegationClosed(self._covers, delegation_id, request)))

    # --- tasks ---

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[Any]") -> None:
        """A mind or a mouth that breaks is lost as a whole: the call says its apology and opens another session."""
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Capacity) and self._guess and task is self._guess.task:
            return  # nobody waits for a guess: the answer is worked out when the turn is over
        if error:
            log.error("the mind or the mouth of a call failed", call_id=self._call_id, exc_info=error)
            self._end(Gone(f"the cascade failed ({type(error).__name__})"))

    def _end(self, error: Gone | None) -> None:
        if not self._outbox.ended:
            self._on_end()
        self._outbox.end(error)
        for task in tuple(self._tasks):
            task.cancel()
        self._forget_guess()


def _failed(task: "asyncio.Task[_Prepared]") -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


async def _closed(clauses: AsyncGenerator[Clause, None]) -> None:
    """Nobody speaks the rest: whatever makes it may stop."""
    await clauses.aclose()


async def _awaited(task: "asyncio.Task[_Prepared]") -> _Prepared:
    return await task


class CascadeFrontend:
    """Opens sessions (`agent.frontends.base.Frontend`), `slots` at once."""

    def __init__(self, parts: CascadeParts, slots: int = 1_000) -> None:
        self._parts, self._slots, self._open = parts, slots, 0
        self._info = FrontendInfo("cascade", UNIT_US, parts.mouth.output_rate_hz, voice=parts.mouth.name)

    @property
    def info(self) -> FrontendInfo:
        return self._info

    async def open(self, brief: Brief) -> CascadeSession:
        if brief.language.split("-")[0] != "en":
            raise Refused(f"the embedded cascade speaks English, not {brief.language!r}: choose another frontend")
        if self._open >= self._slots:
            raise Capacity(f"all {self._slots} sessions of the cascade are taken")
        self._open += 1
        return CascadeSession(self._parts, brief, self._ended)

    def _ended(self) -> None:
        self._open -= 1
