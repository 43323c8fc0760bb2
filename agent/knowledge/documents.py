"""A folder of Markdown files to passages. One bad file never takes the others down unless nothing is left."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agent.errors import Refused
from agent.knowledge.markdown import read_markdown
from agent.knowledge.passages import Documents, Finding, Kind, Passage, Severity

LARGEST_FILE_BYTES = 1_000_000
MOST_FILES = 500
MOST_PASSAGES = 2_000
MOST_SENTENCES = 10_000

_NUMBER = re.compile(r"\d[\d,.:]*")
_WORD = re.compile(r"[a-z0-9']+")

Signature = tuple[tuple[str, int, int], ...]
"""What a folder looks like from outside: name, modification time in ns and size of each file."""


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    name: PurePosixPath


def read_folder(folder: Path) -> Documents:
    """Every *.md file in the folder and below it.

    Raises `Refused` when the folder is missing or no file in it has text that could be read; the sentence names the first reason.
    """
    files, findings = _files(folder)
    passages: list[Passage] = []
    for file in files:
        text = _text(file, findings)
        if text is None:
            continue
        found, warnings = read_markdown(text, file.name)
        findings.extend(warnings)
        if not found:
            findings.append(Finding(Severity.WARNING, str(file.name), 0, "the file has no text under any heading."))
        if not _fits(passages, found):
            message = f"more than {MOST_PASSAGES:,} passages or {MOST_SENTENCES:,} sentences in all: this file is not read."
            findings.append(Finding(Severity.ERROR, str(file.name), 0, message))
            continue
        passages.extend(found)
    if not passages:
        raise Refused(_nothing(folder, findings))
    findings.extend(_contradictions(passages))
    return Documents(tuple(passages), tuple(findings))


def check(folder: Path) -> list[Finding]:
    """What a person should look at before the documents answer calls: errors first, then by file and line. Never raises."""
    try:
        findings = list(read_folder(folder).findings)
    except Refused as refusal:
        findings = [Finding(Severity.ERROR, folder.name, 0, str(refusal)), *_findings_of(folder)]
    return sorted(findings, key=lambda finding: (finding.severity is Severity.WARNING, finding.file, finding.line))


def signature(folder: Path) -> Signature:
    """Cheap: stats every file, reads none. An unreadable folder has an empty one."""
    entries = []
    for file in _files(folder, quietly=True)[0]:
        try:
            status = file.path.stat()
        except OSError:
            continue
        entries.append((str(file.name), status.st_mtime_ns, status.st_size))
    return tuple(entries)


def _findings_of(folder: Path) -> list[Finding]:
    try:
        files, findings = _files(folder)
    except Refused:
        return []
    for file in files:
        text = _text(file, findings)
        findings.extend(read_markdown(text, file.name)[1] if text is not None else ())
    return findings


def _files(folder: Path, quietly: bool = False) -> tuple[list[_File], list[Finding]]:
    """Markdown files by name, hidden ones aside; links that lead out of the folder are not followed."""
    findings: list[Finding] = []
    if not folder.is_dir():
        if quietly:
            return [], []
        if folder.exists():
            raise Refused(f"The knowledge folder {folder} is a file: give the folder that it lies in.")
        raise Refused(f"The knowledge folder {folder} is not there: make it and put Markdown files (*.md) into it.")
    root = folder.resolve()
    files: list[_File] = []
    for path, name in _walk(root):
        if path.is_dir() or not path.resolve().is_relative_to(root):
            findings.append(Finding(Severity.WARNING, str(name), 0, "a link to another folder is not followed: copy the file."))
        elif len(files) == MOST_FILES:
            findings.append(
                Finding(Severity.ERROR, str(name), 0, f"more than {MOST_FILES} files: this and later ones are not read.")
            )
            break
        else:
            files.append(_File(path, name))
    return files, findings


def _walk(root: Path) -> Iterator[tuple[Path, PurePosixPath]]:
    """Markdown files, and folders that are links, in order of name."""
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        linked = [name for name in folders if (Path(place) / name).is_symlink()]
        markdown = [name for name in names if name.lower().endswith(".md") and not name.startswith(".")]
        for name in sorted((*linked, *markdown)):
            path = Path(place) / name
            yield path, PurePosixPath(path.relative_to(root).as_posix())


def _text(file: _File, findings: list[Finding]) -> str | None:
    """The file's text, or None with the reason among the findings."""
    data = b""
    try:
        with file.path.open("rb") as opened:
            data = opened.read(LARGEST_FILE_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        findings.append(Finding(Severity.ERROR, str(file.name), 0, f"the file cannot be read ({error.strerror})."))
        return None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        findings.append(Finding(Severity.ERROR, str(file.name), line, "the file is not UTF-8 text: save it as UTF-8."))
        return None
    problem = _problem(data, text)
    if problem:
        findings.append(Finding(Severity.ERROR, str(file.name), 0, problem))
        return None
    return text


def _problem(data: bytes, text: str) -> str:
    if len(data) > LARGEST_FILE_BYTES:
        return f"the file is larger than {LARGEST_FILE_BYTES // 1_000_000} MB: split it."
    if "\0" in text:
        return "the file is binary, not text."
    return "" if text.strip() else "the file is empty."


def _fits(passages: Sequence[Passage], found: Sequence[Passage]) -> bool:
    sentences = sum(len(passage.sentences) for passage in (*passages, *found))
    return len(passages) + len(found) <= MOST_PASSAGES and sentences <= MOST_SENTENCES


def _nothing(folder: Path, findings: Sequence[Finding]) -> str:
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    reason = f" ({errors[0].file}: {errors[0].message.rstrip('.')})" if errors else ""
    return f"The knowledge folder {folder} holds no Markdown text that could be read{reason}: put *.md files with text into it."


def _contradictions(passages: Sequence[Passage]) -> Iterator[Finding]:
    """Passages under the same headings, and rows of the same name in one passage, whose numbers differ."""
    first: dict[tuple[str, ...], tuple[str, int, frozenset[str]]] = {}
    for passage in passages:
        titles = tuple(_folded(title) for title in (passage.titles[1:] or passage.titles))
        claims = [(titles, passage.line, passage.text)] if "~" not in passage.id else []
        for sentence in passage.sentences:
            if sentence.kind is Kind.ROW:
                name = sentence.text.partition(":")[0]
                claims.append(((passage.id, _folded(name)), sentence.line, sentence.text.removeprefix(name)))
        for key, line, text in claims:
            numbers = frozenset(number.rstrip(".,:") for number in _NUMBER.findall(text))
            file, other_line, other = first.setdefault(key, (str(passage.file), line, numbers))
            if (file, other_line) != (str(passage.file), line) and numbers != other and numbers and other:
                message = f'"{key[-1]}" says other numbers than {file}:{other_line}: keep one of the two.'
                yield Finding(Severity.WARNING, str(passage.file), line, message)


def _folded(title: str) -> str:
    return " ".join(_WORD.findall(title.lower()))
