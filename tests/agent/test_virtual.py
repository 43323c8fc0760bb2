import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.clock import LoopClock
from agent.errors import Fault, Refused
from agent.virtual import Stalled, VirtualLoop, VirtualTimeError, run_virtual

pytestmark = pytest.mark.unit


async def test_the_clock_jumps_to_each_deadline_in_turn() -> None:
    loop = asyncio.get_running_loop()
    seen: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        seen.append((name, loop.time()))

    async with asyncio.TaskGroup() as group:
        for name, seconds in (("late", 7200.0), ("early", 0.5), ("middle", 60.0)):
            group.create_task(sleeper(name, seconds))
    assert seen == [("early", 0.5), ("middle", 60.0), ("late", 7200.0)]


async def test_work_without_waiting_takes_no_time() -> None:
    for _ in range(100):
        await asyncio.sleep(0)
    assert asyncio.get_running_loop().time() == 0.0


@given(st.lists(st.sampled_from((20_000, 40_000, 60_000)), max_size=60))
async def test_timers_of_one_deadline_fire_in_the_order_in_which_they_were_set(deadlines: list[int]) -> None:
    clock, fired = LoopClock(), list[tuple[int, int]]()

    async def sleeper(order: int, at_us: int) -> None:
        await clock.sleep_until(at_us)
        fired.append((at_us, order))

    async with asyncio.TaskGroup() as group:
        for order, at_us in enumerate(deadlines):
            group.create_task(sleeper(order, at_us))
    assert fired == sorted((at_us, order) for order, at_us in enumerate(deadlines))


async def test_one_deadline_set_at_different_times_is_still_one_deadline() -> None:
    clock, fired = LoopClock(), list[int]()

    async def sleeper(order: int) -> None:
        await clock.sleep_until((order + 1) * 7)
        await clock.sleep_until(20_000)
        fired.append(order)

    async with asyncio.TaskGroup() as group:
        for order in range(200):
            group.create_task(sleeper(order))
    assert fired == list(range(200))


async def test_a_cancelled_timer_neither_fires_nor_holds_the_clock() -> None:
    loop = asyncio.get_running_loop()
    fired: list[str] = []
    loop.call_later(5, fired.append, "cancelled").cancel()
    loop.call_later(9, fired.append, "kept")
    await asyncio.sleep(10)
    assert fired == ["kept"]
    assert loop.time() == 10


async def test_a_timeout_is_virtual() -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), timeout=3600)
    assert asyncio.get_running_loop().time() == 3600


def test_an_hour_of_ticks_ends_at_the_hour() -> None:
    async def main() -> tuple[int, int]:
        clock, ticks = LoopClock(), 0
        while clock.now_us() < 3_600_000_000:
            ticks += 1
            await clock.sleep_until(ticks * 20_000)
        return ticks, clock.now_us()

    assert run_virtual(main()) == (180_000, 3_600_000_000)


def test_each_run_starts_afresh_and_gives_back_the_result() -> None:
    async def main() -> float:
        before = asyncio.get_running_loop().time()
        await asyncio.sleep(1)
        return before

    assert [run_virtual(main()), run_virtual(main())] == [0.0, 0.0]


def test_when_everybody_waits_it_says_so_instead_of_hanging() -> None:
    async def main() -> None:
        await asyncio.sleep(3)
        await asyncio.Event().wait()

    with pytest.raises(Stalled, match=r"stands still at 3\.000 s: every task waits and no timer is set") as caught:
        run_virtual(main())
    assert isinstance(caught.value, Fault)


class _Nothing(asyncio.Protocol):
    pass


def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def _add_reader() -> None:
    _loop().add_reader(0, print)


async def _executor() -> None:
    await _loop().run_in_executor(None, print)


REFUSED: dict[str, tuple[str, Callable[[], Awaitable[object]]]] = {
    "to_thread": ("a thread", lambda: asyncio.to_thread(print)),
    "executor": ("a thread", _executor),
    "subprocess": ("a subprocess", lambda: asyncio.create_subprocess_exec(sys.executable)),
    "shell": ("a subprocess", lambda: asyncio.create_subprocess_shell("true")),
    "connection": ("a socket", lambda: asyncio.open_connection("127.0.0.1", 9)),
    "server": ("a socket", lambda: asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)),
    "unix connection": ("a socket", lambda: asyncio.open_unix_connection("nowhere")),
    "unix server": ("a socket", lambda: asyncio.start_unix_server(lambda reader, writer: None, "nowhere")),
    "datagrams": ("a socket", lambda: _loop().create_datagram_endpoint(asyncio.DatagramProtocol, ("127.0.0.1", 0))),
    "names": ("a socket", lambda: _loop().getaddrinfo("localhost", 9)),
    "reader": ("a socket", _add_reader),
    "read pipe": ("a pipe", lambda: _loop().connect_read_pipe(_Nothing, sys.stdin)),
    "write pipe": ("a pipe", lambda: _loop().connect_write_pipe(asyncio.BaseProtocol, sys.stdout)),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_runs_outside_the_loop_is_refused_with_what_to_do(name: str) -> None:
    what, use = REFUSED[name]
    with pytest.raises(VirtualTimeError) as caught:
        await use()
    assert str(caught.value) == (
        f"{what} cannot be used on virtual time: it runs outside the loop, whose clock jumps. "
        "Use an in-process stand-in, or run this on asyncio's own loop."
    )
    assert isinstance(caught.value, Refused)


async def test_every_way_to_use_a_socket_is_refused() -> None:
    loop = asyncio.get_running_loop()
    left, right = socket.socketpair()
    with left, right:
        left.setblocking(False)
        for use in (
            lambda: loop.sock_recv(left, 1),
            lambda: loop.sock_recv_into(left, bytearray(1)),
            lambda: loop.sock_recvfrom(left, 1),
            lambda: loop.sock_recvfrom_into(left, bytearray(1)),
            lambda: loop.sock_sendall(left, b"x"),
            lambda: loop.sock_sendto(left, b"x", "nowhere"),
            lambda: loop.sock_accept(left),
        ):
            with pytest.raises(VirtualTimeError, match="a socket cannot be used on virtual time"):
                await use()


def test_a_loop_gives_back_what_it_holds() -> None:
    loop = VirtualLoop()
    assert loop.is_virtual
    loop.close()
    assert loop.is_closed()
