from dataclasses import replace
from typing import Any

import pytest

from agent.errors import Fault, Refused
from agent.replay import Difference, check, replay, with_changes
from agent.settings import TICK_US, CallSettings, FloorSettings
from agent.timeline.events import (
    CallEnded,
    DigitReceived,
    Event,
    FloorChanged,
    Sent,
    SpeechArrived,
    UtteranceEnded,
    VoiceStarted,
    WordsSent,
)
from agent.timeline.kinds import EndReason
from agent.timeline.log import Entry
from tests.agent.core_driver import CallDriver, sample_call

pytestmark = pytest.mark.unit


def nth(entries: list[Entry], kind: type[Event], which: int = 0) -> int:
    """The place of the `which`-th event of a kind."""
    return [place for place, entry in enumerate(entries) if isinstance(entry.event, kind)][which]


def with_event(entries: list[Entry], place: int, **fields: Any) -> list[Entry]:
    """The same entries with some fields of one event changed."""
    entry = entries[place]
    changed: Any = replace(entry.event, **fields)  # type: ignore[type-var]
    return [*entries[:place], replace(entry, event=changed), *entries[place + 1 :]]


def difference(entries: list[Entry]) -> Difference:
    found = replay(entries).difference
    assert found is not None
    return found


def test_a_strict_replay_of_a_call_has_no_difference() -> None:
    entries = sample_call().entries
    result = replay(entries)
    assert result.difference is None
    assert result.complete
    assert result.entries == len(entries)
    assert result.derived == sum(entry.event.origin == "derived" for entry in entries)
    assert result.lasted_us == entries[-1].t
    assert result.recorded_kinds == result.replayed_kinds
    assert result.recorded_kinds["utterance.ended"] == 4
    check(result)


def test_a_replay_runs_with_the_settings_of_its_call() -> None:
    settings = CallSettings(floor=FloorSettings(duck_db=-6.0, yield_after_us=300_000))
    entries = sample_call(settings).entries
    assert any(isinstance(entry.event, Sent) and entry.event.gain_db == -6.0 for entry in entries)
    assert replay(entries).difference is None


@pytest.mark.parametrize("lost_ticks", [26, 200])
def test_a_jump_of_the_ticker_is_replayed_as_a_jump(lost_ticks: int) -> None:
    call = CallDriver()
    call.answer()
    call.speak("a", 16_000)
    call.tick(20)
    call.gap(lost_ticks)
    call.tick(120)
    call.end()
    assert replay(call.entries).difference is None


def test_changed_text_is_found_where_it_stands() -> None:
    entries = sample_call().entries
    place = nth(entries, WordsSent, 3)
    found = difference(with_event(entries, place, text="something else"))
    assert (found.seq, found.t) == (place, entries[place].t)
    assert found.recorded is not None
    assert found.replayed is not None
    assert '"text":"something else"' in found.recorded
    assert '"text":"w3"' in found.replayed


def test_a_changed_input_is_found_in_what_follows_from_it() -> None:
    entries = sample_call().entries
    place = nth(entries, SpeechArrived)
    spoken = entries[place].event
    assert isinstance(spoken, SpeechArrived)
    words = (replace(spoken.words[0], text="never"), *spoken.words[1:])
    found = difference(with_event(entries, place, words=words))
    assert found.seq > place
    assert found.replayed is not None
    assert '"text":"never"' in found.replayed


def test_a_changed_count_is_found() -> None:
    entries = sample_call().entries
    place = nth(entries, UtteranceEnded, 1)
    assert difference(with_event(entries, place, samples_sent=1)).seq == place


@pytest.mark.parametrize("kind", [Sent, FloorChanged, UtteranceEnded])
def test_a_dropped_derived_line_is_found_where_it_is_missing(kind: type[Event]) -> None:
    entries = sample_call().entries
    place = nth(entries, kind)
    closed_up = [replace(entry, seq=seq) for seq, entry in enumerate([*entries[:place], *entries[place + 1 :]])]
    found = difference(closed_up)
    assert found.seq == place
    assert found.replayed is not None
    assert kind.kind in found.replayed


def test_a_dropped_last_line_is_not_found_only_where_the_file_was_cut_off() -> None:
    entries = sample_call().entries
    assert isinstance(entries[-1].event, CallEnded)
    cut = replay(entries[:-1])
    assert (cut.complete, cut.difference) == (False, None), "the process died: what is there is right"


def test_an_added_derived_line_is_found() -> None:
    entries = sample_call().entries
    place = nth(entries, WordsSent, 1)
    doubled = [*entries[: place + 1], entries[place], *entries[place + 1 :]]
    assert difference([replace(entry, seq=seq) for seq, entry in enumerate(doubled)]).seq == place + 1


def test_what_comes_after_the_replay_has_ended_is_found() -> None:
    entries = sample_call().entries
    last = entries[-1]
    more = Entry(last.seq + 1, last.t, None, WordsSent("u", 1, 1, "x"))
    assert difference([*entries, more]) == Difference(more.seq, more.t, difference([*entries, more]).recorded, None)


def test_swapped_order_is_found() -> None:
    entries = sample_call().entries
    place = next(
        place for place in range(1, len(entries) - 1) if entries[place].t == entries[place + 1].t and place > nth(entries, Sent)
    )
    swapped = list(entries)
    swapped[place] = replace(entries[place + 1], seq=place)
    swapped[place + 1] = replace(entries[place], seq=place + 1)
    assert difference(swapped).seq in (place, place + 1)


def test_an_input_at_another_tick_is_found() -> None:
    entries = sample_call().entries
    place = nth(entries, VoiceStarted)
    moved = list(entries)
    moved[place] = replace(entries[place], t=entries[place].t + TICK_US)
    assert difference(moved).seq >= place


def test_check_says_what_differs_and_where() -> None:
    entries = sample_call().entries
    place = nth(entries, WordsSent)
    with pytest.raises(Fault, match=rf"strict replay differs at seq {place}, t = \d+\.\d\d s\n  recorded: .*tampered.*\n  rep"):
        check(replay(with_event(entries, place, text="tampered")))


def test_what_if_it_had_yielded_sooner() -> None:
    entries = sample_call().entries
    settings = with_changes(CallSettings(), {"floor.yield_after_us": "100000"})
    result = replay(entries, settings)
    assert result.difference is not None
    assert result.difference.recorded is not None
    assert result.difference.replayed is not None
    assert '"verdict":"yield"' in result.difference.replayed
    assert result.recorded_kinds["utterance.refused"] == 0
    assert result.replayed_kinds["utterance.refused"] == 1, "what the frontend sent meanwhile was of the epoch before"
    first = nth(entries, VoiceStarted)
    voice = entries[first].event
    assert isinstance(voice, VoiceStarted)
    assert result.difference.t == voice.covers.from_us + 100_000, "the cough of the greeting takes the floor"


def test_what_if_nothing_is_changed() -> None:
    assert replay(sample_call().entries, CallSettings()).difference is None


def test_a_replay_needs_a_beginning() -> None:
    entries = sample_call().entries
    for some in ([], entries[1:], [Entry(0, 0, None, DigitReceived("1", "memory"))]):
        with pytest.raises(Refused, match=r"does not begin with call\.started"):
            replay(some)


@pytest.mark.parametrize("samples", [-1, 10**12])
def test_speech_of_an_impossible_length_is_refused(samples: int) -> None:
    entries = sample_call().entries
    with pytest.raises(Refused, match=rf"{samples} samples"):
        replay(with_event(entries, nth(entries, SpeechArrived), samples=samples))


def test_progress_is_told_every_simulated_minute() -> None:
    call = CallDriver()
    call.answer()
    for _ in range(63):
        call.media()
        call.tick(100)
    call.end()
    told: list[int] = []
    replay(call.entries, progress=told.append)
    assert told == [60_000_000, 120_000_000]


def test_settings_are_changed_by_dotted_names() -> None:
    changed = with_changes(
        CallSettings(), {"floor.yield_after_us": "400000", "floor.duck_db": "-6.5", "pending_us": "1", "watchdog.held_us": "2"}
    )
    assert changed == CallSettings(
        floor=replace(FloorSettings(), yield_after_us=400_000, duck_db=-6.5),
        watchdog=replace(CallSettings().watchdog, held_us=2),
        pending_us=1,
    )
    assert with_changes(CallSettings(), {}) == CallSettings()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("flor.duck_db", "1", r"no setting 'flor\.duck_db'.*floor, longest_us"),
        ("floor.duck", "1", r"no setting 'floor\.duck'.*duck_db, guard_yield_after_us, yield_after_us"),
        ("", "1", "no setting ''"),
        ("floor", "1", "'floor' names a group of settings; give one whole name"),
        ("pending_us.x", "1", r"'pending_us\.x' names no group"),
        ("pending_us", "soon", "pending_us takes a whole number, not 'soon'"),
        ("pending_us", "1.5", "pending_us takes a whole number, not '1.5'"),
        ("floor.duck_db", "quiet", r"floor\.duck_db takes a number, not 'quiet'"),
        ("floor.duck_db", "nan", r"floor\.duck_db takes a number, not 'nan'"),
        ("floor.duck_db", "1e300", r"floor\.duck_db is out of bounds: it lies between -120\.0 and 0"),
        ("floor.duck_db", "6", r"floor\.duck_db is out of bounds"),
        ("floor.yield_after_us", "-5", r"floor\.yield_after_us is out of bounds: it lies between 0 and 604800000000"),
        ("longest_us", "1" + "0" * 400, "longest_us is out of bounds"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(name: str, value: str, says: str) -> None:
    with pytest.raises(Refused, match=says):
        with_changes(CallSettings(), {name: value})


def test_a_timeline_whose_times_or_settings_are_out_of_all_bounds_is_refused() -> None:
    entries = sample_call().entries
    with pytest.raises(Refused, match="no call lasts so long, this timeline is corrupt"):
        replay([*entries[:-1], replace(entries[-1], t=10**15)])
    settings = CallSettings(floor=FloorSettings(duck_db=1e300))
    with pytest.raises(Refused, match=r"the setting floor\.duck_db is out of bounds"):
        replay(with_event(entries, 0, settings=settings))


def test_the_reason_of_the_end_is_compared() -> None:
    entries = sample_call().entries
    assert difference(with_event(entries, nth(entries, CallEnded), reason=EndReason.FAULT)).seq == len(entries) - 1
