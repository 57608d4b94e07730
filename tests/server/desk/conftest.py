"""A desk in this process, with a keeper in another one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.desk.desks import Opened, open_desk
from tests.server.keepers import config_of, keeping, make_vault


@pytest.fixture(scope="package")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """A desk whose custodian is logged in. The tests share it."""
    folder: Path = tmp_path_factory.mktemp("desk")
    config = config_of(make_vault(folder / "v", fields={"ward": "category(3, 4)"}).path)
    with keeping(config):
        yield open_desk(config)
