"""A folder of documents: bounds, bad files, contradictions."""

from pathlib import Path

import pytest

from agent.errors import Refused
from agent.knowledge import documents
from agent.knowledge.documents import check, read_folder, signature
from agent.knowledge.passages import Severity

pytestmark = pytest.mark.unit


def write(folder: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        path = folder / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def found(folder: Path) -> list[tuple[str, str, int]]:
    return [(finding.severity.value, finding.file, finding.line) for finding in check(folder)]


def test_files_below_are_read_in_order_and_hidden_ones_are_not(tmp_path: Path) -> None:
    write(tmp_path, b="# B\n\nTwo.", a__c="# A\n\nOne.", **{".hidden": "# H\n\nNo."})
    (tmp_path / "notes.txt").write_text("no")
    read = read_folder(tmp_path)
    assert sorted(str(passage.file) for passage in read.passages) == ["a/c.md", "b.md"]
    assert read.findings == ()


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (b"", 0, "empty"),
        (b"  \n\n", 0, "empty"),
        (b"# A\n\nfine\n\xff\xfe bad", 4, "UTF-8"),
        (b"# A\n\0\0\0", 0, "binary"),
        (b"x" * 1_000_001, 0, "larger than 1 MB"),
    ],
)
def test_a_bad_file_is_named_and_the_others_are_read(tmp_path: Path, content: bytes, line: int, words: str) -> None:
    write(tmp_path, bad=content, good="# Good\n\nText.")
    read = read_folder(tmp_path)
    assert [passage.title for passage in read.passages] == ["Good"]
    (finding,) = read.findings
    assert (finding.severity, finding.file, finding.line) == (Severity.ERROR, "bad.md", line)
    assert words in finding.message


def test_nothing_left_is_refused_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path, bad=b"\xff\xfe")
    with pytest.raises(Refused, match=r"bad\.md: the file is not UTF-8.*put \*\.md files"):
        read_folder(tmp_path)
    assert [each[:2] for each in found(tmp_path)] == [("error", "bad.md"), ("error", tmp_path.name)] or found(tmp_path)


def test_a_missing_folder_is_refused_and_checked(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="make it and put Markdown files"):
        read_folder(tmp_path / "none")
    assert found(tmp_path / "none") == [("error", "none", 0)]
    assert signature(tmp_path / "none") == ()


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", secret="# Secret\n\nSecret.")
    inside = write(tmp_path / "inside", own="# Own\n\nText.")
    (inside / "stolen.md").symlink_to(outside / "secret.md")
    (inside / "folder").symlink_to(outside)
    (inside / "circle").symlink_to(inside)
    (inside / "gone.md").symlink_to(inside / "nowhere.md")
    read = read_folder(inside)
    assert [passage.title for passage in read.passages] == ["Own"]
    assert {finding.file for finding in read.findings} == {"stolen.md", "folder", "circle", "gone.md"}


def test_a_file_that_is_a_folder_or_unreadable_does_no_harm(tmp_path: Path) -> None:
    write(tmp_path, own="# Own\n\nText.")
    (tmp_path / "strange.md").mkdir()
    assert [passage.title for passage in read_folder(tmp_path).passages] == ["Own"]


def test_more_passages_than_fit_leave_the_later_file_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_PASSAGES", 3)
    write(tmp_path, a="# 1\n\nx.\n\n# 2\n\nx.", b="# 3\n\nx.\n\n# 4\n\nx.", c="# 5\n\nx.")
    read = read_folder(tmp_path)
    assert [passage.title for passage in read.passages] == ["1", "2", "5"]
    assert [(finding.severity, finding.file) for finding in read.findings] == [(Severity.ERROR, "b.md")]


def test_more_files_than_fit_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_FILES", 2)
    write(tmp_path, a="# A\n\nx.", b="# B\n\nx.", c="# C\n\nx.")
    assert found(tmp_path) == [("error", "c.md", 0)]


def test_the_same_heading_with_other_numbers_is_a_warning(tmp_path: Path) -> None:
    write(
        tmp_path,
        a="# Prices\n\n## Cleaning\n\nIt is $95.\n\n## Polish\n\nIt is $20.",
        b="# Old prices\n\n## Cleaning\n\nIt is $90.\n\n## Polish\n\nThat is $20, too.",
    )
    (finding,) = check(tmp_path)
    assert (finding.severity, finding.file, finding.line) == (Severity.WARNING, "b.md", 3)
    assert str(finding) == 'b.md:3: warning: "cleaning" says other numbers than a.md:3: keep one of the two.'


def test_the_same_row_twice_with_other_numbers_is_a_warning(tmp_path: Path) -> None:
    write(tmp_path, a="# P\n\n| A | B |\n|---|---|\n| Wash | $5 |\n| Wax | $7 |\n| wash | $6 |\n")
    assert found(tmp_path) == [("warning", "a.md", 7)]


def test_windows_line_ends_and_a_byte_order_mark_are_fine(tmp_path: Path) -> None:
    write(tmp_path, a=b"\xef\xbb\xbf# Hours\r\n\r\nNine.\r\n")
    (passage,) = read_folder(tmp_path).passages
    assert (passage.titles, passage.text) == (("Hours",), "Nine.")


def test_the_example_clinic_has_nothing_to_complain_about() -> None:
    assert check(Path(__file__).parents[3] / "examples" / "clinic" / "knowledge") == []


def test_a_file_in_place_of_the_folder_is_called_one(tmp_path: Path) -> None:
    file = tmp_path / "hours.md"
    file.write_text("# Hours\n\nWe are open.\n")
    with pytest.raises(Refused, match="is a file: give the folder that it lies in"):
        read_folder(file)
