"""A call in words and key figures: how it ended, how fast it answered, what was never heard."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent.record.story import Story
from agent.timeline.kinds import EndReason

_ENDS = {
    EndReason.CALLER_HUNG_UP: "The caller hung up",
    EndReason.AGENT_ENDED: "The agent ended the call",
    EndReason.OPERATOR: "An operator ended the call",
    EndReason.TRANSFERRED: "The call was handed over",
    EndReason.REFUSED: "The call was turned away",
    EndReason.NOT_ANSWERED: "Nobody answered",
    EndReason.MEDIA_LOST: "The far end fell silent and the call was ended",
    EndReason.LINE_FAILED: "The line failed",
    EndReason.FRONTEND_LOST: "The agent lost its voice and the call was ended",
    EndReason.TOO_LONG: "The call reached its longest length and was ended",
    EndReason.SHUTDOWN: "The service was shut down and the call was ended",
    EndReason.FAULT: "A fault of ours ended the call",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A key figure. `note` says what it counts; `at_us` is where to look at it, `tone` "bad" where a person should look."""

    label: str
    value: str
    unit: str
    note: str
    at_us: int | None = None
    tone: str = ""


def duration(us: int) -> str:
    """A length of time as a person says it, to the nearest second: "740 ms", "14 s", "2 min 14 s", "1 h 3 min"."""
    if us < 1_000_000:
        return f"{us // 1000} ms"
    seconds = (us + 500_000) // 1_000_000
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def ending(story: Story) -> str:
    """How the call ended, as one sentence."""
    if story.ended is None:
        return f"The record stops after {duration(story.length_us)}, before the call ended."
    words = _ENDS[story.ended.reason]
    if story.started.direction == "outbound" and story.ended.reason == EndReason.CALLER_HUNG_UP:
        words = "The far end hung up"
    if story.ended.lasted_us:
        return f"{words} after {duration(story.ended.lasted_us)}."
    if story.ended.reason in (EndReason.REFUSED, EndReason.NOT_ANSWERED):
        return f"{words}."
    return f"{words} before it was answered."


def when(story: Story) -> str:
    """The date and time of the call's beginning; whatever the anchor says where it is no date."""
    try:
        anchor = datetime.fromisoformat(story.started.wall_anchor)
    except ValueError:
        return story.started.wall_anchor
    return f"{anchor:%A} {anchor.day} {anchor:%B %Y, %H:%M:%S} {anchor.tzname() or ''}".strip()


def figures(story: Story, summary: dict[str, Any]) -> list[Figure]:
    """The figures of the report's head, in order. `summary`: what `CallSummary.figures` gives for the same call."""
    latency, words, media = summary["answer_latency_ms"], summary["words"], summary["media"]
    silence = summary["longest_silence"] or {"ms": 0, "at_s": 0}
    lost = next((said.to_us for said in story.utterances if said.unsent), None)
    fault = next((mark.from_us for mark in story.marks if mark.kind == "fault"), None)
    backchannels = f"{story.ducks} times ducked" if story.ducks else "the caller never spoke over us"
    faults = sum(summary["faults"].values())
    return [
        _latency("Answer, median", latency["p50"], latency["count"]),
        _latency("Answer, 90 %", latency["p90"], latency["count"]),
        Figure("Interruptions", str(len(story.yields)), "", backchannels, story.yields[0].t_us if story.yields else None),
        Figure("Never heard", str(words["unsent"]), "words", f"of {words['unsent'] + words['sent']} meant", lost),
        Figure("Longest silence", f"{silence['ms'] / 1000:.1f}", "s", "neither side heard", round(silence["at_s"] * 1e6)),
        Figure("Faults", str(faults), "", _loss(media["received_ms"], media["concealed_ms"]), fault, "bad" if faults else ""),
    ]


def _latency(label: str, wait_ms: int | None, turns: int) -> Figure:
    if wait_ms is None:
        return Figure(label, "–", "", "no turn was answered")
    return Figure(label, f"{wait_ms / 1000:.2f}", "s", f"over {turns} {'turn' if turns == 1 else 'turns'}")


def _loss(received_ms: int, concealed_ms: int) -> str:
    if not concealed_ms:
        return "no sound lost"
    return f"{100 * concealed_ms / (received_ms + concealed_ms):.1f} % of the sound lost"
