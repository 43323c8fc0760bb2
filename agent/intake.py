"""What comes in from the line, once a tick: voice activity, media spans, and units for frontend and ears. Pure."""

from typing import Protocol

from agent.frontends.base import UNIT_RATE_HZ, Evidence, Unit
from agent.line import MediaFrame, MediaState, Pcm
from agent.settings import TICK_US
from agent.timeline.events import Event, MediaReceived, VoiceContinued, VoicePaused, VoiceStarted, VoiceStopped
from agent.timeline.kinds import Span
from agent.units import UnitCutter
from media.level import GateChange, LevelGate
from media.resample import FrameResampler

TOLD_EVERY_US = 100_000
"""How often a voice that goes on is told of, µs of voice."""
PAUSED_AFTER_US = 96_000
"""Silence after which a voice is told to have paused, µs: three windows of the voice activity model."""
MEDIA_SPAN_TICKS = 50

VoiceEvidence = VoiceStarted | VoicePaused | VoiceContinued | VoiceStopped


class VoiceGate(Protocol):
    """What finds the voice in a call's sound: by loudness (`media.level.LevelGate`) or by a model (`agent.voice_activity`)."""

    @property
    def speaking(self) -> bool:
        """Whether the gate is open."""

    @property
    def level_dbov(self) -> float:
        """Level of the last frame, dBov."""

    @property
    def quiet_samples(self) -> int:
        """While open: samples from the last voiced one to the end of the last frame."""

    def step(self, pcm: Pcm) -> GateChange | None:
        """Take the next 20 ms; returns the change when the gate opened or closed."""


class VoiceActivity:
    """From frames to voice evidence. Each stretch of voice: started, then continued and paused in turn, paused, stopped."""

    def __init__(self, rate_hz: int, gate: VoiceGate) -> None:
        self._gate, self._rate_hz = gate, rate_hz
        self._onset_us = self._told_us = 0
        self._paused = False

    @property
    def level_dbov(self) -> float:
        """Level of the last frame."""
        return self._gate.level_dbov

    def step(self, t: int, frame: MediaFrame) -> list[VoiceEvidence]:
        """The frame that was pulled at `t`; its first sample reached us `frame.delay_us` earlier."""
        change = self._gate.step(frame.pcm)
        end_us = min(t, t - frame.delay_us + TICK_US)
        if change is None:
            return self._while_open(end_us) if self._gate.speaking else []
        at_us = max(0, end_us - self._us(change.samples_ago))
        if change.speaking:
            self._onset_us = self._told_us = at_us
            self._paused = False
            return [VoiceStarted(Span(at_us, max(at_us, end_us)), round(change.level_dbov, 1))]
        covers = Span(self._onset_us, max(self._onset_us, at_us))
        return [VoiceStopped(covers)] if self._paused else [VoicePaused(covers), VoiceStopped(covers)]

    def _while_open(self, end_us: int) -> list[VoiceEvidence]:
        quiet_us = self._us(self._gate.quiet_samples)
        until_us = max(self._onset_us, end_us - quiet_us)
        if quiet_us >= PAUSED_AFTER_US:
            if self._paused:
                return []
            self._paused = True
            return [VoicePaused(Span(self._onset_us, until_us))]
        if not self._paused and until_us - self._told_us < TOLD_EVERY_US:
            return []
        self._told_us = until_us if self._paused else self._told_us + TOLD_EVERY_US
        self._paused = False
        return [VoiceContinued(Span(self._onset_us, until_us), round(self.level_dbov, 1))]

    def _us(self, samples: int) -> int:
        return samples * 1_000_000 // self._rate_hz


class Intake:
    """One call's ears on the line, from the tick in which it was answered."""

    def __init__(self, rate_hz: int, unit_us: int, t: int, gate: VoiceGate | None = None) -> None:
        """Its first tick begins at `t`. `gate`: a new one, for this rate; a level gate where none is given."""
        self._voice = VoiceActivity(rate_hz, gate or LevelGate(rate_hz))
        self._resampler = FrameResampler(rate_hz, UNIT_RATE_HZ)
        self._cutter = UnitCutter(unit_us, t)
        self._from_us = t
        self._counts = dict.fromkeys(MediaState, 0)
        self._ticks = 0
        self._loudest = -127.0

    def frame(self, t: int, frame: MediaFrame) -> tuple[list[Event], list[Unit]]:
        """The frame of the tick that ends at `t`: what is learned from it, and the units it completes."""
        events: list[Event] = []
        for voice in self._voice.step(t, frame):
            self._cutter.learn(voice)
            events.append(voice)
        self._counts[frame.state] += len(frame.pcm)
        self._loudest = max(self._loudest, self._voice.level_dbov)
        self._ticks += 1
        if self._ticks >= MEDIA_SPAN_TICKS and (span := self.close(t)):
            events.append(span)
        return events, self._cutter.push(self._resampler.push(frame.pcm))

    def learn(self, event: Evidence) -> None:
        """Evidence of the ears goes with the next unit."""
        self._cutter.learn(event)

    def skip(self, t: int, ticks: int) -> list[Unit]:
        """The ticker jumped over `ticks`: silence for the units, and media spans start anew at `t`. Close the open one first."""
        self._from_us = t
        return self._cutter.skip(ticks)

    def close(self, t: int) -> MediaReceived | None:
        """The media span that ends at `t`; None when nothing was pulled since the last one."""
        if not self._ticks:
            return None
        span = MediaReceived(
            Span(self._from_us, t),
            self._counts[MediaState.RECEIVED],
            self._counts[MediaState.CONCEALED],
            self._counts[MediaState.SILENT],
            round(self._loudest, 1),
        )
        self._from_us, self._ticks, self._loudest = t, 0, -127.0
        self._counts = dict.fromkeys(MediaState, 0)
        return span
