"""What a call is made of, put together by whoever answers the phone (`agent.app`)."""

from collections.abc import Callable
from dataclasses import dataclass, field

from agent.admission import Slots
from agent.frontends.base import Ears, Frontend
from agent.harness import Harness
from agent.intake import VoiceGate
from agent.line import Line
from agent.lines import CallLines
from agent.record.recorder import Recorder


@dataclass(frozen=True, slots=True)
class CallParts:
    """What a call is made of. `lines` must be at the line's rate; `recorder` None keeps no record. `slots`: the media slots
    of the process; without a free one the call is turned away before it is answered. `voice_gate`: makes what finds the voice
    in sound of a given rate, Hz; a gate on loudness where none is given. `capabilities`: what the harness can do, in plain words
    ("book an appointment")."""

    line: Line
    frontend: Frontend
    ears: Ears | None = None
    harness: Harness | None = None
    lines: CallLines = field(default_factory=CallLines)
    recorder: Recorder | None = None
    slots: Slots | None = None
    persona: str = ""
    voice_gate: Callable[[int], VoiceGate] | None = None
    scores_speaker: bool = False
    capabilities: tuple[str, ...] = ()
