"""The wheel: what it holds, and that a program that is installed from it runs."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
DIST_INFO = f"discreet-{discreet.__version__}.dist-info"


def run(*words: str | Path, **environment: str) -> str:
    """Return what Python with these arguments prints."""
    result = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this source."""
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "hatchling", "build", "--target", "wheel", "--directory", folder)
    (file,) = folder.iterdir()
    return file


@pytest.fixture
def archive(wheel: Path) -> Iterator[zipfile.ZipFile]:
    """The wheel, open."""
    with zipfile.ZipFile(wheel) as file:
        yield file


def test_wheel_is_pure_python_of_this_version(wheel: Path) -> None:
    assert wheel.name == f"discreet-{discreet.__version__}-py3-none-any.whl"
    assert wheel.name in (ROOT / "docs/install.md").read_text()


def test_wheel_holds_every_file_of_both_packages(archive: zipfile.ZipFile) -> None:
    source = {
        path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*") if path.is_file() and path.suffix != ".pyc"
    }
    held = {name for name in archive.namelist() if not name.startswith(f"{DIST_INFO}/")}
    assert {"discreet/py.typed", "discreet_lab/py.typed"} <= source
    assert held == source


def test_wheel_names_version_command_extras_and_licence(archive: zipfile.ZipFile) -> None:
    metadata = Parser().parsestr(archive.read(f"{DIST_INFO}/METADATA").decode())
    assert metadata["Version"] == discreet.__version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert {"local", "embed", "files", "postgres", "ray"} <= set(metadata.get_all("Provides-Extra", []))
    assert "discreet = discreet.cli:main" in archive.read(f"{DIST_INFO}/entry_points.txt").decode()
    assert f"{DIST_INFO}/licenses/LICENSE" in archive.namelist()


def test_installed_wheel_runs_and_shows_its_help(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "installed"
    run("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile", "--target", target, wheel)
    shown = run("-m", "discreet", "--help", PYTHONPATH=str(target))
    assert "ask" in shown
    assert "attack" in shown
    assert "vote-rag" in run("-m", "discreet", "algorithms", PYTHONPATH=str(target))
    where = run("-c", "import discreet; print(discreet.__file__)", PYTHONPATH=str(target))
    assert Path(where.strip()) == target / "discreet" / "__init__.py"
