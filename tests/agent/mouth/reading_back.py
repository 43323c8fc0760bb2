"""What the recogniser hears of a voice, at full band and over a telephone line."""

import re

import jiwer
import numpy as np

from agent.ears.recogniser import Recogniser
from agent.line import Pcm
from agent.mouth.number_words import cardinal, digit_by_digit
from agent.mouth.spoken import spoken_form
from media.g711 import decode_ulaw, encode_ulaw
from media.resample import Resampler

CALL_CENTRE = (
    "Thank you for calling, how can I help you today?",
    "I have found three free appointments on Tuesday afternoon.",
    "Would you like the one at half past nine or the one at four?",
    "Your order has been shipped and will arrive on Thursday.",
    "Could you please tell me the last four digits of your card?",
    "I am sorry, the doctor is not available this week.",
    "Your table for six people is booked for Saturday evening.",
    "Let me check that for you, one moment please.",
    "The total is thirty five dollars and fifty cents.",
    "I will transfer you to one of my colleagues now.",
    "Our office is open from Monday to Friday until six.",
    "Is there anything else that I can do for you?",
)
"""A dozen sentences of an agent; what they say is written in words, so that only hearing is measured."""


def converted(pcm: Pcm, from_hz: int, to_hz: int) -> Pcm:
    resampler = Resampler(from_hz, to_hz)
    return np.concatenate([resampler.push(pcm), resampler.flush()]) if from_hz != to_hz else pcm


def telephone(pcm: Pcm, rate_hz: int) -> Pcm:
    """Through 8 kHz and G.711 µ-law, at 16 kHz."""
    return converted(decode_ulaw(encode_ulaw(converted(pcm, rate_hz, 8_000))), 8_000, 16_000)


def heard(recogniser: Recogniser, pcm: Pcm) -> str:
    """`pcm` at 16 kHz."""
    return recogniser.read(pcm.astype(np.float32) / 32_768).text


def word_errors(references: list[str], hypotheses: list[str]) -> float:
    """The word error rate over all sentences, 0 when all is right; "7:30" and "seven thirty" are the same."""
    return float(jiwer.wer([_plain(text) for text in references], [_plain(text) for text in hypotheses]))


def _plain(text: str) -> str:
    said = " ".join(reading.spoken for reading in spoken_form(text)).lower().replace("-", " ")
    said = re.sub(r"\d+", lambda match: cardinal(int(match[0])) if len(match[0]) < 3 else digit_by_digit(match[0]), said)
    return " ".join(re.sub(r"[^a-z' ]", " ", said).split())
