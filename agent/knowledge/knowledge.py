"""The facade: a folder of documents that can be asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from agent import places
from agent.errors import Refused
from agent.knowledge.answer import compose
from agent.knowledge.dialogue import Dialogue
from agent.knowledge.documents import Signature, read_folder, signature
from agent.knowledge.encoder import Encoder
from agent.knowledge.everyday import plainly
from agent.knowledge.fitted import KNOWN_FROM, RELATED_FROM
from agent.knowledge.index import Index, Told, build, silently
from agent.knowledge.passages import Finding, Passage, Severity
from agent.knowledge.question import Wanted, bounded, gives
from agent.knowledge.search import Ranking, search
from agent.knowledge.sight import thing_scale

MOST_PASSAGES = 5
"""Passages that a result carries, for the words of a language model."""


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    """`score`: this passage's share of the belief that some passage answers, 0..1."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    """What the documents say to a question.

    `known`: how likely the first passage answers it, 0..1. `answer` is written text, empty unless `is_known`. `related`: for a
    question that is near to something in the documents without being surely answered, what they say about that, to be told only
    behind an "I am not sure that this is what you asked for"; empty otherwise.
    """

    known: float
    answer: str
    passages: tuple[ScoredPassage, ...]
    question: str
    """As it was looked up: completed from the dialogue, misheard words put right."""
    related: str = ""

    @property
    def is_known(self) -> bool:
        """Whether the answer may be told as one."""
        return self.known >= KNOWN_FROM

    @property
    def title(self) -> str:
        """Of the passage that answers; empty when none does."""
        return self.passages[0].passage.title if self.is_known and self.passages else ""

    @property
    def source(self) -> str:
        """File and headings of the passage that answers; empty when none does."""
        return self.passages[0].passage.id if self.is_known and self.passages else ""


class Knowledge:
    """Any number of threads may ask at once: each question is answered from one immutable index."""

    def __init__(self, folder: Path, encoder: Encoder, cache_folder: Path, told: Told = silently) -> None:
        self._folder, self._encoder, self._cache_folder = folder, encoder, cache_folder
        self._scale = thing_scale(encoder)
        self._refreshing = Lock()
        self._signature, self._index, self._findings = self._read(told)

    @classmethod
    def load(cls, folder: Path, encoder: Encoder, cache_folder: Path | None = None, told: Told = silently) -> "Knowledge":
        """Read and index the folder; seconds when it changed since the last time, of which `told(done, total)` is called.

        Raises `Refused` when nothing can be read.
        """
        return cls(folder, encoder, cache_folder or places.cache_folder() / "knowledge", told)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a person should look at in the documents, as `check` says it."""
        return self._findings

    @property
    def passages(self) -> Sequence[Passage]:
        """All passages, in order of the files."""
        return self._index.passages

    def ask(self, question: str, dialogue: Dialogue) -> Found:
        """Blocking, 10 to 40 ms of one processor. Any text is a question; the dialogue is read, not changed."""
        index = self._index
        question = plainly(question)
        completed = dialogue.complete(question)
        ranking = search(completed, index, self._encoder, self._scale)
        if ranking.known < KNOWN_FROM and completed != bounded(question):  # the rules may have seen a gap where there is none
            alone = search(question, index, self._encoder, self._scale)
            ranking = alone if alone.known >= KNOWN_FROM else ranking
        return _found(ranking)

    def refresh(self) -> bool:
        """Read the folder again if any file of it changed; True if so. Cheap otherwise. For a thread of the owner's.

        Documents that can no longer be read leave the last good ones in place, with an error among the findings.
        """
        with self._refreshing:
            if signature(self._folder) == self._signature:
                return False
            try:
                self._signature, self._index, self._findings = self._read()
            except Refused as refusal:
                self._signature = signature(self._folder)
                self._findings = (Finding(Severity.ERROR, self._folder.name, 0, str(refusal)),)
            return True

    def _read(self, told: Told = silently) -> tuple[Signature, Index, tuple[Finding, ...]]:
        seen = signature(self._folder)  # before reading: a change while we read is seen next time
        documents = read_folder(self._folder)
        return seen, build(documents, self._encoder, self._cache_folder, told), documents.findings


def _found(ranking: Ranking) -> Found:
    best = ranking.passages[0]
    text = compose(best.passage, best.sentence_scores, ranking.question)
    known = ranking.known
    if ranking.question.asks_a_price and not gives(Wanted.AMOUNT, text):
        known = min(known, RELATED_FROM)
    is_known, is_near = known >= KNOWN_FROM, RELATED_FROM <= known < KNOWN_FROM
    title = best.passage.title.rstrip(".:?")
    related = text if text.startswith(title) else f"{title}: {text}"
    passages = tuple(ScoredPassage(each.passage, each.share) for each in ranking.passages[:MOST_PASSAGES])
    return Found(known, text if is_known else "", passages, ranking.question.text, related if is_near else "")
