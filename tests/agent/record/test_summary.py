"""The figures of a call."""

import json
import tracemalloc
from typing import Any

import pytest

from agent.record.summary import CallSummary
from agent.timeline import codec, kinds
from agent.timeline import events as ev
from agent.timeline.log import Entry
from tests.agent.record.small_calls import SECRET, lines, short_call, span, started

pytestmark = pytest.mark.unit


def figures(timed: list[tuple[int, ev.Event]], recorded_us: int = 0) -> dict[str, Any]:
    summary = CallSummary("call")
    for line in lines(timed):
        summary.add(codec.decode(line))
    return summary.figures(recorded_us)


def spoke(
    name: str, role: kinds.Role, from_ms: int, to_ms: int, outcome: kinds.Outcome = kinds.Outcome.FINISHED
) -> list[tuple[int, ev.Event]]:
    samples = (to_ms - from_ms) * 8
    return [
        (from_ms, ev.UtteranceStarted(name, 0, role, False)),
        (to_ms, ev.Sent(span(from_ms, to_ms), name, 0, 0, samples, 0.0)),
        (to_ms, ev.UtteranceEnded(name, outcome, samples, samples - 800, 3, 2, SECRET, f"{SECRET} and more")),
    ]


def turn(from_ms: int, to_ms: int, learned_ms: int) -> tuple[int, ev.Event]:
    return (learned_ms, ev.VoiceStopped(span(from_ms, to_ms)))


def test_a_whole_call() -> None:
    timed: list[tuple[int, ev.Event]] = [
        (0, started()),
        (0, ev.PhaseChanged(kinds.Phase.RINGING, SECRET)),
        (1000, ev.PhaseChanged(kinds.Phase.ANSWERED, "")),
        *spoke("u1", kinds.Role.GREETING, 1100, 2000),
        (3000, ev.MediaReceived(span(2000, 3000), 7200, 640, 160, -20.0)),
        turn(2500, 4000, 4200),
        (4300, ev.DelegationCreated("w1", "d1", 4_000_000, 12)),
        *spoke("u2", kinds.Role.ANSWER, 4560, 5560, kinds.Outcome.CUT),
        (5600, ev.Underrun(span(5560, 5580), "u2")),
        (5600, ev.Underrun(span(5580, 5600), "u2")),
        (5800, ev.Gap(span(5700, 5800), 100_000)),
        (6000, ev.FaultReported("stt_late", SECRET)),
        (6000, ev.FaultDetected("unanswered", SECRET)),
        (6000, ev.FaultReported("stt_late", SECRET)),
        (7000, ev.WorkEnded("w1", kinds.WorkStatus.SUCCEEDED, 80)),
        (7000, ev.DeliveryChanged("v1", "w1", "outcome", kinds.DeliveryState.READY, "", SECRET)),
        (7500, ev.DeliveryChanged("v1", "w1", "outcome", kinds.DeliveryState.DELIVERED, "", SECRET)),
        (9000, ev.CallEnded(kinds.EndReason.CALLER_HUNG_UP, SECRET, 8_000_000)),
        (9000, ev.PhaseChanged(kinds.Phase.ENDED, "")),
    ]
    found = figures(timed, recorded_us=9_020_000)
    assert found == {
        "venus_summary": 1,
        "call_id": "call",
        "line": "memory",
        "direction": "inbound",
        "started": "2026-01-01T00:00:00+00:00",
        "lasted_s": 8.0,
        "recorded_s": 9.02,
        "end": "caller_hung_up",
        "phases": [
            {"phase": "ringing", "at_s": 0.0},
            {"phase": "answered", "at_s": 1.0},
            {"phase": "ended", "at_s": 9.0},
        ],
        "turns": 1,
        "utterances": {"answer": {"cut": 1}, "greeting": {"finished": 1}},
        "words": {"sent": 6, "heard_at_onset": 4, "unsent": 6},
        "works": {"created": 1, "outcomes": {"succeeded": 1}},
        "deliveries": {"delivered": 1},
        "faults": {"stt_late": 2, "unanswered": 1},
        "underruns": {"count": 1, "ms": 40},
        "gaps": {"count": 1, "ms": 100},
        "media": {"received_ms": 900, "concealed_ms": 80, "silent_ms": 20},
        "answer_latency_ms": {"count": 1, "p50": 560, "p90": 560, "max": 560},
        "longest_silence": {"ms": 3440, "at_s": 5.56, "after": "agent", "before": "end", "works_pending": 0},
        "versions": {"venus-line": "0.1.0"},
    }
    assert SECRET not in json.dumps(found)


def test_a_timeline_that_stops_early() -> None:
    found = figures(short_call(seconds=3)[:-2])
    assert (found["end"], found["lasted_s"], found["recorded_s"]) == (None, 3.0, 3.0)
    assert figures([])["started"] is None
    assert figures([])["longest_silence"] is None


def test_short_bursts_are_no_turns() -> None:
    found = figures([(0, started()), turn(0, 299, 400), turn(1000, 1300, 1500)])
    assert found["turns"] == 1


LATENCIES: list[tuple[str, list[tuple[int, ev.Event]], list[int]]] = [
    ("a plain answer", [turn(0, 1000, 1200), *spoke("a", kinds.Role.ANSWER, 1600, 2000)], [600]),
    ("an answer before the pause was known", [*spoke("a", kinds.Role.ANSWER, 1100, 3000)[:1], turn(0, 1000, 1200)], [100]),
    ("a backchannel answers nothing", [turn(0, 1000, 1200), *spoke("b", kinds.Role.BACKCHANNEL, 1300, 1500)], []),
    ("talking over the agent", [*spoke("a", kinds.Role.ANSWER, 500, 3000)[:1], turn(600, 1000, 1200)], []),
    (
        "only the last turn is answered",
        [turn(0, 1000, 1200), turn(1400, 2000, 2200), *spoke("a", kinds.Role.ANSWER, 2500, 2600)],
        [500],
    ),
    (
        "only the first utterance answers",
        [turn(0, 1000, 1200), *spoke("a", kinds.Role.FILLER, 1300, 1400), *spoke("b", kinds.Role.ANSWER, 1500, 1600)],
        [300],
    ),
    (
        "an utterance answers once",
        [turn(0, 400, 500), *spoke("a", kinds.Role.ANSWER, 900, 3000)[:1], turn(500, 880, 1100)],
        [500],
    ),
]


@pytest.mark.parametrize(("timed", "expected"), [case[1:] for case in LATENCIES], ids=[case[0] for case in LATENCIES])
def test_answer_latency(timed: list[tuple[int, ev.Event]], expected: list[int]) -> None:
    found = figures([(0, started()), *timed])["answer_latency_ms"]
    assert found["count"] == len(expected)
    assert found["max"] == (max(expected) if expected else None)


def test_percentiles_are_nearest_ranks() -> None:
    timed: list[tuple[int, ev.Event]] = [(0, started())]
    for number in range(1, 11):
        at = number * 10_000
        timed += [turn(at, at + 1000, at + 1000), *spoke(f"u{number}", kinds.Role.ANSWER, at + 1000 + number * 100, at + 3000)]
    assert figures(timed)["answer_latency_ms"] == {"count": 10, "p50": 500, "p90": 900, "max": 1000}


def test_memory_does_not_grow_with_the_call() -> None:
    """Codes, ids and turns without end: what is kept has a bound."""
    summary = CallSummary("call")
    entry = codec.decode(lines([(0, started())])[0])

    def feed(first: int, count: int) -> int:
        for number in range(first, first + count):
            at = number * 1000
            for timed in (
                (at, ev.FaultReported(f"code-{number}", "")),
                turn(at - 900, at - 500, at),
                (
                    at,
                    ev.SpeechArrived(
                        span(0, 1), f"u{number}", 0, kinds.Role.ANSWER, kinds.Cause(), "", (), kinds.Alignment.EXACT, 1, False
                    ),
                ),
                (at, ev.Sent(span(at - 20, at), f"u{number}", 0, 0, 160, 0.0)),
            ):
                summary.add(Entry(1, timed[0] * 1000, None, timed[1]))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        summary.add(entry)
        early = feed(1, 500)
        late = feed(501, 5000)
    finally:
        tracemalloc.stop()
    assert late - early < 20_000
    faults = summary.figures(0)["faults"]
    assert len(faults) == 101
    assert faults["other"] == 5400
