"""An event loop whose clock jumps to the next deadline instead of waiting for it: an hour of calls in seconds.

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())

Virtual time never crosses a process or a thread: what runs outside the loop would take no virtual time or an unknown one, so
sockets, threads, pipes and subprocesses are refused with `VirtualTimeError`. When every task waits and no timer is set, the
loop raises `Stalled` instead of hanging.
"""

import asyncio
import heapq
import selectors
from collections.abc import Callable
from contextvars import Context
from typing import Any, NoReturn, TypeVarTuple

from agent.errors import Fault, Refused

_Ts = TypeVarTuple("_Ts")
_DIGITS = 9
"""The clock counts whole nanoseconds: sums of floats would otherwise make one deadline into several."""


class VirtualTimeError(Refused):
    """Something outside the loop was asked for on virtual time."""


class Stalled(Fault):
    """Every task waits for something that nobody is going to do."""


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits: an idle wait of `timeout` seconds moves the loop's clock by as much."""

    loop: "VirtualLoop"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if events or timeout == 0:
            return events
        if timeout is None:
            raise Stalled(f"virtual time stands still at {self.loop.time():.3f} s: every task waits and no timer is set")
        self.loop.advance(timeout)
        return []


def _refuse(what: str) -> Callable[..., NoReturn]:
    def refused(self: object, *args: object, **kwargs: object) -> NoReturn:
        raise VirtualTimeError(
            f"{what} cannot be used on virtual time: it runs outside the loop, whose clock jumps. "
            "Use an in-process stand-in, or run this on asyncio's own loop."
        )

    return refused


class _Timer(asyncio.TimerHandle):
    """asyncio leaves timers of one deadline to the heap; these keep the order in which they were set."""

    __slots__ = ("order",)
    order: int

    def __lt__(self, other: Any) -> bool:
        return (self.when(), self.order) < (other.when(), other.order)


class VirtualLoop(asyncio.SelectorEventLoop):
    """asyncio on virtual seconds, starting at 0. Timers of one deadline fire in the order in which they were set."""

    is_virtual = True

    def __init__(self) -> None:
        self._now = 0.0
        self._timers = 0
        selector = _JumpingSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock on; timers that are due then fire on the next pass."""
        self._now = round(self._now + seconds, _DIGITS)

    def call_at(
        self, when: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As asyncio's, but equal deadlines fire in order; deadlines are whole nanoseconds, so that equal ones are equal."""
        self._check_closed()  # type: ignore[attr-defined]
        timer = _Timer(round(when, _DIGITS), callback, args, self, context)
        self._timers += 1
        timer.order = self._timers
        timer._scheduled = True  # type: ignore[attr-defined]
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        return timer


_REFUSED: dict[str, str] = {
    **dict.fromkeys(("run_in_executor",), "a thread"),
    **dict.fromkeys(("subprocess_exec", "subprocess_shell"), "a subprocess"),
    **dict.fromkeys(("connect_read_pipe", "connect_write_pipe"), "a pipe"),
    **dict.fromkeys(
        (
            "create_connection",
            "create_server",
            "create_unix_connection",
            "create_unix_server",
            "create_datagram_endpoint",
            "connect_accepted_socket",
            "add_reader",
            "add_writer",
            "sock_recv",
            "sock_recv_into",
            "sock_recvfrom",
            "sock_recvfrom_into",
            "sock_sendall",
            "sock_sendto",
            "sock_connect",
            "sock_accept",
            "getaddrinfo",
        ),
        "a socket",
    ),
}
for _name, _what in _REFUSED.items():
    setattr(VirtualLoop, _name, _refuse(_what))


def run_virtual(main: Any) -> Any:
    """Run a coroutine to its end on a fresh virtual loop and return what it returns."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
