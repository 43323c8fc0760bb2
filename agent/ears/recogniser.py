"""Speech to English text: Moonshine tiny (Jeffries et al. 2024, arXiv 2410.15608; MIT), decoded greedily.

One read is one utterance. The decoder's own probabilities come with it: how sure it is of the words, and whether it takes the
sentence for finished.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agent.compute import Cancelled, never
from agent.ears.pieces import END, START, Pieces, text_of
from agent.onnx import open_session
from media.frames import Samples

RATE_HZ = 16_000
LONGEST_S = 15.0
"""Longer sound loses its beginning, seconds."""
SHORTEST_S = 0.1
"""Less than this is no word, seconds."""
QUIETEST = 1e-3
"""Sound whose every sample is below this (−60 dB of full scale) is silence."""
_QUIET_BELOW, _LIFTED_TO = 0.3, 0.9
TOKENS_PER_S = 6.5
"""More tokens than that are no speech but a decoder that went astray."""
_TOKENS_BESIDE = 4
_MARKS = (".", "?", "!", ",")
_HEADS, _HEAD_SIZE = 8, 36
_OF_DECODER, _OF_ENCODER = (
    [f"{layer}.{owner}.{part}" for layer in range(6) for part in ("key", "value")] for owner in ("decoder", "encoder")
)
_LONGEST_LOOP = 12
_LOOP_AT_LEAST = 9


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text as bytes ("▁" begins a word; one letter may be spread over several).

    `probability`, 0..1: of a word's piece among all that are no punctuation, small and large letters alike; of punctuation as
    it is.
    """

    piece: bytes
    probability: float


@dataclass(frozen=True, slots=True)
class EndOfText:
    """What the decoder thought where the text ends: a hint at whether the speaker was through.

    `mark`: the last character when it is one of `.?!,`, else empty. `final`: probability, behind the last word, of punctuation
    that ends a sentence, 0..1. `end_probability`: probability of the end at the last position, 0..1. Both are 0 when decoding
    was cut short.
    """

    mark: str = ""
    final: float = 0.0
    end_probability: float = 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What was understood; empty where nothing was said.

    `confidence`, 0..1, 0 for an empty text: geometric mean of the probabilities of the words' pieces, times that of there being
    no more words. On telephone prompts, clean to 5 dB of noise, half of the right readings are above 0.95 and one in twenty
    is below 0.83; of those with more than one word in seven wrong, half are below 0.7.
    """

    text: str = ""
    tokens: tuple[Token, ...] = ()
    confidence: float = 0.0
    end: EndOfText = EndOfText()


@dataclass(frozen=True, slots=True)
class _Choice:
    """One position of the decoder: the token taken, its probability, and that of what else could have come."""

    token: int
    probability: float
    marks: float
    final: float
    end: float


class Recogniser:
    """Safe to call from several threads."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds the weights. Raises `Refused` without them."""
        self._encoder = open_session(folder / "encoder_model.ort")
        self._decoder = open_session(folder / "decoder_model_merged.ort")
        self._pieces = Pieces(folder / "tokenizer.bin")

    def read(self, pcm: Samples, cancelled: Cancelled = never) -> Reading:
        """What is said in `pcm` (16 kHz mono, −1..1): one utterance, with little silence around it.

        `cancelled` is asked before each step (5 ms of work per second of sound, then 2 to 3 ms for each token): once it says so,
        nobody waits for the reading any more, and it is empty.
        """
        pcm = pcm[-int(LONGEST_S * RATE_HZ) :]
        if len(pcm) < SHORTEST_S * RATE_HZ:
            return Reading()
        loudest = float(np.abs(pcm).max())
        if loudest < QUIETEST or cancelled():
            return Reading()
        if loudest < _QUIET_BELOW:  # a caller 40 dB below the usual is misheard three times as often otherwise
            pcm = pcm * np.float32(_LIFTED_TO / loudest)
        choices: list[_Choice] = []
        tokens: list[int] = []
        for choice in self._choices(pcm):
            choices.append(choice)
            tokens.append(choice.token)
            if choice.token == END or repeated(tokens):
                break
            if cancelled():
                return Reading()
        return self._reading(choices, len(tokens) - repeated(tokens))

    def _choices(self, pcm: Samples) -> Iterator[_Choice]:
        """The likeliest token of each position, as many as fit into this much speech."""
        attention = np.ones((1, len(pcm)), np.int64)
        (hidden,) = self._encoder.run(None, {"input_values": pcm[None], "attention_mask": attention})
        heard = hidden.shape[1]
        inputs: dict[str, npt.NDArray[Any]] = {
            "encoder_hidden_states": hidden,
            "encoder_attention_mask": attention,  # in samples: the decoder thins it out to the encoder's frames itself
            "use_cache_branch": np.array([False]),
            "input_ids": np.array([[START]], np.int64),
            **{f"past_key_values.{name}": np.zeros((1, _HEADS, 0, _HEAD_SIZE), np.float32) for name in _OF_DECODER},
            **{f"past_key_values.{name}": np.zeros((1, _HEADS, heard, _HEAD_SIZE), np.float32) for name in _OF_ENCODER},
        }
        kept = _OF_DECODER + _OF_ENCODER
        for _ in range(int(len(pcm) / RATE_HZ * TOKENS_PER_S) + _TOKENS_BESIDE):
            logits, *present = self._decoder.run(["logits", *(f"present.{name}" for name in kept)], inputs)
            choice = self._choose(logits[0, -1])
            yield choice
            inputs |= {f"past_key_values.{name}": value for name, value in zip(kept, present, strict=True)}
            inputs["use_cache_branch"] = np.array([True])
            inputs["input_ids"] = np.array([[choice.token]], np.int64)
            kept = _OF_DECODER  # what it knows of the sound does not change any more

    def _choose(self, logits: npt.NDArray[np.float32]) -> _Choice:
        token = int(logits.argmax())
        likely = np.exp(logits - logits[token])
        likely /= likely.sum()
        marks, final = float(likely[self._pieces.marks].sum()), float(likely[self._pieces.final].sum())
        probability = float(likely[token])
        if token != END and not self._pieces.is_mark(token):
            probability = min(1.0, float(likely[self._pieces.spellings(token)].sum()) / (1 - marks))
        return _Choice(token, probability, marks, final, float(likely[END]))

    def _reading(self, choices: list[_Choice], until: int) -> Reading:
        """The first `until` choices are the text; the last of all tells how decoding ended."""
        said = [choice for choice in choices[:until] if choice.token != END]
        text = text_of(self._pieces.piece(choice.token) for choice in said)
        words = [choice.probability for choice in said if not self._pieces.is_mark(choice.token)]
        if not any(character.isalnum() for character in text):  # notes of music, dashes
            return Reading()
        last = choices[-1]
        sure = float(np.exp(np.mean(np.log(np.maximum(words, 1e-6))))) * min(1.0, last.end + last.marks)
        tokens = tuple(Token(self._pieces.piece(choice.token), choice.probability) for choice in said)
        return Reading(text, tokens, sure, self._end(text, choices))

    def _end(self, text: str, choices: list[_Choice]) -> EndOfText:
        mark = text[-1] if text.endswith(_MARKS) else ""
        if choices[-1].token != END:
            return EndOfText(mark)
        behind = len(choices) - 1
        while behind and self._pieces.is_mark(choices[behind - 1].token):
            behind -= 1
        return EndOfText(mark, choices[behind].final, choices[-1].end)


def repeated(tokens: list[int]) -> int:
    """How many tokens at the end only repeat those before them: the same few over and over, as decoders do on noise. Else 0.

    Up to four tokens must come four times, more of them three times, and nine tokens in all: "nine nine nine nine" is a number.
    """
    for length in range(1, _LONGEST_LOOP + 1):
        times = max(4 if length <= 4 else 3, -(-_LOOP_AT_LEAST // length))
        loop = tokens[-length:]
        if len(tokens) >= times * length and tokens[-times * length :] == loop * times:
            return (times - 1) * length
    return 0
