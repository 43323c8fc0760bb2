"""Workers that are killed, hang, drain and fill up under real calls on the in-memory line."""

import asyncio
import random
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.app import supervisor
from agent.app.rehearse import stage
from agent.app.supervisor import CommandFactory, worker_command
from agent.frontends.remote import connect_worker
from agent.frontends.script import Script, load_script
from agent.settings import CallSettings
from agent.timeline.events import FaultReported, FrontendLost, FrontendOpened, UtteranceEnded, UtteranceStarted
from agent.timeline.kinds import EndReason, Outcome

pytest.register_assert_rewrite("tests.peers.kills", "tests.rehearsal.accounts")

from tests.peers.kills import (  # noqa: E402
    ObservedCall,
    apologised,
    cost,
    is_sound,
    killing,
    observed_call,
    survived,
    workplace,
)

pytestmark = pytest.mark.peer

SEED = 20_260_913
KILLS = 20
AT_ONCE = 7
EARLIEST_US, LATEST_US = 100_000, 4_500_000
"""After the answer; later than that a slow machine would have no time to come back before the caller hangs up."""

CALLER = """
name: killed worker
limit_ms: 60000
lines:
  greeting: {text: "Good morning, this is the automated assistant.", must_hear: true}
  apology: {text: "I am sorry, something went wrong here. One moment please.", must_hear: true}
agent:
  turns:
    - {on: turn_end, nth: every, after_ms: 100, say: "Yes, I am listening to every word of you."}
caller:
  says:
    - {at_ms: 700, say: I would like a table}
    - {at_ms: 3300, say: for four on Friday}
    - {at_ms: 5900, say: at seven in the evening}
    - {at_ms: 8500, say: are you still there}
    - {at_ms: 11100, say: by the window please}
    - {at_ms: 14500, hang_up: true}
"""


@pytest.fixture
def command(tmp_path: Path) -> CommandFactory:
    """The scripted worker of this script."""
    path = tmp_path / "killed.yaml"
    path.write_text(CALLER)
    return worker_command("--script", str(path))


def script(seed: int = 0) -> Script:
    return load_script(CALLER).model_copy(update={"seed": seed})


def short() -> Script:
    """The same caller, who leaves after the first answer, whenever that comes."""
    head, _, _ = CALLER.partition("    - {at_ms: 700")
    asks = "    - {after: agent_utterance_end, nth: 1, delay_ms: 300, say: I would like a table}\n"
    leaves = "    - {after: agent_utterance_end, nth: 2, delay_ms: 500, hang_up: true}\n"
    return load_script(head + asks + leaves)


async def killed_call(command: CommandFactory, script: Script, after_us: int) -> ObservedCall:
    """A call whose only worker is killed so long after the answer."""
    async with workplace(command) as place:
        call = await observed_call(place, script, after_us, killing(place.workers))
        assert [worker.life for worker in place.workers.running] == [2]
        await place.freed()
    return call


@pytest.mark.parametrize("batch", range(0, KILLS, AT_ONCE))
async def test_a_call_goes_on_whenever_its_worker_is_killed(batch: int, command: CommandFactory) -> None:
    randomness = random.Random(SEED)
    moments = [randomness.uniform(EARLIEST_US, LATEST_US) for _ in range(KILLS)][batch : batch + AT_ONCE]
    calls = await asyncio.gather(*(killed_call(command, script(round(at_us)), round(at_us)) for at_us in moments))
    for call in calls:
        survived(call)


async def test_calls_of_a_killed_worker_go_on_at_another_one_at_once(command: CommandFactory) -> None:
    async with workplace(command, count=2) as place:
        harm = killing(place.workers, 1)

        async def nothing() -> None:
            """The others kill."""

        acts = (harm, nothing, nothing, nothing)
        calls = await asyncio.gather(*(observed_call(place, script(n), 2_000_000, act) for n, act in enumerate(acts)))
        await place.freed()
    hit = [call for call in calls if call.told(FrontendLost)]
    assert len(hit) == 2, "four calls on two workers"
    for call in hit:
        survived(call)
        ((lost_us, _),) = call.told(FrontendLost)
        assert call.told(FrontendOpened)[1][0] - lost_us <= 600_000, "nobody waits for the restart"
    for call in calls:
        is_sound(call)
        assert call.outcome.reason is EndReason.CALLER_HUNG_UP


async def test_a_worker_that_loads_its_models_for_four_seconds_is_back_in_time(command: CommandFactory) -> None:
    lives = iter(range(100))

    def slow(address: str, slots: str) -> Sequence[str]:
        loading = "0" if next(lives) == 0 else "4"
        return ("sh", "-c", 'sleep "$0"; exec "$@"', loading, *command(address, slots))

    async with workplace(slow) as place:
        call = await observed_call(place, script(), 500_000, killing(place.workers))
        await place.freed()
    survived(call)
    assert cost(call).until_open > 4


async def test_a_caller_who_rings_while_the_worker_restarts_is_answered_by_the_next(command: CommandFactory) -> None:
    async with workplace(command) as place:
        await killing(place.workers)()
        call = await observed_call(place, short(), 100_000, _nothing)
        await place.freed()
    is_sound(call)
    assert call.told(FrontendLost) == []
    assert [event.attempt for _, event in call.told(FrontendOpened)] == [1]
    assert len(call.told(UtteranceStarted)) == 2, "greeting and answer"


async def test_a_worker_that_hangs_costs_no_call(command: CommandFactory) -> None:
    async with workplace(command) as place:
        call = await observed_call(place, script(), 1_000_000, killing(place.workers, by=signal.SIGSTOP))
        assert [worker.life for worker in place.workers.running] == [2]
        await place.freed()
    survived(call)
    ((lost_us, _),) = call.told(FrontendLost)
    bound_us = supervisor.ASK_EVERY_US + supervisor.MOST_UNANSWERED * supervisor.ASK_WITHIN_US
    assert lost_us - call.harmed_us <= bound_us + 1_000_000


async def test_a_call_whose_worker_never_returns_ends_politely(command: CommandFactory) -> None:
    lives = iter(range(100))

    def once(address: str, slots: str) -> Sequence[str]:
        return command(address, slots) if next(lives) == 0 else (sys.executable, "-c", "raise SystemExit('no models')")

    async with workplace(once) as place:
        call = await observed_call(place, script(), 1_500_000, killing(place.workers))
    is_sound(call)
    apologised(call)
    (first_us, first), (last_us, last) = call.told(FrontendLost)
    assert (first.final, last.final) == (False, True)
    assert last_us - first_us <= CallSettings().reopen_within_us + 500_000
    assert call.outcome.reason is EndReason.FRONTEND_LOST
    assert [event.code for _, event in call.told(FaultReported)] == ["ears", "ears"]


async def test_when_all_slots_are_taken_the_caller_is_told_when_to_try_again(command: CommandFactory) -> None:
    def one_slot(address: str, slots: str) -> Sequence[str]:
        return command(address, "1")

    async with workplace(one_slot) as place:
        first = asyncio.create_task(observed_call(place, short(), 100_000, _nothing))
        await asyncio.sleep(0.5)
        second = stage(script(), place.ticker, frontend=place.pool, ears=place.pool.ears)
        outcome = await second.call.run()
        assert outcome.reason is EndReason.REFUSED
        assert second.far_end.refusal is not None
        assert second.far_end.refusal.retry_after_s == 5
        assert (await first).outcome.reason is EndReason.CALLER_HUNG_UP
        await place.freed()


async def _nothing() -> None:
    """No harm."""


async def test_a_drain_under_load_costs_no_call_a_word_and_brings_a_fresh_worker(command: CommandFactory) -> None:
    async with workplace(command, count=2) as place:
        first, second = place.workers.running
        before = [asyncio.create_task(observed_call(place, script(n), 100_000, _nothing)) for n in range(4)]
        await asyncio.sleep(2)
        async with connect_worker(first.address) as remote:
            draining = asyncio.create_task(remote.drain(60))
            await asyncio.sleep(0.3)
            later = [asyncio.create_task(observed_call(place, script(n), 100_000, _nothing)) for n in (4, 5)]
            await asyncio.sleep(1)
            async with connect_worker(second.address) as other:
                health = await other.health()
                assert health.slots - health.frontend_free == 4, "new calls go to the other"
            calls = await asyncio.gather(*before, *later)
            assert await draining == 0
        async with asyncio.timeout(15):
            while [worker.life for worker in place.workers.running] != [2, 1]:  # noqa: ASYNC110 (another process)
                await asyncio.sleep(0.02)
    for call in calls:
        is_sound(call)
        assert call.told(FrontendLost) == []
        assert call.outcome.reason is EndReason.CALLER_HUNG_UP
        assert {event.outcome for _, event in call.told(UtteranceEnded)} <= {Outcome.FINISHED, Outcome.CUT}
