"""The report holds every event, nothing a caller said can become code, and redaction leaves nothing personal."""

import base64
import hashlib
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from agent.errors import Gone, Refused
from agent.record.figures import duration, ending
from agent.record.report import SCRIPTS, embedded, render_report
from agent.record.story import Story, tell
from agent.timeline import codec, kinds
from agent.timeline import events as ev
from tests.agent.record.sample_calls import HOSTILE, RATE_HZ, Call, all_texts, busy_call, long_call

pytestmark = pytest.mark.unit


def data_of(page: Path) -> dict[str, Any]:
    """The data embedded in a report."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def said_in(page: Path) -> str:
    """The data of a report without what is ours: the descriptions of the events and the date."""
    data = data_of(page)
    del data["kinds"], data["when"]
    return json.dumps(data, ensure_ascii=False)


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return busy_call().store(tmp_path / "call")


def test_every_event_is_in_the_page(record: Path) -> None:
    entries = busy_call().entries()
    data = data_of(render_report(record))
    assert [event[0] for event in data["events"]] == [entry.seq for entry in entries]
    assert [event[1] for event in data["events"]] == [entry.t for entry in entries]
    assert [event[2] for event in data["events"]] == [entry.cause for entry in entries]
    assert [data["kinds"][event[3]]["kind"] for event in data["events"]] == [entry.event.kind for entry in entries]
    for event in data["events"]:
        assert len(event) - 4 == len(data["kinds"][event[3]]["fields"])


def test_the_values_of_an_event_stand_under_their_names(record: Path) -> None:
    data = data_of(render_report(record))
    event = next(event for event in data["events"] if data["kinds"][event[3]]["kind"] == "evidence.transcript")
    names = [field[0] for field in data["kinds"][event[3]]["fields"]]
    shown = dict(zip(names, event[4:], strict=True))
    stored = busy_call().entries()[event[0]].event
    assert isinstance(stored, ev.Transcript)
    assert shown["text"] == stored.text
    assert shown["covers"] == [stored.covers.from_us, stored.covers.to_us]
    assert data["types"]["Span"] == ["from_us", "to_us"]


def test_the_page_needs_nothing_from_elsewhere_and_runs_only_its_own_scripts(record: Path) -> None:
    text = render_report(record).read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == len(SCRIPTS)
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy[1]
    assert "unsafe" not in policy[1]
    assert "default-src 'none'" in policy[1]
    assert re.findall(r'(?:src|href)="(?!#|data:,)([^"]*)"', text) == []
    for source in scripts:
        assert "innerHTML" not in source
        assert "insertAdjacentHTML" not in source


def test_it_names_the_audio_only_when_it_is_there(record: Path) -> None:
    assert data_of(render_report(record))["audio"] is None
    (record / "audio.ogg").write_bytes(b"OggS")
    assert data_of(render_report(record))["audio"] == "audio.ogg"
    assert data_of(render_report(record, redact=True))["audio"] is None


# --- hostile texts ----------------------------------------------------------------------------------------------------------


def test_hostile_texts_cannot_leave_the_data(tmp_path: Path) -> None:
    page = render_report(busy_call(remote=HOSTILE, name=HOSTILE).store(tmp_path / "call"))
    text = page.read_text("utf-8")
    assert "<img" not in text
    assert "\u2028" not in text
    assert text.count("</script>") == len(SCRIPTS) + 1
    data = data_of(page)
    assert data["story"]["remote"] == HOSTILE
    assert any(HOSTILE in heard["text"] for heard in data["story"]["heard"])


@pytest.mark.parametrize(
    "text", ["</ScRiPt>", "<!--<script>", "{{data}}", "\\u003c/script>", "&lt;", "\ud800", 'a"b\\', "\u2029"]
)
def test_what_is_embedded_is_read_back_and_never_ends_its_element(text: str) -> None:
    written = embedded({"text": text})
    assert not set(written) & set("<>&\u2028\u2029")
    assert json.loads(written) == {"text": text}


def test_markers_of_the_template_in_a_text_stay_text(tmp_path: Path) -> None:
    page = render_report(busy_call(name="{{scripts}} {{data}}").store(tmp_path / "call"))
    assert page.read_text("utf-8").count('id="data"') == 1
    assert any("{{scripts}}" in heard["text"] for heard in data_of(page)["story"]["heard"])


# --- redaction --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [busy_call(), long_call(3)], ids=["busy", "long"])
def test_redaction_leaves_nothing_personal(call: Call, tmp_path: Path) -> None:
    texts = set(all_texts(call.entries()))
    folder = call.store(tmp_path / "call")
    assert len(texts) > 50
    shown = said_in(render_report(folder))
    assert [text for text in texts if json.dumps(text, ensure_ascii=False)[1:-1] not in shown] == []
    hidden = said_in(render_report(folder, redact=True))
    assert [text for text in texts if json.dumps(text, ensure_ascii=False)[1:-1] in hidden] == []


def test_redacted_text_keeps_its_length_and_the_figures_stay(record: Path) -> None:
    shown, hidden = data_of(render_report(record)), data_of(render_report(record, redact=True))
    assert hidden["redacted"] is True
    assert hidden["story"]["remote"] == "█" * len(shown["story"]["remote"])
    assert [len(heard["text"]) for heard in hidden["story"]["heard"]] == [len(heard["text"]) for heard in shown["story"]["heard"]]
    assert hidden["headline"] == shown["headline"]
    assert hidden["story"]["floor"] == shown["story"]["floor"]


# --- what is missing or broken ----------------------------------------------------------------------------------------------


def test_a_missing_timeline_is_gone(tmp_path: Path) -> None:
    with pytest.raises(Gone, match=r"cannot read .*timeline\.jsonl"):
        render_report(tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not a timeline"),
        (b"PNG\x00\xff", "is not a timeline"),
        (codec.HEADER, "holds no events"),
        (codec.HEADER + b"{]\n", "line 2"),
        (b'{"venus_timeline": 99}\n', "schema 99"),
        (codec.HEADER + b'{"seq":0,"t":0,"cause":null,"kind":"line.answered","event":{}}\n', "begins with line.answered"),
    ],
)
def test_a_corrupt_timeline_is_refused_with_a_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "timeline.jsonl").write_bytes(content)
    with pytest.raises(Refused, match=sentence):
        render_report(tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_a_folder_that_cannot_be_written_is_gone(record: Path) -> None:
    (record / "report.html").mkdir()
    with pytest.raises(Gone, match="cannot be written"):
        render_report(record)


@pytest.mark.parametrize("peaks", [b"{", b"[]", b"{}", b'{"full_scale": 0, "step_us": 1, "caller": [1], "agent": []}'])
def test_broken_peaks_are_told_and_nothing_else_is_lost(record: Path, peaks: bytes) -> None:
    (record / "peaks.json").write_bytes(peaks)
    data = data_of(render_report(record))
    assert data["peaks"] is None
    assert [note for note in data["notes"] if note.startswith("peaks.json")]
    assert len(data["events"]) == len(busy_call().entries())


def test_missing_peaks_are_nothing_to_talk_about(tmp_path: Path) -> None:
    data = data_of(render_report(busy_call().store(tmp_path / "call", peaks=False)))
    assert (data["peaks"], data["notes"]) == (None, [])


def test_peaks_become_one_byte_a_step(record: Path) -> None:
    stored = {"full_scale": 1000, "step_us": 50_000, "caller": [0, 1000, 2000, 500], "agent": [0]}
    (record / "peaks.json").write_text(json.dumps(stored))
    peaks = data_of(render_report(record))["peaks"]
    assert list(base64.b64decode(peaks["caller"])) == [0, 255, 255, round(255 * 0.5**0.6)]
    assert peaks["step_us"] == 50_000


def test_what_the_record_has_lost_is_told(record: Path) -> None:
    (record / "summary.json").write_text(json.dumps({"record": {"lost": ["the record is incomplete: a full disk at 00:00:12"]}}))
    assert data_of(render_report(record))["notes"] == ["The record is incomplete: a full disk at 00:00:12."]


def test_a_timeline_that_stops_in_the_middle_is_shown_as_far_as_it_goes(record: Path) -> None:
    whole = (record / "timeline.jsonl").read_bytes().splitlines(keepends=True)
    (record / "timeline.jsonl").write_bytes(b"".join(whole[:120]) + whole[120][:20])
    data = data_of(render_report(record))
    assert len(data["events"]) == 119
    assert data["headline"].startswith("The record stops after ")


# --- the story --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def story() -> Story:
    return tell(busy_call().entries())


def test_words_that_were_never_sent_lie_after_the_cut(story: Story) -> None:
    said = next(said for said in story.utterances if said.outcome == "cut")
    assert (said.fate, said.words_sent) == ("interrupted", 11)
    assert said.sent.endswith("and the gears")
    assert said.unsent.startswith("adjusted, and you can collect it")
    assert all(to_us <= said.to_us for _, _, to_us in said.words[: said.words_sent])
    assert all(from_us >= said.to_us - 40_000 for _, from_us, _ in said.words[said.words_sent :])
    assert said.parts[-1][2] == -12.0


def test_words_lie_where_they_were_sent_when_a_hold_parts_them() -> None:
    call = Call()
    call.open()
    words = (kinds.Word("one", 0, 400_000), kinds.Word("two", 500_000, 900_000))
    call.add(2_000_000, ev.SayRequested("u1", kinds.Role.ANSWER, False, "one two", words, kinds.Alignment.EXACT, RATE_HZ))
    call.add(2_000_000, ev.UtteranceStarted("u1", 0, kinds.Role.ANSWER, False))
    call.add(2_440_000, ev.Sent(kinds.Span(2_000_000, 2_440_000), "u1", 0, 0, 3520, 0.0))
    call.add(5_560_000, ev.Sent(kinds.Span(5_000_000, 5_560_000), "u1", 0, 3520, 4480, 0.0))
    (said,) = tell(call.entries()).utterances
    assert said.words == [("one", 2_000_000, 2_400_000), ("two", 5_060_000, 5_460_000)]
    assert said.parts == [(2_000_000, 2_440_000, 0.0), (5_000_000, 5_560_000, 0.0)]


def test_the_floor_is_ducked_until_the_caller_has_it(story: Story) -> None:
    (taken,) = story.yields
    before = next(stretch for stretch in story.floor if stretch.to_us == taken.t_us)
    after = next(stretch for stretch in story.floor if stretch.from_us == taken.t_us)
    assert (before.holder, after.holder) == ("ducked", "caller")
    assert taken.t_us - taken.onset_us == 600_000
    ends = [(stretch.from_us, stretch.to_us) for stretch in story.floor]
    assert all(here[1] <= there[0] for here, there in itertools.pairwise(ends))


def test_works_have_their_outcome_and_its_telling(story: Story) -> None:
    first, second, third = story.works
    assert [work.status for work in (first, second, third)] == ["succeeded", "succeeded", "unknown"]
    assert [phase[2] for phase in first.phases] == ["looking up the repair", "asking the workshop"]
    assert [state[1] for state in first.tellings[0].states] == ["ready", "delivering", "delivered"]
    assert first.opened_us < first.from_us < (first.ended_us or 0)


def test_marks_say_what_happened_to_the_line(story: Story) -> None:
    kinds = [mark.kind for mark in story.marks]
    assert "".join(mark.text for mark in story.marks if mark.kind == "dtmf") == "1820"
    assert {"answered", "gap", "hold", "loss", "fault", "ended"} <= set(kinds)
    (hold,) = [mark for mark in story.marks if mark.kind == "hold"]
    assert story.held == [(hold.from_us, hold.to_us)]
    assert [mark.text for mark in story.marks if mark.kind == "gap"] == ["no tick ran for 180 ms"]


def test_loss_that_goes_on_is_one_mark() -> None:
    call = Call()
    call.open()
    for at in (2_000_000, 3_000_000, 6_000_000):
        call.add(at + 1_000_000, ev.MediaReceived(kinds.Span(at, at + 1_000_000), 7840, 160, 0, -20.0))
    marks = [mark for mark in tell(call.entries()).marks if mark.kind == "loss"]
    assert [(mark.from_us, mark.to_us) for mark in marks] == [(2_000_000, 4_000_000), (6_000_000, 7_000_000)]
    assert marks[0].text == "40 ms lost on the way and concealed"


def test_speech_that_was_refused_is_shown_as_never_heard() -> None:
    call = Call()
    call.open()
    speech = ev.SpeechArrived(
        kinds.Span(0, 0), "u9", 0, kinds.Role.ANSWER, kinds.Cause(), "too late", (), kinds.Alignment.CHUNK, 800, True
    )
    call.add(3_000_000, speech)
    call.add(3_000_000, ev.SpeechRefused("u9", 0, 800, "stale_epoch"))
    (said,) = tell(call.entries()).utterances
    assert (said.sent, said.unsent, said.fate) == ("", "too late", "never sent: stale epoch")


def test_a_partial_reading_gives_way_to_the_final_one(story: Story) -> None:
    assert all(heard.final for heard in story.heard)
    assert story.heard[0].text == "Hi, I'd like to know whether my bike is ready. The name is Miller."


# --- words and figures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("us", "words"),
    [
        (0, "0 ms"),
        (999_999, "999 ms"),
        (14_000_000, "14 s"),
        (14_980_000, "15 s"),
        (59_600_000, "1 min"),
        (134_000_000, "2 min 14 s"),
        (120_000_000, "2 min"),
        (3_780_000_000, "1 h 3 min"),
        (3_600_000_000, "1 h"),
    ],
)
def test_lengths_of_time_in_words(us: int, words: str) -> None:
    assert duration(us) == words


@pytest.mark.parametrize("reason", kinds.EndReason)
def test_every_end_has_a_sentence(reason: kinds.EndReason) -> None:
    call = Call()
    call.open()
    call.close(reason)
    assert ending(tell(call.entries())).endswith("after 900 ms.")


def test_ends_before_the_answer_and_calls_of_ours() -> None:
    story = tell(busy_call().entries())
    assert ending(story) == "The caller hung up after 1 min 3 s."
    story.ended = ev.CallEnded(kinds.EndReason.CALLER_HUNG_UP, "", 0)
    assert ending(story) == "The caller hung up before it was answered."
    story.ended = ev.CallEnded(kinds.EndReason.NOT_ANSWERED, "", 0)
    assert ending(story) == "Nobody answered."


def test_the_figures_count_what_the_timeline_says(record: Path) -> None:
    entries = busy_call().entries()
    figures = {figure["label"]: figure for figure in data_of(render_report(record))["figures"]}
    unsent = sum(len(entry.event.text_unsent.split()) for entry in entries if isinstance(entry.event, ev.UtteranceEnded))
    faults = sum(isinstance(entry.event, ev.FaultReported | ev.FaultDetected) for entry in entries)
    assert figures["Never heard"]["value"] == str(unsent) == "20"
    assert figures["Faults"]["value"] == str(faults) == "2"
    assert figures["Interruptions"]["value"] == "1"
    assert figures["Interruptions"]["note"] == "2 times ducked"


# --- size -------------------------------------------------------------------------------------------------------------------


def test_a_call_of_forty_minutes_stays_below_three_megabytes(tmp_path: Path) -> None:
    call = long_call(40)
    page = render_report(call.store(tmp_path / "call"))
    assert len(call.entries()) > 10_000
    assert page.stat().st_size < 3_000_000
