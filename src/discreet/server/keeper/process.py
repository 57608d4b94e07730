"""The keeper's process: two Unix sockets and no network. It ends when it is asked to, after the question that runs."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import UsageError
from discreet.server.config import ServeConfig
from discreet.server.custody_messages import CUSTODY
from discreet.server.keeper.answering import Answering
from discreet.server.keeper.custody import Custody
from discreet.server.keeper.hardening import KeeperLog, harden, open_log
from discreet.server.keeper.listener import Listener, share_with_group
from discreet.server.keeper.served import Opener
from discreet.server.state_folder import KEEPER_LOCK, find_user, lock_file
from discreet.server.wire import ANALYSTS
from discreet.vault import Vault

_PATIENCE = 10.0
"""Seconds for replies that are on their way when the keeper ends."""
FAILED = 1


def main(config: ServeConfig, open_vault: Opener = Vault.open) -> int:
    """Run the keeper until SIGTERM; return the exit code.

    Args:
        config: the server's.
        open_vault: opens a vault; for tests, with another model.
    """
    log = open_log()
    harden(log)
    try:
        with _alone(config):
            return _serve(config, open_vault, log)
    except BaseException as error:
        log.write("stopped by", error=error)
        return FAILED


def _serve(config: ServeConfig, open_vault: Opener, log: KeeperLog) -> int:
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    answering = Answering(config, open_vault, log, on_end=ended.set)
    owner = find_user(config.front_user) if config.front_user else None
    listener = Listener(config.ask_socket, ANALYSTS, answering.reply, log, owner and (owner.pw_uid, owner.pw_gid))
    share_with_group(config.ask_socket)
    custody = Custody(config, answering)
    desk = Listener(config.desk_socket, CUSTODY, custody.reply, log) if config.desk else None
    answering.start()
    while not ended.wait(1.0):  # in steps: a signal is heard between two of them
        pass
    log.write("stopping")
    loaded = answering.loaded
    answering.stop()
    for one in (listener, desk):
        if one is not None:
            one.close(_PATIENCE)
    log.write("stopped")
    return 0 if loaded and not answering.failed else FAILED


@contextmanager
def _alone(config: ServeConfig) -> Iterator[None]:
    """Hold the state folder: two keepers on one socket would take each other's questions."""
    config.run.mkdir(parents=True, exist_ok=True)
    with lock_file(config.run / KEEPER_LOCK) as held:
        if held is None:
            raise UsageError(f"Another keeper runs in {config.state}. Stop it, or name another folder: --state DIR")
        yield


if __name__ == "__main__":
    sys.exit(main(ServeConfig.from_environment()))
