"""The scripted frontend's mind, without I/O: units go in, steps come out, and the only time is that of the units.

Something becomes due when a unit is fed that reaches its time, so the same units give the same steps on any loop.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count, pairwise

import numpy as np

from agent.frontends.base import BackendMessage, DelegationClosed, DelegationOpened, Listening, MessageKind, Speech, Step, Unit
from agent.frontends.script import Agent, AgentTrigger, AgentTurn
from agent.frontends.tone import ToneVoice, load_wav
from agent.line import Pcm
from agent.timeline.events import VoiceStarted, VoiceStopped
from agent.timeline.kinds import Alignment, Cause, Role, Span, Word


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing comes out for so long, real or virtual, however much is fed."""

    lasts_us: int


@dataclass(frozen=True, slots=True)
class Death:
    """The session is lost here."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of an utterance as it is delivered. `end_us`: how much of the utterance there is with it."""

    text: str
    pcm: Pcm
    words: tuple[Word, ...]
    end_us: int
    final: bool


@dataclass(slots=True)
class Progress:
    """How far a call has got in its script. It outlives a lost session: the next one goes on and does not start again."""

    counts: dict[AgentTrigger, int] = field(default_factory=dict)
    done_at: set[int] = field(default_factory=set)  # id of each `at_ms` turn that was performed; the script keeps them alive
    utterances: int = 0
    delegations: int = 0


@dataclass(slots=True)
class _Utterance:
    utterance_id: str
    epoch: int
    role: Role
    cause: Cause
    alignment: Alignment
    speed_x: float
    start_us: int
    pieces: deque[Piece]


class Repertoire:
    """Everything a script may say, rendered and cut into pieces once, so that no call waits for it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._voice = ToneVoice(agent.rate_hz, agent.pitch_hz)
        self._default = AgentTurn(on="inject", say=agent.result_line) if agent.result_line.strip() else None
        turns = (*agent.turns, self._default) if self._default else agent.turns
        self._pieces = {id(turn): self._cut(turn) for turn in turns if turn.say or turn.wav or turn.backchannel}

    @property
    def default(self) -> AgentTurn | None:
        """What follows an injected message that the script has no turn for."""
        return self._default

    def pieces(self, turn: AgentTurn) -> tuple[Piece, ...]:
        """The pieces of a speaking turn of this script."""
        return self._pieces[id(turn)]

    def _cut(self, turn: AgentTurn) -> tuple[Piece, ...]:
        text = turn.say or turn.backchannel or turn.text or ""
        if turn.wav is not None:
            pcm = load_wav(turn.wav, self.agent.rate_hz)
            words = spread(text, len(pcm) * 1_000_000 // self.agent.rate_hz)
        else:
            pcm, words = self._voice.speak(text)
            if alignment(turn) is Alignment.ESTIMATED:
                words = spread(text, len(pcm) * 1_000_000 // self.agent.rate_hz)
        return tuple(cut(pcm, words, self.agent.rate_hz, turn.chunk_ms * 1000, alignment(turn) is Alignment.CHUNK))


def alignment(turn: AgentTurn) -> Alignment:
    """How well the word times of a turn are known."""
    return Alignment(turn.words or ("estimated" if turn.wav else "exact"))


def spread(text: str, lasts_us: int) -> tuple[Word, ...]:
    """Words shared out over an utterance by their letters: what is known without an alignment."""
    tokens = text.split()
    ends = np.cumsum([len(token) + 1 for token in tokens])
    edges = [0, *(int(end) * lasts_us // int(ends[-1]) for end in ends)]
    return tuple(Word(token, start, end) for token, (start, end) in zip(tokens, pairwise(edges), strict=True))


def cut(pcm: Pcm, words: tuple[Word, ...], rate_hz: int, chunk_us: int, inside_words: bool) -> Iterator[Piece]:
    """Cut an utterance into pieces of `chunk_us` (0: one piece).

    Between words, each piece grows to the end of a word. `inside_words`, pieces are exactly as long as asked, a word belongs to
    the piece in which it ends, and all that is known of its time is that piece.
    """
    whole_us = len(pcm) * 1_000_000 // rate_hz
    edges = [0]
    for edge in _edges(words, whole_us, chunk_us or whole_us, inside_words):
        if edge > edges[-1]:
            edges.append(edge)
    waiting = deque(words)
    for from_us, to_us in pairwise(edges):
        final = to_us == edges[-1]
        mine: list[Word] = []
        while waiting and (waiting[0].end_us <= to_us or final):
            word = waiting.popleft()
            mine.append(Word(word.text, from_us, to_us) if inside_words else word)
        samples = slice(from_us * rate_hz // 1_000_000, len(pcm) if final else to_us * rate_hz // 1_000_000)
        yield Piece(" ".join(word.text for word in mine), pcm[samples], tuple(mine), to_us, final)


def _edges(words: tuple[Word, ...], whole_us: int, chunk_us: int, inside_words: bool) -> Iterator[int]:
    if inside_words:
        yield from range(chunk_us, whole_us, chunk_us)
    else:
        edge = 0
        for word in words:
            if word.end_us - edge >= chunk_us:
                edge = word.end_us
                yield edge
    yield whole_us


class Recital:
    """One session of a script."""

    def __init__(self, repertoire: Repertoire, progress: Progress, epoch: int) -> None:
        self._repertoire, self._progress, self._epoch = repertoire, progress, epoch
        self._now_us: int | None = None
        self._order = count()
        self._due: list[tuple[int, int, AgentTurn | DelegationClosed, Cause]] = []
        self._early: list[tuple[AgentTrigger, Cause]] = []
        self._mouth: deque[_Utterance] = deque()
        self._free_us = 0
        self._attempts: set[str] = set()
        self._dead = False

    def feed(self, unit: Unit) -> list[Step | Stall | Death]:
        """The steps that became due with this unit, and `Listening` last; after `Death` nothing comes any more."""
        if self._now_us is None:
            self._begin(unit.covers.from_us)
        self._now_us = unit.covers.to_us
        for evidence in unit.evidence:
            if isinstance(evidence, VoiceStarted):
                self._happened("turn_start", self._now_us)
            elif isinstance(evidence, VoiceStopped):
                self._happened("turn_end", self._now_us)
        steps = list(self._steps(unit.covers))
        return steps if self._dead else [*steps, Listening(unit.covers)]

    def inject(self, message: BackendMessage) -> None:
        """A result is answered once, with its `attempt_id` as the cause; what was said is no reason to speak."""
        if message.kind is MessageKind.RESULT and message.attempt_id not in self._attempts:
            self._attempts.add(message.attempt_id)
            self._react("inject", Cause(attempt_id=message.attempt_id))

    def yield_floor(self, epoch: int) -> None:
        """Stop speaking: what is being said or waits to be said is dropped. An epoch that is not newer changes nothing."""
        if epoch > self._epoch:
            self._epoch = epoch
            self._mouth.clear()
            self._free_us = 0
            self._react("yield", Cause())

    def _begin(self, at_us: int) -> None:
        self._happened("open", at_us)
        for turn in self._repertoire.agent.turns:
            if turn.at_ms is not None and id(turn) not in self._progress.done_at:
                self._schedule(turn, turn.at_ms * 1000, Cause())
        for trigger, cause in self._early:
            self._happened(trigger, at_us, cause)

    def _react(self, trigger: AgentTrigger, cause: Cause) -> None:
        """What comes before the first unit happens when that unit starts: there is no earlier time."""
        if self._now_us is None:
            self._early.append((trigger, cause))
        else:
            self._happened(trigger, self._now_us, cause)

    def _happened(self, trigger: AgentTrigger, at_us: int, cause: Cause | None = None) -> None:
        nth = self._progress.counts.get(trigger, 0) + 1
        self._progress.counts[trigger] = nth
        if cause is None:
            cause = Cause(turn=nth) if trigger in ("turn_start", "turn_end") else Cause()
        turns = [turn for turn in self._repertoire.agent.turns if turn.on == trigger and turn.nth in ("every", nth)]
        if trigger == "inject" and not turns and self._repertoire.default is not None:
            turns = [self._repertoire.default]
        for turn in turns:
            self._schedule(turn, at_us, cause)

    def _schedule(self, turn: AgentTurn, at_us: int, cause: Cause) -> None:
        if turn.proactive:
            cause = Cause(attempt_id=cause.attempt_id, proactive=True)
        heappush(self._due, (at_us + turn.after_ms * 1000, next(self._order), turn, cause))

    def _steps(self, covers: Span) -> Iterator[Step | Stall | Death]:
        """All that is due by `covers.to_us`, in the order of its time; of equals, what is done before what is said."""
        while not self._dead:
            act_us = self._due[0][0] if self._due else None
            piece_us = self._piece_due_us()
            if act_us is not None and act_us <= covers.to_us and (piece_us is None or act_us <= piece_us):
                yield from self._act(covers, *heappop(self._due))
            elif piece_us is not None and piece_us <= covers.to_us:
                yield self._speak(covers, piece_us)
            else:
                return

    def _act(
        self, covers: Span, due_us: int, _order: int, what: AgentTurn | DelegationClosed, cause: Cause
    ) -> Iterator[Step | Stall | Death]:
        if isinstance(what, DelegationClosed):
            yield DelegationClosed(covers, what.delegation_id, what.request)
            return
        if what.at_ms is not None:
            self._progress.done_at.add(id(what))
        if what.delegate is not None:
            self._progress.delegations += 1
            delegation_id = f"d{self._progress.delegations}"
            yield DelegationOpened(covers, delegation_id)
            closed = DelegationClosed(covers, delegation_id, what.delegate)
            heappush(self._due, (due_us + what.takes_ms * 1000, next(self._order), closed, cause))
        elif what.lag_ms is not None:
            yield Stall(what.lag_ms * 1000)
        elif what.die:
            self._dead = True
            yield Death()
        elif not what.stay_silent:
            self._mouth.append(self._utterance(what, due_us, cause))

    def _utterance(self, turn: AgentTurn, start_us: int, cause: Cause) -> _Utterance:
        self._progress.utterances += 1
        return _Utterance(
            utterance_id=f"u{self._progress.utterances}",
            epoch=self._epoch,
            role=Role.BACKCHANNEL if turn.backchannel else Role.ANSWER,
            cause=cause,
            alignment=alignment(turn),
            speed_x=turn.speed_x,
            start_us=start_us,
            pieces=deque(self._repertoire.pieces(turn)),
        )

    def _piece_due_us(self) -> int | None:
        """One mouth: an utterance is generated when the one before it has been."""
        if not self._mouth:
            return None
        saying = self._mouth[0]
        saying.start_us = max(saying.start_us, self._free_us)
        return saying.start_us + round(saying.pieces[0].end_us / saying.speed_x)

    def _speak(self, covers: Span, due_us: int) -> Speech:
        saying = self._mouth[0]
        piece = saying.pieces.popleft()
        if not saying.pieces:
            self._mouth.popleft()
            self._free_us = due_us
        return Speech(
            covers=covers,
            utterance_id=saying.utterance_id,
            epoch=saying.epoch,
            text=piece.text,
            pcm=piece.pcm,
            words=piece.words,
            alignment=saying.alignment,
            role=saying.role,
            cause=saying.cause,
            final=piece.final,
        )
