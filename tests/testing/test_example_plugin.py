"""The example of a plug-in installs, passes its own tests, and serves a vault."""

import json
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

from tests.docs.pages import Page

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "plugin"
PROGRAM = """
import json, sys
from discreet import Document, Vault
from discreet.models.toy import ToyModel
from discreet.registry import ALGORITHMS, make_algorithm

vault = Vault.create("vault", epsilon=20, delta=1e-6, embedder="hashing", store="jsonl")
vault.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs") for n in range(200))
vault = Vault.open(vault.path, model=ToyModel())
answer = vault.ask("numb thumbs?", make_algorithm("nearby-units", {"epsilon": 2.0}))
again = Vault.open("vault")
other = Vault.create("other", epsilon=20, delta=1e-6, embedder="trigrams", unit_field="unit")
added = other.add("day.notes")
other = Vault.open("other")
print(json.dumps({
    "guarantee": ALGORITHMS["nearby-units"].spec.guarantee.value,
    "answer": [int(answer.text), answer.receipt.epsilon],
    "store": [again.store.count_units(), type(again.store).__name__],
    "embedder": [other.components.embedder.name, other.store.count_units()],
    "bad": [one.where for one in added.bad],
}))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the installed example."""
    return install_example(EXAMPLE, tmp_path_factory.mktemp("site"))


def install_example(example: Path, site: Path) -> Path:
    """Return `site`, with the contents of the wheel of an example."""
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(site)]
    subprocess.run(build, cwd=example, check=True, capture_output=True)
    (wheel,) = site.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    return site


def run_python(site: Path, folder: Path, *arguments: str) -> str:
    """Return what Python prints where the example is installed."""
    paths = [str(site), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_page_names_the_files_of_the_example_and_shows_lines_of_them() -> None:
    page = Page(ROOT / "docs/extend.md")
    for name in ("nearby_units", "trigrams", "notes_loader", "word_coder"):
        assert (EXAMPLE / f"src/discreet_example_plugin/{name}.py").is_file()
        assert f"`{name}.py`" in page.text, name
    (run,) = [block for block in page.code("py") if "charge_every_unit" in block]
    algorithm = (EXAMPLE / "src/discreet_example_plugin/nearby_units.py").read_text(encoding="utf-8")
    assert textwrap.indent(run, " " * 8) in algorithm
    (declared,) = page.code("toml")
    assert declared in (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8")


def test_example_serves_a_vault(site: Path, tmp_path: Path) -> None:
    lines = [*(f"p{n}|numb thumbs, seen on day {n}" for n in range(20)), "no bar here"]
    (tmp_path / "day.notes").write_text("\n".join(lines), encoding="utf-8")
    found = json.loads(run_python(site, tmp_path, "-c", PROGRAM))
    number, epsilon = found.pop("answer")
    assert abs(number - 200) < 20  # noise of scale 1/2: a larger error has probability below 1e-17
    assert epsilon == pytest.approx(2.0)
    assert found == {
        "guarantee": "differential privacy",
        "store": [200, "JsonlStore"],
        "embedder": ["trigrams", 20],
        "bad": ["day.notes line 21"],
    }


@pytest.mark.long
def test_example_passes_its_own_tests(site: Path, tmp_path: Path) -> None:
    own = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(EXAMPLE / "tests")]
    assert "passed" in run_python(site, tmp_path, *own)
