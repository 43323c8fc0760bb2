"""The reference page of the events says what the code says."""

from pathlib import Path

import pytest

from agent.timeline import catalogue_page as page
from agent.timeline.events import CATALOGUE, SpeechArrived, Transcript
from agent.timeline.fields import fields_of, nested_types, redacted
from agent.timeline.kinds import PERSONAL, Cause, Word
from tests.agent.record.sample_calls import busy_call

pytestmark = pytest.mark.unit


def test_the_page_in_the_checkout_is_up_to_date() -> None:
    assert page.main(["--check"]) == 0, f"run `{page.COMMAND}`"


def test_every_event_and_every_field_is_on_the_page() -> None:
    text = page.catalogue_page()
    for kind, event in CATALOGUE.items():
        section = text.partition(f"### {kind}\n")[2].partition("\n##")[0]
        assert section.startswith(f"\n*{event.origin}* · "), kind
        assert " ".join((event.__doc__ or "").split()) in section
        assert [row.split("`")[1] for row in section.splitlines() if row.startswith("| `")] == [f.name for f in fields_of(event)]


def test_types_units_and_marks_are_told() -> None:
    text = page.catalogue_page()
    assert "| `text` | str |  | **personal** |" in text.partition("### evidence.transcript\n")[2].partition("###")[0]
    assert "| `lost_us` | int | µs |  |" in text
    assert "| `words` | list of [Word](#word) |  |  |" in text
    assert "| `yield_after_us` | int | µs |  | 600,000 |" in text.partition("### FloorSettings\n")[2]


def test_a_page_that_is_out_of_date_fails_the_check_and_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page, "PAGE", tmp_path / "timeline.md")
    assert page.main(["--check"]) == 1
    assert page.COMMAND in capsys.readouterr().err
    assert page.main([]) == 0
    assert page.main(["--check"]) == 0
    (tmp_path / "timeline.md").write_text("# Timeline events\n")
    assert page.main(["--check"]) == 1


@pytest.mark.parametrize("arguments", [["--chekc"], ["--check", "x"]])
def test_an_unknown_option_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert page.main(arguments) == 2
    assert "usage" in capsys.readouterr().err


def test_outside_a_checkout_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page, "PAGE", tmp_path / "docs" / "timeline.md")
    assert page.main([]) == 2
    assert "checkout" in capsys.readouterr().err


# --- the marks -------------------------------------------------------------------------------------------------------------


def test_marks_are_read_from_the_type() -> None:
    assert {field.name for field in fields_of(Transcript) if field.personal} == {"text"}
    assert {kind.__name__ for kind in nested_types(SpeechArrived)} == {"Span", "Role", "Cause", "Word", "Alignment"}
    assert repr(PERSONAL) == "PERSONAL"
    assert [field.type for field in fields_of(Cause)] == ["int | none", "str | none", "bool"]


def test_redaction_blocks_out_marked_text_at_any_depth_and_nothing_else() -> None:
    speech = next(entry.event for entry in busy_call().entries() if isinstance(entry.event, SpeechArrived))
    hidden = redacted(speech)
    assert hidden.text == "█" * len(speech.text)
    assert hidden.words == tuple(Word("█" * len(word.text), word.start_us, word.end_us) for word in speech.words)
    assert (hidden.utterance_id, hidden.cause, hidden.covers) == (speech.utterance_id, speech.cause, speech.covers)
    assert redacted(hidden) == hidden
