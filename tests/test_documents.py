"""What the documents say and a machine can check: links, commands, the example script."""

import re
from pathlib import Path

import pytest
import typer.main

from agent.app.cli import app
from agent.frontends.script import load_script

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[1]
PAGES = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
PROCESSES_TO_COME = {"serve", "harness"}


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        there = page.parent / name if name else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def test_commands_in_the_documents_are_there() -> None:
    commands = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    named = set(re.findall(r"`(?:\.venv/bin/)?venus ([a-z]+)", text))
    assert commands <= named
    assert named <= commands | PROCESSES_TO_COME


def test_the_example_of_the_rehearsal_script_is_one() -> None:
    page = (ROOT / "docs" / "reference" / "rehearsal-script.md").read_text("utf-8")
    assert load_script(page.partition("```yaml\n")[2].partition("```")[0]).name == "table"
