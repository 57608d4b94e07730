"""The server's folder, in three parts, so that a front under foreign control reaches neither the keeper nor the desk.

STATE         the keeper's: others may pass, and change nothing
STATE/run     the keeper's: sockets, the link to the desk, the locks
STATE/desk    the keeper's: uploads, synthetic corpora
STATE/front   the front's: accounts, audit log, metrics

There is one server for each folder: a second one would ask the keeper of the first, and its own cannot start.

A link with which the custodian logs in works once, and for a while. The hash of the newest one is in
STATE/run/desk.link, which the keeper's user alone may read and write. So a link can be made by that user alone:
`discreet serve` prints one, and `discreet desk-link VAULT` another.
"""

import fcntl
import hmac
import os
import pwd
import secrets
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from discreet.errors import UsageError
from discreet_server.accounts.keys import digest_of
from discreet_server.config import ServeConfig

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
        status = file.lstat()
        if status.st_uid == 0 and (stat.S_ISDIR(status.st_mode) or status.st_nlink == 1):
            os.chown(file, user.pw_uid, user.pw_gid, follow_symlinks=False)


def can_read(user: str, path: str) -> bool:
    """Return whether a user can look into a file or folder. Needs root."""
    account = find_user(user)
    child = os.fork()  # only a process of that user can tell
    if child == 0:
        code = 2
        with suppress(BaseException):
            os.setgroups([])
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
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


# --- one server for each folder --------------------------------------------------------------------------------------


KEEPER_LOCK = "keeper.lock"
"""A file in `run` that a keeper holds while it runs."""
SERVER_LOCK = "server.lock"
"""A file in `run` that `discreet serve` holds while it runs. It has the number of the process."""
_PATIENCE = 20.0
"""Seconds in which the keeper of a server that was killed may end."""
_STEP = 0.1


@contextmanager
def hold_state(config: ServeConfig, say: Callable[[str], None], patience: float = _PATIENCE) -> Iterator[None]:
    """Hold the state folder for one server, until the block ends.

    Args:
        config: the server's; its folder is there.
        say: told why this takes a while.
        patience: the seconds to wait for a keeper without a server.

    Raises:
        UsageError: if another server or keeper holds the folder.
    """
    with lock_file(config.run / SERVER_LOCK) as held:
        if held is None:
            raise UsageError(
                f"Another server ({_who(config.run / SERVER_LOCK)}) uses the state folder {config.state}, and serves "
                "its vaults. Stop it (Ctrl-C, or kill), or name another folder: --state DIR"
            )
        held.truncate(0)
        held.write(f"process {os.getpid()} on {socket.gethostname()}")
        held.flush()
        _wait_for_keeper(config, say, patience)
        yield


@contextmanager
def lock_file(path: Path) -> Iterator[IO[str] | None]:
    """Yield a file that no other process holds until the block ends; None if another one does."""
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield None
        else:
            yield file


def _wait_for_keeper(config: ServeConfig, say: Callable[[str], None], patience: float) -> None:
    """Wait for a keeper that answers its last question after its server was killed."""
    ends, said = time.monotonic() + patience, False
    while not _is_free(config.run / KEEPER_LOCK):
        if not said:
            say(f"A keeper still runs in {config.state}. Waiting up to {patience:g} s for its end.")
            said = True
        if time.monotonic() >= ends:
            raise UsageError(
                f"A keeper without `discreet serve` uses the state folder {config.state}. Stop it, wait until its "
                "last question is answered, or name another folder: --state DIR"
            )
        time.sleep(_STEP)


def _is_free(path: Path) -> bool:
    with lock_file(path) as held:
        return held is not None


def _who(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip() or "process unknown"
    except (OSError, ValueError):
        return "process unknown"


# --- ports -----------------------------------------------------------------------------------------------------------


def find_ports(config: ServeConfig) -> dict[str, tuple[str, int]]:
    """Return host and port by the name of the process that listens there."""
    return {"front": (config.host, config.port), "desk": (config.desk_host, config.desk_port)}


def check_ports(config: ServeConfig, *names: str) -> None:
    """Refuse ports of the processes `names` that another program has, or that two of them would have.

    Raises:
        UsageError: if there is one.
    """
    with ExitStack() as opened:
        for name in names:
            host, port = find_ports(config)[name]
            try:
                family = socket.getaddrinfo(host, port)[0][0]
                opened.enter_context(socket.create_server((host, port), family=family))
            except OSError as error:
                option = "--desk-port" if name == "desk" else "--port"
                raise UsageError(
                    f"Port {port} of {host} cannot be used: {error.strerror}. Give another one: {option} NUMBER"
                ) from None


def listens(host: str, port: int) -> bool:
    """Return whether a process listens at a port."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


# --- links to the desk -----------------------------------------------------------------------------------------------


LASTS = 3600.0
"""Seconds for which a link works."""
_FILE, _ADDRESS = "desk.link", "desk.url"
_LONGEST = 256


def make_link(config: ServeConfig, clock: Callable[[], float] = time.time) -> str:
    """Return a new link, and note the desk's address. The link before it does not work any more."""
    note_address(config)
    return _link(config.run, config.desk_url, clock)


def note_address(config: ServeConfig) -> None:
    """Note the desk's address for `make_another`."""
    config.run.mkdir(parents=True, exist_ok=True)  # the desk may start before the keeper
    (config.run / _ADDRESS).write_text(config.desk_url)


def make_another(run: Path) -> str | None:
    """Return a new link to the desk of a server by its folder of sockets; None if no desk was started there."""
    try:
        address = (run / _ADDRESS).read_text()
    except FileNotFoundError:
        return None
    return _link(run, address, time.time)


def _link(run: Path, address: str, clock: Callable[[], float]) -> str:
    token = secrets.token_urlsafe(32)
    path = run / _FILE
    beside = path.with_name(f"{_FILE}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{digest_of(token)} {clock():.3f}\n")
    os.replace(beside, path)
    return f"{address}/login?token={token}"


def redeem(config: ServeConfig, token: str, clock: Callable[[], float] = time.time) -> bool:
    """Return whether a token is that of the newest link, which then does not work any more."""
    path = config.run / _FILE
    try:
        digest, moment = _read_own(path).split()
        fresh = 0 <= clock() - float(moment) <= LASTS
    except (OSError, ValueError):
        return False
    if not hmac.compare_digest(digest, digest_of(token[:_LONGEST])) or not fresh:
        return False
    try:
        path.unlink()  # of two that come at once, one removes it
    except FileNotFoundError:
        return False
    return True


def _read_own(path: Path) -> str:
    """Return the text of a file that this user wrote, and no other."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)) as file:
        if os.fstat(file.fileno()).st_uid != os.geteuid():
            raise PermissionError
        return file.read(_LONGEST)
