"""Whatever is wrong with a vault is found and not raised; whatever is wrong with a backup is refused."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.looked_after import LOOKED_AFTER
from tests.fuzz.targets import Target, outcome
from tests.fuzz.test_files import bent

FEW = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("target", LOOKED_AFTER, ids=lambda target: target.name)
def test_what_is_damaged_is_found_or_refused(target: Target, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder: Path = tmp_path_factory.mktemp("looked-after")

    @FEW
    @given(bent(target))
    def anything(data: bytes) -> None:
        outcome(target, folder, data)

    anything()


@pytest.mark.parametrize("target", LOOKED_AFTER[:-1], ids=lambda target: target.name)  # the last is of another vault
def test_what_is_sound_is_used(target: Target, tmp_path: Path) -> None:
    assert [outcome(target, tmp_path, seed) for seed in target.seeds] == ["done"]
