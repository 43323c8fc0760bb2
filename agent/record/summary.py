"""The figures of `summary.json`, gathered from a timeline as it streams, in constant memory and without personal text.

Each key is explained in docs/reference/record.md.
"""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from agent.record.silence import LongestSilence
from agent.settings import WatchdogSettings
from agent.timeline import events as ev
from agent.timeline import kinds
from agent.timeline.log import Entry

VERSION = 1
"""Of the form of `summary.json`."""

MOST_KEYS = 100
"""Distinct codes that are counted by name, and utterances remembered until they end; beyond it, memory would be the call's."""

LATENCY_STEP_MS = 10
_LONGEST_LATENCY_MS = 600_000


def encoded(summary: dict[str, Any]) -> bytes:
    """The content of `summary.json`."""
    return (json.dumps(summary, indent=1, ensure_ascii=False) + "\n").encode()


class CallSummary:
    """Feed it every entry in order, then read `figures`."""

    def __init__(self, call_id: str) -> None:
        self._call_id = call_id
        self._head: ev.CallStarted | None = None
        self._rate_hz = 8000
        self._t = 0
        self._phases: list[tuple[kinds.Phase, int]] = []
        self._ended: ev.CallEnded | None = None
        self._turns = 0
        self._speech = _Speech()
        self._latency = _AnswerLatency()
        self._silence = LongestSilence()
        self._works: Counter[str] = Counter()
        self._works_created = 0
        self._deliveries: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._underruns = _Stretches()
        self._gaps = _Stretches()
        self._media = [0, 0, 0]
        self._on: dict[type[ev.Event], Callable[[int, Any], None]] = {
            ev.CallStarted: self._on_started,
            ev.PhaseChanged: self._on_phase,
            ev.CallEnded: self._on_ended,
            ev.Gap: lambda t, e: self._gaps.add(e.covers.to_us - e.lost_us, e.covers.to_us),
            ev.MediaReceived: self._on_media,
            ev.Sent: lambda t, e: self._silence.agent(e.covers.from_us, e.covers.to_us, t),
            ev.Underrun: lambda t, e: self._underruns.add(e.covers.from_us, e.covers.to_us),
            ev.VoiceStarted: lambda t, e: self._silence.voice_started(e.covers.from_us),
            ev.VoiceStopped: self._on_voice_stopped,
            ev.SpeechArrived: lambda t, e: self._speech.announced(e.utterance_id, e.role),
            ev.SayRequested: lambda t, e: self._speech.announced(e.utterance_id, e.role),
            ev.UtteranceStarted: self._on_utterance,
            ev.UtteranceEnded: self._on_utterance_ended,
            ev.DelegationCreated: self._on_work,
            ev.WorkEnded: self._on_work_ended,
            ev.DeliveryChanged: self._on_delivery,
            ev.LineHeld: lambda t, e: self._silence.hold(t),
            ev.LineResumed: lambda t, e: self._silence.resume(t),
            ev.FaultReported: lambda t, e: self._count_fault(e.code),
            ev.FaultDetected: lambda t, e: self._count_fault(e.code),
        }

    def add(self, entry: Entry) -> None:
        """Account for one entry."""
        self._t = entry.t
        handler = self._on.get(type(entry.event))
        if handler is not None:
            handler(entry.t, entry.event)

    def figures(self, recorded_us: int) -> dict[str, Any]:
        """Every key of `summary.json` but `record`; ready for JSON. Call it once, after the last entry."""
        head = self._head
        return {
            "venus_summary": VERSION,
            "call_id": self._call_id,
            "line": head.line if head else None,
            "direction": head.direction if head else None,
            "started": head.wall_anchor if head else None,
            "lasted_s": round(self._lasted_us() / 1e6, 3),
            "recorded_s": round(max(recorded_us, self._t) / 1e6, 3),
            "end": self._ended.reason.value if self._ended else None,
            "phases": [{"phase": phase.value, "at_s": round(at / 1e6, 3)} for phase, at in self._phases],
            "turns": self._turns,
            "utterances": self._speech.by_role(),
            "words": self._speech.words(),
            "works": {"created": self._works_created, "outcomes": dict(sorted(self._works.items()))},
            "deliveries": dict(sorted(self._deliveries.items())),
            "faults": dict(sorted(self._faults.items())),
            "underruns": self._underruns.figures(),
            "gaps": self._gaps.figures(),
            "media": self._media_figures(),
            "answer_latency_ms": self._latency.figures(),
            "longest_silence": self._silence.figures(max(recorded_us, self._t)),
            "versions": dict(head.versions) if head else {},
        }

    # --- the call -------------------------------------------------------------------------------------------------------

    def _on_started(self, t: int, event: ev.CallStarted) -> None:
        self._head = event
        self._rate_hz = event.sample_rate_hz

    def _on_phase(self, t: int, event: ev.PhaseChanged) -> None:
        if len(self._phases) < len(kinds.Phase):
            self._phases.append((event.phase, t))
        if event.phase is kinds.Phase.ANSWERED:
            self._silence.answered(t)
        elif event.phase is kinds.Phase.ENDED:
            self._silence.ended(t)

    def _on_ended(self, t: int, event: ev.CallEnded) -> None:
        self._ended = event
        self._silence.ended(t)

    def _lasted_us(self) -> int:
        if self._ended is not None:
            return self._ended.lasted_us
        answered = next((at for phase, at in self._phases if phase is kinds.Phase.ANSWERED), None)
        return 0 if answered is None else self._t - answered

    # --- media, voice and speech ----------------------------------------------------------------------------------------

    def _on_media(self, t: int, event: ev.MediaReceived) -> None:
        for place, samples in enumerate((event.received, event.concealed, event.silent)):
            self._media[place] += samples

    def _media_figures(self) -> dict[str, int]:
        names = ("received_ms", "concealed_ms", "silent_ms")
        return {name: round(samples * 1000 / self._rate_hz) for name, samples in zip(names, self._media, strict=True)}

    def _on_voice_stopped(self, t: int, event: ev.VoiceStopped) -> None:
        covers = event.covers
        self._silence.voice_stopped(covers.from_us, covers.to_us, t)
        settings = self._head.settings.watchdog if self._head else WatchdogSettings()
        if covers.to_us - covers.from_us >= settings.turn_min_us:
            self._turns += 1
            self._latency.turn_ended(covers.to_us)

    def _on_utterance(self, t: int, event: ev.UtteranceStarted) -> None:
        self._speech.announced(event.utterance_id, event.role)
        self._latency.utterance_started(t, event)

    def _on_utterance_ended(self, t: int, event: ev.UtteranceEnded) -> None:
        self._speech.ended(event)
        self._latency.utterance_ended(event.utterance_id)

    # --- works and faults -----------------------------------------------------------------------------------------------

    def _on_work(self, t: int, event: ev.DelegationCreated) -> None:
        self._works_created += 1
        self._silence.works_pending += 1

    def _on_work_ended(self, t: int, event: ev.WorkEnded) -> None:
        self._works[event.status.value] += 1
        self._silence.works_pending = max(0, self._silence.works_pending - 1)

    def _on_delivery(self, t: int, event: ev.DeliveryChanged) -> None:
        if event.state in (kinds.DeliveryState.DELIVERED, kinds.DeliveryState.PARTIAL, kinds.DeliveryState.DROPPED):
            self._deliveries[event.state.value] += 1

    def _count_fault(self, code: str) -> None:
        self._faults[code if code in self._faults or len(self._faults) < MOST_KEYS else "other"] += 1


class _Stretches:
    """How many stretches and how long; one that continues the one before is the same."""

    def __init__(self) -> None:
        self._count = self._length_us = 0
        self._end_us = -1

    def add(self, from_us: int, to_us: int) -> None:
        self._count += from_us != self._end_us
        self._length_us += to_us - from_us
        self._end_us = to_us

    def figures(self) -> dict[str, int]:
        return {"count": self._count, "ms": round(self._length_us / 1000)}


class _Speech:
    """Utterances by role and outcome, and what became of their words."""

    def __init__(self) -> None:
        self._roles: dict[str, kinds.Role] = {}
        self._ends: Counter[tuple[str, str]] = Counter()
        self._sent = self._heard = self._unsent = 0

    def announced(self, utterance_id: str, role: kinds.Role) -> None:
        if len(self._roles) < MOST_KEYS:
            self._roles.setdefault(utterance_id, role)

    def ended(self, event: ev.UtteranceEnded) -> None:
        role = self._roles.pop(event.utterance_id, None)
        self._ends["unknown" if role is None else role.value, event.outcome.value] += 1
        self._sent += event.words_sent
        self._heard += event.words_heard_at_onset
        self._unsent += len(event.text_unsent.split())

    def by_role(self) -> dict[str, dict[str, int]]:
        roles: dict[str, dict[str, int]] = {}
        for (role, outcome), count in sorted(self._ends.items()):
            roles.setdefault(role, {})[outcome] = count
        return roles

    def words(self) -> dict[str, int]:
        return {"sent": self._sent, "heard_at_onset": self._heard, "unsent": self._unsent}


class _AnswerLatency:
    """From the end of the caller's turn to the first sample of the agent."""

    def __init__(self) -> None:
        self._turn_end_us: int | None = None
        self._speaking: tuple[str, int] | None = None  # the utterance, and its first sample as long as it answers nothing
        self._steps: Counter[int] = Counter()
        self._max_ms = 0

    def turn_ended(self, at_us: int) -> None:
        """Learned later than it happened: the agent may have begun meanwhile."""
        if self._speaking is None:
            self._turn_end_us = at_us
        elif self._speaking[1] >= at_us:
            self._count(self._speaking[1] - at_us)
            self._speaking = (self._speaking[0], -1)

    def utterance_started(self, t: int, event: ev.UtteranceStarted) -> None:
        if event.role is kinds.Role.BACKCHANNEL:
            return
        self._speaking = (event.utterance_id, t)
        if self._turn_end_us is not None:
            self._count(t - self._turn_end_us)
            self._turn_end_us = None
            self._speaking = (event.utterance_id, -1)

    def utterance_ended(self, utterance_id: str) -> None:
        if self._speaking is not None and self._speaking[0] == utterance_id:
            self._speaking = None

    def _count(self, latency_us: int) -> None:
        latency_ms = min(latency_us // 1000, _LONGEST_LATENCY_MS)
        self._steps[latency_ms // LATENCY_STEP_MS] += 1
        self._max_ms = max(self._max_ms, latency_ms)

    def figures(self) -> dict[str, int | None]:
        count = self._steps.total()
        if not count:
            return {"count": 0, "p50": None, "p90": None, "max": None}
        return {"count": count, "p50": self._percentile(50), "p90": self._percentile(90), "max": self._max_ms}

    def _percentile(self, percent: int) -> int:
        """The nearest rank: at least `percent` of all are not above it."""
        due = -(-self._steps.total() * percent // 100)
        for step in sorted(self._steps):
            due -= self._steps[step]
            if due <= 0:
                break
        return step * LATENCY_STEP_MS
