"""The ledger, looked over: whether it is sound, belongs to the vault, and is the newest."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection, text

from discreet.config import VaultConfig
from discreet.errors import DiscreetError, LedgerError
from discreet.ledger.counter import COUNTER, Counter, Reached, reached
from discreet.ledger.database import explained, missing
from discreet.ledger.encoding import CORRUPT
from discreet.ledger.integrity import budget_of, check, read_grant
from discreet.ledger.migrations import MIGRATIONS
from discreet.operations.findings import Finding, problem, sound, warning
from discreet.operations.read_only import as_sqlalchemy, looking
from discreet.privacy.accounting import Budget

LEDGER = "ledger.sqlite"
_AHEAD = timedelta(minutes=5)
"""By so much clocks of two machines may differ."""


@dataclass(frozen=True)
class Seen:
    """A ledger, as a look at it shows.

    Attributes:
        version: of its tables.
        newest: the version that this program writes.
        budget: the grant; None if the tables are too old to be read before they are migrated.
        reached: how far the ledger is.
        latest: when the newest question began, UTC, ISO 8601; empty if none did.
    """

    version: int
    newest: int
    budget: Budget | None
    reached: Reached
    latest: str


def check_ledger(folder: Path, settings: VaultConfig, now: datetime, expect: int = 0) -> Iterator[Finding]:
    """Look over the ledger: it opens, its sums agree, its grant is sealed; it is the newest; its clock is right.

    Args:
        folder: of the vault.
        settings: of the vault.
        now: the time.
        expect: how many questions the vault had at least, by the custodian's records.
    """
    try:
        seen = look_at(folder, settings)
    except DiscreetError as error:
        yield problem("ledger", str(error), "Restore the newest copy of the ledger: see docs/operations.md.")
        return
    yield _state(seen, settings)
    yield _age(folder, seen.reached, expect)
    yield _clock(seen.latest, now)


def look_at(folder: Path, settings: VaultConfig) -> Seen:
    """A vault's ledger, checked as it is when it is opened, but not migrated.

    Raises:
        LedgerError: it is missing, corrupt or out of reach.
        VaultVersionError: it was made for other orders.
    """
    with reading(folder, settings) as (connection, version, newest):
        if version > newest or version < 1:
            raise LedgerError(f"The ledger has format {version}; this program reads up to {newest}. Update discreet.")
        budget = None
        if version == newest:
            check(connection)
            budget = budget_of(read_grant(connection))
        far = (
            reached(connection, version=version) if version > 2 else Reached(0, 0)
        )  # before that there were no parts to count
        latest = connection.execute(text("select max(time) from question")).scalar()
    return Seen(version, newest, budget, far, str(latest or ""))


@contextmanager
def reading(folder: Path, settings: VaultConfig) -> Iterator[tuple[Connection, int, int]]:
    """A connection that changes nothing, the version of its tables, and the one that this program writes."""
    if settings.ledger:
        from discreet.ledger import postgres_connection
        from discreet.ledger.connections import closed
        from discreet.ledger.postgres_tables import VERSION

        with (
            postgres_connection.explained(),
            closed(postgres_connection.engine(postgres_connection.address(settings.ledger))) as made,
            postgres_connection.transaction(made, settings.ledger_name, reading=True) as connection,
        ):
            yield connection, int(connection.execute(text("select version from format")).scalar_one()), VERSION
        return
    path = folder / LEDGER
    if not path.is_file():
        raise missing(path)
    with explained(path), looking(path, log=True) as database, as_sqlalchemy(database) as connection:
        if database.execute("pragma quick_check").fetchone()[0] != "ok":
            raise LedgerError(CORRUPT)
        yield connection, int(database.execute("pragma user_version").fetchone()[0]), len(MIGRATIONS)


def _state(seen: Seen, settings: VaultConfig) -> Finding:
    if seen.budget is None:
        return warning(
            "ledger",
            f"The ledger has format {seen.version}; the next command that opens it brings it to {seen.newest}. Its "
            "sums are checked then.",
            "Back the vault up first: discreet backup VAULT COPY.",
        )
    granted = (seen.budget.epsilon, seen.budget.delta)
    if granted != (settings.epsilon, settings.delta):
        return problem(
            "ledger",
            f"The ledger grants epsilon {granted[0]:g} at delta {granted[1]:g}; vault.json says {settings.epsilon:g} "
            f"at {settings.delta:g}. One of them belongs to another vault, or was changed by hand.",
            "Put both files back from one backup. The ledger's grant is the one that holds.",
        )
    where = "in PostgreSQL" if settings.ledger else "in the vault"
    return sound(
        "ledger",
        f"The ledger ({where}) opens, its sums agree, and its grant is the sealed one: {seen.reached.questions} "
        "questions.",
    )


def _age(folder: Path, now: Reached, expect: int) -> Finding:
    counter = Counter(folder / COUNTER)
    before = counter.read()
    if before is None and (folder / COUNTER).exists():
        return warning(
            "counter",
            f"{COUNTER} is damaged. Until the next question an older ledger would not be noticed.",
            "Make sure that the ledger is the newest; the next question writes the counter anew.",
        )
    if before is not None and now.is_older(before):
        return problem(
            "counter",
            f"The ledger is older than the newest question: it holds {now.questions} questions and {now.payments} "
            f"payments, and held {before.questions} and {before.payments}. Nothing is answered.",
            "Put the newest ledger back. If it is lost: discreet backup VAULT COPY, then discreet restore COPY "
            "NEWVAULT --force.",
        )
    if now.questions < expect:
        return problem(
            "counter",
            f"The ledger holds {now.questions} questions; {expect} were expected. The whole vault may have been put "
            "back from an older copy: then what was spent since can be spent again.",
            "Do not let it answer. Put the newest vault, or its newest backup, back.",
        )
    if (answers := _answers(folder)) > now.questions:
        return warning(
            "counter",
            f"The vault keeps {answers} answers, and its ledger has {now.questions} questions: it may be older.",
            "If the ledger was put back from a copy, put the newest one back.",
        )
    return sound("counter", "The ledger is not older than the newest answer that the vault knows of.")


def _answers(folder: Path) -> int:
    """How many answers are kept: each of them had a question of its own."""
    try:
        with (folder / "history.jsonl").open("rb") as file:
            return sum(line.startswith(b"{") and line.endswith(b"}\n") for line in file)
    except OSError:
        return 0


def _clock(latest: str, now: datetime) -> Finding:
    try:
        ahead = datetime.fromisoformat(latest) - now if latest else timedelta(0)
    except (ValueError, TypeError):
        return warning("clock", "The newest question has no readable time.", "Look at it with: discreet budget VAULT.")
    if ahead > _AHEAD:
        return warning(
            "clock",
            f"The newest question is from {latest}, which is in the future by this machine's clock "
            f"({now.isoformat(timespec='seconds')}).",
            "Set the clock of this machine, or of the one that asked. Payments do not depend on it.",
        )
    return sound("clock", "No entry of the ledger is in the future.")


def checked_file(path: Path) -> Seen:
    """A copy of a ledger in a file, checked as when it is opened.

    Raises:
        LedgerError: it is no sound ledger.
    """
    anywhere = VaultConfig(1, 1.0, 0.5, "unit", "", "", False)
    try:
        return look_at(path.parent, anywhere)
    except sqlite3.Error as error:
        raise LedgerError(CORRUPT) from error


def utc_now() -> datetime:
    """The time by this machine's clock."""
    return datetime.now(UTC)
