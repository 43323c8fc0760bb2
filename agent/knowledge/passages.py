"""What reading a folder of documents yields: passages, their sentences, and findings about what could not be read."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath


class Kind(StrEnum):
    """Where a sentence stood."""

    PROSE = "prose"
    ITEM = "item"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A piece that can be spoken alone. `line` counts from 1 in its file.

    A table row reads "Cleaning: $95." with two columns, "Cleaning: price $95, time 40 minutes." with more. `lead` is the text
    that introduces a list ("Please bring."), empty elsewhere.
    """

    text: str
    kind: Kind
    line: int
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """What stands under one heading. `id` is `file#heading/heading`, unique in its folder; `titles` begin with the outermost."""

    id: str
    file: PurePosixPath
    line: int
    titles: tuple[str, ...]
    sentences: tuple[Sentence, ...]

    @property
    def title(self) -> str:
        """The innermost heading."""
        return self.titles[-1]

    @property
    def text(self) -> str:
        """All sentences, as one would read them aloud."""
        return " ".join(sentence.text for sentence in self.sentences)


class Severity(StrEnum):
    """`ERROR`: a file is not used at all. `WARNING`: a part of it is not, or two parts disagree."""

    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a person should look at. `line` 0: the whole file."""

    severity: Severity
    file: str
    line: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.severity}: {self.message}"


@dataclass(frozen=True, slots=True)
class Documents:
    """A folder as read."""

    passages: tuple[Passage, ...]
    findings: tuple[Finding, ...]
