"""Rehearsals: a script's caller and a script's agent on the in-memory line, with the real call between them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from agent.call import Call
from agent.clock import LoopClock
from agent.frontends.base import Ears, Frontend
from agent.frontends.script import CallerAct, RehearsedLine, Script
from agent.frontends.scripted import ScriptedFrontend
from agent.frontends.scripted_ears import ScriptedEars
from agent.frontends.tone import ToneVoice, load_wav
from agent.intake import VoiceGate
from agent.line import Pcm
from agent.lines import CallLines
from agent.parts import CallParts
from agent.record.recorder import Recorder
from agent.settings import CallSettings
from agent.speech import SpokenLine
from agent.tasks import install_task_factory
from agent.ticker import Ticker
from agent.timeline.events import CallEnded
from agent.timeline.kinds import Role
from agent.timeline.log import Entry, Listener
from agent.virtual import VirtualLoop
from harness_tools.scripted import ScriptedHarness, ScriptedUpdate, ScriptedWork
from transports.memory import CallerAct as FarAct
from transports.memory import FarEnd, Mute, Press, Say, ScriptedCaller, Simple, Trigger, WireSettings, pair

TRIGGERS = {
    "answered": Trigger.ANSWERED,
    "agent_utterance_start": Trigger.AGENT_STARTED,
    "agent_utterance_end": Trigger.AGENT_ENDED,
}


@dataclass(frozen=True, slots=True)
class Staged:
    """A rehearsal ready to run: `await call.run()`."""

    call: Call
    far_end: FarEnd


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """A rehearsal that is over."""

    outcome: CallEnded
    entries: tuple[Entry, ...]


def stage(
    script: Script,
    ticker: Ticker,
    *,
    recorder: Recorder | None = None,
    settings: CallSettings | None = None,
    call_id: str | None = None,
    frontend: Frontend | None = None,
    ears: Ears | None = None,
    voice_gate: Callable[[int], VoiceGate] | None = None,
    lines: CallLines | None = None,
    capabilities: tuple[str, ...] = (),
) -> Staged:
    """Set up caller, line, call and works; `frontend`, `ears` and `lines` replace the scripted ones (a worker's, say)."""
    line, far_end = pair(ticker.clock, _wire(script))
    ScriptedCaller(far_end, _acts(script))
    parts = CallParts(
        line=line,
        frontend=frontend or ScriptedFrontend(script),
        ears=ears or ScriptedEars(script),
        harness=ScriptedHarness(_works(script), ticker.clock),
        lines=lines or _lines(script),
        recorder=recorder,
        voice_gate=voice_gate,
        capabilities=capabilities,
    )
    return Staged(Call(parts, ticker, settings, call_id, seed=script.seed), far_end)


async def rehearse(
    script: Script,
    *,
    recorder: Recorder | None = None,
    settings: CallSettings | None = None,
    call_id: str | None = None,
    listener: Listener | None = None,
    watch: Callable[[Staged], None] | None = None,
) -> Rehearsed:
    """Run a rehearsal on the running loop, real or virtual; `watch` is given it before it starts.

    With a recorder the record is whole when this returns.
    """
    ticker = Ticker(LoopClock())
    staged = stage(script, ticker, recorder=recorder, settings=settings, call_id=call_id)
    entries: list[Entry] = list(staged.call.timeline.recent)
    staged.call.timeline.subscribe(entries.append)
    if listener:
        for entry in entries:
            listener(entry)
        staged.call.timeline.subscribe(listener)
    if watch:
        watch(staged)
    ticking = asyncio.ensure_future(ticker.run())
    try:
        outcome = await staged.call.run()
        await staged.call.recorded()
    finally:
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)
    return Rehearsed(outcome, tuple(entries))


def rehearse_virtually(
    script: Script,
    *,
    recorder: Callable[[], Recorder] | None = None,
    settings: CallSettings | None = None,
    call_id: str | None = None,
    listener: Listener | None = None,
    watch: Callable[[Staged], None] | None = None,
) -> Rehearsed:
    """The same on a fresh virtual loop; `recorder` is called inside it."""

    async def main() -> Rehearsed:
        install_task_factory(asyncio.get_running_loop())
        made = recorder() if recorder else None
        try:
            return await rehearse(script, recorder=made, settings=settings, call_id=call_id, listener=listener, watch=watch)
        finally:
            if made:
                await made.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())


def _wire(script: Script) -> WireSettings:
    line = script.line
    return WireSettings(
        codec=line.codec,
        rate_hz=line.rate_hz,
        delay_ms=line.delay_ms,
        jitter_ms=line.jitter_ms,
        loss=line.loss_pct / 100,
        skew_ppm=line.skew_ppm,
        echo_db=line.echo_db,
        echo_ms=line.echo_ms,
        seed=script.seed,
    )


def _acts(script: Script) -> list[FarAct]:
    voice = ToneVoice(script.line.rate_hz, script.caller.pitch_hz)
    acts = [_act(act, voice, script.line.rate_hz, script.seed + place) for place, act in enumerate(script.caller.says)]
    return [*acts, FarAct(Trigger.AT, script.limit_ms * 1000, Simple.HANG_UP)]


def _act(act: CallerAct, voice: ToneVoice, rate_hz: int, seed: int) -> FarAct:
    trigger = TRIGGERS[act.after] if act.after else Trigger.AT
    after_us = (act.delay_ms if act.after else act.at_ms or 0) * 1000
    action: Say | Press | Mute | Simple
    if act.press:
        action = Press(act.press)
    elif act.mute_ms is not None:
        action = Mute(act.mute_ms)
    elif act.hang_up or act.vanish:
        action = Simple.HANG_UP if act.hang_up else Simple.VANISH
    else:
        action = Say(_sound(act, voice, rate_hz, seed))
    return FarAct(trigger, after_us, action, act.nth)


def _sound(act: CallerAct, voice: ToneVoice, rate_hz: int, seed: int) -> Pcm:
    """What the caller's microphone picks up for this act, at the level it asks for."""
    if act.say:
        pcm, _ = voice.speak(act.say)
    elif act.wav:
        pcm = load_wav(act.wav, rate_hz)
    else:
        samples = (act.noise_ms or 0) * rate_hz // 1000
        pcm = (np.random.default_rng(seed).uniform(-1, 1, samples) * 8192).astype(np.int16)
    peak = int(np.abs(pcm.astype(np.int32)).max(initial=0))
    if act.level_dbfs is None or peak == 0:
        return pcm
    return (pcm * (32767 * 10 ** (act.level_dbfs / 20) / peak)).astype(np.int16)


def _lines(script: Script) -> CallLines:
    lines, rate_hz, pitch_hz = script.lines, script.line.rate_hz, script.agent.pitch_hz
    return CallLines(
        greeting=_spoken(lines.greeting, Role.GREETING, rate_hz, pitch_hz),
        recovery=_spoken(lines.recovery, Role.NOTICE, rate_hz, pitch_hz),
        apology=_spoken(lines.apology, Role.APOLOGY, rate_hz, pitch_hz),
        farewell=_spoken(lines.farewell, Role.FAREWELL, rate_hz, pitch_hz),
    )


def _spoken(line: RehearsedLine, role: Role, rate_hz: int, pitch_hz: float) -> SpokenLine | None:
    if not line.text:
        return None
    pcm, words = ToneVoice(rate_hz, pitch_hz).speak(line.text)
    return SpokenLine(line.text, pcm, rate_hz, words, role, line.must_hear)


def _works(script: Script) -> tuple[ScriptedWork, ...]:
    return tuple(
        ScriptedWork(
            after_ms=work.after_ms,
            status=work.status,
            text=work.text,
            updates=tuple(ScriptedUpdate(news.after_ms, news.phase, news.headline) for news in work.updates),
        )
        for work in script.work
    )
