"""The server's folder, in three parts, so that a front under foreign control reaches neither the keeper nor the desk.

STATE         the keeper's: others may pass, and change nothing
STATE/run     the keeper's: sockets, the link to the desk, the lock
STATE/desk    the keeper's: uploads, synthetic corpora
STATE/front   the front's: accounts, audit log, metrics
"""

import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path

from discreet.errors import UsageError
from discreet.server.config import ServeConfig

_CLOSED, _PASSED = 0o700, 0o711


def prepare_state(config: ServeConfig) -> None:
    """Make the server's folder, for this user and the front's alone.

    Raises:
        UsageError: if it cannot be made or is another user's, or if the front's user is unknown, needs root, or could
            read a vault.
    """
    state, mode = Path(config.state), _PASSED if config.front_user else _CLOSED
    try:
        state.mkdir(parents=True, exist_ok=True)
        _own(state, mode)
        for folder, its_mode in ((config.run, mode), (config.uploads.parent, _CLOSED), (config.front, None)):
            folder.mkdir(exist_ok=True)
            if its_mode is not None:
                _own(folder, its_mode)
        if not config.front_user:
            _own(config.front, _CLOSED)
    except OSError as error:
        raise UsageError(f"{state} cannot be used: {error.strerror}. Name another folder: --state DIR") from None
    if config.front_user:
        _check_front(config)
        hand_over(config)


def hand_over(config: ServeConfig) -> None:
    """Give the front's folder, and what a process of root made in it, to the front's user."""
    if not config.front_user or os.geteuid() != 0:
        return
    user = find_user(config.front_user)
    # Links are not followed, and what has a second name is left: the front's user may have put it there.
    for file in [config.front, *config.front.iterdir()]:
        found = file.lstat()
        if found.st_uid == 0 and (stat.S_ISDIR(found.st_mode) or found.st_nlink == 1):
            os.chown(file, user.pw_uid, user.pw_gid, follow_symlinks=False)


def can_read(user: str, path: str) -> bool:
    """Return whether a user can look into a file or folder. Needs root."""
    found = find_user(user)
    child = os.fork()  # only a process of that user can tell
    if child == 0:
        code = 2
        with suppress(BaseException):
            os.setgroups([])
            os.setgid(found.pw_gid)
            os.setuid(found.pw_uid)
            code = int(os.access(path, os.R_OK) or os.access(path, os.X_OK))
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


def find_user(name: str) -> pwd.struct_passwd:
    """Return a user by the name.

    Raises:
        UsageError: if there is none.
    """
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise UsageError(f"There is no user '{name}'. Make one: useradd --system {name}") from None


def _own(folder: Path, mode: int) -> None:
    """Set the mode of a folder. Refuse a link, and the folder of another user, who could exchange what is in it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except NotADirectoryError:
        raise UsageError(f"{folder} is a link or a file. Name another folder: --state DIR") from None
    try:
        if (owner := os.fstat(descriptor).st_uid) != os.geteuid():
            raise UsageError(
                f"{folder} belongs to the user {owner}, and must belong to the server's. Give it to the server: chown, "
                "or name another folder: --state DIR"
            )
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _check_front(config: ServeConfig) -> None:
    if os.geteuid() != 0:
        raise UsageError("--front-user needs root. Start as root, or use the systemd units in deploy/.")
    find_user(config.front_user)
    readable = [vault.path for vault in config.vaults if can_read(config.front_user, vault.path)]
    if readable:
        raise UsageError(
            f"The user '{config.front_user}' can read the vault at {readable[0]}, and must not. Close it: "
            f"chmod 700 {readable[0]}"
        )
