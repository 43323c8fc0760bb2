"""`venus talk`: ears, mind and mouth without a line. Text or a sound file in, text and a sound file out.

Text goes to the mind as if the ears had read it. Sound is a whole call on virtual time: the models run where they stand, and each
result arrives after what such a run takes on this machine, so that the times shown are those of a real call.
"""

import asyncio
import wave
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from agent.app.calls import make_calls_dir
from agent.app.embedded import EmbeddedOptions, Models, chosen_wording, load_models
from agent.app.lines import plain
from agent.app.rehearse import Staged, stage
from agent.clock import LoopClock, stopwatch_us
from agent.compute import InlineCompute
from agent.errors import Refused
from agent.frontends.script import Script
from agent.frontends.tone import load_wav
from agent.line import Pcm
from agent.lines import CallLines
from agent.mind.memory import Memory
from agent.mind.mind import Decision, Mind
from agent.mind.wording import Wording
from agent.mouth.clauses import Clause
from agent.record.inline import InlineRecorder
from agent.tasks import install_task_factory
from agent.ticker import Ticker
from agent.timeline.events import (
    FaultReported,
    FrontendLost,
    SpeechArrived,
    Transcript,
    UtteranceEnded,
    UtteranceStarted,
    VoiceStarted,
)
from agent.timeline.kinds import EndReason
from agent.timeline.log import Entry
from agent.virtual import VirtualLoop
from agent.voice_activity import SileroGate, SileroModel
from agent.weights.store import check_model, model_file

RATE_HZ = 16_000
BEGINS_MS = 300
QUIET_US = 3_000_000
"""A conversation in which nothing has happened for so long is over."""
LONGEST_TEXT = 2_000
"""Characters of one turn."""
BESIDE = 7
"""Columns before what is said, for who says it."""


@dataclass(frozen=True, slots=True)
class TalkOptions:
    """`wav`: a recording of the caller, in place of text. `out`: a file for the agent's sound. `record`: a folder for the record
    of the call that a recording makes."""

    knowledge: Path | None
    wav: Path | None = None
    out: Path | None = None
    record: Path | None = None


def run(console: Console, texts: list[str], options: TalkOptions) -> None:
    """Raises `Refused` for what cannot be used: files, documents, weights."""
    if options.wav and texts:
        raise Refused("give either text or --wav, not both")
    if options.record and not options.wav:
        raise Refused("only a recording makes a call that can be recorded: --record goes with --wav")
    if options.out and not options.out.absolute().parent.is_dir():
        raise Refused(f"there is no folder {options.out.absolute().parent} for --out: make it, or name another file")
    if options.record:
        make_calls_dir(options.record, "--record")
    sound = load_wav(options.wav, RATE_HZ) if options.wav else None
    models = _loaded(console, options.knowledge)
    for finding in models.findings:
        console.print(Text(f"  {plain(str(finding))}", style="yellow"))
    said = _sound(console, models, options, len(sound)) if sound is not None else _typed(console, models, texts)
    if options.out:
        write_wav(options.out, said, RATE_HZ)
        console.print(Text.assemble(("sound  ", "dim"), str(options.out)))


def _loaded(console: Console, knowledge: Path | None) -> Models:
    """The models; documents that have not been read before take up to a minute and a half, and show how far they are."""
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Loading the models", total=None)

        def told(done: int, total: int) -> None:
            progress.update(task, description="Reading the documents", completed=done, total=total)

        return load_models(EmbeddedOptions(knowledge, RATE_HZ), told)


# --- text -------------------------------------------------------------------------------------------------------------------


class _Words:
    """The clauses of answers, by a language model where the environment names one.

    Its loop runs only while they are worked out, so that a Ctrl-C at the prompt stays one.
    """

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner, self._open = runner, AsyncExitStack()
        self._wording = runner.run(self._enter())

    async def _enter(self) -> Wording:
        return await self._open.enter_async_context(chosen_wording(LoopClock()))

    def clauses(self, decision: Decision, turn: str, memory: Memory) -> list[Clause]:
        """All of what is said to `turn`."""

        async def gathered() -> list[Clause]:
            return [clause async for clause in self._wording.clauses(decision, turn, memory)]

        return self._runner.run(gathered())

    def close(self) -> None:
        self._runner.run(self._open.aclose())


def _typed(console: Console, models: Models, texts: list[str]) -> Pcm:
    with asyncio.Runner() as runner, closing(_Words(runner)) as words:
        return _conversation(console, models, texts, words)


def _conversation(console: Console, models: Models, texts: list[str], words: _Words) -> Pcm:
    memory, sounds = Memory(), [np.zeros(0, np.int16)]
    for text in texts or _lines(console):
        if len(text) > LONGEST_TEXT:
            too_long = f"a turn of {len(text)} characters: give at most {LONGEST_TEXT}"
            if texts or not console.is_terminal:
                raise Refused(too_long)
            console.print(Text(f"       {too_long}", style="yellow"))  # whoever types goes on
            continue
        if texts:
            _say(console, "you", text)
        began_us = stopwatch_us()
        decision = models.mind.decide(text, 1.0, memory)
        clauses = words.clauses(decision, text, memory.copy())
        said = " ".join(clause.text for clause in clauses)
        Mind.learn(text, decision, memory)
        memory.said(said)
        sounds += [models.mouth.speak(clause).pcm for clause in clauses]
        source = decision.found.source if decision.found and decision.found.is_known else decision.move.value
        _say(console, "agent", said, f"{source}, {(stopwatch_us() - began_us) // 1000} ms")
    return np.concatenate(sounds)


def _lines(console: Console) -> Iterator[str]:
    """What is typed, until an empty line or the end of the input."""
    if console.is_terminal:
        console.print(Text("Type what a caller would say; an empty line ends it.", style="dim"))
    while True:
        try:
            text = console.input(Text("  you  ", style="bold cyan")) if console.is_terminal else input()
        except (EOFError, KeyboardInterrupt) as end:
            if console.is_terminal:
                console.print()  # the prompt's line ends here, not in the shell's prompt
            if isinstance(end, KeyboardInterrupt):
                raise
            return
        if not text.strip():
            return
        yield text


def _say(console: Console, who: str, text: str, note: str = "") -> None:
    colour = "cyan" if who == "you" else "magenta"
    said, room = plain(text), max(console.width - BESIDE, 20)
    between = "   " if cell_len(said) + cell_len(note) + 3 <= room else "\n"
    beside = Text.assemble(said, (f"{between}{plain(note)}" if note else "", "dim"))
    for place, line in enumerate(beside.wrap(console, room)):  # under one another, not under who said it
        console.print(Text.assemble((f"{who if place == 0 else '':>5}  ", f"bold {colour}"), line))


# --- sound ------------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Listener:
    """Shows what is understood and said, and knows when nothing has happened for a while."""

    console: Console
    last_us: int = 0
    heard_us: int = 0
    waited_us: dict[str, int] = field(default_factory=dict)
    quiet: bool = True
    """Nothing was understood or said."""

    def learn(self, entry: Entry) -> None:
        match entry.event:
            case VoiceStarted():
                self.last_us = entry.t
            case Transcript(final=True, text=text, covers=covers) if text.strip():
                self.last_us, self.heard_us, self.quiet = entry.t, covers.to_us, False
                _say(self.console, "you", text)
            case SpeechArrived():
                self.last_us = entry.t
            case UtteranceStarted(utterance_id=utterance_id):
                if self.heard_us:
                    self.waited_us[utterance_id] = entry.t - self.heard_us
            case UtteranceEnded(utterance_id=utterance_id, text_sent=said, text_unsent=unsaid):
                self.last_us, self.quiet = entry.t, False
                never_said = f" ‹never said: {unsaid}›" if unsaid else ""
                waited_us = self.waited_us.pop(utterance_id, None)
                note = "" if waited_us is None else f"{waited_us / 1e6:.2f} s after the caller's last sound"
                _say(self.console, "agent", (said + never_said).strip(), note)
            case FaultReported(detail=detail) | FrontendLost(reason=detail):
                self.console.print(Text(f"  {plain(detail)}", style="red"))


def _sound(console: Console, models: Models, options: TalkOptions, samples: int) -> Pcm:
    """The call that the recording makes; returns the agent's sound."""
    lasts_ms = samples * 1000 // RATE_HZ
    script = Script.model_validate(
        {
            "name": "talk",
            "limit_ms": BEGINS_MS + lasts_ms + 300_000,
            "line": {"rate_hz": RATE_HZ, "delay_ms": 0},
            "caller": {"says": [{"after": "answered", "delay_ms": BEGINS_MS, "wav": str(options.wav)}]},
        }
    )
    check_model("silero-vad")
    gate = SileroModel(model_file("silero-vad", "silero_vad.onnx").parent)
    listener = _Listener(console)
    heard: list[Pcm] = []

    async def main() -> None:
        install_task_factory(asyncio.get_running_loop())
        clock = LoopClock()
        frontend, ears = models.host(InlineCompute(clock, models.costs_us()))
        ticker = Ticker(clock)
        recorder = InlineRecorder(options.record) if options.record else None
        staged = stage(
            script,
            ticker,
            recorder=recorder,
            frontend=frontend,
            ears=ears,
            voice_gate=lambda rate_hz: SileroGate(gate, rate_hz),
            lines=CallLines(),
        )
        staged.call.timeline.subscribe(listener.learn)
        staged.far_end.on_frame = lambda frame: heard.append(frame.pcm)
        await _converse(staged, ticker, clock, listener, BEGINS_MS * 1000 + lasts_ms * 1000)
        if recorder:
            await recorder.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())
    if listener.quiet:
        console.print(Text("  no speech was heard in it, and nothing was said", style="yellow"))
    if options.record:
        console.print(Text.assemble(("record ", "dim"), str(options.record)))
    return trimmed(np.concatenate(heard)) if heard else np.zeros(0, np.int16)


async def _converse(staged: Staged, ticker: Ticker, clock: LoopClock, listener: _Listener, lasts_us: int) -> None:
    """Let the call go on until both sides are through."""
    ticking = asyncio.ensure_future(ticker.run())
    running = asyncio.ensure_future(staged.call.run())
    try:
        while not running.done():
            await clock.sleep_until(clock.now_us() + 200_000)
            if not staged.call.core.playout.drained:
                listener.last_us = staged.call.t
            if staged.call.t - max(listener.last_us, lasts_us) > QUIET_US:
                staged.call.end(EndReason.AGENT_ENDED, "both sides are through", at_once=True)
        await running
        await staged.call.recorded()
    finally:
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)


def trimmed(pcm: Pcm) -> Pcm:
    """Without the silence at both ends."""
    (sounding,) = np.nonzero(pcm)
    return pcm[sounding[0] : sounding[-1] + 1] if len(sounding) else pcm[:0]


def write_wav(path: Path, pcm: Pcm, rate_hz: int) -> None:
    """16 bit mono. Raises `Refused` when the file cannot be written."""
    try:
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate_hz)
            file.writeframes(pcm.astype("<i2").tobytes())
    except OSError as error:
        raise Refused(f"cannot write {path}: {error.strerror}; name another file with --out") from None
