"""A PostgreSQL server of the tests' own, reached through a socket in a temporary folder, gone at the end."""

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from discreet.ledger.postgres import PostgresLedger
from discreet.ledger.sqlite import SqliteLedger
from discreet.privacy.accounting import Budget

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


@contextmanager
def running(*, durable: bool = False) -> Iterator[str]:
    """The address of a server's database, while it runs; if not `durable`, nothing has to reach the disk."""
    programs = binaries()
    if programs is None:
        pytest.skip("PostgreSQL is tested where its server is installed: initdb was not found")
    # Not in pytest's folder, which other users cannot enter; and short, since a socket's name must be.
    folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    data = folder / "data"
    try:
        run = runner(folder)
        run(programs / "initdb", "-N", "-A", "trust", "-U", OWNER, "-E", "UTF8", "--locale=C", "-D", data)
        options = f"-k {folder} -c listen_addresses='' -c max_connections=30 -c fsync={'on' if durable else 'off'}"
        run(programs / "pg_ctl", "-w", "-D", data, "-l", folder / "log", "-o", options, "start")
        try:
            yield f"postgresql://{OWNER}@/postgres?host={folder}"
        finally:
            run(programs / "pg_ctl", "-w", "-m", "immediate", "-D", data, "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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


@pytest.fixture(params=["sqlite", "postgres"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    """Makes a ledger, or opens it again, as another process or another machine does."""

    def ledger(budget: Budget | None = None) -> Any:
        if request.param == "sqlite":
            path = tmp_path / "ledger.sqlite"
            return SqliteLedger.open(path) if budget is None else SqliteLedger.create(path, budget)
        return PostgresLedger.open(*where) if budget is None else PostgresLedger.create(*where, budget)

    if request.param == "postgres":
        where = request.getfixturevalue("url"), request.getfixturevalue("name")
    return ledger
