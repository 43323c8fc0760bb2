"""Rules of the suite: every module declares its kind, async tests run on the loop of that kind, nothing is left behind."""

import asyncio
import functools
import inspect
import os
from collections.abc import Callable, Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from agent.tasks import install_task_factory
from agent.virtual import VirtualLoop
from tests.leaks import left_behind, snapshot, tasks_left

KINDS = ("unit", "rehearsal", "peer", "model", "bench")
VIRTUAL_KINDS = ("unit", "rehearsal")


class KindModule(pytest.Module):
    """A test module that declares exactly one kind: `pytestmark = pytest.mark.unit`."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        marks = getattr(self.obj, "pytestmark", [])
        names = [mark.name for mark in (marks if isinstance(marks, list | tuple) else [marks])]
        kinds = [name for name in names if name in KINDS]
        if len(kinds) != 1:
            declared = " and ".join(kinds) or "none"
            raise self.CollectError(
                f"{self.path.name} declares {declared}: each test module declares exactly one kind at its top, "
                f"`pytestmark = pytest.mark.KIND`, with KIND one of {', '.join(KINDS)}."
            )
        yield from super().collect()


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    return KindModule.from_parent(parent, path=module_path)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="long loops in full instead of at one tenth (also: VENUS_SOAK=1)")


def _soaks(config: pytest.Config) -> bool:
    return bool(config.getoption("--soak")) or os.environ.get("VENUS_SOAK", "0") not in ("", "0")


def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis must not judge by real time: the machine is shared. A soak tries ten times as many examples."""
    examples = settings().max_examples * (10 if _soaks(config) else 1)
    slow = [HealthCheck.too_slow]
    settings.register_profile("venus", settings(), deadline=None, suppress_health_check=slow, max_examples=examples)
    settings.load_profile("venus")


@pytest.fixture(scope="session")
def loops(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """`loops(full)`: how often a long loop runs, all of it with --soak or VENUS_SOAK=1, one tenth (at least once) otherwise."""
    soak = _soaks(request.config)
    return lambda full: full if soak else max(1, full // 10)


# --- async tests ------------------------------------------------------------------------------------------------------------


def _loop_of(item: pytest.Item) -> Callable[[], asyncio.AbstractEventLoop]:
    virtual = any(item.get_closest_marker(kind) for kind in VIRTUAL_KINDS)
    return VirtualLoop if virtual else asyncio.SelectorEventLoop


def run_on(loop_factory: Callable[[], asyncio.AbstractEventLoop], test: Coroutine[Any, Any, Any]) -> None:
    """Run an async test to its end; what it leaves running fails it, by name."""

    async def main() -> None:
        install_task_factory(asyncio.get_running_loop())
        await asyncio.create_task(test, name="the test")
        if left := await tasks_left():
            pytest.fail("left behind: " + "; ".join(left), pytrace=False)

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main())


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    run_on(_loop_of(pyfuncitem), pyfuncitem.obj(**arguments))
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        _give_hypothesis_a_loop(item)


def _give_hypothesis_a_loop(item: pytest.Item) -> None:
    """Hypothesis calls the inner test once per example and cannot await it: each example gets a loop of its own."""
    handle = getattr(getattr(item, "obj", None), "hypothesis", None)
    inner = getattr(handle, "inner_test", None)
    if handle is None or inner is None or not inspect.iscoroutinefunction(inner):
        return
    loop_factory = _loop_of(item)

    @functools.wraps(inner)
    def in_a_loop(*args: Any, **kwargs: Any) -> None:
        run_on(loop_factory, inner(*args, **kwargs))

    handle.inner_test = in_a_loop


# --- leaks ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    before = snapshot()
    yield
    if left := left_behind(before):
        pytest.fail("left behind: " + "; ".join(left), pytrace=False)
