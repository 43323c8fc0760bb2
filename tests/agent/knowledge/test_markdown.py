"""One Markdown text to passages."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge.markdown import PASSAGE_CHARACTERS, read_markdown
from agent.knowledge.passages import Finding, Kind, Passage
from agent.knowledge.sentences import SENTENCE_CHARACTERS, split_sentences

pytestmark = pytest.mark.unit

FILE = PurePosixPath("shop/01-our-hours.md")


def read(text: str) -> tuple[list[Passage], list[Finding]]:
    return read_markdown(text, FILE)


def spoken(text: str) -> list[str]:
    return [sentence.text for passage in read(text)[0] for sentence in passage.sentences]


def test_headings_make_passages_with_paths() -> None:
    passages, findings = read(
        "# Shop\n\nHello.\n\n## Hours\n\nOpen at 9. Closed on Sunday.\n\n### Summer\n\nOpen at 8.\n\n## Price\n\nFree.\n"
    )
    assert [passage.titles for passage in passages] == [
        ("Shop",),
        ("Shop", "Hours"),
        ("Shop", "Hours", "Summer"),
        ("Shop", "Price"),
    ]
    assert passages[1].id == "shop/01-our-hours.md#shop/hours"
    assert (passages[1].line, passages[1].title, passages[1].text) == (5, "Hours", "Open at 9. Closed on Sunday.")
    assert findings == []


def test_text_without_any_heading_goes_under_the_name_of_the_file() -> None:
    (passage,), _ = read("We open at nine.")
    assert (passage.titles, passage.text) == (("Our hours",), "We open at nine.")


def test_the_same_heading_twice_gives_two_ids() -> None:
    passages, _ = read("# A\n\nOne.\n\n# A\n\nTwo.\n")
    assert [passage.id.partition("#")[2] for passage in passages] == ["a", "a~2"]


def test_a_row_of_two_columns_is_a_name_and_its_value() -> None:
    assert spoken("| Treatment | Price |\n|---|---|\n| Cleaning | $95 |\n| **Root** canal | `$850` |\n") == [
        "Cleaning: $95.",
        "Root canal: $850.",
    ]


def test_a_row_of_more_columns_names_each_value() -> None:
    text = "| Work | Price | Time |\n|---|---|---|\n| Oil change | $79 | 45 minutes |\n| Wash | | 5 minutes |\n"
    assert spoken(text) == ["Oil change: price $79, time 45 minutes.", "Wash: time 5 minutes."]


def test_rows_keep_their_line() -> None:
    (passage,), _ = read("# P\n\n| A | B |\n|---|---|\n| x | 1 |\n| y | 2 |\n")
    assert [(sentence.kind, sentence.line) for sentence in passage.sentences] == [(Kind.ROW, 5), (Kind.ROW, 6)]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("# P\n\n| A | B |\n|---|---|\n| x | 1 | 2 |\n", 5, "not as many cells"),
        ("# P\n\n| A | B |\n|---|---|\n| x |\n", 5, "not as many cells"),
        ("# P\n\n| A | B |\n|---|---|\n| x | |\n", 5, "without a name or without any value"),
        ("# P\n\n| A | B |\n| x | 1 |\n", 3, "without a line of dashes"),
        ("# P\n\nText.\n\n```\ncode\n```\n", 5, "a code block"),
        ("# P\n\nText.\n\n    code\n", 5, "an indented code block"),
        ("# P\n\n<div>\nsecret\n</div>\n\nText.\n", 3, "an HTML block"),
        ("# P\n\nText.\n\n##\n\nMore.\n", 5, "a heading has no text"),
    ],
)
def test_what_cannot_be_read_is_left_out_and_named_with_its_line(text: str, line: int, words: str) -> None:
    _, (finding,) = read(text)
    assert finding.line == line
    assert words in finding.message
    assert not {"code", "secret", "1", "x"} & set(" ".join(spoken(text)).replace(":", " ").split())


def test_a_list_has_its_introduction_and_inner_items_their_outer() -> None:
    (passage,), _ = read("# Bring\n\nPlease bring:\n\n- a photo ID\n- papers\n  - passport\n  - visa\n- money.\n")
    assert [sentence.text for sentence in passage.sentences] == [
        "a photo ID.",
        "papers.",
        "papers: passport.",
        "papers: visa.",
        "money.",
    ]
    assert {sentence.lead for sentence in passage.sentences} == {"Please bring."}


def test_an_introduction_that_no_list_follows_is_a_sentence() -> None:
    assert spoken("Please note:\n\nWe are closed.\n") == ["Please note.", "We are closed."]


def test_marks_links_and_tags_are_not_spoken_but_their_text_is() -> None:
    assert spoken("Call **us** or *write* to [the desk](https://desk.example) <b>today</b>\nor tomorrow ![sign](x.png).\n") == [
        "Call us or write to the desk today or tomorrow sign."
    ]


def test_front_matter_is_skipped_and_lines_stay_true() -> None:
    (passage,), findings = read("---\ntitle: x\n---\n# Hours\n\nNine.\n")
    assert (passage.title, passage.line, passage.sentences[0].line, findings) == ("Hours", 4, 6, [])


def test_a_long_section_is_split_between_sentences() -> None:
    passages, _ = read("# Long\n\n" + "This is a sentence of the long section. " * 100)
    assert len(passages) > 3
    assert all(len(passage.text) <= PASSAGE_CHARACTERS + SENTENCE_CHARACTERS for passage in passages)
    assert len({passage.id for passage in passages}) == len(passages)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Helen Okafor is in. She is nice.", ["Dr. Helen Okafor is in.", "She is nice."]),
        (
            "It is $1.50 an hour. Pay at 9 a.m. We close at 5 p.m. then.",
            ["It is $1.50 an hour.", "Pay at 9 a.m.", "We close at 5 p.m. then."],
        ),
        ("We are at 3 Elm St. in town, e.g. There.", ["We are at 3 Elm St. in town, e.g. There."]),
        ("Closed! Really? Yes", ["Closed!", "Really?", "Yes."]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
    ],
)
def test_sentences_end_where_they_do(text: str, sentences: list[str]) -> None:
    assert list(split_sentences(text)) == sentences


def test_a_stretch_without_a_full_stop_is_bounded_and_complete() -> None:
    text = "word, " * 1_000
    pieces = list(split_sentences(text))
    assert max(map(len, pieces)) <= SENTENCE_CHARACTERS + 1
    assert sum(piece.count("word") for piece in pieces) == 1_000


@given(st.text(st.characters(codec="utf-8"), max_size=400) | st.text("#-|:*_`<>![]() \n1aA.\t\\", max_size=400))
def test_no_text_breaks_the_reader(text: str) -> None:
    passages, findings = read(text)
    assert len({passage.id for passage in passages}) == len(passages)
    lines = text.count("\n") + text.count("\r") + 1
    for passage in passages:
        assert passage.sentences
        assert all(sentence.text.strip() and 1 <= sentence.line <= lines for sentence in passage.sentences)
    assert all(finding.message for finding in findings)
