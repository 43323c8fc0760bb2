"""What is shipped is what works: the wheel, built and run outside the checkout."""

import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.peer

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
DISTRIBUTION = f"venus_line-{VERSION}.dist-info"


def run(*command: str | Path, cwd: Path) -> str:
    """Output of a program that must succeed. No Python path of ours reaches it."""
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "LANG": "C.UTF-8", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def copy_of_the_checkout(folder: Path) -> Path:
    """The files that a build reads, so that building leaves nothing in the checkout."""
    ignored = {"__pycache__", ".venv", ".git"}
    for name in ("agent", "transports", "harness_tools", "media", "tests"):
        for path in (ROOT / name).rglob("*"):
            if path.is_file() and not ignored & set(path.parts[len(ROOT.parts) :]):
                target = folder / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, made = copy_of_the_checkout(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("made")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", made, cwd=source)
    (path,) = made.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a fresh environment with the wheel in it; the dependencies are those of the running one."""
    environment = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=environment)
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=environment)
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=environment).strip())
    # Appended to the path as it stands: the editable install's own .pth in there is not followed.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return environment / "bin"


def test_the_wheel_ships_the_four_packages_and_their_data_only(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {"agent", "harness_tools", "media", "transports", DISTRIBUTION}
    ours = {path.relative_to(ROOT) for package in ("agent", "media") for path in (ROOT / package).rglob("*") if path.is_file()}
    data = {str(path) for path in ours if path.suffix not in (".py", ".pyi", ".pyc")}
    assert {"agent/frontends/frontend.proto", "agent/record/assets/report.html", "agent/py.typed"} <= data
    assert sorted(data - set(names)) == []
    assert {f"{DISTRIBUTION}/licenses/{name}" for name in ("LICENSE", "NOTICE")} <= set(names)


def test_the_demo_runs_from_the_wheel_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    where = run(installed / "python", "-c", "import agent; print(agent.__file__)", cwd=tmp_path)
    assert Path(where).is_relative_to(installed.parent)
    run(installed / "venus", "demo", "--out", "calls", "--no-open", cwd=tmp_path)
    (report,) = (tmp_path / "calls").glob("*/report.html")
    assert report.stat().st_size > 10_000
    assert (report.parent / "timeline.jsonl").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["calls"]
