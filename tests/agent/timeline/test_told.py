"""Sentences of others can be stored, whatever they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.timeline.events import FaultReported, LineClosed
from agent.timeline.kinds import EndReason
from agent.timeline.told import LONGEST_SENTENCE, sentence, with_sentences

pytestmark = pytest.mark.unit


@given(st.text(st.characters(exclude_categories=()), max_size=1_000))
def test_any_text_becomes_one_line_that_can_be_stored(text: str) -> None:
    told = sentence(text)
    told.encode()
    assert len(told) <= LONGEST_SENTENCE
    assert told.splitlines() in ([told], [])


def test_a_plain_sentence_stays_as_it_is() -> None:
    assert sentence("the worker is gone") == "the worker is gone"
    assert sentence("", otherwise="Gone") == "Gone"
    event = LineClosed(EndReason.CALLER_HUNG_UP, "hung up")
    assert with_sentences(event) is event


def test_only_the_texts_of_an_event_are_mended() -> None:
    assert with_sentences(FaultReported("line\n", "x" * 500)) == FaultReported("line", "x" * (LONGEST_SENTENCE - 1) + "…")
    closed = with_sentences(LineClosed(EndReason.LINE_FAILED, "\ud800"))
    assert closed.reason is EndReason.LINE_FAILED
