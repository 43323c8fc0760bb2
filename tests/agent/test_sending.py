import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.playout import Ended, Pulled
from agent.sending import LONGEST_US, SentSpans
from agent.settings import TICK_US
from agent.timeline.events import Event, Sent, Underrun
from agent.timeline.kinds import Outcome, Span

pytestmark = pytest.mark.unit

FRAME = 160


def frame(utterance_id: str, start: int, count: int = FRAME, gain_db: float = 0.0) -> Pulled:
    return Pulled(np.zeros(FRAME, np.int16), utterance_id, 0, start, count, gain_db)


def test_frames_that_follow_each_other_are_one_span() -> None:
    spans = SentSpans()
    for tick in range(3):
        assert spans.add((tick + 1) * TICK_US, frame("a", tick * FRAME)) == []
    assert spans.close() == [Sent(Span(0, 60_000), "a", 0, 0, 3 * FRAME, 0.0)]
    assert spans.close() == []


@pytest.mark.parametrize(
    ("t", "following"),
    [
        (60_000, frame("a", FRAME)),
        (40_000, frame("a", FRAME, gain_db=-12.0)),
        (40_000, frame("b", 0)),
        (40_000, frame("a", 2 * FRAME)),
        (40_000, Pulled(utterance_id="a", underrun=True)),
    ],
    ids=["pause", "gain", "utterance", "jump", "underrun"],
)
def test_anything_else_begins_a_new_span(t: int, following: Pulled) -> None:
    spans = SentSpans()
    spans.add(TICK_US, frame("a", 0))
    assert spans.add(t, following) == [Sent(Span(0, TICK_US), "a", 0, 0, FRAME, 0.0)]
    assert len(spans.close()) == 1


def test_a_long_stretch_is_told_every_second() -> None:
    spans, told = SentSpans(), list[Event]()
    for tick in range(120):
        told += spans.add((tick + 1) * TICK_US, frame("a", tick * FRAME))
    told += spans.close()
    assert [event.covers for event in told if isinstance(event, Sent)] == [
        Span(0, LONGEST_US),
        Span(LONGEST_US, 2 * LONGEST_US),
        Span(2 * LONGEST_US, 2_400_000),
    ]


def test_underruns_are_spans_too() -> None:
    spans = SentSpans()
    spans.add(TICK_US, Pulled(utterance_id="a", underrun=True))
    spans.add(2 * TICK_US, Pulled(utterance_id="a", underrun=True))
    assert spans.close() == [Underrun(Span(0, 2 * TICK_US), "a")]


def test_an_end_without_samples_lengthens_no_span() -> None:
    spans = SentSpans()
    spans.add(TICK_US, frame("a", 0))
    empty = Pulled(np.zeros(FRAME, np.int16), "a", 0, FRAME, 0, ended=Ended("a", Outcome.FINISHED, FRAME))
    assert spans.add(2 * TICK_US, empty) == [Sent(Span(0, TICK_US), "a", 0, 0, FRAME, 0.0)]
    assert spans.close() == []


@given(st.lists(st.tuples(st.sampled_from("ab-u"), st.sampled_from([0.0, -12.0]), st.integers(1, FRAME)), max_size=150))
def test_the_spans_are_the_frames(ticks: list[tuple[str, float, int]]) -> None:
    """Every tick lies in the one span that says what was sent in it; samples of an utterance add up without a hole."""
    spans, told, sent = SentSpans(), list[Event](), {"a": 0, "b": 0}
    for tick, (what, gain_db, count) in enumerate(ticks):
        t = (tick + 1) * TICK_US
        if what == "-":
            told += spans.close()
        elif what == "u":
            told += spans.add(t, Pulled(utterance_id="a", underrun=True))
        else:
            told += spans.add(t, frame(what, sent[what], count, gain_db))
            sent[what] += count
    told += spans.close()
    covered: dict[int, tuple[str, float]] = {}
    following = {"a": 0, "b": 0}
    for event in told:
        assert isinstance(event, Sent | Underrun)
        what = "u"
        gain_db = 0.0
        if isinstance(event, Sent):
            assert event.start == following[event.utterance_id]
            following[event.utterance_id] += event.samples
            what, gain_db = event.utterance_id, event.gain_db
        assert event.covers.to_us - event.covers.from_us <= LONGEST_US
        for from_us in range(event.covers.from_us, event.covers.to_us, TICK_US):
            assert from_us not in covered
            covered[from_us] = (what, gain_db)
    assert following == sent
    expected = {i * TICK_US: (w, g if w != "u" else 0.0) for i, (w, g, _) in enumerate(ticks) if w != "-"}
    assert covered == expected
