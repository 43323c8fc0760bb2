"""What comes in from the line, once a tick: voice activity, media spans, and units for frontend and ears. Pure."""

from agent.frontends.base import UNIT_RATE_HZ, Evidence, Unit
from agent.line import MediaFrame, MediaState
from agent.settings import TICK_US
from agent.timeline.events import Event, MediaReceived, VoiceContinued, VoiceStarted, VoiceStopped
from agent.timeline.kinds import Span
from agent.units import UnitCutter
from media.level import LevelGate
from media.resample import FrameResampler

TOLD_EVERY_US = 100_000
"""How often a voice that goes on is told of, µs of voice."""
MEDIA_SPAN_TICKS = 50


class VoiceActivity:
    """From frames to voice evidence, by a level gate until the voice activity model is there."""

    def __init__(self, rate_hz: int) -> None:
        self._gate = LevelGate(rate_hz)
        self._rate_hz = rate_hz
        self._onset_us = self._told_us = 0

    @property
    def level_dbov(self) -> float:
        """Level of the last frame."""
        return self._gate.level_dbov

    def step(self, t: int, frame: MediaFrame) -> Event | None:
        """The frame that was pulled at `t`; its first sample reached us `frame.delay_us` earlier."""
        change = self._gate.step(frame.pcm)
        end_us = min(t, t - frame.delay_us + TICK_US)
        if change is not None:
            at_us = max(0, end_us - self._us(change.samples_ago))
            if change.speaking:
                self._onset_us = self._told_us = at_us
                return VoiceStarted(Span(at_us, max(at_us, end_us)), round(change.level_dbov, 1))
            return VoiceStopped(Span(self._onset_us, max(self._onset_us, at_us)))
        if self._gate.speaking:
            until_us = end_us - self._us(self._gate.quiet_samples)
            if until_us - self._told_us >= TOLD_EVERY_US:
                self._told_us += TOLD_EVERY_US
                return VoiceContinued(Span(self._onset_us, until_us), round(self.level_dbov, 1))
        return None

    def _us(self, samples: int) -> int:
        return samples * 1_000_000 // self._rate_hz


class Intake:
    """One call's ears on the line, from the tick in which it was answered."""

    def __init__(self, rate_hz: int, unit_us: int, t: int) -> None:
        self._voice = VoiceActivity(rate_hz)
        self._resampler = FrameResampler(rate_hz, UNIT_RATE_HZ)
        self._cutter = UnitCutter(unit_us, t)
        self._from_us = t
        self._counts = dict.fromkeys(MediaState, 0)
        self._ticks = 0
        self._loudest = -127.0

    def frame(self, t: int, frame: MediaFrame) -> tuple[list[Event], list[Unit]]:
        """The frame of the tick that ends at `t`: what is learned from it, and the units it completes."""
        events: list[Event] = []
        voice = self._voice.step(t, frame)
        if isinstance(voice, VoiceStarted | VoiceStopped):
            self._cutter.learn(voice)
        if voice:
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
