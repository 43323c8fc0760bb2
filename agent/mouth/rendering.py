"""What is the same for every voice: phrases one after the other, trimmed, at one level, and words with their times."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from agent.compute import Cancelled
from agent.mouth.phonemes import Phrase, Pronunciation
from agent.mouth.sound import Timed, levelled, loud_span, trimmed
from agent.mouth.voice import Rendered
from agent.timeline.kinds import Alignment, Word
from media.frames import Samples

PAUSE_BETWEEN_PHRASES_S = 0.15
_LENGTHS = dict.fromkeys("ˈˌː ", 0.0) | dict.fromkeys("AIOQWYʤʧ", 1.4) | dict.fromkeys(",;:—()", 4.0) | dict.fromkeys(".!?…", 8.0)
"""Usual length of a phoneme, of a plain one 1, and of the pause at a mark."""
_FINAL_X = 1.4
"""The last word before the end is drawn out so much. Fitted with the above on the first voice: word ends of 15 sentences come out
10 ms late on average, half of them within 48 ms, nine of ten within 144 ms."""


@dataclass(frozen=True, slots=True)
class Sounded:
    """A phrase as the synthesiser gave it: silence at both ends, any level. `exact`: the times were told by the synthesiser."""

    pcm: Samples
    words: tuple[Timed, ...]
    exact: bool


def render_phrases(
    text: str, said: Pronunciation, rate_hz: int, cancelled: Cancelled, sound: Callable[[Phrase], Sounded]
) -> Rendered:
    """All of `said`, phrase by phrase; empty when cancelled before the last one."""
    pieces, times, exact = list[Samples](), list[Timed](), said.exact
    offset = 0
    for phrase in said.phrases:
        if cancelled():
            return Rendered.nothing(text)
        sounded = sound(phrase)
        if pieces:
            pieces.append(np.zeros(int(PAUSE_BETWEEN_PHRASES_S * rate_hz), np.float32))
            offset += len(pieces[-1])
        pcm, words = trimmed(sounded.pcm, sounded.words, rate_hz)
        times += [Timed(word.word, word.start + offset, word.end + offset) for word in words]
        pieces.append(pcm)
        offset += len(pcm)
        exact = exact and sounded.exact
    if not offset:
        return Rendered.nothing(text)
    alignment = Alignment.EXACT if exact else Alignment.ESTIMATED
    return Rendered(text, levelled(np.concatenate(pieces), rate_hz), written_words(said.written, times, rate_hz), alignment)


def estimated_words(phrase: Phrase, pcm: Samples, rate_hz: int) -> tuple[Timed, ...]:
    """Words of a phrase whose synthesiser tells no durations: its loud stretch shared out by usual lengths of phonemes."""
    start, end = loud_span(pcm, rate_hz) or (0, 0)
    if not phrase.slices:
        return ()
    lengths = np.asarray([_LENGTHS.get(phoneme, 1.0) for phoneme in phrase.phonemes])
    final = phrase.slices[-1]
    lengths[final.first : final.last] *= _FINAL_X
    edges = np.concatenate([[0.0], np.cumsum(lengths)])
    places = start + edges / max(1.0, edges[final.last]) * (end - start)
    return tuple(Timed(part.word, int(places[part.first]), int(places[part.last])) for part in phrase.slices)


def written_words(written: Sequence[str], times: Sequence[Timed], rate_hz: int) -> tuple[Word, ...]:
    """Every written word in order. One that sounds in several pieces spans them; a silent one lies at the end of the word before.

    Times never fall and no word ends before it starts, whatever a synthesiser claims.
    """
    spans: dict[int, tuple[int, int]] = {}
    for time in times:
        start, end = spans.get(time.word, (time.start, time.end))
        spans[time.word] = min(start, time.start), max(end, time.end)
    words, reached = list[Word](), min((start for start, _ in spans.values()), default=0)
    for number, text in enumerate(written):
        start, end = spans.get(number, (reached, reached))
        start = max(start, reached)
        reached = max(start, end)
        words.append(Word(text, start * 1_000_000 // rate_hz, reached * 1_000_000 // rate_hz))
    return tuple(words)
