"""One process of a server, started without the supervisor, as another user of the same group."""

import io
import os
from pathlib import Path
from typing import Any

import pytest

from discreet_server import launch
from discreet_server.config import ServeConfig
from discreet_server.keeper.hardening import KeeperLog
from discreet_server.keeper.process import Listener, share_with_group
from discreet_server.wire import ANALYSTS, Readied


def test_process_gets_the_configuration_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(f'state = "{tmp_path}/state"\nport = 8123\n[vaults]\nv = "{tmp_path}/v"\n')
    seen: list[Any] = []

    def main(config: ServeConfig) -> int:
        seen.extend((config.port, os.umask(0o007)))
        return 5

    monkeypatch.setattr("discreet_server.keeper.process.main", main)
    before = os.umask(0o022)
    try:
        assert launch.run(["keeper", "--config", str(file)]) == 5
        assert launch.run(["keeper", "--config", str(tmp_path / "nothing.toml")]) == 2
    finally:
        os.umask(before)
    assert seen == [8123, 0o007]


@pytest.mark.parametrize(("folder", "socket"), [(0o2750, 0o660), (0o700, 0o600)])
def test_socket_is_shared_where_the_folder_passes_its_group_on(tmp_path: Path, folder: int, socket: int) -> None:
    run = tmp_path / "run"
    run.mkdir()
    run.chmod(folder)
    listener = Listener(run / "ask.sock", ANALYSTS, lambda _: Readied(True, True), KeeperLog(io.StringIO()))
    share_with_group(run / "ask.sock")
    try:
        assert (run / "ask.sock").stat().st_mode & 0o777 == socket
    finally:
        listener.close(1.0)
