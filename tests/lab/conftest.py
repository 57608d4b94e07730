"""Fixtures of the tests of experiments."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder with a short path: that of a Unix socket has at most some hundred bytes."""
    with tempfile.TemporaryDirectory(prefix="d-") as made:
        yield Path(made)
