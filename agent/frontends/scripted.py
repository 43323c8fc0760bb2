"""The scripted frontend: it does what a script says, without weights and the same way every time."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable

from agent.errors import Capacity, Gone
from agent.frontends.base import BackendMessage, Brief, FrontendInfo, Step, Unit
from agent.frontends.outbox import Outbox
from agent.frontends.recital import Death, Progress, Recital, Repertoire, Stall
from agent.frontends.script import Script
from agent.frontends.scripted_ears import ScriptedEars, ScriptedEarsSession
from agent.frontends.unit_order import UnitOrder

__all__ = ["ScriptedEars", "ScriptedEarsSession", "ScriptedFrontend", "ScriptedSession"]

WAITING_STEPS = 256
"""Steps that may wait for the reader; beyond it `feed` waits."""
REMEMBERED = 64
"""Lost calls whose place in the script is kept for their next session, and utterances whose acknowledged length is kept."""


class ScriptedSession:
    """One session of a script (`agent.frontends.base.Session`)."""

    def __init__(self, recital: Recital, unit_us: int, on_end: Callable[[bool], None]) -> None:
        """`on_end(lost)` is called once, when the slot is free."""
        self._recital = recital
        self._units = UnitOrder(unit_us)
        self._outbox: Outbox[Step | Stall] = Outbox(WAITING_STEPS)
        self._on_end = on_end
        self.acknowledged: OrderedDict[str, int] = OrderedDict()
        """Samples acknowledged of the newest utterances."""

    async def feed(self, unit: Unit) -> None:
        await self._outbox.room()
        self._units.check(unit)
        for step in self._recital.feed(unit):
            if isinstance(step, Death):
                self._end(Gone("the session was lost, as the script says"))
            else:
                self._outbox.put((step,))

    async def steps(self) -> AsyncIterator[Step]:
        async for step in self._outbox:
            if isinstance(step, Stall):
                await self._outbox.ended_within(step.lasts_us / 1e6)
            else:
                yield step

    async def inject(self, message: BackendMessage) -> None:
        self._outbox.check()
        self._recital.inject(message)

    async def yield_floor(self, at_us: int, epoch: int) -> None:
        self._outbox.check()
        self._recital.yield_floor(epoch)

    async def acknowledge(self, utterance_id: str, samples: int) -> None:
        self._outbox.check()
        self.acknowledged[utterance_id] = max(samples, self.acknowledged.get(utterance_id, 0))
        while len(self.acknowledged) > REMEMBERED:
            self.acknowledged.popitem(last=False)

    async def close(self) -> None:
        self._end(None)

    def _end(self, error: Gone | None) -> None:
        first = not self._outbox.ended
        self._outbox.end(error)
        if first:
            self._on_end(error is not None)


class ScriptedFrontend:
    """Opens sessions that follow `script` (`agent.frontends.base.Frontend`).

    Everything it may say is rendered here, once. A call whose session was lost (`die`) goes on in the script where it stood when
    it opens the next one: occurrences are counted through the call, and what was done is not done again.
    """

    def __init__(self, script: Script, slots: int = 1_000) -> None:
        agent = script.agent
        self._info = FrontendInfo(
            name=f"scripted {script.name}",
            unit_us=agent.unit_ms * 1000,
            output_rate_hz=agent.rate_hz,
            owns_floor=agent.owns_floor,
            voice=f"tone {agent.pitch_hz:g} Hz",
        )
        self._repertoire = Repertoire(agent)
        self._slots = slots
        self._lost: OrderedDict[str, Progress] = OrderedDict()
        self.sessions: list[ScriptedSession] = []
        """The open sessions, oldest first."""

    @property
    def info(self) -> FrontendInfo:
        return self._info

    async def open(self, brief: Brief) -> ScriptedSession:
        if len(self.sessions) >= self._slots:
            raise Capacity(f"all {self._slots} sessions of {self._info.name} are taken")
        progress = self._lost.pop(brief.call_id, None) or Progress()

        def ended(lost: bool) -> None:
            self.sessions.remove(session)
            if lost:
                self._lost[brief.call_id] = progress
                while len(self._lost) > REMEMBERED:
                    self._lost.popitem(last=False)

        session = ScriptedSession(Recital(self._repertoire, progress, brief.epoch), self._info.unit_us, ended)
        self.sessions.append(session)
        return session
