import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.compute import never
from agent.mouth.phonemes import Phrase, Pronunciation, Slice
from agent.mouth.rendering import PAUSE_BETWEEN_PHRASES_S, Sounded, estimated_words, render_phrases, written_words
from agent.mouth.sound import Timed
from agent.timeline.kinds import Alignment, Word

pytestmark = pytest.mark.unit

RATE_HZ = 8_000
ONE = Phrase("wˈʌn", (Slice(0, 0, 4),))
TWO = Phrase("tˈu", (Slice(1, 0, 3),))


def half_a_second(phrase: Phrase) -> Sounded:
    """A tone from 100 to 400 ms that the phrase's words share."""
    pcm = np.zeros(RATE_HZ // 2, np.float32)
    pcm[800:3200] = np.sin(np.arange(2400)).astype(np.float32)
    return Sounded(pcm, tuple(Timed(part.word, 800, 3200) for part in phrase.slices), exact=True)


def test_phrases_follow_each_other_with_a_pause() -> None:
    said = Pronunciation(("one", "two"), (ONE, TWO))
    rendered = render_phrases("one two", said, RATE_HZ, never, half_a_second)
    assert rendered.alignment is Alignment.EXACT
    assert len(rendered.pcm) == 2 * 370 * 8 + int(PAUSE_BETWEEN_PHRASES_S * RATE_HZ)
    assert rendered.words == (Word("one", 10_000, 310_000), Word("two", 530_000, 830_000))


def test_nothing_to_say_is_nothing() -> None:
    rendered = render_phrases("😀", Pronunciation(("😀",), ()), RATE_HZ, never, half_a_second)
    assert (len(rendered.pcm), rendered.words) == (0, ())


def test_cancelled_before_the_last_phrase_is_nothing() -> None:
    asked = iter([False, True])
    rendered = render_phrases("one two", Pronunciation(("one", "two"), (ONE, TWO)), RATE_HZ, lambda: next(asked), half_a_second)
    assert (len(rendered.pcm), rendered.words) == (0, ())


@pytest.mark.parametrize(("known", "told"), [(False, True), (True, False)])
def test_estimated_when_words_or_times_are_not_known(known: bool, told: bool) -> None:
    def sound(phrase: Phrase) -> Sounded:
        sounded = half_a_second(phrase)
        return Sounded(sounded.pcm, sounded.words, exact=told)

    rendered = render_phrases("one", Pronunciation(("one",), (ONE,), exact=known), RATE_HZ, never, sound)
    assert rendered.alignment is Alignment.ESTIMATED


def test_a_silent_word_lies_at_the_end_of_the_word_before() -> None:
    words = written_words(["😀", "one", "—", "two"], [Timed(1, 80, 160), Timed(3, 200, 240)], RATE_HZ)
    assert [(word.start_us, word.end_us) for word in words] == [
        (10_000, 10_000),
        (10_000, 20_000),
        (20_000, 20_000),
        (25_000, 30_000),
    ]


def test_a_word_in_several_pieces_spans_them() -> None:
    words = written_words(["$35", "now"], [Timed(0, 0, 80), Timed(0, 100, 160), Timed(1, 200, 240)], RATE_HZ)
    assert words[0] == Word("$35", 0, 20_000)


@given(st.lists(st.builds(Timed, st.integers(0, 4), st.integers(0, 9_000), st.integers(0, 9_000))))
def test_times_never_fall_whatever_a_synthesiser_claims(times: list[Timed]) -> None:
    words = written_words(list("abcde"), times, RATE_HZ)
    edges = [edge for word in words for edge in (word.start_us, word.end_us)]
    assert [word.text for word in words] == list("abcde")
    assert edges == sorted(edges)


def test_estimated_words_share_the_sound_by_their_phonemes() -> None:
    phrase = Phrase("wˈʌn, tˈu θɹˈi.", (Slice(0, 0, 4), Slice(1, 6, 9), Slice(2, 10, 14)))
    pcm = half_a_second(phrase).pcm
    one, two, three = estimated_words(phrase, pcm, RATE_HZ)
    assert one.start == 800
    assert three.end == 3200
    assert one.end < two.start < two.end <= three.start
    assert one.end - one.start > two.end - two.start


def test_there_is_nothing_to_estimate_without_words() -> None:
    assert estimated_words(Phrase("", ()), np.zeros(0, np.float32), RATE_HZ) == ()
