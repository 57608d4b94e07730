"""Packages of other tools: a test that needs one which is not installed is skipped with a reason."""

import pytest


def needs(*modules: str) -> None:
    """Skip the tests of a file without these modules; `make adapters` has all of them."""
    for module in modules:
        pytest.importorskip(module, reason=f"{module} is not installed: make adapters runs this")
