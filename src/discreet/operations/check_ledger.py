"""Checks of a ledger: it is sound, it belongs to the vault, and it is the newest."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection, text

from discreet.config import FORMAT, VaultConfig
from discreet.errors import DiscreetError, LedgerError
from discreet.ledger.balances import BEGIN, Units
from discreet.log.chain import CORRUPT, hash_at, missing
from discreet.log.replay import COUNTER, Counter, LogReplay, Reached
from discreet.log.sqlite import check_file, explained
from discreet.operations.checks import Finding, as_sqlalchemy, looking, problem, sound, warning
from discreet.privacy.accounting import Budget

LEDGER = "ledger.sqlite"
_RESTORE = "Restore the newest copy of the ledger: see docs/operate.md."
_MEND_DATABASE = (
    "Mend the database, then run: discreet doctor VAULT. Restore a copy only if the ledger is lost, since an older "
    "copy lacks payments."
)
_NO_SYNC = "The server of the ledger runs with fsync = off: a power cut may undo payments of released answers."
_AHEAD = timedelta(minutes=5)
"""The tolerated difference between the clocks of two machines."""


@dataclass(frozen=True)
class Seen:
    """The state of a ledger that was read without a change.

    Attributes:
        budget: the grant.
        reached: the number of questions and payments.
        latest: the start of the newest question, UTC, ISO 8601; empty if there is none.
        is_other: whether the counter beside the ledger has another hash for one of its rows.
        waits: whether a commit waits for the disk, as far as the server of the ledger decides that.
    """

    budget: Budget
    reached: Reached
    latest: str
    is_other: bool
    waits: bool


def check_ledger(folder: Path, settings: VaultConfig, now: datetime, expect: int = 0) -> Iterator[Finding]:
    """Check the ledger: it opens, its sums agree, its grant is sealed, it is the newest, and its times are past.

    Args:
        folder: the folder of the vault.
        settings: the settings of the vault.
        now: the current time.
        expect: the least number of questions that the custodian's records show.
    """
    try:
        seen = look_at(folder, settings)
    except DiscreetError as error:
        yield problem("ledger", str(error), _MEND_DATABASE if settings.ledger else _RESTORE)
        return
    yield _state(seen, settings)
    if not seen.waits:
        yield problem("durability", _NO_SYNC, "Set fsync = on in postgresql.conf, and restart the server.")
    yield _age(folder, seen, expect)
    yield _clock(seen.latest, now)


def look_at(folder: Path, settings: VaultConfig) -> Seen:
    """Read a vault's ledger with the checks of opening. Return its state.

    Raises:
        LedgerError: if the ledger is missing, corrupt or out of reach.
        VaultVersionError: if the ledger has another format or other orders.
    """
    counted = Counter(folder / COUNTER).read()  # first, since others may pay meanwhile
    with reading(folder, settings) as connection:
        state = LogReplay(Units).check(connection)
        latest = connection.execute(text("select max(time) from log where kind = :kind"), {"kind": BEGIN}).scalar()
        waits = not settings.ledger or connection.execute(text("show fsync")).scalar() == "on"
        hash_there = None if counted is None else hash_at(connection, counted.row)
        is_other = counted is not None and hash_there is not None and hash_there.hex() != counted.hash
    moment = "" if latest is None else datetime.fromtimestamp(latest, UTC).isoformat(timespec="seconds")
    return Seen(state.grant.budget, state.reached, moment, is_other, waits)


@contextmanager
def reading(folder: Path, settings: VaultConfig) -> Iterator[Connection]:
    """Open the ledger read-only, and check its format. Yield the connection."""
    if settings.ledger:
        from discreet.log.postgres import PostgresSchema

        schema = PostgresSchema(settings.ledger, settings.ledger_name)
        try:
            schema.check_open()
            with schema.reading() as connection:
                yield connection
        finally:
            schema.engine.dispose()
        return
    path = folder / LEDGER
    if not path.is_file():
        raise missing(path)
    with explained(path), looking(path, log=True) as database, as_sqlalchemy(database) as connection:
        if database.execute("pragma quick_check").fetchone()[0] != "ok":
            raise LedgerError(CORRUPT)
        check_file(database)
        yield connection


def _state(seen: Seen, settings: VaultConfig) -> Finding:
    granted = (seen.budget.epsilon, seen.budget.delta)
    if granted != (settings.epsilon, settings.delta):
        return problem(
            "ledger",
            f"The ledger grants epsilon {granted[0]:g}, delta {granted[1]:g}; vault.json states {settings.epsilon:g} "
            f"and {settings.delta:g}. One file belongs to another vault, or was edited.",
            "Restore both files from one backup. The ledger's grant is the valid one.",
        )
    where = "in PostgreSQL" if settings.ledger else "in the vault"
    return sound(
        "ledger",
        f"The ledger ({where}) opens, its sums agree, and its grant is sealed: {seen.reached.questions} questions.",
    )


def _age(folder: Path, seen: Seen, expect: int) -> Finding:
    counter, now = Counter(folder / COUNTER), seen.reached
    before = counter.read()
    if before is None and (folder / COUNTER).exists():
        return warning(
            "counter",
            f"{COUNTER} is damaged. An older ledger would not be detected until the next question.",
            "Check that the ledger is the newest. The next question writes a new counter.",
        )
    if before is not None and now.is_older(before):
        return problem(
            "counter",
            f"The ledger is older than the newest question. It has {now.questions} questions and {now.payments} "
            f"payments; the counter has {before.questions} and {before.payments}. The vault answers nothing.",
            "Restore the newest ledger. If it is lost: discreet backup VAULT COPY, then discreet restore COPY "
            "NEWVAULT --force.",
        )
    if seen.is_other:
        return problem(
            "counter",
            "The ledger is another copy than the newest one: a row has another hash than the counter knows. The vault "
            "answers nothing.",
            "Restore the newest ledger. If it is lost: discreet backup VAULT COPY, then discreet restore COPY "
            "NEWVAULT --force.",
        )
    if now.questions < expect:
        return problem(
            "counter",
            f"The ledger has {now.questions} questions; at least {expect} were expected. The vault may be an older "
            "copy, which could spend the same budget again.",
            "Do not use this vault. Restore the newest vault, or its newest backup.",
        )
    if (answers := _answers(folder)) > now.questions:
        return warning(
            "counter",
            f"The vault has {answers} answers, but its ledger has {now.questions} questions. The ledger may be older.",
            "If the ledger comes from a copy, restore the newest ledger.",
        )
    return sound("counter", "The ledger is not older than the vault's newest answer.")


def _answers(folder: Path) -> int:
    """Return the number of answers in the history. Each belongs to one question."""
    try:
        with (folder / "history.jsonl").open("rb") as file:
            return sum(line.startswith(b"{") and line.endswith(b"}\n") for line in file)
    except OSError:
        return 0


def _clock(latest: str, now: datetime) -> Finding:
    try:
        ahead = datetime.fromisoformat(latest) - now if latest else timedelta(0)
    except (ValueError, TypeError):
        return warning("clock", "The newest question has no valid time.", "Show the questions: discreet budget VAULT.")
    if ahead > _AHEAD:
        return warning(
            "clock",
            f"The newest question is from {latest}. This is in the future of this machine's clock "
            f"({now.isoformat(timespec='seconds')}).",
            "Set the clock of this machine, or of the machine that asked. Payments do not depend on it.",
        )
    return sound("clock", "No entry of the ledger is in the future.")


def checked_file(path: Path) -> Seen:
    """Check a copy of a ledger file. Return its state.

    Raises:
        LedgerError: if the file is not a sound ledger.
    """
    anywhere = VaultConfig(FORMAT, 1.0, 0.5, "unit", "", "", False)
    try:
        return look_at(path.parent, anywhere)
    except sqlite3.Error as error:
        raise LedgerError(CORRUPT) from error


def utc_now() -> datetime:
    """Return the time of this machine's clock."""
    return datetime.now(UTC)
