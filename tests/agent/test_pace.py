"""What is built at the start is not built while a call runs."""

import gc
from collections.abc import Iterator

import pytest

from agent.pace import ALLOCATIONS, MIDDLE_PER_OLD, YOUNG_PER_MIDDLE, keep_pace
from agent.timeline import codec
from agent.timeline.events import CATALOGUE, FrontendLag
from agent.timeline.log import Entry

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def test_no_encoder_is_built_during_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    codec._adapter.cache_clear()
    keep_pace()

    def built(kind: object) -> None:
        raise AssertionError(f"built while calls run: {kind}")

    monkeypatch.setattr(codec, "TypeAdapter", built)
    line = codec.encode(Entry(0, 20_000, None, FrontendLag(0)))
    assert codec.decode(line) == Entry(0, 20_000, None, FrontendLag(0))
    for kind in CATALOGUE:
        codec._adapter(kind)


def test_the_garbage_collector_looks_in_small_portions() -> None:
    keep_pace()
    assert gc.get_threshold() == (ALLOCATIONS, YOUNG_PER_MIDDLE, MIDDLE_PER_OLD)
    assert gc.get_freeze_count() > 10_000
