"""The hearing of one call: what is read and looked at when, and when a turn is over."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ears.hearing import LONG_US, LONGEST_US, Act, Drop, Hearing, Judgement, Look, Read, Turn
from agent.ears.recogniser import LONGEST_S
from agent.frontends.base import Evidence, Unit
from agent.timeline.events import Transcript, TurnProbability, VoiceContinued, VoicePaused, VoiceStarted, VoiceStopped
from agent.timeline.kinds import Span

pytestmark = pytest.mark.unit

MS = 1_000
UNIT_MS = 40


class Line:
    """Feeds a hearing; what it asks for is answered by `text` as soon as the test says so."""

    def __init__(self) -> None:
        self.hearing = Hearing()
        self.now_ms = 0
        self.acts: list[Act] = []

    def until(self, to_ms: int, evidence: Iterable[Evidence] = (), speaking: bool = False) -> list[Act]:
        """Units up to `to_ms`; the evidence goes with the first of them."""
        acts: list[Act] = []
        while self.now_ms < to_ms:
            covers = Span(self.now_ms * MS, (self.now_ms + UNIT_MS) * MS)
            pcm = np.full(UNIT_MS * 16, self.now_ms / 100_000, np.float32)
            acts += self.hearing.feed(Unit(covers, pcm, tuple(evidence), speaking))
            evidence = ()
            self.now_ms += UNIT_MS
        self.acts += acts
        return acts

    def speak(self, onset_ms: int, to_ms: int) -> list[Act]:
        acts = self.until(self.now_ms + UNIT_MS, [VoiceStarted(Span(onset_ms * MS, self.now_ms * MS), -20.0)])
        return acts + self.until(to_ms)

    def pause(self, onset_ms: int, voiced_ms: int) -> list[Act]:
        return self.until(self.now_ms + UNIT_MS, [VoicePaused(Span(onset_ms * MS, voiced_ms * MS))])

    def stop(self, onset_ms: int, voiced_ms: int) -> list[Act]:
        return self.until(self.now_ms + UNIT_MS, [VoiceStopped(Span(onset_ms * MS, voiced_ms * MS))])


def looks(acts: list[Act]) -> list[Look]:
    return [act for act in acts if isinstance(act, Look)]


def finals(acts: list[Act]) -> list[Transcript]:
    return [act for act in acts if isinstance(act, Transcript) and act.final]


def sure(text: str, patience_ms: int = 200) -> Judgement:
    return Judgement(text, 0.9, 0.95, patience_ms * MS)


def test_the_first_partial_is_read_240_ms_after_the_onset_and_then_every_320_ms() -> None:
    line = Line()
    line.until(1_000)
    reads = []
    acts = line.speak(900, 2_200)
    for act in acts:
        if isinstance(act, Read):
            reads.append(act)
            line.hearing.read(act, "so far", 0.8)
    assert [read.covers for read in reads][:1] == [Span(900 * MS, 1_160 * MS)]  # the first unit that ends at 1,140 ms or later
    line = Line()
    line.until(1_000)
    line.until(1_040, [VoiceStarted(Span(960 * MS, 1_000 * MS), -20.0)])
    ends = []
    while line.now_ms < 2_600:
        for act in line.until(line.now_ms + UNIT_MS):
            if isinstance(act, Read):
                ends.append(act.covers.to_us // MS)
                line.hearing.read(act, "so far", 0.8)
    assert ends == [1_200, 1_520, 1_840, 2_160, 2_480]


def test_while_we_speak_partials_come_every_160_ms() -> None:
    line = Line()
    line.until(1_000)
    line.until(1_040, [VoiceStarted(Span(960 * MS, 1_000 * MS), -20.0)], speaking=True)
    ends = []
    while line.now_ms < 1_720:
        for act in line.until(line.now_ms + UNIT_MS, speaking=True):
            if isinstance(act, Read):
                ends.append(act.covers.to_us // MS)
                line.hearing.read(act, "so far", 0.8)
    assert ends == [1_200, 1_360, 1_520, 1_680]


def test_no_second_partial_is_asked_for_while_one_is_being_read() -> None:
    line = Line()
    line.until(1_000)
    assert sum(isinstance(act, Read) for act in line.speak(960, 4_000)) == 1


def test_a_pause_is_looked_at_at_once_and_the_turn_ends_with_the_patience_of_the_look() -> None:
    line = Line()
    line.until(1_000)
    line.speak(960, 2_000)
    (look,) = looks(line.pause(960, 1_900))
    assert look.covers == Span(960 * MS, 1_900 * MS)
    assert len(look.pcm) == (2_040 - 760) * 16  # from 200 ms before the onset to now
    told = line.hearing.looked(look, sure("When are you open?", patience_ms=600))
    assert told == [Transcript(look.covers, "When are you open?", False, 0.9), TurnProbability(look.covers, 0.95)]
    assert not finals(line.stop(960, 1_900) + line.until(2_480))
    (final,) = finals(line.until(2_520))  # 600 ms after the last voiced sample is 2,500 ms
    assert final == Transcript(Span(960 * MS, 1_900 * MS), "When are you open?", True, 0.9)
    assert isinstance(line.acts[-1], Turn)


def test_a_look_that_takes_longer_than_the_patience_ends_the_turn_as_soon_as_it_is_there() -> None:
    line = Line()
    line.until(1_000)
    line.speak(960, 2_000)
    (look,) = looks(line.pause(960, 1_900))
    line.stop(960, 1_900)
    line.until(2_400)
    acts = line.hearing.looked(look, sure("Hello."))
    assert [act.final for act in acts if isinstance(act, Transcript)] == [False, True]


def test_a_turn_does_not_end_before_voice_activity_says_so() -> None:
    line = Line()
    line.until(1_000)
    line.speak(960, 2_000)
    (look,) = looks(line.pause(960, 1_900))
    assert not finals(line.hearing.looked(look, sure("Hello.", patience_ms=0)) + line.until(2_200))
    assert finals(line.stop(960, 1_900))


def test_a_voice_that_comes_back_drops_the_look_and_is_looked_at_as_a_whole() -> None:
    line = Line()
    line.until(1_000)
    line.speak(960, 2_000)
    (look,) = looks(line.pause(960, 1_900))
    acts = line.until(2_160, [VoiceContinued(Span(960 * MS, 2_100 * MS), -20.0)])
    assert Drop() in acts
    assert line.hearing.looked(look, sure("I want to know")) == []
    line.until(3_000)
    (again,) = looks(line.pause(960, 2_900))
    assert len(again.pcm) == (3_040 - 760) * 16
    line.hearing.looked(again, sure("I want to know when you open."))
    (final,) = finals(line.stop(960, 2_900) + line.until(3_300))
    assert final.text == "I want to know when you open."


def test_a_new_onset_after_the_voice_stopped_goes_on_with_a_turn_that_is_not_over() -> None:
    line = Line()
    line.until(1_000)
    line.speak(960, 2_000)
    (look,) = looks(line.pause(960, 1_900))
    line.stop(960, 1_900)
    line.hearing.looked(look, sure("My number is", patience_ms=1_400))
    line.until(2_600)
    assert not finals(line.acts)
    acts = line.until(2_640, [VoiceStarted(Span(2_560 * MS, 2_600 * MS), -20.0)])
    assert Drop() in acts
    line.until(3_400)
    (again,) = looks(line.pause(2_560, 3_300))
    assert again.covers == Span(960 * MS, 3_300 * MS)
    line.hearing.looked(again, sure("My number is five five five."))
    (final,) = finals(line.stop(2_560, 3_300) + line.until(3_600))
    assert final.covers == Span(960 * MS, 3_300 * MS)


def test_what_reads_as_nothing_is_no_turn() -> None:
    line = Line()
    line.until(1_000)
    line.speak(960, 1_400)
    (look,) = looks(line.pause(960, 1_300))
    line.stop(960, 1_300)
    assert line.hearing.looked(look, Judgement("", 0.0, 0.0, 200 * MS)) == []
    line.until(2_000)
    assert not [act for act in line.acts if isinstance(act, Transcript)]
    assert isinstance(line.speak(1_960, 2_400)[-1], Read)  # the next voice is a turn of its own


def test_a_partial_that_comes_after_the_pause_is_not_told() -> None:
    line = Line()
    line.until(1_000)
    (read,) = (act for act in line.speak(960, 1_400) if isinstance(act, Read))
    line.pause(960, 1_300)
    assert line.hearing.read(read, "late", 0.5) == []


def test_a_long_turn_is_read_in_pieces_cut_at_its_pauses() -> None:
    line = Line()
    line.until(1_000)
    voiced_ms = 1_000 + LONG_US // MS + 500
    line.speak(960, voiced_ms + 100)
    (look,) = looks(line.pause(960, voiced_ms))
    line.hearing.looked(look, sure("A long story", patience_ms=1_400))
    line.until(line.now_ms + 40, [VoiceContinued(Span(960 * MS, (voiced_ms + 200) * MS), -20.0)])
    line.until(voiced_ms + 1_200)
    (again,) = looks(line.pause(960, voiced_ms + 1_100))
    assert len(again.pcm) < 2_000 * 16
    line.hearing.looked(again, sure("and its end."))
    (final,) = finals(line.stop(960, voiced_ms + 1_100) + line.until(line.now_ms + 400))
    assert final.text == "A long story and its end."
    assert final.covers.from_us == 960 * MS


def test_a_turn_without_any_pause_never_asks_for_more_than_the_recogniser_can_take() -> None:
    line = Line()
    line.until(1_000)
    line.until(1_040, [VoiceStarted(Span(960 * MS, 1_000 * MS), -20.0)])
    longest = 0
    while line.now_ms < 60_000:
        for act in line.until(line.now_ms + UNIT_MS):
            if isinstance(act, Read):
                longest = max(longest, len(act.pcm))
                line.hearing.read(act, "words", 0.8)
    assert LONGEST_US <= longest / 16 * MS <= LONGEST_S * 1e6


_VOICES = st.lists(
    st.tuples(st.sampled_from(["start", "go on", "pause", "stop", "nothing"]), st.integers(0, 400), st.booleans()), max_size=60
)


@given(_VOICES)
def test_whatever_voice_activity_says_times_stay_in_order_and_every_final_was_looked_at(
    voices: list[tuple[str, int, bool]],
) -> None:
    line = Line()
    open_work: list[Act] = []
    told: list[Act] = []
    looked = 0
    for what, back_ms, answer in voices:
        at = max(0, line.now_ms - back_ms) * MS
        made = {
            "start": VoiceStarted(Span(at, line.now_ms * MS), -20.0),
            "go on": VoiceContinued(Span(at, line.now_ms * MS), -20.0),
            "pause": VoicePaused(Span(at, line.now_ms * MS)),
            "stop": VoiceStopped(Span(at, line.now_ms * MS)),
        }.get(what)
        acts = line.until(line.now_ms + UNIT_MS, [made] if made else [])
        told += acts
        open_work += [act for act in acts if isinstance(act, Look | Read)]
        while answer and open_work:
            work = open_work.pop()
            if isinstance(work, Look):
                looked += 1
                told += line.hearing.looked(work, sure("words"))
            else:
                told += line.hearing.read(work, "words", 0.5)
    assert len(finals(told)) <= looked
    for act in told:
        if isinstance(act, Transcript | TurnProbability):
            assert 0 <= act.covers.from_us <= act.covers.to_us <= line.now_ms * MS


def test_a_voice_that_never_pauses_and_is_never_read_does_not_fill_the_memory() -> None:
    line = Line()
    line.until(40, [VoiceStarted(Span(0, 40 * MS), -20.0)])
    for _ in range(120):
        line.until(line.now_ms + 1_000, [VoiceContinued(Span(0, line.now_ms * MS), -20.0)])
    (look,) = looks(line.pause(0, line.now_ms * MS))
    assert len(look.pcm) <= LONGEST_S * 16_000
    assert len(line.hearing._tape._chunks) <= LONGEST_S * 1000 / UNIT_MS


def test_a_voice_in_which_nothing_is_read_goes_on_in_pieces_all_the_same() -> None:
    line = Line()
    line.until(40, [VoiceStarted(Span(0, 40 * MS), -20.0)])
    longest = 0
    while line.now_ms < 40_000:
        for act in line.until(line.now_ms + UNIT_MS, [VoiceContinued(Span(0, line.now_ms * MS), -20.0)]):
            if isinstance(act, Read):
                longest = max(longest, len(act.pcm))
                assert line.hearing.read(act, "", 0.0) == []
    assert longest / 16_000 < 15


@pytest.mark.parametrize("paused", [True, False])
def test_a_turn_whose_end_was_never_told_ends(paused: bool) -> None:
    line = Line()
    line.until(1_000)
    line.speak(960, 1_500)
    acts = line.until(1_600, [VoiceContinued(Span(960 * MS, 1_540 * MS), -20.0)])
    if paused:
        acts += line.pause(960, 1_540)
    while line.now_ms < 5_000:
        for look in looks(acts):
            line.acts += line.hearing.looked(look, sure("When?"))
        acts = line.until(line.now_ms + UNIT_MS)
    assert len(finals(line.acts)) == 1


def test_ears_opened_in_the_middle_of_a_voice_do_not_keep_the_first_bit_of_it_as_a_piece() -> None:
    line = Line()
    line.now_ms = 60_000
    acts = line.until(61_000, [VoiceContinued(Span(10_000 * MS, 60_000 * MS), -20.0)])
    reads = [act for act in acts if isinstance(act, Read)]
    line.hearing.read(reads[0], "wor", 0.5)
    assert line.hearing.before() == ""
