"""The facade, on an encoder without weights."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import Refused
from agent.knowledge import Dialogue, Found, Knowledge, Severity
from agent.knowledge.fitted import KNOWN_FROM, RELATED_FROM
from tests.agent.knowledge.fake_encoder import FakeEncoder

pytestmark = pytest.mark.unit

GARAGE = Path(__file__).parent / "garage"


@pytest.fixture(scope="module")
def garage(tmp_path_factory: pytest.TempPathFactory) -> Knowledge:
    return Knowledge.load(GARAGE, FakeEncoder(), tmp_path_factory.mktemp("cache"))


def test_the_same_words_find_their_passage(garage: Knowledge) -> None:
    found = garage.ask("How much is the courtesy car a day?", Dialogue())
    assert found.passages[0].passage.title == "Courtesy car"
    assert sum(each.score for each in found.passages) <= 1.0001
    assert [each.score for each in found.passages] == sorted((each.score for each in found.passages), reverse=True)


def test_a_question_is_looked_up_completed_and_mended(garage: Knowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.knowledge.knowledge.KNOWN_FROM", 2.0)  # else the question alone might be answered
    dialogue = Dialogue()
    dialogue.learn("how much is an oil change", garage.ask("how much is an oil chainge", dialogue))
    assert garage.ask("and on saturday", dialogue).question == "how much is an oil change on saturday"


@given(st.text(max_size=300))
def test_any_text_is_a_question(garage: Knowledge, text: str) -> None:
    found = garage.ask(text, Dialogue())
    assert 0 <= found.known <= 1
    assert bool(found.answer) == found.is_known == (found.known >= KNOWN_FROM)
    assert bool(found.related) == (RELATED_FROM <= found.known < KNOWN_FROM)
    assert bool(found.source) == bool(found.title) == found.is_known


def test_an_answer_comes_from_one_passage_alone(tmp_path: Path) -> None:
    (tmp_path / "new.md").write_text("# New\n\n## Cleaning price\n\nA cleaning is $95.\n")
    (tmp_path / "old.md").write_text("# Old\n\n## Cleaning price\n\nA cleaning is $90.\n")
    knowledge = Knowledge.load(tmp_path, FakeEncoder(), tmp_path / "cache")
    found = knowledge.ask("how much is a cleaning", Dialogue())
    text = found.answer or found.related
    assert not ("$95" in text and "$90" in text)
    assert [finding.severity for finding in knowledge.findings] == [Severity.WARNING]


def test_a_price_that_is_not_there_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.knowledge.fitted.KNOWING_BASE", 100.0)  # all else speaks for it
    (tmp_path / "a.md").write_text("# Ferry\n\nThe ferry leaves at nine.\n\n# Boat\n\nThe boat is $5.\n")
    knowledge = Knowledge.load(tmp_path, FakeEncoder(), tmp_path / "cache")
    assert knowledge.ask("when does the ferry leave", Dialogue()).answer == "The ferry leaves at nine."
    assert knowledge.ask("how much is the boat", Dialogue()).answer == "The boat is $5."
    assert not knowledge.ask("how much is the ferry", Dialogue()).is_known


def test_threads_ask_at_once_and_get_what_one_gets(garage: Knowledge) -> None:
    questions = ["how much is an oil change", "where is the garage", "do you take cash", "are you open on sunday"] * 8
    alone = [garage.ask(question, Dialogue()) for question in questions]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda question: garage.ask(question, Dialogue()), questions))
    assert together == alone


def _touch(path: Path, text: str, seconds: int) -> None:
    path.write_text(text)
    os.utime(path, (seconds, seconds))


def test_a_changed_document_is_seen_by_refreshing(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    _touch(folder / "a.md", "# Hours\n\nWe open at nine.\n", 1_000)
    knowledge = Knowledge.load(folder, FakeEncoder(), tmp_path / "cache")
    assert not knowledge.refresh()
    _touch(folder / "a.md", "# Hours\n\nWe open at eleven.\n", 2_000)
    assert knowledge.refresh()
    assert knowledge.passages[0].text == "We open at eleven."
    assert not knowledge.refresh()


def test_documents_that_became_unreadable_leave_the_last_good_ones(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    _touch(folder / "a.md", "# Hours\n\nWe open at nine.\n", 1_000)
    knowledge = Knowledge.load(folder, FakeEncoder(), tmp_path / "cache")
    _touch(folder / "a.md", "", 2_000)
    assert knowledge.refresh()
    assert knowledge.passages[0].text == "We open at nine."
    assert [finding.severity for finding in knowledge.findings] == [Severity.ERROR]
    assert not knowledge.refresh()
    _touch(folder / "a.md", "# Hours\n\nWe open at ten.\n", 3_000)
    assert knowledge.refresh()
    assert (knowledge.passages[0].text, knowledge.findings) == ("We open at ten.", ())


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"put \*\.md files"):
        Knowledge.load(tmp_path, FakeEncoder(), tmp_path / "cache")


def test_a_single_passage_can_be_asked(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Yes.\n")
    found = Knowledge.load(tmp_path, FakeEncoder(), tmp_path / "cache").ask("really?", Dialogue())
    assert [each.passage.text for each in found.passages] == ["Yes."]


def test_what_is_found_without_passages_has_no_source() -> None:
    found = Found(1.0, "Yes.", (), "really?")
    assert (found.source, found.title) == ("", "")
