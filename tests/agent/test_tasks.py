import asyncio
import contextvars
import gc
import weakref

import pytest

from agent.tasks import call_tag, install_task_factory, tag_of, tagged, tasks_of

pytestmark = pytest.mark.unit


@pytest.fixture
def bounded() -> asyncio.Event:
    return asyncio.Event()


async def wait(done: asyncio.Event) -> None:
    await done.wait()


async def finish(done: asyncio.Event, *tasks: "asyncio.Task[None]") -> None:
    done.set()
    await asyncio.gather(*tasks)


async def test_a_task_carries_the_tag_current_at_its_creation(bounded: asyncio.Event) -> None:
    outside = asyncio.create_task(wait(bounded))
    with tagged("a"):
        first = asyncio.create_task(wait(bounded))
        with tagged("b"):
            second = asyncio.create_task(wait(bounded))
        third = asyncio.create_task(wait(bounded))
    assert [tag_of(task) for task in (outside, first, second, third)] == [None, "a", "b", "a"]
    assert set(tasks_of("a")) == {first, third}
    assert tasks_of("b") == [second]
    assert tasks_of("nobody") == []
    await finish(bounded, outside, first, second, third)


async def test_tasks_made_by_tagged_tasks_carry_the_tag(bounded: asyncio.Event) -> None:
    async def parent() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(wait(bounded), name="child")

    with tagged("a"):
        task = asyncio.create_task(parent(), name="parent")
    await asyncio.sleep(1)
    assert {each.get_name() for each in tasks_of("a")} == {"parent", "child"}
    await finish(bounded, task)


async def test_done_and_cancelled_tasks_are_not_listed(bounded: asyncio.Event) -> None:
    with tagged("a"):
        done = asyncio.create_task(asyncio.sleep(0))
        cancelled = asyncio.create_task(wait(bounded))
    await done
    assert tasks_of("a") == [cancelled]
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    assert tasks_of("a") == []
    assert tag_of(cancelled) == "a"


async def test_a_context_that_is_given_decides(bounded: asyncio.Event) -> None:
    context = contextvars.copy_context()
    context.run(call_tag.set, "given")
    with tagged("current"):
        task = asyncio.create_task(wait(bounded), context=context, name="named")
    assert (tag_of(task), task.get_name()) == ("given", "named")
    await finish(bounded, task)


def test_the_tag_is_restored_after_an_error() -> None:
    def fail() -> None:
        with tagged("a"):
            assert call_tag.get() == "a"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert call_tag.get() is None


def test_without_the_factory_there_is_no_tag() -> None:
    async def main() -> str | None:
        with tagged("a"):
            task = asyncio.create_task(asyncio.sleep(0))
        await task
        return tag_of(task)

    assert asyncio.run(main()) is None


def test_a_finished_task_is_not_kept_alive_by_its_tag() -> None:
    async def main() -> weakref.ref[asyncio.Task[None]]:
        install_task_factory(asyncio.get_running_loop())
        with tagged("a"):
            task = asyncio.create_task(asyncio.sleep(0))
        await task
        return weakref.ref(task)

    reference = asyncio.run(main())
    gc.collect()
    assert reference() is None
