"""The wire's readers: whatever the bytes, a value or `Refused`."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import Refused
from agent.frontends import frontend_pb2 as pb
from agent.frontends import generate, wire
from agent.frontends.base import Brief, Heard, PastTurn, Unit
from agent.timeline.events import (
    SpeakerScore,
    Transcript,
    TurnProbability,
    VoiceContinued,
    VoicePaused,
    VoiceStarted,
    VoiceStopped,
)
from agent.timeline.kinds import Span

pytestmark = pytest.mark.unit

SPAN = pb.Span(from_us=0, to_us=100_000)
UNIT = {"covers": SPAN, "pcm": bytes(3200)}


def test_the_generated_files_match_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main(["--check"]) == 0, capsys.readouterr().out


def test_generate_tells_what_is_stale(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(generate, "generate", lambda: {"frontend_pb2.py": "something else"})
    assert generate.main(["--check"]) == 1
    assert "frontend_pb2.py does not match" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("read", "message", "reason"),
    [
        (wire.read_unit, pb.Unit(covers=SPAN, pcm=bytes(3198)), "16 of them make a millisecond"),
        (wire.read_unit, pb.Unit(covers=SPAN, pcm=bytes(3199)), "two bytes each"),
        (wire.read_unit, pb.Unit(), "16 of them make a millisecond"),
        (wire.read_unit, pb.Unit(covers=pb.Span(from_us=5, to_us=1)), "end before it starts"),
        (wire.read_unit, pb.Unit(covers=pb.Span(from_us=-5, to_us=1)), "start before 0"),
        (wire.read_unit, pb.Unit(covers=pb.Span(to_us=2**60)), "a span from"),
        (wire.read_unit, pb.Unit(**UNIT, evidence=[pb.Evidence()]), "does not know"),
        (wire.read_unit, pb.Unit(**UNIT, evidence=[pb.Evidence(turn=pb.TurnProbability(probability=float("nan")))]), "no number"),
        (wire.read_unit, pb.Unit(**UNIT, evidence=[pb.Evidence(voice_stopped=pb.VoiceStopped())] * 1001), "at most 1000"),
        (wire.read_step, pb.FrontendOutput(), "does not know"),
        (wire.read_step, pb.FrontendOutput(opened=pb.Opened()), "does not know"),
        (wire.read_step, pb.FrontendOutput(speech=pb.Speech()), "alignment or a role"),
        (wire.read_step, pb.FrontendOutput(speech=pb.Speech(alignment=1, role=99)), "alignment or a role"),
        (wire.read_step, pb.FrontendOutput(speech=pb.Speech(alignment=1, role=1, pcm=b"1")), "two bytes each"),
        (wire.read_step, pb.FrontendOutput(speech=pb.Speech(alignment=1, role=1, words=[pb.Word(start_us=2)])), "a word from"),
        (wire.read_heard, pb.EarsOutput(), "does not know"),
        (wire.read_info, pb.FrontendInfo(unit_us=0, output_rate_hz=16_000), "units of 0 µs"),
        (wire.read_info, pb.FrontendInfo(unit_us=30_000, output_rate_hz=16_000), "whole number of ticks"),
        (wire.read_info, pb.FrontendInfo(unit_us=100_000, output_rate_hz=16_000, name="x" * 201), "more than 200 characters"),
        (wire.read_info, pb.FrontendInfo(unit_us=100_000, output_rate_hz=7), "speech at 7 Hz"),
    ],
)
def test_nonsense_is_refused(read: Callable[[Any], object], message: Any, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        read(message)


@given(
    st.sampled_from([(pb.Unit, wire.read_unit), (pb.FrontendOutput, wire.read_step), (pb.EarsOutput, wire.read_heard)]),
    st.binary(),
)
def test_any_bytes_are_a_value_or_refused(kind: tuple[Any, Callable[[Any], object]], data: bytes) -> None:
    message, read = kind
    with suppress(Refused, DecodeError):
        assert read(message.FromString(data)) is not None


_TIMES = st.integers(0, 2**52)
_SPANS = st.tuples(_TIMES, st.integers(0, 10**9)).map(lambda pair: Span(pair[0], sum(pair)))
_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_EVIDENCE = st.one_of(
    st.builds(VoiceStarted, covers=_SPANS, level_dbov=_NUMBERS),
    st.builds(VoicePaused, covers=_SPANS),
    st.builds(VoiceContinued, covers=_SPANS, level_dbov=_NUMBERS),
    st.builds(VoiceStopped, covers=_SPANS),
    st.builds(SpeakerScore, covers=_SPANS, score=_NUMBERS),
    st.builds(Transcript, covers=_SPANS, text=_TEXT, final=st.booleans(), confidence=_NUMBERS),
    st.builds(TurnProbability, covers=_SPANS, probability=_NUMBERS),
)


@given(st.lists(_EVIDENCE, max_size=6), st.integers(1, 50), _TIMES, st.integers(0, 2**32), st.booleans(), _TEXT)
def test_units_come_back_as_they_were(evidence: list[Any], ticks: int, at_us: int, seed: int, speaking: bool, said: str) -> None:
    pcm = np.random.default_rng(seed).integers(-32768, 32768, ticks * 320).astype(np.float32) / np.float32(32768)
    given = Unit(Span(at_us, at_us + ticks * 20_000), pcm, tuple(evidence), speaking, said)
    back = wire.read_unit(pb.Unit.FromString(wire.unit_to_wire(given).SerializeToString()))
    assert (back.covers, back.evidence, back.speaking, back.said) == (given.covers, given.evidence, speaking, said)
    assert np.array_equal(back.pcm, pcm)


def test_samples_beyond_full_scale_are_clipped_and_not_wrapped() -> None:
    unit = Unit(Span(0, 20_000), np.array([2.0, -2.0] * 160, np.float32))
    assert wire.read_unit(wire.unit_to_wire(unit)).pcm[:2].tolist() == [32767 / 32768, -1.0]


def test_a_brief_comes_back_as_it_was() -> None:
    given = Brief(
        call_id="c1",
        persona="friendly",
        language="en-US",
        instructions="Be brief.",
        facts=("We are open.",),
        capabilities=("book an appointment",),
        history=(PastTurn("caller", "Hello."), PastTurn("agent", "Good morning.")),
        unanswered="When are you open?",
        pending=("looking up Tuesday",),
        epoch=3,
        scores_speaker=True,
    )
    assert wire.read_brief(pb.Brief.FromString(wire.brief_to_wire(given).SerializeToString())) == given


@pytest.mark.parametrize(
    "heard",
    [Transcript(Span(1, 2), "yes", True, 0.5), TurnProbability(Span(1, 2), 0.25), SpeakerScore(Span(1, 2), -0.5)],
)
def test_what_ears_learn_comes_back_as_it_was(heard: Heard) -> None:
    assert wire.read_heard(pb.EarsOutput.FromString(wire.heard_to_wire(heard).SerializeToString())) == heard
