"""What one call is run with. Stored in the first event of its timeline, so that a replay runs with the same numbers."""

from dataclasses import dataclass, field

TICK_US = 20_000
"""Length of one tick, µs. Every `t` of a call is a multiple of it."""


@dataclass(frozen=True, slots=True)
class FloorSettings:
    """When the caller's voice takes the floor from the agent."""

    duck_db: float = -12.0
    """Gain while it is undecided who has the floor, dB."""
    yield_after_us: int = 600_000
    """Speech of the caller over the agent for this long, counted from its onset, takes the floor."""
    guard_yield_after_us: int = 2_500_000
    """The same when the frontend owns the floor and the arbiter is only a guard."""


@dataclass(frozen=True, slots=True)
class WatchdogSettings:
    """Bounds on "should be speaking, nothing sent"."""

    answer_us: int = 5_000_000
    """From the end of a caller's turn to the first sample of anything: then the recovery line is spoken."""
    starved_us: int = 1_000_000
    """An utterance that was begun and gets no more audio for this long is ended."""
    held_us: int = 3_000_000
    """Speech held by the floor (not by the line) goes on after this."""
    turn_min_us: int = 300_000
    """Shorter bursts of voice are no turn and oblige nobody to answer."""
    turn_gap_us: int = 700_000
    """Silence of the caller after which the turn counts as ended for the watchdog."""


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Everything about a call that a business or an operator may set."""

    floor: FloorSettings = field(default_factory=FloorSettings)
    watchdog: WatchdogSettings = field(default_factory=WatchdogSettings)
    answer_within_us: int = 10_000_000
    """Ringing lasts at most this long before the call is refused, µs."""
    media_lost_us: int = 10_000_000
    """No media from the far end for this long (not on hold) ends the call, µs."""
    ending_us: int = 10_000_000
    """A farewell that is not through by then is cut, µs."""
    longest_us: int = 4 * 3600 * 1_000_000
    """No call lasts longer, µs."""
    reopen_within_us: int = 6_000_000
    """A lost frontend session is rebuilt within this bound or the call ends politely, µs. A killed worker is back in 1 to 4 s."""
    reopen_tries: int = 2
    """How often in a row a lost session is rebuilt before the call ends politely; one that lasts a minute ends the row."""
    telling_after_us: int = 600_000
    """Neither side has spoken for this long before a result is told, µs."""
    pending_us: int = 120_000_000
    """Speech kept ready to be sent, at most, µs. Beyond it the frontend is made to wait."""
