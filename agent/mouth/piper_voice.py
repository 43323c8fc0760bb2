"""The second voice: Piper's en_US-joe-medium (VITS; a man, 22.05 kHz, CC0), run by onnxruntime alone.

Its phonemes come from the first voice's G2P, so no GPL program is involved. It tells no durations: word times are estimated.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime  # type: ignore[import-untyped]
from pydantic import BaseModel, ValidationError

from agent.compute import Cancelled, never
from agent.errors import Refused
from agent.mouth.espeak_symbols import espeak_symbols
from agent.mouth.phonemes import Phrase, Pronouncer
from agent.mouth.rendering import Sounded, estimated_words, render_phrases
from agent.mouth.voice import Rendered
from agent.onnx import open_session
from media.frames import Samples

MODEL, CONFIG = "en_US-joe-medium.onnx", "en_US-joe-medium.onnx.json"
_START, _PAD, _END = "^", "_", "$"


@dataclass(frozen=True, slots=True)
class PiperOptions:
    """How the voice speaks. With both noises at 0 the same text is the same bytes.

    `length_scale`: above 1 slower. `noise_scale`, 0..1: how much the voice varies; `noise_w`, 0..1: how much its rhythm does.
    `seed` of that noise: the same renderings in the same order since loading are the same. `pitch_x`: above 1 higher and faster.
    """

    length_scale: float = 1.0
    noise_scale: float = 0.0
    noise_w: float = 0.0
    seed: int = 0
    pitch_x: float = 1.0


class _Audio(BaseModel):
    sample_rate: int


class _Config(BaseModel):
    audio: _Audio
    phoneme_id_map: dict[str, list[int]]


class PiperVoice:
    """A `Voice`. Loading takes one to two seconds and 200 MB; a six-word clause about 150 ms of one core."""

    def __init__(self, folder: Path, pronouncer: Pronouncer | None = None, options: PiperOptions | None = None) -> None:
        """Loads and warms up. `folder` holds the weights and their JSON file; raises `Refused` without them."""
        self.options = options or PiperOptions()
        config = _config(folder / CONFIG)
        self.name, self.faults = "piper-joe", 0
        self.rate_hz = round(config.audio.sample_rate * self.options.pitch_x)
        self.pronouncer = pronouncer or Pronouncer()
        self._ids = config.phoneme_id_map
        # The noise nodes take their seed when the session is made, and go on from there.
        onnxruntime.set_seed(self.options.seed)
        self._session = open_session(folder / MODEL)
        scales = (self.options.noise_scale, self.options.length_scale, self.options.noise_w)
        self._scales = np.asarray(scales, np.float32)
        self.render("One moment, please.", never)

    def render(self, text: str, cancelled: Cancelled) -> Rendered:
        """As `Voice.render`; always estimated."""
        return render_phrases(text, self.pronouncer.pronounce(text), self.rate_hz, cancelled, self._sound)

    def _sound(self, phrase: Phrase) -> Sounded:
        ids = self._phrase_ids(phrase)
        inputs: dict[str, npt.NDArray[Any]] = {
            "input": np.asarray([ids], np.int64),
            "input_lengths": np.asarray([len(ids)], np.int64),
            "scales": self._scales,
        }
        pcm: Samples = self._session.run(None, inputs)[0].ravel()
        return Sounded(pcm, estimated_words(phrase, pcm, self.rate_hz), exact=False)

    def _phrase_ids(self, phrase: Phrase) -> list[int]:
        """A pad between all symbols, as the voice was trained."""
        symbols = [symbol for symbol in "".join(espeak_symbols(phrase.phonemes)) if symbol in self._ids]
        pad = self._ids[_PAD]
        ids = [*self._ids[_START], *pad]
        for symbol in symbols:
            ids += [*self._ids[symbol], *pad]
        return [*ids, *self._ids[_END]]


def _config(path: Path) -> _Config:
    try:
        config = _Config.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise Refused(f"there is no {path.name} in the models folder: run `venus models install`") from error
    except (OSError, ValidationError) as error:
        raise Refused(f"{path.name} is not the file of that voice: run `venus models install` again") from error
    if missing := [symbol for symbol in (_START, _PAD, _END) if symbol not in config.phoneme_id_map]:
        raise Refused(f"{path.name} has no symbol {missing[0]!r}: run `venus models install` again")
    return config
