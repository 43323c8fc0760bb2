"""The longest silence of a call: neither the caller's voice nor ours, between answer and end, hold excluded.

What sounded is learned late and not in order (a voice when it is over, our sending a tick after): stretches of sound wait until
nothing earlier can come any more, then they are joined in order of their beginning.
"""

from typing import Any, NamedTuple

SETTLED_US = 2_000_000
"""A stretch that began so long ago has none before it that is not known yet, unless the caller's voice is on."""

_MOST_WAITING = 256


class _Sound(NamedTuple):
    from_us: int
    to_us: int
    who: str
    works: int


class LongestSilence:
    """Tell it what sounds; it keeps the longest stretch without. Times are µs of the call."""

    def __init__(self) -> None:
        self.works_pending = 0
        """Works without an outcome at this moment: noted with a silence, for it tells waiting from being lost for words."""
        self._waiting: list[_Sound] = []
        self._voice_since: int | None = None
        self._voice_works = 0
        self._quiet_since: int | None = None
        self._after = "answer"
        self._longest: dict[str, Any] | None = None
        self._longest_us = -1
        self._over = False

    def answered(self, t: int) -> None:
        """Silence counts from now on."""
        if self._quiet_since is None and not self._over:
            self._quiet_since = t

    def agent(self, from_us: int, to_us: int, t: int) -> None:
        """Something of ours went out."""
        last = self._waiting[-1] if self._waiting else None
        if last is not None and last.who == "agent" and last.to_us == from_us:
            self._waiting[-1] = last._replace(to_us=to_us)
        else:
            self._waiting.append(_Sound(from_us, to_us, "agent", self.works_pending))
        self._settle(t)

    def voice_started(self, onset_us: int) -> None:
        """The caller speaks since `onset_us`; until the voice stops nothing after its onset is settled."""
        self._voice_since = onset_us
        self._voice_works = self.works_pending

    def voice_stopped(self, from_us: int, to_us: int, t: int) -> None:
        """The caller spoke over this stretch."""
        self._voice_since = None
        self._waiting.append(_Sound(from_us, to_us, "caller", self._voice_works))
        self._settle(t)

    def hold(self, t: int) -> None:
        """Nobody is to be heard on hold: what was quiet until now counts, what follows does not."""
        self._settle_all(t)
        self._quiet_until(t, "hold", self.works_pending)
        self._quiet_since = None

    def resume(self, t: int) -> None:
        """The hold is over."""
        if not self._over:
            self._settle_all(t)
            self._quiet_since, self._after = t, "hold"

    def ended(self, t: int) -> None:
        """Nothing counts any more."""
        if self._over:
            return
        self._settle_all(t)
        self._quiet_until(t, "end", self.works_pending)
        self._quiet_since, self._over = None, True

    def figures(self, end_us: int) -> dict[str, Any] | None:
        """The keys of `longest_silence`, None when nothing counted. A call without an end ends at `end_us`."""
        self.ended(end_us)
        return self._longest

    def _settle(self, t: int) -> None:
        if len(self._waiting) < 2 and self._voice_since is None:
            return
        settled = t - SETTLED_US
        if self._voice_since is not None:
            settled = min(settled, self._voice_since)
        if len(self._waiting) > _MOST_WAITING:
            settled = t
        self._waiting.sort()
        while self._waiting and self._waiting[0].from_us < settled:
            self._take(self._waiting.pop(0))

    def _settle_all(self, t: int) -> None:
        if self._voice_since is not None:
            self._waiting.append(_Sound(self._voice_since, t, "caller", self._voice_works))
            self._voice_since = None
        for sound in sorted(self._waiting):
            self._take(sound)
        self._waiting.clear()

    def _take(self, sound: _Sound) -> None:
        if self._quiet_since is None:
            return
        self._quiet_until(sound.from_us, sound.who, sound.works)
        if sound.to_us > self._quiet_since:
            self._quiet_since, self._after = sound.to_us, sound.who

    def _quiet_until(self, to_us: int, before: str, works: int) -> None:
        if self._quiet_since is None or to_us < self._quiet_since:
            return
        length_us = to_us - self._quiet_since
        if length_us > self._longest_us:
            self._longest_us = length_us
            self._longest = {
                "ms": round(length_us / 1000),
                "at_s": round(self._quiet_since / 1e6, 3),
                "after": self._after,
                "before": before,
                "works_pending": works,
            }
