"""The documentation as a site: every page is in its navigation, and every name in the reference exists."""

import re
from importlib import import_module

import pytest

import discreet
from tests.docs.pages import ROOT

NAMES = re.findall(r"^::: (\S+)$", (ROOT / "docs/reference.md").read_text(), re.MULTILINE)
GENERATED = {"index.md", "changelog.md", "contributing.md", "security.md"}
"""Pages that `docs/hooks.py` makes from files at the root."""


def test_navigation_has_every_page() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    listed = re.findall(r"(\S+\.md)$", nav, re.MULTILINE)
    pages = {str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md")}
    assert len(listed) == len(set(listed))
    assert set(listed) == pages | GENERATED


@pytest.mark.parametrize("name", NAMES)
def test_reference_names_exist(name: str) -> None:
    try:
        import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(module), attribute)


def test_reference_has_the_public_names() -> None:
    types = {name: kind for name in discreet.__all__ if isinstance(kind := getattr(discreet, name), type)}
    errors = {name for name, kind in types.items() if issubclass(kind, discreet.DiscreetError)}
    assert {f"discreet.{name}" for name in discreet.__all__ if name not in errors} <= set(NAMES)
    assert "discreet.errors" in NAMES
