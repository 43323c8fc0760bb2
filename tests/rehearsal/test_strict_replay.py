"""Every rehearsal replays strictly: those that come along, and generated ones."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from agent.app.rehearse import rehearse_virtually
from agent.frontends.script import load_script
from agent.replay import check, replay
from agent.timeline.codec import encode
from tests.measure.strict_replays import replay_generated

pytestmark = pytest.mark.rehearsal

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "rehearsals").glob("*.yaml"))


def test_the_demo_replays_and_is_the_same_every_time() -> None:
    script = load_script(files("agent.app").joinpath("demo.yaml").read_text("utf-8"))
    one, other = (rehearse_virtually(script, call_id="demo") for _ in range(2))
    check(replay(one.entries))
    assert [encode(entry) for entry in one.entries] == [encode(entry) for entry in other.entries]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_replays(path: Path) -> None:
    check(replay(rehearse_virtually(load_script(path), call_id="example").entries))


def test_generated_rehearsals_replay(tmp_path: Path, loops: Callable[[int], int]) -> None:
    problems = [one for one in replay_generated(range(loops(400)), tmp_path) if one.problem]
    assert problems == []
