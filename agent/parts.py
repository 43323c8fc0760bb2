"""What a call is made of, put together by whoever answers the phone (`agent.app`)."""

from dataclasses import dataclass, field

from agent.admission import Slots
from agent.frontends.base import Ears, Frontend
from agent.harness import Harness
from agent.line import Line
from agent.lines import CallLines
from agent.record.recorder import Recorder


@dataclass(frozen=True, slots=True)
class CallParts:
    """What a call is made of. `lines` must be at the line's rate; `recorder` None keeps no record. `slots`: the media slots
    of the process; without a free one the call is turned away before it is answered."""

    line: Line
    frontend: Frontend
    ears: Ears | None = None
    harness: Harness | None = None
    lines: CallLines = field(default_factory=CallLines)
    recorder: Recorder | None = None
    slots: Slots | None = None
    persona: str = ""
