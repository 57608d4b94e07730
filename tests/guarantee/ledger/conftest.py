"""A PostgreSQL server of the tests' own, reached through a socket in a temporary folder, gone at the end."""

import os
import pwd
import secrets
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from discreet.ledger.ledger import PostgresLedger, SqliteLedger
from discreet.log import replay
from discreet.privacy.accounting import Budget

pytest.register_assert_rewrite("tests.guarantee.ledger.suite")

OWNER = "postgres"
Run = Callable[..., None]
Kept = Callable[..., Any]


def binaries() -> Path | None:
    """The folder with the server's programs: on the path, or where Debian keeps them."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    kept = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return kept[-1].parent if kept else None


def runner(folder: Path) -> Run:
    """Runs the server's programs as whoever the tests run as; as user postgres if that is root, who may not."""
    user = None
    if os.geteuid() == 0:
        try:
            user = pwd.getpwnam(OWNER)
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user called postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)

    def run(*command: str | Path) -> None:
        as_whom = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        subprocess.run(
            [str(part) for part in command], check=True, cwd=folder, stdout=subprocess.DEVNULL, timeout=60, **as_whom
        )  # type: ignore[call-overload]

    return run


class Server:
    """A server of our own, with its data in `folder`; it may be cut off and started again."""

    def __init__(
        self, folder: Path, programs: Path, settings: Mapping[str, object], primary: "Server | None" = None
    ) -> None:
        self.data, self._folder, self._programs = folder / "data", folder, programs
        self._run = runner(folder)
        self._options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self.url = f"postgresql://{OWNER}@/postgres?host={folder}"
        if primary is not None:  # a standby: a copy that follows it
            copying = (programs / "initdb").resolve().with_name("pg_basebackup")
            if not copying.exists():
                pytest.skip("a standby is tested where pg_basebackup is installed")
            self._run(copying, "-R", "-X", "stream", "-c", "fast", "-D", self.data, "-d", primary.url)
            return
        self._run(
            *(programs / "initdb", "-N", "-A", "trust", "-U", OWNER, "-E", "UTF8", "--locale=C", "-D", self.data),
            "--wal-segsize=1",
        )

    def standby(self) -> "Server":
        """Make a standby, which runs at no address yet."""
        folder = self._folder / "standby"
        folder.mkdir()
        return Server(folder, self._programs, {}, primary=self)

    def start(self, instead: "Server | None" = None) -> None:
        """Start it, at its own address or at that of a server which is gone, and wait until it answers."""
        sockets = self._folder if instead is None else instead._folder
        options = f"-k {sockets} -c listen_addresses='' -c max_connections=30 {self._options}"
        self._control("-l", self._folder / "log", "-o", options, "start")

    def stop(self) -> None:
        """Stop it, if it runs."""
        if self.pid() is None:
            return
        try:
            self._control("-m", "immediate", "stop")
        except subprocess.CalledProcessError:
            if self.pid() is not None:  # it did not end by itself meanwhile
                raise

    def promote(self) -> None:
        """Make a primary of a standby."""
        self._control("promote")

    def pid(self) -> int | None:
        """The id of its first process; None if it is gone."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
        except FileNotFoundError:
            return None
        return pid if _alive(pid) else None

    def cut(self) -> None:
        """Kill all of its processes, as a power cut would: what lies in their memory is lost."""
        pid = self.pid()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)  # so that it neither tells its children, nor makes new ones
        everyone = [*_children(pid), pid]
        for one in everyone:
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while any(map(_alive, everyone)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        # After a power cut no process has this id; here it may last until somebody asks how it ended.
        for left in (self.data / "postmaster.pid", *self._folder.glob(".s.PGSQL.*")):
            left.unlink()

    def _control(self, *arguments: str | Path) -> None:
        self._run(self._programs / "pg_ctl", "-w", "-D", self.data, *arguments)


def _stat(pid: int) -> list[str]:
    """What the system says of a process after its name: its state, its parent, and so on; nothing if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _alive(pid: int) -> bool:
    return bool(_stat(pid)) and _stat(pid)[:1] != ["Z"]


def _children(pid: int) -> list[int]:
    everyone = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [one for one in everyone if _stat(one)[1:2] == [str(pid)]]


@contextmanager
def server_of_our_own(folder: Path | None = None, programs: Path | None = None, **settings: object) -> Iterator[Server]:
    """A server with such settings, while it is needed; its files are made in `folder`, if one is given."""
    programs = programs or binaries()
    if programs is None:
        pytest.skip("PostgreSQL is tested where its server is installed: initdb was not found")
    # Not in pytest's folder, which other users cannot enter; and short, since a socket's name must be.
    made = Path(tempfile.mkdtemp(prefix="discreet-pg-", dir=folder))
    try:
        own = Server(made, programs, settings)
        try:
            own.start()
            yield own
        finally:
            own.stop()
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def running(*, durable: bool = False) -> Iterator[str]:
    """The address of a server's database, while it runs; if not `durable`, nothing has to reach the disk."""
    with server_of_our_own(fsync="on" if durable else "off") as own:
        yield own.url


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """A server for all tests. Clients are killed here, never the machine: nothing has to reach the disk."""
    pytest.importorskip("psycopg", reason="PostgreSQL is tested where psycopg is installed")
    with running() as address:
        yield address


@pytest.fixture
def url(server: str) -> str:
    """The address of the server's database."""
    return server


@pytest.fixture
def name() -> str:
    """A name for a ledger that there is not yet."""
    return f"vault_{secrets.token_hex(8)}"


def sql(url: str, *statements: str) -> None:
    """Do something to a database behind the ledger's back."""
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def change(ledger: Any, *statements: str) -> None:
    """Change a ledger behind its back, without its triggers."""
    if isinstance(ledger, SqliteLedger):
        with closing(sqlite3.connect(ledger.path)) as database, database:
            drop_triggers(database)
            for statement in statements:
                database.execute(statement)
        return
    url = ledger.place.engine.url.render_as_string().replace("+psycopg", "")
    path = f'set local search_path to "{ledger.name}"'
    sql(url, path, "drop trigger if exists log_is_final on log", *statements)


def drop_triggers(database: sqlite3.Connection) -> None:
    """Let the rows of a ledger be changed."""
    for name in ("log_no_update", "log_no_delete", "log_grows"):
        database.execute(f"drop trigger if exists {name}")


@pytest.fixture(params=["sqlite", "postgres"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    """Makes a ledger, or opens it again, as another process or another machine does."""
    if request.param == "postgres":
        where = request.getfixturevalue("url"), request.getfixturevalue("name"), tmp_path / "snapshot"

    def ledger(budget: Budget | None = None) -> Any:
        if request.param == "sqlite":
            path = tmp_path / "ledger.sqlite"
            return SqliteLedger(path) if budget is None else SqliteLedger.create(path, budget)
        return PostgresLedger(*where) if budget is None else PostgresLedger.create(*where[:2], budget)

    return ledger


@pytest.fixture(params=["small", "large"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How ledgers are opened: checked at once, or in a thread, with snapshots."""
    if request.param == "large":
        monkeypatch.setattr(replay, "LARGE", 0)
        monkeypatch.setattr(replay, "SNAPSHOT_AFTER", 5)
    return str(request.param)
