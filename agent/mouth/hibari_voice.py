"""The first voice: hibari-tts 0.2.1, voice "heart", 24 kHz, with exact word times.

Its network gives each phoneme a whole number of 25 ms steps before it renders. That tensor lies inside the graph and is no
output; protobuf merges what is appended to a message, so 20 bytes behind the pinned model name it as one more. Nothing here
reaches for a network: the model lies in the package, and we open it ourselves.
"""

import hashlib
import json
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from hibari import dsp  # type: ignore[import-untyped]
from hibari.tts import ASSETS  # type: ignore[import-untyped]

from agent.compute import Cancelled, never
from agent.mouth.phonemes import PUNCTUATION, Phrase, Pronouncer
from agent.mouth.rendering import Sounded, estimated_words, render_phrases
from agent.mouth.sound import Timed, last_sound
from agent.mouth.voice import FaultTold, Rendered
from agent.onnx import Session, open_bytes, outputs_of
from media.frames import Samples

RATE_HZ = 24_000
MODEL_SHA256 = "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8"
DURATIONS = "/Clip_output_0"
"""float32 [1, phonemes]: the length of each phoneme, pads included, in steps of 25 ms (two frames of the spectrum)."""
STEP_SAMPLES = 600
EARLY_SAMPLES = 840
"""Measured against forced alignment: the sound runs 35 ms ahead of the durations."""
_SPECTRUM = ("lh", "theta", "ln", "lr", "phi", "f0")
_NOISE_SEED = 1


class HibariVoice:
    """A `Voice`. Loading takes a second and 200 MB; a six-word clause about 30 ms of one core."""

    def __init__(
        self, pronouncer: Pronouncer | None = None, on_fault: FaultTold | None = None, model: Path | None = None
    ) -> None:
        """Loads and warms up. `pronouncer`: one that another voice has loaded. `model`: another file than the package's own."""
        self.name, self.rate_hz, self.faults = "hibari-heart", RATE_HZ, 0
        self._on_fault, self._lock = on_fault, Lock()
        self.pronouncer = pronouncer or Pronouncer()
        folder = Path(ASSETS)
        self._ids: dict[str, int] = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        self._session = self._open((model or folder / "hibari.onnx").read_bytes())
        self._outputs = outputs_of(self._session)
        self.render("One moment, please.", never)

    def render(self, text: str, cancelled: Cancelled) -> Rendered:
        """As `Voice.render`; exact, unless the model was not as expected: then estimated, and a counted fault."""
        said = self.pronouncer.pronounce(text)
        if not said.exact:
            self._fault("the phonemes of a text do not match its words: their times are estimated")
        return render_phrases(text, said, RATE_HZ, cancelled, self._sound)

    def _open(self, model: bytes) -> Session:
        """The session, with the durations as an output when this is the model they are known of."""
        if hashlib.sha256(model).hexdigest() == MODEL_SHA256:
            try:
                return open_bytes(with_output(model, DURATIONS))
            except Exception:  # the runtime's own classes share no base but Exception
                self._fault("the runtime does not take the durations of the voice for an output: word times are estimated")
        else:
            self._fault("hibari-tts holds another model than the pinned one: word times are estimated")
        return open_bytes(model)

    def _sound(self, phrase: Phrase) -> Sounded:
        known = [phoneme in self._ids for phoneme in phrase.phonemes]
        ids = [0, *(self._ids[phoneme] for phoneme in phrase.phonemes if phoneme in self._ids), 0]
        inputs: dict[str, npt.NDArray[Any]] = {"ids": np.asarray([ids], np.int64), "speed": np.ones(1, np.float32)}
        out = dict(zip(self._outputs, self._session.run(None, inputs), strict=True))
        spectrum = [out[name][0] for name in _SPECTRUM]
        pcm: Samples = dsp.synth(*spectrum, np.random.default_rng(_NOISE_SEED))
        edges = self._edges(out.get(DURATIONS), len(ids), len(pcm))
        if edges is None:
            return Sounded(pcm, estimated_words(phrase, pcm, RATE_HZ), exact=False)
        # Edge 0 is the start of the pad in front, so phoneme number n of those known starts at edge n + 1.
        place = np.concatenate([[0], np.cumsum(known)]) + 1
        return Sounded(pcm, tuple(_timed(phrase, pcm, edges[place])), exact=True)

    def _edges(self, durations: Any, phonemes: int, samples: int) -> npt.NDArray[np.int64] | None:
        """Sample at which each phoneme starts, and the end of the last; None, and a fault, when they do not fit the sound."""
        if durations is None:
            return None
        steps = np.asarray(durations, np.float64).ravel()
        if len(steps) != phonemes or np.any(steps != np.round(steps)) or steps.sum() * STEP_SAMPLES != samples:
            self._fault("the durations of the voice do not add up to its sound: word times are estimated")
            return None
        return np.asarray(np.concatenate([[0], np.cumsum(steps)]) * STEP_SAMPLES, np.int64)

    def _fault(self, sentence: str) -> None:
        with self._lock:
            self.faults += 1
        if self._on_fault:
            self._on_fault(sentence)


def with_output(model: bytes, tensor: str) -> bytes:
    """The ONNX model with `tensor` as one more output (ModelProto.graph is 7, GraphProto.output 12, ValueInfoProto.name 1)."""
    return model + _field(7, _field(12, _field(1, tensor.encode())))


def _field(number: int, payload: bytes) -> bytes:
    """A protobuf field of wire type 2; `payload` below 128 bytes, where a length is one byte."""
    return bytes([number << 3 | 2, len(payload)]) + payload


def _timed(phrase: Phrase, pcm: Samples, starts: npt.NDArray[np.int64]) -> list[Timed]:
    """The words of a phrase. Before a pause the last phoneme's duration swallows silence: there a word ends with its sound."""
    timed = []
    for part in phrase.slices:
        start, end = (max(0, int(starts[at]) - EARLY_SAMPLES) for at in (part.first, part.last))
        behind = phrase.phonemes[part.last : part.last + 1]
        if not behind or (behind in PUNCTUATION and behind != " "):
            end = last_sound(pcm, start, end, RATE_HZ)
        timed.append(Timed(part.word, start, end))
    return timed
