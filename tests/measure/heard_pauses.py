"""What the ears find at every pause of synthesised and recorded speech: the data that `fit_finished.py` fits and reports on.

Sentences are spoken by the voices, put through a line (wide band or telephone band, with a little noise), and heard by the real
voice activity, recogniser and turn model. A caller who pauses inside a sentence is made in two ways: silence put into the whole
sentence at a word boundary, and two halves spoken apart.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt
import yaml
from scipy.signal import resample_poly  # type: ignore[import-untyped]

from agent.compute import never
from agent.ears.finished import last_word_certainty
from agent.ears.hearing import Drop, Hearing, Judgement, Look
from agent.ears.recogniser import Recogniser
from agent.ears.turn_model import TurnModel
from agent.frontends.base import UNIT_RATE_HZ, Unit
from agent.intake import Intake
from agent.line import MediaFrame, MediaState
from agent.mouth.voice import Voice
from agent.settings import TICK_US
from agent.timeline.events import VoiceContinued, VoiceStarted
from agent.voice_activity import SileroGate, SileroModel
from agent.weights.store import model_file
from tests.voice_sounds import PROMPTS, Samples, frames_of, librivox, noise, prompt, silence, telephone_band

BANDS = ("wide", "telephone")
WAYS = ("whole", "apart")
SPEEDS = ((8, 7), (1, 1), (8, 9))
"""Slower and deeper, as it is, faster and higher."""
NOISE_DBFS = (-70.0, -50.0)
LOUD = 0.01
"""A sample above this (−40 dB of full scale) is loud, of speech at −20 dBFS."""
UNIT_US = 40_000
NEVER_OVER = Judgement("-", 1.0, 0.0, 60_000_000)

HERE = Path(__file__).parent
VOICE_BENCH = HERE.parent / "bench" / "voice"


@dataclass(frozen=True, slots=True)
class Sentence:
    """`parts`: with a pause between each two, `pause_ms` long (0: to be chosen). `kind`: what the sentence stands for."""

    id: str
    kind: str
    parts: tuple[str, ...]
    pause_ms: int = 0


@dataclass(frozen=True, slots=True)
class Pause:
    """What one look found. Times in ms since the look's last voiced sample; `resumed_ms` is None at the end of all.

    `of`: sentence, `way`: how it was made. `part`: number of the part that had ended, −1 inside of one. `tail_ms`: from the last
    loud sample to the last voiced one.
    """

    of: str
    kind: str
    way: str
    band: str
    part: int
    text: str
    sound: float
    mark: str
    final: float
    end: float
    last_word: float
    tail_ms: float
    resumed_ms: float | None


def sentences() -> list[Sentence]:
    """Ours, and the development halves of the two voice benchmarks."""
    ours = yaml.safe_load((HERE / "finished_sentences.yaml").read_text("utf-8"))
    found = [
        Sentence(f"{kind}-{number}", kind, tuple(part.strip() for part in say.split("|")))
        for kind, says in ours.items()
        for number, say in enumerate(says)
    ]
    pauses = yaml.safe_load((VOICE_BENCH / "pauses_dev.yaml").read_text("utf-8"))["pauses"]
    for item in pauses:
        parts = tuple(part.strip() for part in item["say"].split("|"))
        found.append(Sentence(f"dev-{item['id']}", "dev_pauses", parts, item["pause_ms"]))
    questions = yaml.safe_load((VOICE_BENCH / "questions_dev.yaml").read_text("utf-8"))
    found += [
        Sentence(f"dev-{item['id']}", "dev_questions", (item["ask"],))
        for key in ("answered", "unknown")
        for item in questions[key]
    ]
    return found


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence as sound. `loud`: when its loud samples come; `ends`: where each part ends; seconds."""

    sentence: Sentence
    way: str
    pcm: Samples
    loud: npt.NDArray[np.float64]
    ends: list[float]


class Speaker:
    """Says sentences in one voice, the same way each time."""

    def __init__(self, name: str, voice: Voice) -> None:
        self.name, self._voice = name, voice

    def say(self, sentence: Sentence, way: str) -> Said:
        """The same sound each time, noise included."""
        chance = random.Random(crc32(f"{sentence.id} {self.name} {way}".encode()))
        up, down = chance.choice(SPEEDS)
        pauses = [(sentence.pause_ms or chance.randrange(400, 1001, 50)) / 1000 for _ in sentence.parts[1:]]
        pieces = self._whole(sentence) if way == "whole" else [self._render(part)[0] for part in sentence.parts]
        sound: list[Samples] = [silence(0.5)]
        ends: list[float] = []
        for piece, pause in zip(pieces, [*pauses, 1.2], strict=True):
            sound.append(_stretched(piece, up, down))
            ends.append(sum(map(len, sound)) / UNIT_RATE_HZ)
            sound.append(silence(pause))
        pcm = np.concatenate(sound)
        quiet = noise(len(pcm) / UNIT_RATE_HZ + 0.1, 10 ** (chance.uniform(*NOISE_DBFS) / 20), chance.randrange(1 << 30))
        return Said(
            sentence, f"{self.name} {way}", pcm + quiet[: len(pcm)], np.flatnonzero(np.abs(pcm) > LOUD) / UNIT_RATE_HZ, ends
        )

    def _whole(self, sentence: Sentence) -> list[Samples]:
        pcm, times = self._render(" ".join(sentence.parts))
        pieces, words, start = [], 0, 0
        for part in sentence.parts[:-1]:
            words += len(part.split())
            cut = int((times[words - 1][1] + times[words][0]) / 2 * UNIT_RATE_HZ)
            pieces.append(_faded(pcm[start:cut]))
            start = cut
        return [*pieces, _faded(pcm[start:])]

    def _render(self, text: str) -> tuple[Samples, list[tuple[float, float]]]:
        rendered = self._voice.render(text, never)
        pcm = resample_poly(rendered.pcm.astype(np.float32) / 32768, UNIT_RATE_HZ // 50, self._voice.rate_hz // 50)
        return pcm.astype(np.float32), [(word.start_us / 1e6, word.end_us / 1e6) for word in rendered.words]


def _stretched(pcm: Samples, up: int, down: int) -> Samples:
    return pcm if up == down else resample_poly(pcm, up, down).astype(np.float32)


def _faded(pcm: Samples) -> Samples:
    pcm, fade = pcm.copy(), np.linspace(0, 1, 80, dtype=np.float32)
    pcm[:80] *= fade
    pcm[-80:] *= fade[::-1]
    return pcm


def recorded() -> Iterator[Said]:
    """Recorded telephone prompts of more than a second, and read sentences: people, at the same level as the voices."""
    prompts = ((path.stem, prompt(path.stem)) for path in sorted(PROMPTS.glob("*.wav")))
    for name, pcm in (*prompts, *((name, pcm) for name, pcm, _ in librivox())):
        if len(pcm) < 1.2 * UNIT_RATE_HZ or any(part in name for part in ("tone", "beep", "monkeys")):
            continue
        level = float(np.sqrt(np.mean(np.square(pcm[np.abs(pcm) > LOUD]))))
        clean = np.concatenate((silence(0.5), pcm * np.float32(0.1 / level), silence(1.2)))
        loud = np.flatnonzero(np.abs(clean) > LOUD) / UNIT_RATE_HZ
        hiss = noise(len(clean) / UNIT_RATE_HZ + 0.1, 10 ** (-60 / 20), crc32(name.encode()))
        yield Said(Sentence(name, "recorded", ("",)), "recorded", clean + hiss[: len(clean)], loud, [float(loud[-1])])


class Listener:
    """The ears without their patience: they wait for whatever comes."""

    def __init__(self) -> None:
        self._silero = SileroModel(model_file("silero-vad", "silero_vad.onnx").parent)
        self._recogniser = Recogniser(model_file("moonshine-tiny-en", "encoder_model.ort").parent)
        self._turn = TurnModel(model_file("smart-turn", "smart-turn-v3.2-cpu.onnx").parent)

    def pauses(self, said: Said, band: str) -> list[Pause]:
        """All pauses of the sound, in order; the last is the end."""
        heard = telephone_band(said.pcm) if band == "telephone" else said.pcm
        looks = list(_looks(heard, 8_000 if band == "telephone" else UNIT_RATE_HZ, self._silero))
        return [self._pause(said, band, look, resumed_us) for look, resumed_us in looks]

    def _pause(self, said: Said, band: str, look: Look, resumed_us: int | None) -> Pause:
        voiced_s = look.covers.to_us / 1e6
        reading = self._recogniser.read(look.pcm)
        within = said.loud[said.loud <= voiced_s + 0.2] if resumed_us else said.loud
        ended = next((at for at, end in enumerate(said.ends) if abs(voiced_s - end) < 0.25), -1)
        return Pause(
            said.sentence.id,
            said.sentence.kind,
            said.way,
            band,
            ended if resumed_us else len(said.ends) - 1,
            reading.text,
            self._turn.probability(look.pcm),
            reading.end.mark,
            reading.end.final,
            reading.end.end_probability,
            last_word_certainty(reading.tokens),
            (voiced_s - float(within[-1])) * 1000,
            (resumed_us - look.covers.to_us) / 1000 if resumed_us else None,
        )


def _looks(pcm: Samples, rate_hz: int, silero: SileroModel) -> Iterator[tuple[Look, int | None]]:
    """Each look with the time at which it was dropped because the voice came back."""
    intake, hearing = Intake(rate_hz, UNIT_US, 0, SileroGate(silero, rate_hz)), Hearing()
    open_look: Look | None = None
    for number, frame in enumerate(frames_of(pcm, rate_hz)):
        _, units = intake.frame((number + 1) * TICK_US, MediaFrame(frame, MediaState.RECEIVED))
        for unit in units:
            resumed = _resumed(unit)
            for act in hearing.feed(unit):
                if open_look and isinstance(act, Drop):
                    yield open_look, resumed
                    open_look = None
                if isinstance(act, Look):
                    open_look = act
                    hearing.looked(act, NEVER_OVER)
    if open_look:
        yield open_look, None


def _resumed(unit: Unit) -> int:
    """When the hearing learns that the voice came back: the unit that says so is complete."""
    return unit.covers.to_us if any(isinstance(one, VoiceStarted | VoiceContinued) for one in unit.evidence) else 0


def save(pauses: list[Pause], path: Path) -> None:
    """Add them to the file, one a line."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(pause)) + "\n" for pause in pauses)


def load(path: Path) -> list[Pause]:
    """What `save` wrote."""
    return [Pause(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
