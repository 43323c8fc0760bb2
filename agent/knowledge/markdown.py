"""One Markdown text to passages: CommonMark with tables; what cannot be spoken is left out and reported."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.token import Token

from agent.knowledge.passages import Finding, Kind, Passage, Sentence, Severity
from agent.knowledge.sentences import closed, split_sentences

PASSAGE_CHARACTERS = 900
"""A longer section is split between two of its sentences: an encoder sees only its beginning otherwise."""

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_SLUG = re.compile(r"[^a-z0-9]+")
_LEFT_OUT = {"fence": "a code block", "code_block": "an indented code block", "html_block": "an HTML block"}


@dataclass(slots=True)
class _Section:
    """A heading being read, and what stands under it so far."""

    titles: tuple[str, ...]
    line: int
    sentences: list[Sentence] = field(default_factory=list)


@dataclass(slots=True)
class _Reader:
    """State of one pass over the tokens of a file."""

    file: PurePosixPath
    tokens: Sequence[Token]
    lines: Sequence[str]
    findings: list[Finding] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)
    sections: list[_Section] = field(default_factory=list)
    lead: Sentence | None = None

    def add(self, sentence: Sentence) -> None:
        self.sections[-1].sentences.append(sentence)

    def take_lead(self) -> str:
        """The text that introduces the list which begins now."""
        lead, self.lead = self.lead, None
        return lead.text if lead else ""

    def end_lead(self) -> None:
        """No list followed: the introduction is a sentence like others."""
        if self.lead:
            self.add(self.lead)
            self.lead = None

    def warn(self, line: int, message: str) -> None:
        self.findings.append(Finding(Severity.WARNING, str(self.file), line, message))


def read_markdown(text: str, file: PurePosixPath) -> tuple[list[Passage], list[Finding]]:
    """Passages in the order of the text; text before any heading goes under the file's name. Never raises for any text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    front_matter = _FRONT_MATTER.match(text)
    if front_matter:  # blank lines instead, so that line numbers stay true
        text = "\n" * front_matter.group().count("\n") + text[front_matter.end() :]
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    reader = _Reader(file, tokens, text.split("\n"))
    reader.sections.append(_Section((_name_of(file),), 1))
    _read_blocks(reader)
    return _passages(reader), reader.findings


def _name_of(file: PurePosixPath) -> str:
    words = re.sub(r"^[\d\W_]+", "", file.stem).replace("-", " ").replace("_", " ").strip()
    return words.capitalize() or file.stem


def _read_blocks(reader: _Reader) -> None:
    position = 0
    while position < len(reader.tokens):
        token = reader.tokens[position]
        line = _line(token)
        if token.type in ("heading_open", "paragraph_open", "table_open"):
            reader.end_lead()
        if token.type == "heading_open":
            _open_section(reader, int(token.tag[1]), _plain(reader.tokens[position + 1]), line)
        elif token.type == "paragraph_open":
            _read_paragraph(reader, reader.tokens[position + 1], line)
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            position = _read_list(reader, position)
            continue
        elif token.type == "table_open":
            position = _read_table(reader, position)
            continue
        elif token.type in _LEFT_OUT:
            reader.warn(line, f"{_LEFT_OUT[token.type]} is not read: write it as plain text if callers should hear it.")
        position += 1
    reader.end_lead()


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 0


def _open_section(reader: _Reader, level: int, title: str, line: int) -> None:
    if not title:
        reader.warn(line, "a heading has no text: what follows stays under the heading before it.")
        return
    reader.headings = [(depth, name) for depth, name in reader.headings if depth < level]
    reader.headings.append((level, title))
    reader.sections.append(_Section(tuple(name for _, name in reader.headings), line))


def _read_paragraph(reader: _Reader, inline: Token, line: int) -> None:
    if _looks_like_table(inline.content):
        reader.warn(line, "a table without a line of dashes under its first row is not read: add the line |---|---|.")
        return
    text = _plain(inline)
    sentences = [Sentence(piece, Kind.PROSE, line) for piece in split_sentences(text)]
    reader.lead = sentences.pop() if sentences and text.endswith(":") else None
    for sentence in sentences:
        reader.add(sentence)


def _looks_like_table(content: str) -> bool:
    return all(line.count("|") >= 2 for line in content.split("\n"))


def _plain(inline: Token) -> str:
    """Text of an inline token as a voice would say it: no marks, no link targets, no tags."""
    pieces = []
    for child in inline.children or ():
        if child.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif child.type == "image":
            pieces.append(_plain(child))
        elif child.type != "html_inline":
            pieces.append(child.content)
    return " ".join("".join(pieces).split())


def _read_list(reader: _Reader, position: int) -> int:
    """A list of any depth: one sentence an item; an inner item carries the text of the item around it."""
    lead = reader.take_lead()
    around: list[str] = []
    depth = 0
    while position < len(reader.tokens):
        token = reader.tokens[position]
        depth += token.nesting if token.type.endswith("_list_open") or token.type.endswith("_list_close") else 0
        if token.type == "inline":
            text = _plain(token)
            around = [*around[: depth - 1], text.rstrip(".:;,")]
            spoken = closed(": ".join((*around[:-1], text)))
            if spoken and not text.endswith(":"):
                reader.add(Sentence(spoken, Kind.ITEM, _line(token), lead))
        elif token.type in _LEFT_OUT:
            reader.warn(_line(token), f"{_LEFT_OUT[token.type]} is not read: write it as plain text if callers should hear it.")
        position += 1
        if depth == 0:
            break
    return position


def _read_table(reader: _Reader, position: int) -> int:
    header: list[str] = []
    cells: list[str] = []
    line = 0
    while reader.tokens[position].type != "table_close":
        token = reader.tokens[position]
        if token.type == "tr_open":
            cells, line = [], _line(token)
        elif token.type == "inline":
            cells.append(_plain(token))
        elif token.type == "tr_close":
            if header:
                _read_row(reader, header, cells, line)
            header = header or cells
        position += 1
    return position + 1


def _read_row(reader: _Reader, header: Sequence[str], cells: Sequence[str], line: int) -> None:
    if _cells_written(reader.lines[line - 1]) != len(header):
        reader.warn(line, f"a table row has not as many cells as the table's first row ({len(header)}): it is not read.")
        return
    values = [(name, cell) for name, cell in zip(header[1:], cells[1:], strict=False) if cell]
    if not cells or not cells[0] or (len(header) > 1 and not values):
        reader.warn(line, "a table row without a name or without any value is not read.")
        return
    named = ", ".join(f"{name.lower()} {cell}".strip() for name, cell in values)
    said = values[0][1] if len(header) == 2 else named
    reader.add(Sentence(closed(f"{cells[0]}: {said}" if said else cells[0]), Kind.ROW, line))


def _cells_written(line: str) -> int:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return len(re.findall(r"(?<!\\)\|", inner)) + 1


def _passages(reader: _Reader) -> list[Passage]:
    passages = []
    taken: set[str] = set()
    for section in reader.sections:
        for sentences in _parts(section.sentences):
            name = _free(f"{reader.file}#{'/'.join(_slug(title) for title in section.titles)}", taken)
            passages.append(Passage(name, reader.file, section.line, section.titles, tuple(sentences)))
    return passages


def _slug(title: str) -> str:
    return _SLUG.sub("-", title.lower()).strip("-") or "-"


def _free(name: str, taken: set[str]) -> str:
    number = 2
    free = name
    while free in taken:
        free = f"{name}~{number}"
        number += 1
    taken.add(free)
    return free


def _parts(sentences: Sequence[Sentence]) -> Iterator[list[Sentence]]:
    part: list[Sentence] = []
    characters = 0
    for sentence in sentences:
        if part and characters + len(sentence.text) > PASSAGE_CHARACTERS:
            yield part
            part, characters = [], 0
        part.append(sentence)
        characters += len(sentence.text)
    if part:
        yield part
