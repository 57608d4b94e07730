"""Power cuts and full disks under a PostgreSQL ledger: nothing acknowledged is lost, never more than granted."""

import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TextIO

import pytest
from sqlalchemy import create_engine, text

from discreet.errors import BudgetExhausted, LedgerError
from discreet.ledger.balances import split
from discreet.ledger.ledger import PostgresLedger
from discreet.log.replay import Counter
from discreet.privacy.accounting import Budget
from discreet_server.accounts import Accounts, Limits, OlderCopy
from tests.guarantee.ledger.conftest import Server, server_of_our_own
from tests.guarantee.ledger.test_sqlite import charge, fork
from tests.guarantee.ledger.test_unit_faults import LARGE, UNITS, of, parts_of

GRANT = Budget(3.0, 1e-5, accountant="pure")
ROOM = 100 * 2**20


@pytest.fixture
def careless() -> Iterator[Server]:
    """A server that, unless told otherwise, keeps commits in its memory for ten seconds: killing it loses them.

    It does not wait for the disk itself: what it gave to the system survives, since the machine goes on.
    """
    pytest.importorskip("psycopg", reason="PostgreSQL is tested where psycopg is installed")
    with server_of_our_own(fsync="off", synchronous_commit="off", wal_writer_delay="10000") as own:
        yield own


def test_what_was_just_committed_survives_a_power_cut(careless: Server, name: str) -> None:
    ledger = PostgresLedger.create(careless.url, name, GRANT)
    for number in range(3):
        assert ledger.charge(charge("q", number))
        power_cut(careless)
        found = PostgresLedger(careless.url, name)
        assert found.spent() == of(0.01).times(number + 1)
        assert not found.charge(charge("q", number))
    for part in range(3):
        paying = ledger.reserve("r", part, of(0.9), UNITS[part:])
        power_cut(careless)
        assert parts_of(PostgresLedger(careless.url, name))["r", part] == paying == frozenset(UNITS[part:])
        with pytest.raises(LedgerError, match="reserved before"):
            ledger.reserve("r", part, of(0.9), UNITS)
    assert ledger.reserve("r", 3, of(0.9), UNITS) == frozenset(UNITS[:2])
    before = ledger.spent()
    ledger.reserve_all("s", 0, of(0.1))
    power_cut(careless)
    assert PostgresLedger(careless.url, name).spent() == before + of(0.1)


@pytest.mark.usefixtures("sizes")
def test_settlement_lost_in_a_power_cut_keeps_the_reservation(careless: Server, name: str) -> None:
    ledger = PostgresLedger.create(careless.url, name, GRANT)
    ledger.reserve("q", 0, of(2.0), UNITS)
    ledger.settle("q", 0, of(0.5))
    power_cut(careless)
    (reading, count), *others = PostgresLedger(careless.url, name).unit_balances()
    assert (count, others) == (len(UNITS), [])
    assert reading.pure == of(2.0).loss_nano[-1]  # so that these tests would see it, were a reservation no more durable
    ledger.settle("q", 0, of(0.5))
    assert ledger.reserve("r", 0, of(2.0), UNITS) == frozenset(UNITS)
    parts_of(PostgresLedger(careless.url, name))


@pytest.mark.usefixtures("sizes")
def test_power_cut_loses_and_splits_no_payment(careless: Server, name: str, tmp_path: Path) -> None:
    PostgresLedger.create(careless.url, name, GRANT)
    journal, choose = tmp_path / "acknowledged", random.Random(3)
    journal.touch()

    def work() -> None:
        with journal.open("a") as file:
            try:
                pay(PostgresLedger(careless.url, name), file)
            except LedgerError as error:
                file.write(f"stopped {'cannot be reached' in str(error)}\n")

    for _ in range(4):
        before = len(journal.read_text().splitlines())
        children = [fork(work) for _ in range(3)]
        # However busy the machine is, each of them pays.
        while len({line.split()[0] for line in journal.read_text().splitlines()[before:]}) < 3:
            time.sleep(0.01)
        time.sleep(choose.uniform(0.1, 0.6))
        power_cut(careless)
        for child in children:
            os.waitpid(child, 0)
        parts_of(PostgresLedger(careless.url, name))  # sound, and each unit paid just what the parts say
    ledger = PostgresLedger(careless.url, name)
    paid, lines = parts_of(ledger), [line.split() for line in journal.read_text().splitlines()]
    acknowledged = [line for line in lines if line[0] != "stopped"]
    assert [line for line in lines if line[0] == "stopped"] == [["stopped", "True"]] * 12
    assert len(acknowledged) > 12
    for question, part, *keys in acknowledged:
        assert paid[question, int(part)] == frozenset(split(bytes.fromhex("".join(keys))))
    assert all(ledger.budget.admits_state(reading) for reading, _ in ledger.unit_balances())
    # What everybody pays may bring a unit beyond its grant, and just those take no part in it.
    cannot = ledger.reserve_all("after", 0, of(0.0001))
    everybody = ledger.budget.filter_state(ledger.spent())
    beyond = [n for reading, n in ledger.unit_balances() if not ledger.budget.admits_state(everybody + reading)]
    assert len(cannot) == sum(beyond)


@contextmanager
def followed(primary: Server) -> Iterator[Server]:
    """A standby that follows the primary."""
    made = primary.standby()
    made.start()
    try:
        yield made
    finally:
        made.stop()


def wait_for(standby: Server, name: str, row: int) -> None:
    """Wait until the standby has a row."""
    with closing(create_engine(standby.url.replace("postgresql:", "postgresql+psycopg:")).connect()) as connection:
        end = time.monotonic() + 30
        while connection.execute(text(f'select max(id) from "{name}".log')).scalar() != row:
            assert time.monotonic() < end
            connection.rollback()
            time.sleep(0.05)


def take_over(primary: Server, standby: Server) -> None:
    """Lose the primary, and have the standby go on at its address."""
    primary.cut()
    standby.stop()
    standby.start(instead=primary)
    standby.promote()


def test_standby_that_lacks_rows_is_found(name: str, tmp_path: Path) -> None:
    """By the counter: in a process that is open, at an opening, and after it went on by itself."""
    pytest.importorskip("psycopg", reason="PostgreSQL is tested where psycopg is installed")
    with server_of_our_own(fsync="off") as primary:
        PostgresLedger.create(primary.url, name, GRANT)
        ledger, accounts = PostgresLedger(primary.url, name), Accounts(primary.url)
        ledger.check_counter(Counter(tmp_path / "counter.json"))
        accounts.grant("ward", GRANT)
        key, _ = accounts.issue("ana", ["ward"], Limits(2.0))
        ledger.reserve("q", 0, of(0.9), UNITS)
        with followed(primary) as standby:
            wait_for(standby, name, ledger.reached().row)
            standby.stop()
            ledger.reserve("q", 1, of(0.9), UNITS)
            accounts.extend(key.id, Limits(3.0))
            take_over(primary, standby)
            with pytest.raises(LedgerError, match="older than the newest question"):
                ledger.reserve("q", 2, of(0.9), UNITS)
            with pytest.raises(OlderCopy):
                accounts.extend(key.id, Limits(4.0))
            found = PostgresLedger(primary.url, name)
            with pytest.raises(LedgerError, match="older than the newest question"):
                found.check_counter(Counter(tmp_path / "counter.json"))
            for part in range(3):  # another folder, which has no counter, goes on: the rows are as many, but others
                found.reserve("r", part, of(0.1), UNITS)
            with pytest.raises(LedgerError, match="another copy"):
                PostgresLedger(primary.url, name).check_counter(Counter(tmp_path / "counter.json"))
            with pytest.raises(LedgerError, match="another copy"):
                ledger.reserve("q", 2, of(0.9), UNITS)


def test_standby_that_has_all_rows_goes_on(name: str, tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL is tested where psycopg is installed")
    with server_of_our_own(fsync="off") as primary:
        PostgresLedger.create(primary.url, name, GRANT)
        ledger = PostgresLedger(primary.url, name)
        ledger.check_counter(Counter(tmp_path / "counter.json"))
        with followed(primary) as standby:
            for part in range(3):
                ledger.reserve("q", part, of(0.9), UNITS)
            wait_for(standby, name, ledger.reached().row)
            take_over(primary, standby)
            assert ledger.reserve("q", 3, of(0.9), UNITS) == frozenset()
            with pytest.raises(LedgerError, match="reserved before"):
                ledger.reserve("q", 2, of(0.1), UNITS)
            ledger.settle("q", 2, of(0.1))
            assert ledger.reserve("q", 4, of(0.9), UNITS) == frozenset(UNITS)
            again = PostgresLedger(primary.url, name)
            again.check_counter(Counter(tmp_path / "counter.json"))
            assert again.unit_balances() == ledger.unit_balances()


def test_full_disk_charges_nothing_and_does_no_lasting_harm(name: str) -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL is tested where psycopg is installed")
    small = Path(tempfile.mkdtemp(prefix="discreet-disk-"))
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM},mode=755", "tmpfs", small], check=False).returncode:
        small.rmdir()
        pytest.skip("a small disk is tested where one may be mounted")
    try:
        with server_of_our_own(small, max_wal_size="4MB", min_wal_size="2MB") as own:
            fill_up(own, name, small / "ballast")
    finally:
        subprocess.run(["umount", small], check=True)
        small.rmdir()


def fill_up(own: Server, name: str, ballast: Path) -> None:
    """Pay until the disk is full, and go on when there is room again. Parts are written at once."""
    ledger = PostgresLedger.create(own.url, name, LARGE)
    ballast.write_bytes(bytes(shutil.disk_usage(ballast.parent).free - 4 * 2**20))
    many = [number.to_bytes(16, "big") for number in range(900)]
    paid, said = until_refused(ledger, many)
    assert paid > 0
    assert "othing was" in said
    ballast.unlink()
    own.stop()  # it has given up already, if there was no room for its log
    own.start()
    assert set(parts_of(PostgresLedger(own.url, name))) == {("q", part) for part in range(paid)}
    assert ledger.reserve("q", paid, of(0.01), many) == frozenset(many)
    ledger.settle("q", 0, of(0.005))
    assert len(parts_of(PostgresLedger(own.url, name))) == paid + 1


def until_refused(ledger: PostgresLedger, units: list[bytes]) -> tuple[int, str]:
    """How often all units paid, and what was said when they could no more."""
    for part in range(10_000):
        try:
            assert ledger.reserve("q", part, of(0.01), units) == frozenset(units)
        except LedgerError as error:
            return part, str(error)
    raise AssertionError("the disk was never full")


def pay(ledger: PostgresLedger, file: TextIO) -> None:
    """Pay one thing after the other until the server is gone; each payment is noted once it is acknowledged."""
    question, mine = f"q{os.getpid()}", random.Random(os.getpid())
    for part in range(10_000):
        paying = ledger.reserve(question, part, of(0.02), mine.sample(UNITS, 5))
        file.write(f"{question} {part} {b''.join(sorted(paying)).hex()}\n")  # stands for the noise
        file.flush()
        if part % 2:
            ledger.settle(question, part, of(0.01))
        if part % 3 == 0:
            with suppress(BudgetExhausted):
                ledger.reserve_all(f"{question}all", part, of(0.001))


def power_cut(server: Server) -> None:
    """Cut the power, and start again from what is on disk."""
    server.cut()
    server.start()
