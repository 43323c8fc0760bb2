"""Rehearsals made from a seed: callers who ask, interrupt, mumble, press keys, go silent and vanish, on lines good and bad."""

import random
from typing import Any

from agent.frontends.script import Script

PHRASES = """the appointment on tuesday morning doctor brown please thank you very much could we make it another day perhaps
later this week i have a question about the price of a check up and where to park nine thirty is fine no wait"""
WORDS = PHRASES.split()


def generate(seed: int) -> Script:
    """The rehearsal of `seed`: 15 to 60 s of call."""
    rng = random.Random(seed)
    return Script.model_validate(
        {
            "name": f"generated-{seed}",
            "seed": seed,
            "limit_ms": rng.randrange(15_000, 60_000, 20),
            "line": _line(rng),
            "lines": {"greeting": {"text": _text(rng, 4, 10), "must_hear": rng.random() < 0.5}},
            "agent": {
                "unit_ms": rng.choice((20, 100, 100, 200, 1000)),
                "rate_hz": rng.choice((8_000, 16_000, 24_000)),
                "owns_floor": rng.random() < 0.15,
                "turns": [_turn(rng) for _ in range(rng.randrange(3, 12))],
            },
            "caller": {"says": [_act(rng) for _ in range(rng.randrange(3, 12))]},
            "work": [_work(rng) for _ in range(rng.randrange(0, 4))],
        }
    )


def _line(rng: random.Random) -> dict[str, Any]:
    codec = rng.choice(("l16", "ulaw", "alaw"))
    line: dict[str, Any] = {
        "codec": codec,
        "rate_hz": rng.choice((8_000, 16_000)) if codec == "l16" else 8_000,
        "delay_ms": rng.randrange(0, 200),
        "jitter_ms": rng.choice((0, 0, 10, 30, 60)),
        "loss_pct": rng.choice((0, 0, 1, 5)),
        "skew_ppm": rng.choice((0, 0, 200, -200)),
    }
    if rng.random() < 0.2:
        line |= {"echo_db": -30, "echo_ms": rng.randrange(40, 250)}
    return line


def _text(rng: random.Random, least: int, most: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(least, most)))


def _turn(rng: random.Random) -> dict[str, Any]:
    turn: dict[str, Any] = {"after_ms": rng.randrange(0, 1500, 10)}
    if rng.random() < 0.15:
        turn["at_ms"] = rng.randrange(500, 40_000)
    else:
        turn["on"] = rng.choice(("open", "turn_start", "turn_end", "turn_end", "turn_end", "inject", "yield"))
        turn["nth"] = "every" if rng.random() < 0.2 else rng.randrange(1, 6)
    act = rng.choices(("say", "backchannel", "delegate", "lag_ms", "die"), (10, 2, 3, 1, 0.5))[0]
    match act:
        case "say":
            turn |= {
                "say": _text(rng, 2, 30),
                "speed_x": rng.choice((0.8, 1.5, 5, 50)),
                "chunk_ms": rng.choice((0, 100, 200, 1000)),
                "words": rng.choice(("exact", "estimated", "chunk")),
                "proactive": rng.random() < 0.2,
            }
        case "backchannel":
            turn["backchannel"] = "mm-hm"
        case "delegate":
            turn |= {"delegate": _text(rng, 4, 12), "takes_ms": rng.randrange(0, 400)}
        case "lag_ms":
            turn["lag_ms"] = rng.randrange(100, 4000)
        case "die":
            turn["die"] = True
    return turn


def _act(rng: random.Random) -> dict[str, Any]:
    act: dict[str, Any] = {}
    if rng.random() < 0.3:
        act["at_ms"] = rng.randrange(200, 40_000)
    else:
        act |= {
            "after": rng.choice(("answered", "agent_utterance_start", "agent_utterance_end")),
            "delay_ms": rng.randrange(0, 3000),
        }
        if act["after"] != "answered":
            act["nth"] = rng.randrange(1, 7)
    what = rng.choices(("say", "mumble", "noise", "press", "mute", "hang_up", "vanish"), (10, 4, 2, 2, 1, 1, 0.5))[0]
    match what:
        case "say":
            act["say"] = _text(rng, 1, 14)
        case "mumble":
            act["say"] = "mm"
        case "noise":
            act |= {"noise_ms": rng.randrange(10, 900), "level_dbfs": rng.randrange(-50, -10)}
        case "press":
            act["press"] = "".join(rng.choice("0123456789*#") for _ in range(rng.randrange(1, 6)))
        case "mute":
            act["mute_ms"] = rng.randrange(200, 8000)
        case "hang_up" | "vanish":
            act[what] = True
    return act


def _work(rng: random.Random) -> dict[str, Any]:
    after_ms = rng.randrange(0, 12_000)
    work: dict[str, Any] = {
        "after_ms": after_ms,
        "status": rng.choice(("succeeded", "succeeded", "failed", "unknown", "expired")),
        "text": _text(rng, 2, 10),
    }
    if rng.random() < 0.5:
        work["updates"] = [{"after_ms": rng.randrange(0, after_ms + 1), "headline": _text(rng, 1, 4)}]
    return work
