"""Fits the weights of `agent.ears.finished`, and says what patience costs in cut-offs and in waiting.

python -m tests.measure.fit_finished hear FOLDER     synthesise and hear all sentences (half an hour); what is there stays
python -m tests.measure.fit_finished fit FOLDER      the weights, for the code
python -m tests.measure.fit_finished report FOLDER   the trade-off, cross-validated, in both bands
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt

from agent.ears.dictation import Dictation, dictation
from agent.ears.finished import SOUND_WEIGHT, finished, patience_with, signals
from agent.ears.recogniser import EndOfText
from agent.ears.shape import Shape, shape_of
from agent.mouth.hibari_voice import HibariVoice
from agent.mouth.piper_voice import PiperOptions, PiperVoice
from agent.understanding.asked import Asked
from agent.weights.store import model_file
from tests.measure.heard_pauses import BANDS, Listener, Pause, Sentence, Speaker, load, recorded, save, sentences

FOLDS = 5
CUTS = (0.02, 0.04, 0.06, 0.08, 0.12, 0.2)
"""Operating points of the report."""
SHORTEST_MS = 250.0
"""Shorter pauses are over before the ears have made up their mind: they are not fitted on."""
COMPUTING_MS = 270.0
"""From the last voiced sample until recogniser and turn model have answered."""
PATH_MS = 80.0
LONG_PAUSE_MS = 2_400.0
UNIT_MS = 20.0
"""How late the end of the patience is noticed, on average."""
RIDGE = 0.3
NAMES = [*(shape.value for shape in Shape), "final", "last word"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Data:
    """Pauses with their signals, shape (pauses, names); what the sound adds is fixed. `over`: 1 where the turn ended."""

    pauses: list[Pause]
    signals: Vector
    sound: Vector
    over: Vector

    @staticmethod
    def of(pauses: list[Pause]) -> "Data":
        rows = [signals(shape_of(one.text), one.sound, _end(one), one.last_word) for one in pauses]
        by_name = [[float(shape is row.shape) for shape in Shape] + [row.final, row.last_word] for row in rows]
        over = np.array([float(one.resumed_ms is None) for one in pauses])
        return Data(pauses, np.array(by_name), np.array([SOUND_WEIGHT * row.sound for row in rows]), over)

    def some(self, where: npt.NDArray[np.bool_]) -> "Data":
        chosen = [one for one, chosen in zip(self.pauses, where, strict=True) if chosen]
        return Data(chosen, self.signals[where], self.sound[where], self.over[where])

    def probabilities(self, weights: Vector) -> Vector:
        return _logistic(self.signals @ weights + self.sound)


def _end(one: Pause) -> EndOfText:
    return EndOfText(one.mark, one.final, one.end)


def _logistic(odds: Vector) -> Vector:
    return np.asarray(1 / (1 + np.exp(-odds)))


def fitted(data: Data) -> Vector:
    """Logistic regression by Newton's method, ends and pauses weighing the same, with a ridge."""
    share = data.over.mean()
    weight = np.where(data.over == 1, 0.5 / share, 0.5 / (1 - share))
    weights = np.zeros(data.signals.shape[1])
    for _ in range(40):
        found = data.probabilities(weights)
        gradient = data.signals.T @ (weight * (data.over - found)) - RIDGE * weights
        hessian = (data.signals * (weight * found * (1 - found))[:, None]).T @ data.signals + RIDGE * np.eye(len(weights))
        weights += np.linalg.solve(hessian, gradient)
    return weights


def _fold(one: Pause) -> int:
    return crc32(one.of.encode()) % FOLDS


def cross_validated(training: Data, data: Data) -> Vector:
    """The probability of each pause, by weights that were fitted without its sentence."""
    found = np.zeros(len(data.pauses))
    of_training, of_data = (np.array([_fold(one) for one in some.pauses]) for some in (training, data))
    for fold in range(FOLDS):
        weights = fitted(training.some(of_training != fold))
        here = of_data == fold
        found[here] = data.some(here).probabilities(weights)
    return found


def for_training(pauses: list[Pause]) -> list[Pause]:
    """Without the sentences for the report, without dictation, which has rules of its own, and without the shortest pauses."""
    return [
        one
        for one in pauses
        if not one.kind.startswith(("check_", "blind_"))
        and one.kind not in ("digits", "spelling", "recorded")
        and dictation(one.text) is Dictation.NONE
        and (one.resumed_ms is None or one.resumed_ms > SHORTEST_MS)
    ]


# --- report -----------------------------------------------------------------------------------------------------------------


def _dictated_ms(one: Pause, patience_ms: float) -> float:
    """The patience with dictation, which does not go by the probability."""
    found = dictation(one.text)
    return patience_ms if found is Dictation.NONE else finished(one.text, 0.5, EndOfText(), Asked.NOTHING).patience_us / 1000


def _cut(one: Pause, patience_ms: float) -> bool:
    return one.resumed_ms is not None and max(patience_ms, COMPUTING_MS) + UNIT_MS < one.resumed_ms


def _answer_ms(one: Pause, patience_ms: float) -> float:
    """From the last loud sample to the first of the answer."""
    return one.tail_ms + max(patience_ms, COMPUTING_MS) + UNIT_MS + PATH_MS


def figures(pauses: Sequence[Pause], patience_ms: Sequence[float], broken: str, whole: str) -> str:
    """A line: what share of the sentences of kind `broken` is cut, and how long those of kind `whole` wait."""
    callers: dict[tuple[str, str, str], bool] = {}
    waits, longer, inside = [], 0, 0
    for one, patience in zip(pauses, patience_ms, strict=True):
        if one.kind == broken:
            caller = (one.of, one.way, one.band)
            callers[caller] = callers.get(caller, False) or _cut(one, patience)
        if one.kind == whole and one.resumed_ms is None:
            waits.append(_answer_ms(one, patience))
            longer += patience > 500
        inside += one.kind == whole and _cut(one, patience)
    share = 100 * sum(callers.values()) / max(1, len(callers))
    p50, p90 = np.quantile(waits, [0.5, 0.9])
    return (
        f"cut {sum(callers.values()):3}/{len(callers):3} {share:4.1f} %   answer p50 {p50:4.0f} p90 {p90:4.0f} ms   "
        f"patience over 500 ms {100 * longer / len(waits):4.1f} %   cut inside questions {inside}"
    )


PAIRS = (
    ("dev_pauses", "dev_questions"),
    ("check_pauses", "check_questions"),
    ("blind_pauses", "blind_questions"),
    ("broken_off", "complete_questions"),
)


def report(pauses: list[Pause]) -> None:
    """The trade-off by cross-validation, then the operating point of the code."""
    training, everything = Data.of(for_training(pauses)), Data.of(pauses)
    probabilities = cross_validated(training, everything)
    for broken, whole in PAIRS:
        print(f"\n{broken} / {whole}")
        for band in BANDS:
            chosen = np.array([one.band == band and one.kind in (broken, whole) for one in pauses])
            some = everything.some(chosen)
            for cut in CUTS:
                patience = [
                    _dictated_ms(one, patience_with(shape_of(one.text), probability, cut) / 1000)
                    for one, probability in zip(some.pauses, probabilities[chosen], strict=True)
                ]
                print(f"  {band:10} allowed {cut:4.2f}   {figures(some.pauses, patience, broken, whole)}")
            _by_way(some.pauses, broken, whole, band)
    _dictated(pauses)
    _recorded(pauses)


def _judged_ms(one: Pause, asked: Asked = Asked.NOTHING) -> float:
    return finished(one.text, one.sound, _end(one), asked, one.last_word).patience_us / 1000


def _dictated(pauses: list[Pause]) -> None:
    """How many pauses between groups are waited for, were they 2.4 s long, and how many of those who pause are cut as they do."""
    for kind, asked in (
        ("digits", Asked.NOTHING),
        ("digits", Asked.DIGITS),
        ("spelling", Asked.NOTHING),
        ("spelling", Asked.SPELLING),
    ):
        inner = [one for one in pauses if one.kind == kind and one.resumed_ms is not None and one.part >= 0]
        patient = sum(_judged_ms(one, asked) >= LONG_PAUSE_MS for one in inner)
        cut = sum(_cut(one, _judged_ms(one, asked)) for one in inner)
        print(
            f"{kind}, asked for {asked}: {patient}/{len(inner)} pauses are waited for up to {LONG_PAUSE_MS:.0f} ms, {cut} are cut"
        )


def _recorded(pauses: list[Pause]) -> None:
    """Ends and inner pauses of recorded speech."""
    some = [one for one in pauses if one.kind == "recorded"]
    ends = np.array([_judged_ms(one) for one in some if one.resumed_ms is None])
    inner = [one for one in some if one.resumed_ms is not None]
    cut = sum(_cut(one, _judged_ms(one)) for one in inner)
    waited = ", ".join(f"{limit} ms {100 * np.mean(ends <= limit):.0f} %" for limit in (300, 800, 1400))
    print(f"recorded: {len(ends)} ends, patience up to {waited}; of {len(inner)} inner pauses {cut} are taken for an end")


def _by_way(pauses: list[Pause], broken: str, whole: str, band: str) -> None:
    for way in ("", *sorted({one.way for one in pauses})):
        some = [one for one in pauses if way in ("", one.way)]
        print(f"  {band:10} in the code {way:13} {figures(some, [_judged_ms(one) for one in some], broken, whole)}")


# --- hearing ----------------------------------------------------------------------------------------------------------------


def _speakers() -> list[tuple[Speaker, Callable[[Sentence], tuple[str, ...]]]]:
    """The voices, with the ways in which each says a sentence. Piper tells no exact word times: it says parts, no cut ones."""
    joe = PiperVoice(
        model_file("piper-joe", "en_US-joe-medium.onnx").parent, options=PiperOptions(noise_scale=0.5, noise_w=0.6, seed=1)
    )

    def hibari_ways(sentence: Sentence) -> tuple[str, ...]:
        if sentence.kind in ("dev_pauses", "check_pauses", "blind_pauses"):
            return ("whole", "apart")
        return ("whole",) if crc32(sentence.id.encode()) % 2 == 0 else ("apart",)

    return [(Speaker("hibari", HibariVoice()), hibari_ways), (Speaker("joe", joe), lambda _: ("apart",))]


def hear(path: Path) -> None:
    """Add what is missing to the file."""
    have = {(one.of, one.way) for one in load(path)} if path.exists() else set()
    listener = Listener()
    for speaker, ways in _speakers():
        for sentence in sentences():
            for way in ways(sentence):
                if (sentence.id, f"{speaker.name} {way}") not in have:
                    said = speaker.say(sentence, way)
                    save([one for band in BANDS for one in listener.pauses(said, band)], path)
    for said in recorded():
        if (said.sentence.id, said.way) not in have:
            save([one for band in BANDS for one in listener.pauses(said, band)], path)


def main(act: str, folder: str) -> None:
    path = Path(folder) / "heard_pauses.jsonl"
    match act:
        case "hear":
            hear(path)
        case "fit":
            weights = fitted(Data.of(for_training(load(path))))
            print("\n".join(f"{name:16}{weight:6.2f}" for name, weight in zip(NAMES, weights, strict=True)))
        case "report":
            report(load(path))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:3])
