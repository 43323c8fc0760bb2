"""Patience with real voices: spoken sentences with and without a pause, and recorded prompts."""

import pytest

from agent.ears.finished import finished
from agent.ears.recogniser import EndOfText
from agent.mouth.hibari_voice import HibariVoice
from agent.understanding.asked import Asked
from tests.measure.heard_pauses import BANDS, Listener, Pause, Speaker, recorded, sentences

pytestmark = pytest.mark.model

PAUSES = [f"dev-p0{number}" for number in ("01", "04", "08", "13", "15", "20", "27", "34", "44", "52", "58", "61")]
QUESTIONS = [f"dev-q0{number}" for number in ("01", "06", "12", "19", "25", "31", "44", "59", "73", "80", "88", "95")]


def patience_ms(pause: Pause) -> float:
    end = EndOfText(pause.mark, pause.final, pause.end)
    return finished(pause.text, pause.sound, end, Asked.NOTHING, pause.last_word).patience_us / 1000


@pytest.fixture(scope="module")
def listener() -> Listener:
    return Listener()


@pytest.fixture(scope="module")
def heard(listener: Listener) -> list[Pause]:
    speaker = Speaker("hibari", HibariVoice())
    said = [
        speaker.say(sentence, way)
        for sentence in sentences()
        for way in ("whole", "apart")
        if sentence.id in PAUSES or (sentence.id in QUESTIONS and way == "whole")
    ]
    return [pause for one in said for band in BANDS for pause in listener.pauses(one, band)]


def test_a_caller_who_pauses_in_a_sentence_is_not_cut(heard: list[Pause]) -> None:
    callers = {(one.of, one.way, one.band) for one in heard if one.of in PAUSES}
    cut = {
        (one.of, one.way, one.band)
        for one in heard
        if one.of in PAUSES and one.resumed_ms is not None and patience_ms(one) < one.resumed_ms
    }
    assert len(callers) == 4 * len(PAUSES)
    assert len(cut) <= 2


def test_a_whole_question_is_answered_at_once(heard: list[Pause]) -> None:
    patiences = sorted(patience_ms(one) for one in heard if one.of in QUESTIONS and one.resumed_ms is None)
    assert len(patiences) == 2 * len(QUESTIONS)
    assert sum(patience <= 300 for patience in patiences) >= 0.8 * len(patiences)
    assert sum(patience > 500 for patience in patiences) <= 2


def test_recorded_prompts_are_over_within_a_second(listener: Listener) -> None:
    names = {
        "auth-incorrect",
        "check-number-dial-again",
        "conf-waitforleader",
        "ss-noservice",
        "vm-intro",
        "pbx-invalid",
        "vm-sorry",
    }
    prompts = [said for said in recorded() if said.sentence.id in names]
    last = [listener.pauses(said, "telephone")[-1] for said in prompts]
    assert len(last) == len(names)
    assert sum(patience_ms(one) <= 1_000 for one in last) >= len(names) - 1
