"""A whole line inside one process: our end, the caller's phone, and a simulated wire between them.

    line, far = pair(clock, WireSettings(codec="ulaw", rate_hz=8000, loss=0.02, skew_ppm=120))

Tests, rehearsals and the demo use it in place of a telephone line. No task, no thread, no socket: everything moves when the
call's tick calls `line.receive()`.
"""

from collections.abc import Mapping
from typing import TypedDict, Unpack

from agent.clock import Clock
from transports.memory.caller import Action, AgentVoice, CallerAct, Mute, Press, Say, ScriptedCaller, Simple, Trigger
from transports.memory.ear import HeardFrame, HeardState
from transports.memory.far_end import FarEnd, FarState, Refusal
from transports.memory.line import MemoryLine
from transports.memory.mouth import Source
from transports.memory.settings import Codec, Loss, TransferScript, WireSettings

__all__ = [
    "Action",
    "AgentVoice",
    "CallerAct",
    "Codec",
    "FarEnd",
    "FarState",
    "HeardFrame",
    "HeardState",
    "Loss",
    "MemoryLine",
    "Mute",
    "Options",
    "Press",
    "Refusal",
    "Say",
    "ScriptedCaller",
    "Simple",
    "Source",
    "TransferScript",
    "Trigger",
    "WireSettings",
    "pair",
]


class Options(TypedDict, total=False):
    """The options of `MemoryLine`, all of which may be left out."""

    callee: TransferScript | None
    targets: Mapping[str, TransferScript] | None
    remote: str
    dtx: bool
    keep_all: bool


def pair(clock: Clock, wire: WireSettings | None = None, **options: Unpack[Options]) -> tuple[MemoryLine, FarEnd]:
    """Both ends of a new line."""
    line = MemoryLine(clock, wire, **options)
    return line, line.far_end
