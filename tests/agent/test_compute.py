"""Where models run: the most urgent first, nothing for nobody, and the same order on virtual time."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from agent.clock import LoopClock
from agent.compute import MOST_WAITING, Cancelled, InlineCompute, Kind, ThreadCompute, Urgency
from agent.errors import Capacity, Fault, Gone

pytestmark = pytest.mark.peer  # real threads


@pytest.fixture
def one() -> Iterator[ThreadCompute]:
    compute = ThreadCompute(1)
    yield compute
    compute.close()


class Gate:
    """Keeps the only thread busy until it is opened."""

    def __init__(self) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()

    def work(self, cancelled: Cancelled) -> str:
        self.entered.set()
        assert self.opened.wait(5)
        return "gate"


async def _busy(compute: ThreadCompute) -> tuple[Gate, "asyncio.Task[str]"]:
    gate = Gate()
    task = asyncio.create_task(compute.run(Kind.RENDER, gate.work, Urgency.ANSWER))
    assert await asyncio.to_thread(gate.entered.wait, 5)
    return gate, task


async def test_the_most_urgent_call_runs_first_and_the_older_one_of_two(one: ThreadCompute) -> None:
    gate, busy = await _busy(one)
    order: list[str] = []
    wanted = [("late", Urgency.PARTIAL), ("ahead", Urgency.AHEAD), ("now", Urgency.ANSWER), ("now too", Urgency.ANSWER)]
    tasks = []
    for name, urgency in wanted:
        tasks.append(asyncio.create_task(one.run(Kind.TURN, lambda _, name=name: order.append(name), urgency)))
        await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.gather(busy, *tasks)
    assert order == ["now", "now too", "ahead", "late"]


async def test_what_a_call_raises_is_raised_where_it_is_awaited(one: ThreadCompute) -> None:
    def broken(cancelled: Cancelled) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await one.run(Kind.TURN, broken, Urgency.ANSWER)
    assert await one.run(Kind.TURN, lambda _: 3, Urgency.ANSWER) == 3


async def test_a_call_that_nobody_waits_for_any_more_is_not_run(one: ThreadCompute) -> None:
    gate, busy = await _busy(one)
    ran: list[int] = []
    task = asyncio.create_task(one.run(Kind.TURN, lambda _: ran.append(1), Urgency.ANSWER))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    gate.opened.set()
    await busy
    await one.run(Kind.TURN, lambda _: None, Urgency.PARTIAL)
    assert ran == []


async def test_a_call_under_way_is_told_that_nobody_waits(one: ThreadCompute) -> None:
    entered, seen = threading.Event(), threading.Event()

    def work(cancelled: Cancelled) -> None:
        entered.set()
        while not cancelled():
            pass
        seen.set()

    task = asyncio.create_task(one.run(Kind.TURN, work, Urgency.ANSWER))
    assert await asyncio.to_thread(entered.wait, 5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert seen.wait(5)


async def test_too_many_calls_are_turned_away_at_once(one: ThreadCompute) -> None:
    gate, busy = await _busy(one)
    tasks = [asyncio.create_task(one.run(Kind.TURN, lambda _: None, Urgency.PARTIAL)) for _ in range(MOST_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(Capacity, match="too slow for this many calls"):
        await one.run(Kind.TURN, lambda _: None, Urgency.PARTIAL)
    gate.opened.set()
    await asyncio.gather(busy, *tasks)


async def test_closing_lets_what_runs_finish_and_leaves_no_thread() -> None:
    compute = ThreadCompute(3)
    assert await compute.run(Kind.TURN, lambda _: threading.current_thread().name, Urgency.ANSWER) in {
        f"compute-{number}" for number in range(3)
    }
    compute.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("compute-")]
    with pytest.raises(Capacity):
        await compute.run(Kind.TURN, lambda _: None, Urgency.ANSWER)


async def test_in_place_results_come_after_what_a_call_costs_one_after_the_other_per_lane() -> None:
    clock = LoopClock()
    compute = InlineCompute(clock, dict.fromkeys(Kind, 20_000), lanes=2)
    began = clock.now_us()

    async def one_call() -> int:
        await compute.run(Kind.TURN, lambda _: None, Urgency.ANSWER)
        return clock.now_us() - began

    took = sorted(await asyncio.gather(*(one_call() for _ in range(4))))
    assert [round(us / 20_000) for us in took] == [1, 1, 2, 2]


@pytest.mark.parametrize("raised", [StopIteration, SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit])
async def test_whatever_a_model_raises_is_told_and_the_thread_goes_on(one: ThreadCompute, raised: type[BaseException]) -> None:
    def broken(cancelled: Cancelled) -> None:
        raise raised

    async with asyncio.timeout(5):
        with pytest.raises(Fault, match=raised.__name__):
            await one.run(Kind.SEARCH, broken, Urgency.ANSWER)
        assert await one.run(Kind.SEARCH, lambda _: "still there", Urgency.ANSWER) == "still there"


async def test_calls_that_nobody_waits_for_take_no_room(one: ThreadCompute) -> None:
    gate, busy = await _busy(one)
    dropped = [asyncio.create_task(one.run(Kind.TURN, lambda _: None, Urgency.PARTIAL)) for _ in range(MOST_WAITING)]
    await asyncio.sleep(0)
    for task in dropped:
        task.cancel()
    await asyncio.gather(*dropped, return_exceptions=True)
    wanted = asyncio.create_task(one.run(Kind.TURN, lambda _: "wanted", Urgency.ANSWER))
    await asyncio.sleep(0)
    gate.opened.set()
    assert await wanted == "wanted"
    await busy


async def test_who_waits_when_it_is_closed_is_told(one: ThreadCompute) -> None:
    gate, busy = await _busy(one)
    waiting = asyncio.create_task(one.run(Kind.TURN, lambda _: None, Urgency.ANSWER))
    await asyncio.sleep(0)
    closing = asyncio.create_task(asyncio.to_thread(one.close))
    async with asyncio.timeout(5):
        with pytest.raises(Gone):
            await waiting
        gate.opened.set()
        await asyncio.gather(closing, busy)
