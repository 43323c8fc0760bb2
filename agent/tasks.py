"""Which call a task belongs to.

    install_task_factory(loop)
    with tagged(call_id):
        ...                 # every task made here, and every task that those make, carries the tag
    assert not tasks_of(call_id)

The tag travels in a context variable, so it needs no cooperation from the code that makes the task. What is left of a call
after its end is then a list, not a guess.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from agent.errors import Gone

T = TypeVar("T")

call_tag: ContextVar[str | None] = ContextVar("call_tag", default=None)
"""The id of the call on whose behalf the running code works; None outside any call."""

# Python 3.11 cannot ask a task for its context, so the tag is noted when the task is made.
_tags: WeakKeyDictionary[asyncio.Task[Any], str] = WeakKeyDictionary()


@contextmanager
def tagged(call_id: str) -> Iterator[None]:
    """Tasks made inside belong to `call_id`; the tag before is restored at the end."""
    token = call_tag.set(call_id)
    try:
        yield
    finally:
        call_tag.reset(token)


def install_task_factory(loop: asyncio.AbstractEventLoop) -> None:
    """Make every later task of `loop` carry the tag current at its creation, or that of the context it is given."""
    loop.set_task_factory(_make_task)


def _make_task(loop: asyncio.AbstractEventLoop, coro: Any, **kwargs: Any) -> asyncio.Task[Any]:
    task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, **kwargs)
    context = kwargs.get("context")
    tag = call_tag.get() if context is None else context.get(call_tag)
    if tag is not None:
        _tags[task] = tag
    return task


def tag_of(task: asyncio.Task[Any]) -> str | None:
    """The call that `task` belongs to, or None."""
    return _tags.get(task)


def tasks_of(call_id: str) -> list[asyncio.Task[Any]]:
    """The tasks of the call that are not done yet, on any loop of this process."""
    return [task for task, tag in list(_tags.items()) if tag == call_id and not task.done()]


LEAVE_WITHIN_S = 0.2
"""How long a task that was cancelled is waited for. One that goes on is left behind: nobody waits for it any longer."""


def is_cancelled() -> bool:
    """Whether somebody cancels the running task. A `CancelledError` without that was let through by what it called."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


async def run_until_one_ends(*works: Coroutine[Any, Any, None]) -> None:
    """Run them side by side until the first one returns or raises, which this does too; the others are cancelled.

    Raises `Gone` when one was cancelled by somebody else than this call.
    """
    await _first_of(works, None)


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns or raises, within the bound whatever it does; `TimeoutError` beyond it, `Gone` if it was cancelled."""
    task: asyncio.Task[T] = await _first_of((work,), seconds)
    return task.result()


async def _first_of(works: Iterable[Coroutine[Any, Any, T]], within_s: float | None) -> asyncio.Task[T]:
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise TimeoutError
        for task in done:
            if task.cancelled():  # not by us, and no reason to end who waits for it
                raise Gone("it was cancelled")
            task.result()
        return done.pop()
    finally:
        left = {task for task in tasks if task.cancel()}
        for task in left:
            task.add_done_callback(_forget)
        if left:
            await asyncio.wait(left, timeout=LEAVE_WITHIN_S)


def _forget(task: asyncio.Task[Any]) -> None:
    """What a task that nobody waits for still raises is of no interest."""
    if not task.cancelled():
        task.exception()
