"""The rehearsal script: what is accepted, and what is said about the rest."""

import wave
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import Refused
from agent.frontends.script import LONGEST_FILE, AgentTurn, CallerAct, Script, load_script
from agent.timeline.kinds import WorkPhase, WorkStatus

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]


def test_a_whole_script_is_read() -> None:
    script = load_script(
        """
        name: appointment 2
        about: what it shows
        seed: 7
        limit_ms: 60000
        agent:
          unit_ms: 200
          rate_hz: 16000
          owns_floor: true
          turns:
            - {on: turn_end, nth: every, after_ms: 250, say: "Yes, of course."}
            - {at_ms: 4000, delegate: look it up, takes_ms: 80}
            - {on: inject, stay_silent: true}
        caller:
          pitch_hz: 180.5
          says:
            - {after: answered, delay_ms: 300, say: no}
            - {at_ms: 100, press: 0123#}
            - {after: agent_utterance_end, nth: 2, hang_up: yes}
        line: {codec: ulaw, rate_hz: 8000, loss_pct: 2.5, skew_ppm: -50, echo_db: -20}
        lines:
          greeting: Hi there
          farewell: {text: Bye, must_hear: true}
        work:
          - {after_ms: 900, status: failed, text: nobody answers, updates: [{after_ms: 200, headline: ringing}]}
        """
    )
    assert (script.name, script.seed, script.agent.unit_ms, script.agent.owns_floor) == ("appointment 2", 7, 200, True)
    assert script.agent.turns[0] == AgentTurn(on="turn_end", nth="every", after_ms=250, say="Yes, of course.")
    assert script.agent.turns[1].delegate == "look it up"
    assert script.caller.says[0] == CallerAct(after="answered", delay_ms=300, say="no")
    assert script.caller.says[1].press == "0123#"
    assert script.caller.says[2].hang_up
    assert (script.line.codec, script.line.loss_pct, script.line.echo_db) == ("ulaw", 2.5, -20.0)
    assert (script.lines.greeting.text, script.lines.greeting.must_hear) == ("Hi there", False)
    assert (script.lines.farewell.text, script.lines.farewell.must_hear) == ("Bye", True)
    assert script.work[0].status is WorkStatus.FAILED
    assert (script.work[0].updates[0].phase, script.work[0].updates[0].headline) == (WorkPhase.RUNNING, "ringing")


def test_the_greeting_says_that_it_is_automated_unless_the_script_says_otherwise() -> None:
    lines = load_script("name: x").lines
    assert "automated" in lines.greeting.text
    assert lines.greeting.must_hear


@pytest.mark.parametrize(
    ("turn", "message"),
    [
        ("{on: open}", "agent.turns[0]: says nothing to do"),
        ("{on: open, say: a, die: true}", "agent.turns[0]: does several things at once (say, die)"),
        ("{say: a}", "agent.turns[0]: give either `on` or `at_ms`"),
        ("{on: open, at_ms: 3, say: a}", "agent.turns[0]: give either `on` or `at_ms`"),
        ("{at_ms: 3, nth: 2, say: a}", "agent.turns[0]: `nth` counts"),
        ("{on: closing, say: a}", "agent.turns[0].on: input should be 'open', 'turn_start'"),
        ("{on: open, nth: 0, say: a}", "agent.turns[0].nth: input should be greater than or equal to 1"),
        ("{on: open, say: ' '}", "agent.turns[0].say: there is no text"),
        ("{on: open, sey: a}", "agent.turns[0].sey: this key is not known here"),
        ("{on: open, text: a, say: b}", "agent.turns[0]: `wav` and `text` go together"),
        ("{on: open, wav: gone.wav, text: b}", "agent.turns[0].wav: no sound file gone.wav"),
        ("{on: open, after_ms: -1, say: b}", "agent.turns[0].after_ms: input should be greater than or equal to 0"),
        ("{on: open, speed_x: nan, say: b}", "agent.turns[0].speed_x: "),
        ("{on: open, say: [b]}", "agent.turns[0].say: a text belongs here"),
        ("hello", "agent.turns[0]: keys with values belong here"),
        ("{on: open, nth: all, say: a}", "agent.turns[0].nth: 'all' is no whole number, and input should be 'every'"),
        ("{on: open, after_ms: 1.5, say: a}", "agent.turns[0].after_ms: '1.5' is no whole number"),
        ("{on: open, proactive: maybe, say: a}", "agent.turns[0].proactive: 'maybe' is neither true nor false"),
        ("{on: open, my key: a, say: a}", "agent.turns[0].my key: this key is not known here"),
        ("{on: open, <<: {say: a}}", "agent.turns[0].<<: this key is not known here"),
        ("{on: open, lag_ms: 0}", "agent.turns[0].lag_ms: input should be greater than or equal to 1"),
        ("{on: open, say: a, takes_ms: 5}", "agent.turns[0]: `takes_ms` belongs to delegate and does nothing here"),
        ("{on: open, die: true, words: chunk}", "agent.turns[0]: `words` belongs to say, wav, backchannel"),
        (f"{{on: open, text: a, wav: {'w' * 5000}}}", "agent.turns[0].wav: no sound file www"),
    ],
)
def test_an_error_names_its_place_and_line(turn: str, message: str) -> None:
    with pytest.raises(Refused) as refused:
        load_script(f"name: x\nagent:\n  turns:\n    - {turn}\n")
    assert str(refused.value).startswith(f"script: {message}")
    assert str(refused.value).endswith(", line 4")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "script: name: this key is missing, line 1"),
        ("name: x\nname: y", "script: not valid YAML: the key 'name' is given twice, line 2"),
        ("name: x\nagent: [", "script: not valid YAML: "),
        ("name: x\nline:\n  codec: alaw", "script: line: alaw runs at 8000 Hz: set `rate_hz: 8000` or `codec: l16`, line 2"),
        ("- name", "script: keys with values belong here, `key: value` each, line 1"),
        ("name: x\nagent: {turns: none}", "script: agent.turns: a list belongs here, each entry of it behind `- `, line 2"),
        (
            f"name: x\nagent: {{rate_hz: {'9' * 5000}}}",
            "script: agent.rate_hz: input should be 8000, 16000, 24000 or 48000, line 2",
        ),
        (f"name: x\nseed: {'9' * 5000}", f"script: seed: '{'9' * 39}…' is too long for a number, line 2"),
        ("name: x\nabout: \x1b[31m", "script: not valid YAML: the character #x001b may not stand there, line 2"),
        ("[" * 20_000, "script: not valid YAML: brackets are nested too deep"),
        ("name: x\ncaller: {says: [{at_ms: 1, noise_ms: 600001}]}", "script: caller.says[0].noise_ms: input should be less"),
        ("name: x\ncaller: {says: [{at_ms: 1, press: 12x}]}", "script: caller.says[0].press: keys are 0-9, *, # and A-D"),
        ("name: x\ncaller: {says: [{at_ms: 1, press: 1, level_dbfs: -3}]}", "script: caller.says[0]: `level_dbfs` belongs"),
        ("[a]: b", "script: not valid YAML: a key must be plain text, line 1"),
        ('name: "\\ud800"', "script: not valid YAML: half of a character"),
        ("name: x\nwork:\n- after_ms: 5\n  updates: [{after_ms: 9}]", "script: work[0]: an update after 9 ms comes after"),
        ("name: x\ncaller:\n  says:\n  - {at_ms: 1, delay_ms: 1, say: a}", "script: caller.says[0]: `nth` and `delay_ms`"),
        ("name: x\ncaller:\n  says:\n  - {at_ms: 1, press: 12x}", "script: caller.says[0].press: "),
        ("name: ../x", "script: name: "),
        ("name: x\nagent: {rate_hz: 44100}", "script: agent.rate_hz: input should be 8000, 16000, 24000 or 48000, line 2"),
    ],
)
def test_wrong_documents_are_refused_with_a_sentence(text: str, message: str) -> None:
    with pytest.raises(Refused) as refused:
        load_script(text)
    assert str(refused.value).startswith(message)


def test_small_files_that_unfold_without_end_are_refused() -> None:
    laughs = "\n".join(
        [f"{chr(98 + level)}: &{chr(98 + level)} [{', '.join(['*' + chr(97 + level)] * 9)}]" for level in range(8)]
    )
    with pytest.raises(Refused, match="entries"):
        load_script("a: &a [x, x]\n" + laughs)
    with pytest.raises(Refused, match="nested"):
        load_script("a: " + "[" * 60 + "]" * 60)
    with pytest.raises(Refused, match="not valid YAML"):
        load_script("[" * 20_000)


@settings(max_examples=150)
@given(st.text(alphabet=st.sampled_from("name: xyz\n-[]{}'\"&*!|>#agentturnsonsayat_ms0123,?%@`\t\u00e9\x00"), max_size=120))
def test_any_text_is_a_script_or_refused(text: str) -> None:
    try:
        outcome: Script | str = load_script(text)
    except Refused as refused:
        outcome = str(refused)
    assert isinstance(outcome, Script) or (outcome.startswith("script: ") and "\n" not in outcome)


def test_files_are_read_with_their_sounds_beside_them(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "hello.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(bytes(1600))
    path = tmp_path / "r.yaml"
    path.write_text("\ufeffname: x\nagent: {turns: [{on: open, wav: hello.wav, text: hello}]}", encoding="utf-8")
    assert load_script(path).agent.turns[0].wav == tmp_path / "hello.wav"


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot read"):
        load_script(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9")
    with pytest.raises(Refused, match="not UTF-8"):
        load_script(tmp_path / "latin.yaml")
    (tmp_path / "long.yaml").write_bytes(b"#" * (LONGEST_FILE + 1))
    with pytest.raises(Refused, match="longer than"):
        load_script(tmp_path / "long.yaml")


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "rehearsals").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_are_scripts(path: Path) -> None:
    script = load_script(path)
    assert script.name == path.stem
    assert script.agent.turns
    assert script.caller.says


def test_there_are_examples() -> None:
    assert len(list((ROOT / "examples" / "rehearsals").glob("*.yaml"))) >= 2
