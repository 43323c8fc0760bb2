"""Which call a task belongs to.

    install_task_factory(loop)
    with tagged(call_id):
        ...                 # every task made here, and every task that those make, carries the tag
    assert not tasks_of(call_id)

The tag travels in a context variable, so it needs no cooperation from the code that makes the task. What is left of a call
after its end is then a list, not a guess.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

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


async def run_until_one_ends(*works: Coroutine[Any, Any, None]) -> None:
    """Run them side by side until the first one returns or raises, which this does too; the others are cancelled and gone."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
