"""A second server in one state folder is refused before it is ready, and a killed server's keeper is waited for."""

import re
import threading
from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet_server.config import ServeConfig
from discreet_server.state_folder import KEEPER_LOCK, hold_state, lock_file, prepare_state
from discreet_server.supervisor import Supervisor
from tests.server.keepers import config_of


@pytest.fixture
def config(tmp_path: Path) -> ServeConfig:
    made = config_of(tmp_path / "v")
    prepare_state(made)
    return made


def test_second_server_is_refused_before_it_starts_a_process(config: ServeConfig) -> None:
    said = list[str]()
    never = {"keeper": ["false"], "front": ["false"]}
    wrong = rf"Another server \(process \d+ on .+\) uses the state folder {re.escape(config.state)}.*--state DIR"
    with hold_state(config, said.append), pytest.raises(UsageError, match=wrong):
        Supervisor(config, said.append, never).run()
    assert said == []
    with hold_state(config, said.append):  # it is free again
        pass


def test_server_waits_for_the_keeper_of_one_that_was_killed(config: ServeConfig) -> None:
    said, ended = list[str](), threading.Event()
    with lock_file(config.run / KEEPER_LOCK):
        with (
            pytest.raises(UsageError, match="A keeper without `discreet serve` uses"),
            hold_state(config, said.append, patience=0.2),
        ):
            pass
        assert [line.split(".")[0] for line in said] == [f"A keeper still runs in {config.state}".split(".")[0]]
        waiting = threading.Thread(target=_hold, args=(config, ended))
        waiting.start()
        assert not ended.wait(0.3)
    assert ended.wait(10)
    waiting.join()


def _hold(config: ServeConfig, ended: threading.Event) -> None:
    with hold_state(config, lambda _: None):
        ended.set()
