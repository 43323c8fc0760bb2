"""Fits the coefficients of agent/knowledge/fitted.py on the development questions, and prints what unseen questions would get.

    python -m tests.measure.fit_knowledge [--write]

Two models, both linear over `agent.knowledge.features.FEATURES`. Ranking: softmax over the candidate sentences of a question, the
likelihood of those that hold the answer. Knowing: logistic over the best sentence's features, whether its passage is the one that
answers. What unseen questions would get is measured twice: ten parts of all questions, and one folder of documents left out at a
time. The figure of `--write` is the file agent/knowledge/fitted.py; the threshold in it is chosen by hand from the printed table.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from agent.knowledge import fitted
from agent.knowledge.documents import read_folder
from agent.knowledge.encoder import Encoder, Floats
from agent.knowledge.features import FEATURES, candidates
from agent.knowledge.hearing import mend
from agent.knowledge.index import Index, build, default_cache_folder
from agent.knowledge.question import take_apart
from agent.knowledge.search import margin_of
from agent.knowledge.sight import see, thing_scale
from tests.agent.knowledge.questions import Asked, read_questions
from tests.agent.knowledge.weights import real_encoder

ROOT = Path(__file__).parents[2]
OWN = ROOT / "tests" / "agent" / "knowledge"
CLINIC = ROOT / "examples" / "clinic" / "knowledge"
SETS = {
    "clinic, dev": (CLINIC, ROOT / "tests" / "bench" / "voice" / "questions_dev.yaml"),
    "clinic, own": (CLINIC, OWN / "questions_clinic.yaml"),
    "garage": (OWN / "garage", OWN / "questions_garage.yaml"),
    **{folder.name: (folder, folder / "questions.yaml") for folder in sorted((OWN / "fit").iterdir())},
}
RANKING = (
    *("context", "sentence", "passage", "passage_keywords", "words_mean", "phrases_mean", "plain_mean", "plain_min"),
    *("named_nameless", "shared", "tokens_passage", "content_min_passage", "tokens_sentence", "content_min_sentence"),
    *("unwanted_sentence", "time_given", "place_given", "place_lacking"),
    *("day_told", "day_lacking", "holiday_told", "holiday_lacking", "holiday_unasked"),
    *("address_told", "contact_told"),
)
KNOWING = (
    *("context", "sentence_keywords", "passage", "nameless", "named_plain", "phrases_min", "nouns_min", "known_words_mean"),
    *("known_phrases_mean", "things_missing", "things_unknown", "shared_sentence", "content_passage", "content_min_passage"),
    *("content_sentence", "function_passage", "unwanted_passage", "duration_lacking", "person_lacking"),
    *("day_lacking", "holiday_lacking", "holiday_unasked", "address_told", "address_lacking", "contact_told"),
)
"""Features that each model needs: the others were dropped one by one while unseen questions got no worse."""
RANKING_PENALTY = 4.0
KNOWING_PENALTY = 1.0
THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
PARTS = 10

Matrix = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Case:
    """One question with its candidates: a row of features, the passage, and whether it is an answer, for each."""

    group: str
    known: bool
    values: Matrix
    owners: npt.NDArray[np.int64]
    answers: Flags

    def right(self, row: int) -> bool:
        """Whether the row's passage answers."""
        return bool(self.known and self.answers.any() and self.owners[row] in self.owners[self.answers])


@dataclass(frozen=True, slots=True)
class Linear:
    """Weights on raw features, and a base."""

    names: tuple[str, ...]
    weights: Matrix
    base: float = 0.0


def main() -> None:
    """See the module."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--write", action="store_true", help="write agent/knowledge/fitted.py")
    write = arguments.parse_args().write
    cases = list(all_cases(real_encoder()))
    for title, splits in (("ten parts", _parts(cases)), ("a folder left out", _folders(cases))):
        print(f"\n{title}: right / wrong of the known, unknown of the unknown, by threshold")
        _print_table([row for train, test in splits for row in _judge(test, *fit(train))])
    if write:
        path = Path(fitted.__file__)
        path.write_text(_source(*fit(cases), path.read_text()))


def all_cases(encoder: Encoder) -> Iterator[Case]:
    """The questions of all sets."""
    scale = thing_scale(encoder)
    for group, (folder, questions) in SETS.items():
        index = build(read_folder(folder), encoder, default_cache_folder())
        for asked in read_questions(questions):
            yield _case(group, asked, index, encoder, scale)


def _case(group: str, asked: Asked, index: Index, encoder: Encoder, scale: Floats) -> Case:
    question = take_apart(mend(asked.text, index.vocabulary, encoder), index.vocabulary)
    found = candidates(see(question, index, encoder, scale), index)
    owners = index.owner[found.sentences]
    answers = np.array([asked.answered_by(index.sentences[row].text) for row in found.sentences], bool)
    if asked.passage:
        file, _, title = asked.passage.partition("#")
        answers &= np.array([(str(index.passages[o].file), index.passages[o].title) == (file, title) for o in owners])
    elif answers.any():  # the same fact may stand in several passages: the nearest is meant
        near = found.values[:, FEATURES.index("context")] + found.values[:, FEATURES.index("passage")]
        answers &= owners == owners[np.where(answers, near, -np.inf).argmax()]
    return Case(group, asked.known, found.values.astype(np.float64), owners, answers)


def fit(cases: Sequence[Case]) -> tuple[Linear, Linear]:
    """Ranking, then knowing on top of it."""
    ranking = _fit_ranking([case for case in cases if case.answers.any()])
    rows, rights = [], []
    for case in cases:
        row, features = _best(case, ranking)
        rows.append(features)
        rights.append(case.right(row))
    return ranking, _fit_knowing(np.array(rows), np.array(rights, np.float64))


def _columns(names: Sequence[str]) -> list[int]:
    return [FEATURES.index(name) for name in names]


def _best(case: Case, ranking: Linear) -> tuple[int, Matrix]:
    scores = case.values[:, _columns(ranking.names)] @ ranking.weights
    row = int(scores.argmax())
    return row, np.append(case.values[row, _columns(KNOWING)], margin_of(scores, case.owners))


def _fit_ranking(cases: Sequence[Case]) -> Linear:
    columns = _columns(RANKING)
    spread = np.concatenate([case.values[:, columns] for case in cases]).std(axis=0) + 1e-6
    items = [(case.values[:, columns] / spread, case.answers) for case in cases]

    def loss(weights: Matrix) -> tuple[float, Matrix]:
        total, slope = RANKING_PENALTY * float(weights @ weights), 2 * RANKING_PENALTY * weights
        for values, answers in items:
            shares = np.exp(values @ weights - (values @ weights).max())
            shares /= shares.sum()
            right = float(shares[answers].sum()) + 1e-12
            total -= np.log(right)
            slope = slope - values.T @ (shares * answers / right - shares)
        return total, slope

    return Linear(RANKING, minimize(loss, np.zeros(len(columns)), jac=True, method="L-BFGS-B").x / spread)


def _fit_knowing(rows: Matrix, rights: Matrix) -> Linear:
    middle, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-6
    values = np.column_stack([(rows - middle) / spread, np.ones(len(rows))])
    penalties = np.append(np.full(rows.shape[1], KNOWING_PENALTY), 0)

    def loss(weights: Matrix) -> tuple[float, Matrix]:
        odds = values @ weights
        total = float((np.logaddexp(0, odds) - rights * odds).sum() + penalties @ weights**2)
        return total, values.T @ (1 / (1 + np.exp(-odds)) - rights) + 2 * penalties * weights

    weights = minimize(loss, np.zeros(values.shape[1]), jac=True, method="L-BFGS-B").x
    scaled = weights[:-1] / spread
    return Linear((*KNOWING, "margin"), scaled, float(weights[-1] - scaled @ middle))


def _parts(cases: Sequence[Case]) -> Iterator[tuple[list[Case], list[Case]]]:
    part = np.random.default_rng(7).permutation(len(cases)) % PARTS
    for number in range(PARTS):
        train = [case for case, own in zip(cases, part, strict=True) if own != number]
        yield train, [case for case, own in zip(cases, part, strict=True) if own == number]


def _folders(cases: Sequence[Case]) -> Iterator[tuple[list[Case], list[Case]]]:
    """Both sets of the clinic ask the same documents: when one is tested, neither is fitted on."""
    for group in SETS:
        same = {name for name, (folder, _) in SETS.items() if folder == SETS[group][0]}
        yield [case for case in cases if case.group not in same], [case for case in cases if case.group == group]


def _judge(cases: Sequence[Case], ranking: Linear, knowing: Linear) -> Iterator[tuple[str, bool, bool, float]]:
    for case in cases:
        row, features = _best(case, ranking)
        yield case.group, case.known, case.right(row), float(1 / (1 + np.exp(-(features @ knowing.weights + knowing.base))))


def _print_table(rows: Sequence[tuple[str, bool, bool, float]]) -> None:
    groups: dict[str, list[str]] = {name: [name] for name in SETS if name.startswith("clinic")}
    groups["other trades"] = [name for name in SETS if name not in groups]
    for title, members in groups.items():
        known = np.array([(right, chance) for group, is_known, right, chance in rows if is_known and group in members])
        unknown = np.array([chance for group, is_known, _, chance in rows if not is_known and group in members])
        print(f"{title} ({len(known)} known, {len(unknown)} unknown; first passage right {known[:, 0].mean():.1%})")
        for threshold in THRESHOLDS:
            told = known[:, 1] >= threshold
            right, wrong = (told & (known[:, 0] == 1)).mean(), (told & (known[:, 0] == 0)).mean()
            print(f"   {threshold:.2f}: {right:6.1%} / {wrong:5.1%}   {(unknown < threshold).mean():6.1%}")


def _source(ranking: Linear, knowing: Linear, before: str) -> str:
    """The text of fitted.py, its docstrings and thresholds as they are."""
    tables: dict[str, Any] = {
        "RANKING": dict(zip(ranking.names, ranking.weights, strict=True)),
        "KNOWING": dict(zip(knowing.names[:-1], knowing.weights[:-1], strict=True)),
    }
    text = before
    for name, table in tables.items():
        body = "".join(f'    "{feature}": {weight:.4f},\n' for feature, weight in table.items())
        written = f"{name}: dict[str, float] = {{\n{body}}}"
        text = re.sub(rf"^{name}: dict\[str, float\] = \{{.*?\}}$", written, text, flags=re.M | re.S)
    text = re.sub(r"^KNOWING_BASE = .*$", f"KNOWING_BASE = {knowing.base:.4f}", text, flags=re.M)
    return re.sub(r"^KNOWING_MARGIN = .*$", f"KNOWING_MARGIN = {knowing.weights[-1]:.4f}", text, flags=re.M)


if __name__ == "__main__":
    main()
