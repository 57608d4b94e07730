"""Fixtures of the server's tests."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.front.provider import IdentityProvider, providing
from tests.server.front.serving import free_port


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder with a short path: that of a Unix socket has at most some hundred bytes."""
    with tempfile.TemporaryDirectory(prefix="d-") as made:
        yield Path(made)


@pytest.fixture(scope="module")
def running_provider() -> Iterator[IdentityProvider]:
    """A provider of identities."""
    with providing(free_port()) as provider:
        yield provider


@pytest.fixture
def provider(running_provider: IdentityProvider) -> Iterator[IdentityProvider]:
    """The same, as it was before the test."""
    before = dict(vars(running_provider))
    yield running_provider
    vars(running_provider).update(before)
