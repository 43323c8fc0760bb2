from collections.abc import Callable

import numpy as np
import pytest

from agent.errors import Fault
from agent.settings import TICK_US, CallSettings, WatchdogSettings
from agent.timeline.events import (
    CallEnded,
    DelegateClosed,
    DelegateOpened,
    DeliveryChanged,
    EpochChanged,
    FaultDetected,
    FloorChanged,
    FrontendLost,
    FrontendOpened,
    LineClosed,
    LineHeld,
    LineResumed,
    MediaReceived,
    SayRequested,
    Sent,
    SpeechRefused,
    UtteranceEnded,
    UtteranceStarted,
    WorkEnded,
)
from agent.timeline.kinds import Alignment, DeliveryState, EndReason, Outcome, Role, Span, Verdict, Word, WorkStatus
from tests.agent.core_driver import FRAME, RATE_HZ, CallDriver, call_started, spoken

pytestmark = pytest.mark.unit

FAR_END_DELAY_US = 100_000

QUIET_TICKS = CallSettings().telling_after_us // TICK_US + 1


def answered(started: CallDriver | None = None) -> CallDriver:
    call = started or CallDriver()
    call.answer()
    return call


def of(call: CallDriver, *kinds: str) -> list[str]:
    return [entry.event.kind for entry in call.entries if entry.event.kind in kinds]


def ended(call: CallDriver, utterance_id: str) -> UtteranceEnded:
    (event,) = [
        one for one in call.events(UtteranceEnded) if isinstance(one, UtteranceEnded) and one.utterance_id == utterance_id
    ]
    return event


def test_pain_08_the_account_of_a_cut_utterance_is_the_words_that_had_ended() -> None:
    """The caller sets in at each 20 ms of an answer: 0.6 s later it is cut, and the ledger knows both marks to the sample."""
    words, samples = spoken(8, 230_000)
    for tick in range(samples // FRAME - 35):
        call = answered()
        call.speak("a", samples, words=words)
        call.tick(tick + 1)
        began_us = call.t - (tick + 1) * TICK_US
        call.voice_starts()
        onset_us = call.t
        call.tick(50)
        call.end()
        account = ended(call, "a")
        sent_us = account.samples_sent * 1_000_000 // RATE_HZ
        assert account.outcome is Outcome.CUT
        assert 0 <= sent_us - (onset_us + 600_000 - began_us) <= TICK_US, "within one frame"
        assert account.words_sent == sum(word.end_us <= sent_us for word in words)
        assert account.text_sent == " ".join(word.text for word in words if word.end_us <= sent_us)
        assert account.text_unsent == " ".join(word.text for word in words if word.end_us > sent_us)
        heard_us = max(0, onset_us - 100_000 - began_us)
        assert account.samples_heard_at_onset == heard_us * RATE_HZ // 1_000_000
        assert account.words_heard_at_onset == sum(word.end_us <= heard_us for word in words)


def test_a_short_burst_ducks_and_restores_and_loses_no_word() -> None:
    call = answered()
    words, samples = spoken(10, 200_000)
    call.speak("a", samples, words=words)
    call.tick(20)
    call.voice_starts()
    call.tick(10)
    call.voice_stops()
    call.tick(100)
    assert [event.verdict for event in call.events(FloorChanged) if isinstance(event, FloorChanged)] == [
        Verdict.DUCK,
        Verdict.RESTORE,
    ]
    assert {event.gain_db for event in call.events(Sent) if isinstance(event, Sent)} == {0.0, -12.0}
    account = ended(call, "a")
    assert (account.outcome, account.words_sent, account.text_unsent) == (Outcome.FINISHED, 10, "")


def test_overlap_counts_from_our_start_when_we_began_over_the_caller() -> None:
    call = answered()
    call.voice_starts()
    call.tick(100)
    call.speak("a", 40_000)
    began_us = call.t
    call.tick(60)
    (yielded,) = [entry for entry in call.entries if isinstance(entry.event, EpochChanged)]
    assert 600_000 <= yielded.t - began_us < 700_000, "the evidence comes every 100 ms"
    account = ended(call, "a")
    assert (account.samples_heard_at_onset, account.words_heard_at_onset) == (0, 0), "they were speaking before"


def test_after_a_yield_no_sample_of_the_old_epoch_leaves_but_the_fading_frame() -> None:
    call = answered()
    call.speak("old", 40_000, final=False)
    call.tick(20)
    call.voice_starts()
    call.tick(31)
    assert len(call.events(EpochChanged)) == 1
    yielded_us = next(entry.t for entry in call.entries if isinstance(entry.event, EpochChanged))
    call.speak("old", 8_000, epoch=0)
    call.speak("late", 8_000, epoch=0)
    call.tick(20)
    refused = [event for event in call.events(SpeechRefused) if isinstance(event, SpeechRefused)]
    assert [(event.utterance_id, event.reason) for event in refused] == [("old", "ended"), ("late", "stale_epoch")]
    last = [event for event in call.events(Sent) if isinstance(event, Sent)][-1]
    assert last.covers.to_us == yielded_us + TICK_US
    call.speak("new", 8_000)
    call.tick(2)
    assert [event.epoch for event in call.events(UtteranceStarted) if isinstance(event, UtteranceStarted)] == [0, 1]


def test_a_must_hear_line_is_spoken_to_its_end_over_the_caller() -> None:
    call = answered()
    words, samples = spoken(20, 200_000)
    call.say("law", samples, words=words, must_hear=True)
    call.tick(5)
    call.voice_starts()
    call.tick(210)
    assert call.events(FloorChanged) == []
    assert ended(call, "law").outcome is Outcome.FINISHED
    assert {event.gain_db for event in call.events(Sent) if isinstance(event, Sent)} == {0.0}


def test_audio_that_does_not_fit_its_event_is_a_fault_of_ours() -> None:
    call = answered()
    words, samples = spoken(1, 200_000)
    call.core.apply(call.entries[-1])
    with pytest.raises(Fault, match="says 1600 samples and came with 3"):
        call.give(_say(words, samples), np.zeros(3, np.int16))


def _say(words: tuple[Word, ...], samples: int) -> SayRequested:
    return SayRequested("s", Role.NOTICE, False, "w0", words, Alignment.EXACT, samples)


@pytest.mark.parametrize(
    ("name", "do", "reason", "after_us"),
    [
        ("ringing", lambda call: None, EndReason.NOT_ANSWERED, 10_000_000),
        ("no media", lambda call: call.answer(), EndReason.MEDIA_LOST, 10_000_000),
    ],
)
def test_every_wait_has_a_bound(name: str, do: Callable[[CallDriver], None], reason: EndReason, after_us: int) -> None:
    call = CallDriver()
    do(call)
    begun_us = call.t - TICK_US
    call.tick(600)
    (end,) = [entry for entry in call.entries if isinstance(entry.event, CallEnded)]
    assert isinstance(end.event, CallEnded)
    assert end.event.reason is reason, name
    assert end.t == begun_us + after_us + TICK_US


def test_media_that_comes_keeps_the_call_and_silence_from_the_line_does_not() -> None:
    call = answered()
    for _ in range(4):
        call.media()
        call.tick(490)
    assert not call.events(CallEnded)
    for _ in range(4):
        call.give(MediaReceived(Span(call.t - TICK_US, call.t), 0, 0, FRAME, -127.0))
        call.tick(490)
    assert len(call.events(CallEnded)) == 1


@pytest.mark.parametrize(
    ("ending_us", "after_us"),
    [(500_000, 2_500_000), (9_000_000, 6_000_000 + FAR_END_DELAY_US)],
    ids=["cut at the bound", "said to its end"],
)
def test_a_call_that_is_too_long_says_what_is_queued_within_a_bound(ending_us: int, after_us: int) -> None:
    call = answered(CallDriver(call_started(CallSettings(longest_us=2_000_000, ending_us=ending_us))))
    begun_us = call.t - TICK_US
    call.speak("a", 6 * RATE_HZ)
    call.tick(400)
    (end,) = [entry for entry in call.entries if isinstance(entry.event, CallEnded)]
    assert isinstance(end.event, CallEnded)
    assert end.event.reason is EndReason.TOO_LONG
    assert end.event.lasted_us == end.t - begun_us
    assert 0 < end.t - begun_us - after_us <= 2 * TICK_US, "the first ticks past each bound"
    assert ended(call, "a").outcome is (Outcome.CUT if after_us < 6_000_000 else Outcome.FINISHED)


def test_no_media_is_missed_on_hold() -> None:
    call = answered()
    call.give(LineHeld("far"))
    call.tick(1000)
    assert not call.events(CallEnded)
    call.give(LineResumed("far"))
    call.tick(501)
    assert not call.events(CallEnded)
    call.tick(1)
    assert len(call.events(CallEnded)) == 1


def test_no_media_is_missed_while_the_ticker_stood_still() -> None:
    call = answered()
    call.media()
    call.tick(10)
    call.gap(600)
    call.tick(100)
    assert not call.events(CallEnded)
    call.tick(405)
    assert len(call.events(CallEnded)) == 1


def test_a_farewell_is_spoken_to_its_end_and_nothing_new_is_taken() -> None:
    call = answered()
    words, samples = spoken(5, 200_000)
    call.say("bye", samples, words=words)
    call.tick(2)
    call.end(at_once=False)
    call.speak("more", 800)
    call.tick(60)
    assert ended(call, "bye").outcome is Outcome.FINISHED
    assert [event.reason for event in call.events(SpeechRefused) if isinstance(event, SpeechRefused)] == ["ending"]
    (end,) = [entry for entry in call.entries if isinstance(entry.event, CallEnded)]
    finished = next(entry for entry in call.entries if isinstance(entry.event, UtteranceEnded))
    assert end.t == finished.t + FAR_END_DELAY_US, "once its end has reached the far end, no later"


def test_a_farewell_behind_speech_that_has_dried_up_is_still_spoken() -> None:
    call = answered()
    call.speak("dry", 800, final=False)
    words, samples = spoken(5, 200_000)
    call.say("bye", samples, words=words)
    call.tick(3)
    call.end(at_once=False)
    call.tick(200)
    assert ended(call, "dry").outcome is Outcome.STARVED
    assert ended(call, "bye").outcome is Outcome.FINISHED


def test_an_end_in_the_middle_of_speech_cuts_it_and_ends_once() -> None:
    call = answered()
    words, samples = spoken(10, 200_000)
    call.speak("a", samples, words=words)
    call.say("b", samples, words=words)
    call.tick(26)
    call.end()
    call.end()
    call.give(LineClosed(EndReason.CALLER_HUNG_UP, "hung up"))
    call.tick()
    assert (ended(call, "a").outcome, ended(call, "a").words_sent) == (Outcome.CUT, 2)
    assert (ended(call, "b").outcome, ended(call, "b").text_unsent) == (Outcome.DROPPED, " ".join(w.text for w in words))
    assert [event.reason for event in call.events(CallEnded) if isinstance(event, CallEnded)] == [EndReason.AGENT_ENDED]


def test_dried_up_speech_is_ended_and_counted_and_what_follows_is_spoken() -> None:
    call = answered()
    call.speak("dry", 800, final=False)
    call.speak("next", 800)
    call.tick(100)
    first = of(call, "fault.detected", "media.underrun", "utterance.ended", "utterance.started")
    order = ["started", "underrun", "detected", "underrun", "ended", "started", "ended"]
    assert [kind.partition(".")[2] for kind in first] == order
    (fault,) = call.events(FaultDetected)
    assert isinstance(fault, FaultDetected)
    assert fault.code == "starved"
    assert ended(call, "dry").outcome is Outcome.STARVED
    assert ended(call, "next").outcome is Outcome.FINISHED


def test_an_unanswered_question_is_told_while_the_call_goes_on() -> None:
    call = answered()
    call.voice_starts()
    call.tick(50)
    call.voice_stops()
    stopped_us = call.t
    for _ in range(30):
        call.media()
        call.tick(10)
    told = [entry for entry in call.entries if isinstance(entry.event, FaultDetected)]
    assert [(entry.t, entry.event.code) for entry in told if isinstance(entry.event, FaultDetected)] == [
        (stopped_us + 5_000_000, "unanswered")
    ]


@pytest.mark.parametrize(("role", "alarms"), [(Role.ANSWER, 0), (Role.FILLER, 0), (Role.BACKCHANNEL, 1)])
def test_a_question_is_answered_by_anything_but_a_backchannel(role: Role, alarms: int) -> None:
    call = answered()
    call.voice_starts()
    call.tick(50)
    call.voice_stops()
    call.tick(60)
    call.speak("a", 800, role=role)
    for _ in range(30):
        call.media()
        call.tick(10)
    assert len(call.events(FaultDetected)) == alarms


def test_a_lost_frontend_ends_what_it_had_begun_as_starved() -> None:
    call = answered()
    call.give(DelegateClosed(Span(0, 0), "g", 5))
    call.give(WorkEnded("w1", WorkStatus.SUCCEEDED, 5))
    call.tick(QUIET_TICKS)
    words, samples = spoken(2, 200_000)
    call.speak("torn", samples, words=words, final=False, attempt_id="d1")
    call.tick(3)
    call.give(FrontendLost(1, "gone", False))
    call.tick(60)
    assert ended(call, "torn").outcome is Outcome.STARVED
    states = [event.state for event in call.events(DeliveryChanged) if isinstance(event, DeliveryChanged)]
    assert states == [DeliveryState.READY, DeliveryState.DELIVERING, DeliveryState.PARTIAL]


def test_a_result_waits_for_silence_and_is_delivered_when_its_words_are_out() -> None:
    call = answered()
    words, samples = spoken(3, 200_000)
    call.speak("a", samples, words=words)
    call.give(DelegateOpened(Span(0, 0), "g"))
    call.give(DelegateClosed(Span(0, call.t), "g", 5))
    call.tick(5)
    call.give(WorkEnded("w1", WorkStatus.SUCCEEDED, 5))
    call.voice_starts()
    call.tick(28)
    assert of(call, "delivery.changed") == ["delivery.changed"]
    call.voice_stops()
    call.tick(QUIET_TICKS)
    call.speak("told", samples, words=words, attempt_id="d1")
    call.tick(40)
    changes = [event for event in call.events(DeliveryChanged) if isinstance(event, DeliveryChanged)]
    assert [change.state for change in changes] == [DeliveryState.READY, DeliveryState.DELIVERING, DeliveryState.DELIVERED]
    assert changes[-1].heard == "w0 w1 w2"


def test_an_outcome_after_the_end_is_dropped_at_once() -> None:
    call = answered()
    call.give(DelegateClosed(Span(0, 0), "g", 5))
    call.end()
    call.give(WorkEnded("w1", WorkStatus.UNKNOWN, 0))
    changes = [event for event in call.events(DeliveryChanged) if isinstance(event, DeliveryChanged)]
    assert [(change.state, change.reason) for change in changes] == [
        (DeliveryState.READY, "unknown"),
        (DeliveryState.DROPPED, "the call has ended"),
    ]


def test_a_line_kept_ready_does_not_wait_behind_speech_that_cannot_begin() -> None:
    call = answered()
    call.speak("late", 0, final=False)
    words, samples = spoken(5, 200_000)
    call.say("notice", samples, words=words)
    call.tick(5)
    assert [event.utterance_id for event in call.events(UtteranceStarted)] == ["notice"]


def test_answers_without_a_pause_are_one_stretch_of_speech() -> None:
    """Half-second answers one after another: 600 ms of voice over them take the floor, with no restoring in between."""
    call = answered()
    for name in "abcdef":
        call.speak(name, RATE_HZ // 2)
    call.tick(10)
    call.voice_starts()
    call.tick(40)
    verdicts = [event.verdict for event in call.events(FloorChanged)]
    assert verdicts == [Verdict.DUCK, Verdict.YIELD]


def test_what_a_lost_frontend_was_given_and_had_not_begun_is_given_to_the_next() -> None:
    call = answered()
    call.give(DelegateClosed(Span(0, call.t), "g1", 10))
    call.give(WorkEnded("w1", WorkStatus.SUCCEEDED, 5))
    call.tick(40)
    call.give(FrontendLost(1, "killed", False))
    call.tick(50)
    states = [event.state for event in call.events(DeliveryChanged)]
    assert states == [DeliveryState.READY, DeliveryState.DELIVERING, DeliveryState.READY], "while there is no next one it waits"
    call.give(FrontendOpened("next", 2, 100_000, 16_000))
    call.tick(2)
    assert [event.state for event in call.events(DeliveryChanged)] == [*states, DeliveryState.DELIVERING]


def test_bounds_stand_still_on_hold() -> None:
    """An answer owed when the hold begins is owed as long after it as it was before."""
    call = answered(CallDriver(call_started(CallSettings(watchdog=WatchdogSettings(answer_us=2_000_000)))))
    call.voice_starts()
    call.tick(30)
    call.voice_stops()
    call.tick(40)
    call.give(LineHeld("far"))
    call.tick(500)
    call.give(LineResumed("far"))
    call.tick(30)
    assert not call.events(FaultDetected)
    call.tick(40)
    assert [event.code for event in call.events(FaultDetected)] == ["unanswered"]
