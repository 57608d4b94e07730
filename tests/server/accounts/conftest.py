from pathlib import Path

import pytest

from tests.server.accounts.helpers import Bank


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    """Accounts of a vault with the grant 20."""
    return Bank(tmp_path / "accounts.sqlite")
