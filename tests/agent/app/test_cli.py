"""`venus`: what each command prints, and the one sentence it fails with."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent.app.cli import app
from agent.errors import Gone, Refused, VenusError

pytestmark = pytest.mark.unit

SHORT = """
name: short [b]
limit_ms: 60000
lines: {greeting: Hello}
caller:
  says:
    - {after: agent_utterance_end, delay_ms: 300, hang_up: true}
"""


def venus(*arguments: str | Path) -> str:
    """What a command that succeeds prints."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def refusal(*arguments: str | Path) -> str:
    """The sentence a command fails with."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert isinstance(done.exception, VenusError), done.output
    return str(done.exception)


def usage_error(*arguments: str | Path) -> str:
    """What is said about a command line that cannot be understood, without its box."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 2
    return " ".join(re.sub("[│╭╮╰╯─]", " ", done.output).split())


def rehearsed(folder: Path, name: str = "short") -> Path:
    """The folder of the record of a short rehearsal."""
    script = folder / "short.yaml"
    script.write_text(SHORT.replace("short [b]", name))
    venus("demo", script, "--fast", "--out", folder / "calls")
    return max((folder / "calls").iterdir(), key=lambda path: path.name)


def test_the_demo_ends_with_its_figures_a_proof_and_the_places(tmp_path: Path) -> None:
    told = venus("demo", "--fast", "--out", tmp_path)
    (record,) = tmp_path.iterdir()
    assert "agent  “Hello, this is the automated assistant of the clinic. How can I help you?” [finished]" in told
    assert re.search(r"replay +\d+ derived events came out again, byte for byte", told)
    assert f"{record}/report.html" in told
    assert (record / "report.html").is_file()


def test_rehearsals_of_one_second_and_of_long_names_are_calls_of_their_own(tmp_path: Path) -> None:
    for _ in range(3):
        rehearsed(tmp_path, name="n" * 80)
    assert len(list((tmp_path / "calls").iterdir())) == 3


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("", "r.yaml: name: this key is missing, line 1"),
        ("name: x\nagent:\n  turns:\n  - {on: open, sey: a}", "r.yaml: agent.turns[0].sey: this key is not known here"),
        ("name: x\ncaller: {says: [{at_ms: 1, wav: no.wav}]}", "r.yaml: caller.says[0].wav: no sound file"),
        ("name: x\ncaller: {says: [{at_ms: 1, wav: r.yaml}]}", "as WAV or FLAC (Invalid data found when processing input)"),
    ],
)
def test_a_script_that_cannot_be_used_is_refused_in_one_sentence(tmp_path: Path, script: str, says: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(script)
    said = refusal("demo", path, "--fast", "--out", tmp_path / "calls")
    assert says in said
    assert "\n" not in said


def test_a_record_that_can_go_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = refusal("demo", "--fast", "--out", tmp_path / "file")
    assert said == f"the record cannot go to {tmp_path / 'file'}: File exists; name another folder with --out"


def test_calls_lists_them_whole_with_and_without_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = rehearsed(tmp_path)
    calls = record.parent
    monkeypatch.setenv("VENUS_CALLS_DIR", str(calls))
    assert record.name in venus("calls")
    assert venus("calls") == venus("calls", "list") == venus("calls", "list", "--calls", calls)
    assert "caller hung up" in venus("calls")
    said = usage_error("calls", "--calls", calls, "show", "short")
    assert "--calls stands behind the command: venus calls show" in said


def test_an_id_stays_whole_in_a_narrow_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = rehearsed(tmp_path)
    monkeypatch.setattr("agent.app.cli.console.width", 50)
    assert record.name in venus("calls", "list", "--calls", record.parent)


def test_one_call_is_shown_and_deleted(tmp_path: Path) -> None:
    record = rehearsed(tmp_path)
    calls = record.parent
    told = venus("calls", "show", "short", "--calls", calls)
    assert "agent  “Hello” [finished]" in told
    assert "ended  " in told
    kept = CliRunner().invoke(app, ["calls", "delete", "short", "--calls", str(calls)], input="n\n")
    assert "Nothing was deleted." in kept.output
    assert record.exists()
    assert f"Deleted {record.name}." in venus("calls", "delete", record.name, "--yes", "--calls", calls)
    assert "No calls are recorded" in venus("calls", "list", "--calls", calls)
    assert "there is no call 'short'" in refusal("calls", "show", "short", "--calls", calls)
    assert "name another with --calls" in refusal("calls", "list", "--calls", calls / "none")


def test_nothing_in_a_timeline_moves_the_cursor_or_turns_the_text(tmp_path: Path) -> None:
    record = rehearsed(tmp_path)
    timeline = record / "timeline.jsonl"
    hostile = "Hi\\u001b[2J\\u009b1m\\u202e[bold]"
    timeline.write_text(timeline.read_text().replace('"text_sent":"Hello"', f'"text_sent":"{hostile}"'))
    told = venus("calls", "show", record.name, "--calls", record.parent)
    assert "“Hi�[2J�1m�[bold]”" in told
    assert not re.search("[\x1b\x9b\u202e]", told)


def test_replay_takes_an_id_a_folder_or_a_file(tmp_path: Path) -> None:
    record = rehearsed(tmp_path)
    for call in (record.name, "short", record, record / "timeline.jsonl"):
        told = venus("replay", call, "--strict", "--calls", record.parent)
        assert "✓ every derived event came out again, byte for byte" in told
        assert told.strip() == told[:-1]
    assert "give a call's id, its folder or its timeline.jsonl" in refusal("replay", tmp_path)
    assert "there is no timeline at gone.jsonl" in refusal("replay", "gone.jsonl")


def test_a_changed_timeline_differs_and_its_lines_stay_whole(tmp_path: Path) -> None:
    timeline = rehearsed(tmp_path) / "timeline.jsonl"
    timeline.write_text(timeline.read_text().replace('"gain_db":0.0', '"gain_db":-1.0', 1))
    done = CliRunner().invoke(app, ["replay", str(timeline)])
    assert done.exit_code == 1
    assert "the strict replay differs" in done.output
    lines = [json.loads(line.partition("  {")[2].join(("{", ""))) for line in done.output.splitlines() if "  {" in line]
    assert [line["event"]["gain_db"] for line in lines] == [-1.0, 0.0]


def test_what_if_tells_what_would_have_been_different(tmp_path: Path) -> None:
    record = rehearsed(tmp_path)
    assert "Nothing would have been different." in venus("replay", record, "--what-if", "--set", "floor.yield_after_us=400000")
    told = venus("replay", record, "--what-if", "--set", "longest_us=0")
    assert "first difference at" in told
    assert "what the caller and the frontend would have done instead is not known" in told


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--what-if"], "add --set NAME=VALUE"),
        (["--set", "longest_us=1"], "add --what-if"),
        (["--what-if", "--set", "longest_us"], "write NAME=VALUE"),
        (["--what-if", "--set", "longest=1"], "no setting 'longest'"),
        (["--what-if", "--set", "longest_us=-1"], "longest_us is out of bounds"),
    ],
)
def test_a_wrong_what_if_is_refused(tmp_path: Path, options: list[str], says: str) -> None:
    assert says in refusal("replay", rehearsed(tmp_path), *options)


@pytest.mark.parametrize(
    ("spoil", "error", "says"),
    [
        (lambda lines: [], Refused, "is not a timeline: its first line must be"),
        (lambda lines: [lines[0].replace("1", "2"), *lines[1:]], Refused, "has timeline schema 2, this version reads 1"),
        (lambda lines: [*lines[:5], "{oops\n", *lines[6:]], Refused, "timeline.jsonl, line 6: "),
        (lambda lines: [*lines[:5], *lines[6:]], Refused, "line 6: seq 5 where 4 is due: lines are missing or doubled"),
        (None, Gone, "cannot read"),
    ],
)
def test_a_spoilt_timeline_is_refused(tmp_path: Path, spoil: object, error: type[VenusError], says: str) -> None:
    record = rehearsed(tmp_path)
    path = record / "timeline.jsonl"
    if callable(spoil):
        path.write_text("".join(spoil(path.read_text().splitlines(keepends=True))))
    else:
        path.unlink()
    for command in ("replay", "calls show"):
        done = CliRunner().invoke(app, [*command.split(), record.name, "--calls", str(record.parent)])
        assert isinstance(done.exception, error)
        assert says in str(done.exception)


def test_a_call_that_was_cut_off_is_replayed_up_to_there(tmp_path: Path) -> None:
    path = rehearsed(tmp_path) / "timeline.jsonl"
    path.write_bytes(path.read_bytes()[:-200])
    assert "The timeline stops before the call's end; it was replayed up to there." in venus("replay", path)


def test_benchmarks_are_named_and_their_file_is_tried_before_they_run(tmp_path: Path) -> None:
    assert refusal("bench", "nope") == "there is no benchmark 'nope': there are core, voice"
    assert "there are core, voice" in refusal("bench", "../conftest")
    assert "no figure 'nope' in core: there are tick_lateness_p99_ms, " in refusal("bench", "core", "--only", "nope")
    said = refusal("bench", "core", "--only", "ledger_error_ms", "--json", tmp_path / "none" / "x.json")
    assert said.endswith("x.json: No such file or directory; name another file with --json")


def test_help_and_version() -> None:
    told = venus("--help")
    commands = ("demo", "talk", "calls", "replay", "doctor", "bench", "models", "worker")
    assert all(command in told for command in commands)
    assert re.fullmatch(r"venus-line \d+\.\d+\.\d+\n", venus("--version"))
    assert "No such command 'nope'" in usage_error("nope")
    assert "give one of --strict and --what-if" in usage_error("replay", "x", "--strict", "--what-if")
