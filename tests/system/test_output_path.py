"""Where files may go."""

import os
import stat
from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.system.files import check_output_path, write_private


def test_places_where_nothing_can_be_written_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = tmp_path / "v"
    vault.mkdir()
    (tmp_path / "there").touch()
    os.mkfifo(tmp_path / "pipe")
    for place, why in (
        (Path("."), "is a folder"),
        (tmp_path, "is a folder"),
        (vault / "units.key", "in the vault"),
        (tmp_path / "none" / "a", "no folder"),
        (tmp_path / "there", "--force"),
        (tmp_path / "pipe", "not a regular file"),
    ):
        with pytest.raises(UsageError, match=why):
            check_output_path(place, vault, force=False)
    check_output_path(tmp_path / "there", vault, force=True)
    check_output_path(tmp_path / "new", vault, force=False)
    monkeypatch.setattr(os, "access", lambda *_: False)  # tests may run as a user who may write anywhere
    with pytest.raises(UsageError, match="no permission to write"):
        check_output_path(tmp_path / "new", vault, force=False)


def test_private_file_is_its_owners(tmp_path: Path) -> None:
    for _ in range(2):
        write_private(tmp_path / "a", "b")
        assert (tmp_path / "a").read_text() == "b"
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
        (tmp_path / "a").chmod(0o644)
