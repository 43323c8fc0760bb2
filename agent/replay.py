"""Replay: feed a stored call's inputs to the core again.

*Strict*: same settings, and every derived event must come out byte for byte. *What-if*: other settings; everything is
recomputed from the first difference on, with the inputs as they were recorded (what the frontend would have said instead is
not known, and the result says so).
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from agent.core import CallCore
from agent.errors import Fault, Refused
from agent.line import Pcm
from agent.settings import TICK_US, CallSettings
from agent.timeline.codec import encode
from agent.timeline.events import CallEnded, CallStarted, Event, Gap, SayRequested, SpeechArrived
from agent.timeline.log import Entry, Timeline

Progress = Callable[[int], None]

LONGEST_CALL_US = 7 * 24 * 3600 * 1_000_000
"""A time or a setting beyond it is a slip or a corrupt timeline: nothing is computed up to there."""
LOWEST_DB = -120.0
"""The lowest gain that can be set; the highest is 0."""
LONGEST_PIECE_S = 3600
"""No piece of speech is longer; a timeline that says so is corrupt."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first entry that came out differently; `recorded` or `replayed` is None where there is none at that place."""

    seq: int
    t: int
    recorded: str | None
    replayed: str | None


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay found. `complete`: the stored timeline runs to the call's end."""

    entries: int
    derived: int
    lasted_us: int
    complete: bool
    difference: Difference | None
    recorded_kinds: Counter[str] = field(default_factory=Counter)
    replayed_kinds: Counter[str] = field(default_factory=Counter)


def replay(entries: Iterable[Entry], settings: CallSettings | None = None, progress: Progress | None = None) -> Replayed:
    """Run the core over the inputs of `entries`; `settings` None is a strict replay.

    `progress` is told the call's time (µs) every simulated minute. Raises `Refused` when the timeline does not begin with
    `call.started`.
    """
    return _Replay(list(entries), settings).run(progress)


class _Replay:
    def __init__(self, recorded: list[Entry], settings: CallSettings | None) -> None:
        if not recorded or not isinstance(recorded[0].event, CallStarted):
            raise Refused("this timeline does not begin with call.started: there is nothing to replay")
        started = recorded[0].event
        self._lines = [encode(entry) for entry in recorded]
        self._recorded = recorded
        self._complete = any(isinstance(entry.event, CallEnded) for entry in reversed(recorded))
        self._difference: Difference | None = None
        self._kinds: Counter[str] = Counter()
        self._t = 0
        self._timeline = Timeline()
        self._timeline.subscribe(self._compare)
        if recorded[-1].t > LONGEST_CALL_US:
            raise Refused(f"an event at t = {recorded[-1].t / 1e6:.0f} s: no call lasts so long, this timeline is corrupt")
        _check_settings(started.settings if settings is None else settings)
        if settings is not None:
            started = replace(started, settings=settings)
        self._what_if = settings is not None
        self._rate = started.sample_rate_hz
        self._core = CallCore(started, self._timeline)
        self._timeline.append(0, started)

    def run(self, progress: Progress | None) -> Replayed:
        inputs = [entry for entry in self._recorded[1:] if entry.event.origin == "input"]
        still = _standstills(inputs)
        position, last = 0, self._recorded[-1].t
        while self._t < last:
            self._t += TICK_US
            while position < len(inputs) and inputs[position].t == self._t:
                self._apply(inputs[position].event)
                position += 1
            if not any(from_us < self._t <= to_us for from_us, to_us in still):
                self._core.tick(self._t)
            if progress and self._t % 60_000_000 == 0:
                progress(self._t)
        return self._result()

    def _apply(self, event: Event) -> None:
        pcm = self._silence(event.samples) if isinstance(event, SpeechArrived | SayRequested) else None
        self._core.apply(self._timeline.append(self._t, event), pcm)

    def _silence(self, samples: int) -> Pcm:
        if not 0 <= samples <= LONGEST_PIECE_S * self._rate:
            raise Refused(f"speech of {samples} samples at t = {self._t / 1e6:.2f} s: this timeline is corrupt")
        return np.zeros(samples, np.int16)

    def _compare(self, entry: Entry) -> None:
        if entry.event.origin == "derived":
            self._kinds[entry.event.kind] += 1
        if self._difference or (self._what_if and entry.seq == 0):
            return
        replayed = encode(entry)
        recorded = self._lines[entry.seq] if entry.seq < len(self._lines) else None
        if recorded is None and not self._complete:
            return
        if replayed != recorded:
            self._difference = Difference(entry.seq, entry.t, _text(recorded), _text(replayed))

    def _result(self) -> Replayed:
        made = self._timeline.next_seq
        if self._difference is None and made < len(self._lines):
            missing = self._recorded[made]
            self._difference = Difference(made, missing.t, _text(self._lines[made]), None)
        derived = Counter(entry.event.kind for entry in self._recorded if entry.event.origin == "derived")
        return Replayed(
            entries=len(self._recorded),
            derived=sum(derived.values()),
            lasted_us=self._recorded[-1].t,
            complete=self._complete,
            difference=self._difference,
            recorded_kinds=derived,
            replayed_kinds=self._kinds,
        )


def _standstills(inputs: list[Entry]) -> list[tuple[int, int]]:
    """The stretches in which no tick ran."""
    return [(entry.event.covers.from_us, entry.event.covers.to_us) for entry in inputs if isinstance(entry.event, Gap)]


def _text(line: bytes | None) -> str | None:
    return line.decode().rstrip("\n") if line is not None else None


def with_changes(settings: CallSettings, changes: dict[str, str]) -> CallSettings:
    """Settings with dotted names changed, e.g. `{"floor.yield_after_us": "400000"}`.

    Raises `Refused` for an unknown name (listing the known ones), a value that is no number, or one out of all bounds.
    """
    for name, value in changes.items():
        settings = _changed(settings, name, name.split("."), value)
    _check_settings(settings)
    return settings


def _check_settings(node: Any, group: str = "") -> None:
    """Whole numbers are times and counts, the others gains in dB."""
    for one in fields(node):
        name, value = group + one.name, getattr(node, one.name)
        if is_dataclass(value):
            _check_settings(value, f"{name}.")
            continue
        low, high = (0, LONGEST_CALL_US) if isinstance(value, int) else (LOWEST_DB, 0)
        if not low <= value <= high:
            raise Refused(f"the setting {name} is out of bounds: it lies between {low} and {high}")


def _changed(node: Any, name: str, path: list[str], value: str) -> Any:
    known = {one.name for one in fields(node)}
    if path[0] not in known:
        raise Refused(f"no setting {name!r}: at {path[0]!r} there are {', '.join(sorted(known))}")
    current = getattr(node, path[0])
    if is_dataclass(current) != (len(path) > 1):
        raise Refused(f"{name!r} names {'a group of settings' if is_dataclass(current) else 'no group'}; give one whole name")
    if len(path) > 1:
        return replace(node, **{path[0]: _changed(current, name, path[1:], value)})
    try:
        number = type(current)(value)
        if isinstance(number, float) and not isfinite(number):
            raise ValueError
        return replace(node, **{path[0]: number})
    except ValueError:
        raise Refused(f"{name} takes {'a whole number' if isinstance(current, int) else 'a number'}, not {value!r}") from None


def check(result: Replayed) -> None:
    """Raises `Fault` when a strict replay found a difference."""
    if result.difference:
        difference = result.difference
        raise Fault(
            f"strict replay differs at seq {difference.seq}, t = {difference.t / 1e6:.2f} s\n"
            f"  recorded: {difference.recorded}\n  replayed: {difference.replayed}"
        )
