"""`venus bench voice`: the embedded default as a caller meets it, by voice, in real time, on real weights.

The callers speak with the Piper voice joe (CC0) in five manners; the human recordings are the telephone prompts of the Debian
package asterisk-core-sounds-en-wav. Half of the calls are at telephone band (G.711, 8 kHz), half at wide band (16 kHz).
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TypeVar

import jiwer
import numpy as np
import psutil

from agent.app.bench import FigureRow
from agent.ears.recogniser import Recogniser
from agent.knowledge import Knowledge, MiniLM
from agent.mind.memory import Memory
from agent.mind.mind import NEAREST, NOT_CAUGHT, UNKNOWN, Mind
from agent.weights.store import model_file
from tests import voice_sounds
from tests.measure import callers, voice_calls, voice_stock
from tests.measure.voice_calls import Asked, Surroundings

FIGURES = (
    "answer_p50_ms",
    "answer_p90_ms",
    "cut_off_pct",
    "answer_p90_ms_4calls",
    "wer_tel_pct",
    "answers_right_pct",
    "honest_unknown_pct",
    "stock_pipecat_answer_p50_ms",
    "worker_rss_mb",
)
IN_CALLS = {"answer_p50_ms", "answer_p90_ms", "cut_off_pct", "answer_p90_ms_4calls", "answers_right_pct", "honest_unknown_pct"}
KNOWLEDGE = Path(__file__).parents[2] / "examples" / "clinic" / "knowledge"
ALONE = 104
"""Questions asked one call at a time; those left are asked four at once."""
PROMPTS = 12
STOCK = 30
STOCK_PAUSES = 12
HUMAN = "human"

Report = Callable[[str], None]
Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to say, at one of the bands."""

    id: str
    sound: callers.Samples
    telephone: bool
    question: callers.Question | None = None


@dataclass(slots=True)
class Seen:
    """What the calls showed."""

    alone: list[tuple[Item, Asked]] = field(default_factory=list)
    together: list[tuple[Item, Asked]] = field(default_factory=list)
    paused: list[tuple[callers.Paused, bool, Asked]] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    rss_mb: float = 0.0


def run(wanted: tuple[str, ...], report: Report) -> Iterator[FigureRow]:
    """Measure the wanted figures; the whole takes about twenty minutes on two cores."""
    if "wer_tel_pct" in wanted:
        yield _word_errors(report)
    if (IN_CALLS | {"worker_rss_mb", "stock_pipecat_answer_p50_ms"}) & set(wanted):
        _prepare(report)
        seen = asyncio.run(_calls(wanted, report))
        yield from (row for row in _rows(seen) if row.figure in wanted)
        if "stock_pipecat_answer_p50_ms" in wanted:
            yield asyncio.run(_stock(seen, report))


# --- the calls --------------------------------------------------------------------------------------------------------------


def _prepare(report: Report) -> None:
    """Have everything rendered that is said."""
    texts = [(one.ask, place) for place, one in enumerate(callers.questions("test"))]
    for place, one in enumerate(callers.pauses("test")):
        texts += [(one.first, place), (one.second, place)]
    for done in callers.prepare(texts):
        report(f"callers' sentences, {done} of {len(texts)}")


def _items() -> tuple[list[Item], list[Item]]:
    """What is asked alone, and what four at once. The bands take turns."""
    asked = [(one, callers.trimmed(callers.spoken(one.ask, place))) for place, one in enumerate(callers.questions("test"))]
    known = [(one, sound) for one, sound in asked if one.says]
    first, rest = known[:ALONE], known[ALONE:] + [(one, sound) for one, sound in asked if not one.says]
    prompts = [(f"{HUMAN} {name}", callers.trimmed(sound)) for name, sound, _ in voice_sounds.phone_prompts()][:PROMPTS]
    alone = [Item(one.id, sound, place % 2 == 0, one) for place, (one, sound) in enumerate(first)]
    alone += [Item(name, sound, place % 2 == 0) for place, (name, sound) in enumerate(prompts)]
    return alone, [Item(one.id, sound, place % 2 == 0, one) for place, (one, sound) in enumerate(rest)]


async def _calls(wanted: tuple[str, ...], report: Report) -> Seen:
    seen = Seen()
    alone, together = _items()
    async with voice_calls.surroundings(KNOWLEDGE) as around:
        await voice_calls.ask(around, alone[0].sound, telephone=True)  # the first call of a process finds everything cold
        if {"answer_p50_ms", "answer_p90_ms", "answers_right_pct"} & set(wanted):
            await _lanes(1, alone, lambda item: _ask(around, item, seen.alone), "alone", report)
        if {"answer_p90_ms_4calls", "answers_right_pct", "honest_unknown_pct"} & set(wanted):
            await _lanes(4, together, lambda item: _ask(around, item, seen.together), "four at once", report)
        if "cut_off_pct" in wanted:
            pauses = list(enumerate(callers.pauses("test")))
            await _lanes(3, pauses, lambda one: _pause(around, *one, seen), "pauses", report)
        if "stock_pipecat_answer_p50_ms" in wanted and not seen.alone:
            await _lanes(1, alone[:STOCK], lambda item: _ask(around, item, seen.alone), "alone", report)
        seen.rss_mb = _peak_mb(around.pid)
    seen.ours = [asked.answer_ms for _, asked in seen.alone[:STOCK] if asked.answer_ms is not None]
    return seen


async def _lanes(count: int, items: Sequence[Thing], ask: Callable[[Thing], Awaitable[None]], what: str, report: Report) -> None:
    """Go through the items with `count` callers at once."""
    waiting, done = list(reversed(items)), 0

    async def lane() -> None:
        nonlocal done
        while waiting:
            await ask(waiting.pop())
            done += 1
            report(f"{what}, {done} of {len(items)}")

    await asyncio.gather(*(lane() for _ in range(count)))


async def _ask(around: Surroundings, item: Item, kept: list[tuple[Item, Asked]]) -> None:
    kept.append((item, await voice_calls.ask(around, item.sound, item.telephone)))


async def _pause(around: Surroundings, place: int, one: callers.Paused, seen: Seen) -> None:
    sound, _, again = callers.with_pause(one, place)
    until_ms = again * 1000 // voice_sounds.RATE_HZ + 100
    asked = await voice_calls.ask(around, sound, telephone=place % 2 == 0, until_ms=until_ms)
    begins_ms = again * 1000 / voice_sounds.RATE_HZ
    seen.paused.append((one, asked.early_ms is not None and asked.early_ms < begins_ms, asked))


def _peak_mb(pid: int) -> float:
    """The most memory the worker has had, as the kernel counts it."""
    status = Path(f"/proc/{pid}/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(peak[1]) / 1024 if peak else psutil.Process(pid).memory_info().rss / 2**20


# --- what it comes to -------------------------------------------------------------------------------------------------------


def _rows(seen: Seen) -> Iterator[FigureRow]:
    if seen.alone:
        yield from _latency(seen)
    if seen.paused:
        cut = [one.id for one, early, _ in seen.paused if early]
        note = f"{len(seen.paused)} sentences with a pause of 0.4 to 1.0 s, {len(cut)} answered inside it: {' '.join(cut)}"
        yield FigureRow("cut_off_pct", round(100 * len(cut) / len(seen.paused), 1), "%", 5, note=note)
    if seen.together:
        yield _four(seen)
    if any(item.question for item, _ in seen.alone + seen.together):
        yield from _truth(seen)
    yield FigureRow("worker_rss_mb", round(seen.rss_mb), "MB", 800, note="the most it has had, with up to four calls at once")


def _latency(seen: Seen) -> Iterator[FigureRow]:
    questions = [(item, asked) for item, asked in seen.alone if item.question]
    times = _times(questions)
    bands = {name: _times([(i, a) for i, a in questions if i.telephone is tel]) for name, tel in (("tel", True), ("wide", False))}
    human = _times([(item, asked) for item, asked in seen.alone if not item.question])
    note = f"{len(times)} of {len(questions)} questions, a call each, one at a time; "
    note += ", ".join(f"{name} p50 {median(some):.0f} p90 {np.percentile(some, 90):.0f}" for name, some in bands.items() if some)
    if human:
        note += f"; {len(human)} human telephone prompts p50 {median(human):.0f} p90 {np.percentile(human, 90):.0f}"
    yield FigureRow("answer_p50_ms", round(float(np.percentile(times, 50))), "ms", 600, note=note)
    note = f"worst {max(times):.0f} ms; answered before the end: {sum(1 for _, a in questions if a.early_ms is not None)}, "
    note += f"not at all: {sum(1 for _, a in questions if a.answer_ms is None and a.early_ms is None)}"
    yield FigureRow("answer_p90_ms", round(float(np.percentile(times, 90))), "ms", 800, note=note)


def _four(seen: Seen) -> FigureRow:
    times = _times(seen.together)
    note = f"{len(times)} of {len(seen.together)} questions, four callers without a break; "
    note += f"p50 {median(times):.0f}, worst {max(times):.0f} ms"
    silent = [f"{item.id} (heard as {asked.heard!r})" for item, asked in seen.together if asked.answer_ms is None]
    note += f"; not answered after its end: {', '.join(silent) or 'none'}"
    return FigureRow("answer_p90_ms_4calls", round(float(np.percentile(times, 90))), "ms", 1_400, note=note)


def _times(asked: list[tuple[Item, Asked]]) -> list[float]:
    return [one.answer_ms for _, one in asked if one.answer_ms is not None]


def _truth(seen: Seen) -> Iterator[FigureRow]:
    everything = [(item.question, asked) for item, asked in seen.alone + seen.together if item.question]
    known = [(question, asked) for question, asked in everything if question.says]
    unknown = [(question, asked) for question, asked in everything if not question.says]
    if known:
        wrong = [question.id for question, asked in known if not right(question, asked.answer)]
        unsure = sum(1 for question, asked in known if right(question, asked.answer) and hedged(asked.answer))
        silent = sum(1 for question, asked in known if not right(question, asked.answer) and honest(asked.answer))
        note = f"{len(known)} questions of the half written from the documents alone; not right: {' '.join(wrong)}"
        note += f" ({silent} of them “I do not have that” or “I am not sure”); "
        note += f"of the right ones {unsure} behind an “I am not sure”"
        share = round(100 * (1 - len(wrong) / len(known)), 1)
        yield FigureRow("answers_right_pct", share, "%", 90, at_most=False, note=note)
    if unknown:
        unsure = sum(1 for _, asked in unknown if hedged(asked.answer))
        said = [(question.id, asked.answer) for question, asked in unknown if not honest(asked.answer)]
        misleading = [name for name, answer in said if re.search(r"\$\d|\d (am|pm)\b|\d:\d\d", answer)]
        invented = [name for name, answer in said if not _from_documents(answer)]
        note = f"{len(unknown)} questions outside the documents, {unsure} of them told the nearest passage behind an “I am not "
        note += "sure”, the others “I do not have that information”; answered all the same: "
        note += f"{' '.join(name for name, _ in said) or 'none'}; "
        note += f"with a price or an hour that is about something else: {len(misleading)}; invented: {len(invented)}"
        share = round(100 * (1 - len(said) / len(unknown)), 1)
        yield FigureRow("honest_unknown_pct", share, "%", 95, at_most=False, note=note)


def right(question: callers.Question, answer: str) -> bool:
    """Whether an answer has all that one of the right answers has."""
    said = " ".join(answer.lower().split())
    return any(all(" ".join(piece.lower().split()) in said for piece in alternative) for alternative in question.says)


def honest(answer: str) -> bool:
    """Whether it says that it does not know, is not sure to know, or did not understand."""
    return answer in (UNKNOWN, *NOT_CAUGHT) or hedged(answer)


def hedged(answer: str) -> bool:
    """Whether it says that it is not sure to know, and then what is nearest."""
    return answer.startswith(NEAREST)


def _from_documents(answer: str) -> bool:
    """Whether every number of an answer stands in the documents."""
    everything = " ".join(path.read_text("utf-8") for path in KNOWLEDGE.glob("*.md"))
    return all(number in everything for number in re.findall(r"\d[\d,.:]*\d|\d", answer))


def _word_errors(report: Report) -> FigureRow:
    report("words of human telephone recordings")
    recogniser = Recogniser(model_file("moonshine-tiny-en", "encoder_model.ort").parent)
    prompts = voice_sounds.phone_prompts()
    said = [voice_sounds.spoken(words) for _, _, words in prompts]
    heard = [voice_sounds.spoken(recogniser.read(voice_sounds.telephone_band(pcm)).text) for _, pcm, _ in prompts]
    words = sum(len(line.split()) for line in said)
    note = f"{len(prompts)} prompts (asterisk-core-sounds-en-wav) at 300 to 3,400 Hz in µ-law, {words} words"
    return FigureRow("wer_tel_pct", round(100 * jiwer.wer(said, heard), 1), "%", 5, note=note)


def _paused_sound(place: int, one: callers.Paused) -> callers.Samples:
    sound, _, _ = callers.with_pause(one, place)
    return voice_sounds.telephone_band(sound) if place % 2 == 0 else sound


async def _stock(seen: Seen, report: Report) -> FigureRow:
    encoder = MiniLM(model_file("minilm", "model.safetensors"), model_file("minilm", "tokenizer.json"))
    mind = Mind(Knowledge.load(KNOWLEDGE, encoder))
    chosen = _items()[0][:STOCK]
    sounds = [voice_sounds.telephone_band(item.sound) if item.telephone else item.sound for item in chosen]
    paused = [_paused_sound(place, one) for place, one in enumerate(callers.pauses("test")[:STOCK_PAUSES])]
    answers = await voice_stock.ask_stock(
        lambda text: mind.decide(text, 1.0, Memory()).text,
        [*sounds, *paused],
        telephone=False,
        progress=lambda done: report(f"stock pipecat, {done} of {len(sounds) + len(paused)}"),
    )
    asked, cut = answers[: len(sounds)], answers[len(sounds) :]
    times = [one.answer_ms for one in asked if one.answer_ms is not None]
    early = sum(1 for one in asked if one.early_ms is not None)
    inside = sum(1 for one in cut if one.early_ms is not None)
    ours = seen.ours
    note = f"{len(times)} of {len(sounds)} of the same questions, same weights; p90 {np.percentile(times, 90):.0f} ms, ours "
    note += f"{np.percentile(ours, 90):.0f}; {early} questions answered before their end; "
    note += f"{inside} of {len(cut)} sentences with a pause answered inside it"
    return FigureRow("stock_pipecat_answer_p50_ms", round(median(times)), "ms", None, against=round(median(ours)), note=note)
