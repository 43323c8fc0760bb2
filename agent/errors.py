"""Every error this project raises on purpose, in one tree.

    VenusError
    ├── Capacity      no slot, no room: try again later        (caller: busy, with a time to retry)
    ├── Timeout       a bound was reached                      (caller: apology, then the next thing)
    ├── Gone          the peer, the worker or the file left    (caller: rebuild or a polite end)
    ├── Refused       policy, bad input, wrong version         (caller: the reason, and what to do)
    └── Fault         ours: a broken invariant                 (caller: apology; operator: a counted fault)

The split decides what the caller hears. Input from outside never raises through as anything else: whatever the bytes, the
parser raises `Refused` with a reason a person can act on.
"""


class VenusError(Exception):
    """Base of the tree; `str(error)` is one sentence for a person."""


class Capacity(VenusError):
    """Everything that could serve is taken. `retry_after_s`: when to try again, in seconds."""

    def __init__(self, message: str, retry_after_s: int = 5) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Timeout(VenusError):
    """A wait reached its bound."""


class Gone(VenusError):
    """The other side left: line, worker, process or file."""


class Refused(VenusError):
    """Input or policy says no; the sentence says what to change."""


class Fault(VenusError):
    """An invariant of ours does not hold."""
