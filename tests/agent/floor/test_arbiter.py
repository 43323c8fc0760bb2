from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.floor.arbiter import Decision, Speaking, SustainedSpeechArbiter
from agent.settings import TICK_US, FloorSettings
from agent.timeline.events import VoiceContinued, VoiceStarted, VoiceStopped
from agent.timeline.kinds import Role, Span, Verdict

pytestmark = pytest.mark.unit

MS = 1_000
DUCK, RESTORE, YIELD = Verdict.DUCK, Verdict.RESTORE, Verdict.YIELD


@dataclass
class Scene:
    """Voice from `voice_ms` and our speech from `speech_ms`, tick by tick; `verdicts` are (verdict, t in ms)."""

    arbiter: SustainedSpeechArbiter = field(default_factory=lambda: SustainedSpeechArbiter(FloorSettings()))
    verdicts: list[tuple[Verdict, int]] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    flushed: bool = False

    def run(
        self, voice_ms: tuple[int, int], speech_ms: tuple[int, int], role: Role = Role.ANSWER, must_hear: bool = False
    ) -> list[tuple[Verdict, int]]:
        onset_us, until_us = voice_ms[0] * MS, voice_ms[1] * MS
        for t in range(0, max(until_us, speech_ms[1] * MS) + 400 * MS, TICK_US):
            self._hear(t, onset_us, until_us)
            speaks = speech_ms[0] * MS < t <= speech_ms[1] * MS and not self.flushed
            speaking = Speaking("u", role, must_hear, speech_ms[0] * MS) if speaks else None
            decision = self.arbiter.step(t, speaking)
            if decision:
                self.decisions.append(decision)
                self.verdicts.append((decision.verdict, t // MS))
                self.flushed = self.flushed or decision.verdict is Verdict.YIELD
        return self.verdicts

    def _hear(self, t: int, onset_us: int, until_us: int) -> None:
        """Evidence as the level gate gives it: continued every 100 ms of voice, stopped after 200 ms without."""
        if t == onset_us + TICK_US:
            self.arbiter.voice(VoiceStarted(Span(onset_us, t), -20.0), t)
        elif onset_us < t <= until_us and (t - onset_us) % (100 * MS) == 0:
            self.arbiter.voice(VoiceContinued(Span(onset_us, t), -20.0), t)
        elif t == until_us + 200 * MS:
            self.arbiter.voice(VoiceStopped(Span(onset_us, until_us)), t)


@pytest.mark.parametrize(
    ("name", "voice_ms", "speech_ms", "expected"),
    [
        ("a cough", (1000, 1100), (0, 5000), [(DUCK, 1020), (RESTORE, 1300)]),
        ("580 ms over us", (1000, 1580), (0, 5000), [(DUCK, 1020), (RESTORE, 1780)]),
        ("600 ms over us", (1000, 1600), (0, 5000), [(DUCK, 1020), (YIELD, 1600)]),
        ("two seconds over us", (1000, 3000), (0, 5000), [(DUCK, 1020), (YIELD, 1600)]),
        ("we began over the caller: counted from our start", (0, 3000), (1000, 5000), [(DUCK, 1020), (YIELD, 1600)]),
        ("our start within a step of evidence", (0, 3000), (1050, 5000), [(DUCK, 1060), (YIELD, 1700)]),
        ("the caller stops 580 ms after we began", (0, 1580), (1000, 5000), [(DUCK, 1020), (RESTORE, 1780)]),
        ("we fall silent first", (1000, 3000), (0, 1400), [(DUCK, 1020), (RESTORE, 1420)]),
        ("nobody speaks over anybody", (1000, 2000), (3000, 4000), []),
        ("voice ends as we begin", (0, 980), (1000, 2000), [(DUCK, 1020), (RESTORE, 1180)]),
    ],
)
def test_verdicts(name: str, voice_ms: tuple[int, int], speech_ms: tuple[int, int], expected: list[tuple[Verdict, int]]) -> None:
    assert Scene().run(voice_ms, speech_ms) == expected, name


@pytest.mark.parametrize(("role", "must_hear"), [(Role.ANSWER, True), (Role.GREETING, True), (Role.BACKCHANNEL, True)])
def test_must_hear_lines_are_never_interrupted(role: Role, must_hear: bool) -> None:
    assert Scene().run((1000, 5000), (0, 6000), role, must_hear) == []


def test_a_backchannel_is_not_interrupted() -> None:
    assert Scene().run((500, 5000), (0, 1900), Role.BACKCHANNEL) == []


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.BACKCHANNEL])
def test_every_other_role_can_be_interrupted(role: Role) -> None:
    assert Scene().run((1000, 2000), (0, 6000), role) == [(DUCK, 1020), (YIELD, 1600)]


def test_a_frontend_that_owns_the_floor_is_guarded_after_two_and_a_half_seconds() -> None:
    assert Scene(SustainedSpeechArbiter(FloorSettings(), owns_floor=True)).run((1000, 3480), (0, 6000))[1:] == [(RESTORE, 3680)]
    assert Scene(SustainedSpeechArbiter(FloorSettings(), owns_floor=True)).run((1000, 3500), (0, 6000))[1:] == [(YIELD, 3500)]


def test_a_verdict_names_its_voice_and_its_evidence() -> None:
    scene = Scene()
    scene.run((1000, 1700), (0, 5000))
    duck, yielded = scene.decisions
    assert (duck.onset_us, duck.cause) == (1_000_000, 1_020_000)
    assert (yielded.onset_us, yielded.cause) == (1_000_000, 1_600_000)


def test_a_must_hear_line_that_follows_a_ducked_utterance_restores() -> None:
    arbiter = SustainedSpeechArbiter(FloorSettings())
    arbiter.voice(VoiceStarted(Span(0, TICK_US), -20.0), 1)
    duck = arbiter.step(TICK_US, Speaking("a", Role.ANSWER, False, 0))
    restore = arbiter.step(2 * TICK_US, Speaking("law", Role.NOTICE, True, TICK_US))
    assert duck is not None
    assert restore is not None
    assert (duck.verdict, restore.verdict) == (DUCK, RESTORE)
    assert arbiter.step(3 * TICK_US, Speaking("law", Role.NOTICE, True, TICK_US)) is None


@given(
    st.lists(st.tuples(st.sampled_from(["start", "go on", "stop", "-"]), st.sampled_from(["a", "law", "mm", "-"])), max_size=200)
)
def test_each_duck_is_lifted_exactly_once(ticks: list[tuple[str, str]]) -> None:
    """Between two ducks lies one restore or one yield; only what may be interrupted is ducked or yields."""
    arbiter = SustainedSpeechArbiter(FloorSettings())
    onset_us: int | None = None
    ducked, before, since_us = False, "-", 0
    for t in range(TICK_US, (len(ticks) + 1) * TICK_US, TICK_US):
        voice, speech = ticks[t // TICK_US - 1]
        if voice == "start" and onset_us is None:
            onset_us = t - TICK_US
            arbiter.voice(VoiceStarted(Span(onset_us, t), -20.0), 1)
        elif voice == "go on" and onset_us is not None:
            arbiter.voice(VoiceContinued(Span(onset_us, t), -20.0), 1)
        elif voice == "stop" and onset_us is not None:
            arbiter.voice(VoiceStopped(Span(onset_us, t)), 1)
            onset_us = None
        since_us = since_us if speech == before else t
        before = speech
        role = Role.BACKCHANNEL if speech == "mm" else Role.ANSWER
        decision = arbiter.step(t, None if speech == "-" else Speaking(speech, role, speech == "law", since_us))
        interruptible = speech == "a" and onset_us is not None
        if decision is None:
            assert ducked == interruptible
        elif decision.verdict is DUCK:
            assert interruptible
            assert not ducked
            ducked = True
        elif decision.verdict is RESTORE:
            assert ducked
            assert not interruptible
            ducked = False
        else:
            assert decision.verdict is YIELD
            assert interruptible
            assert t - max(onset_us or 0, since_us) >= 600_000
            ducked, before = False, "-"


def test_a_backchannel_that_goes_on_is_none() -> None:
    """What is called a backchannel can be interrupted once it has lasted two seconds."""
    arbiter = SustainedSpeechArbiter(FloorSettings())
    speaking = Speaking("mm", Role.BACKCHANNEL, False, 0)
    arbiter.voice(VoiceStarted(Span(1_000_000, 1_060_000), -20.0), 1)
    arbiter.voice(VoiceContinued(Span(1_000_000, 1_900_000), -20.0), 2)
    assert arbiter.step(2_000_000, speaking) is None
    decision = arbiter.step(2_020_000, speaking)
    assert decision is not None
    assert decision.verdict is Verdict.YIELD
