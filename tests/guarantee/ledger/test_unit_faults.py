"""Ledgers of single units under kill -9, races, damage and full disks: never unpaid, never more than granted."""

import os
import random
import resource
import signal
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.ledger.balances import RESERVE, SETTLE, spending, split, unpack_payers
from discreet.ledger.ledger import SqliteLedger
from discreet.log import chain
from discreet.privacy.accounting import Budget, FilterState, Spending
from discreet.privacy.costs import Pure
from tests.guarantee.ledger.conftest import Kept, change
from tests.guarantee.ledger.test_sqlite import charge, fork, moments

LARGE = Budget(1e5, 1e-5)
UNITS = [number.to_bytes(16, "big") for number in range(20)]


def of(epsilon: float) -> Spending:
    return Spending.of(Pure(epsilon))


def parts_of(ledger: Any) -> dict[tuple[str, int], frozenset[bytes]]:
    """Who paid for each part, read from the rows alone; checks that each unit paid just that: nothing lost or twice."""
    with ledger.reading() as found:
        rows = list(chain.read(found.connection))
    keys, paying = list[bytes](), dict[tuple[str, int], frozenset[bytes]]()
    costs, owed = dict[tuple[str, int], FilterState](), defaultdict[bytes, FilterState](FilterState)
    for row in rows:
        key = row.question, row.part
        if row.kind == RESERVE and row.content:
            start, new, known = unpack_payers(row.content)
            assert start == len(keys)
            paying[key] = frozenset([*split(new), *(keys[number] for number in known)])
            keys += split(new)
        if row.kind == RESERVE or (row.kind == SETTLE and key in paying):
            costs[key] = ledger.budget.filter_state(spending(row))
    together = defaultdict[frozenset[bytes], FilterState](FilterState)
    for key, units in paying.items():
        together[units] += costs[key]
    for units, cost in together.items():
        for unit in units:
            owed[unit] += cost
    assert Counter(dict(ledger.unit_balances())) == Counter(owed.values())
    assert {unit: ledger.balance(unit) for unit in owed} == owed
    return paying


def test_kill_at_any_time_loses_and_repeats_no_reservation(kept: Kept, sizes: str, tmp_path: Path) -> None:
    kinds = kept(LARGE)
    kinds.reserve("before", 0, of(0.01), UNITS)  # the first payment of a process loads and compiles, before it forks
    journal = tmp_path / "acknowledged"
    journal.touch()
    choose, (read, write) = random.Random(7), os.pipe()

    def work() -> None:
        ledger, name, mine = kept(), f"q{os.getpid()}", random.Random(os.getpid())
        os.write(write, b".")
        with journal.open("a") as file:
            for part in range(10_000):
                paying = ledger.reserve(name, part, of(0.02), mine.sample(UNITS, 5))
                file.write(f"{name} {part} {b''.join(sorted(paying)).hex()}\n")  # stands for the noise
                file.flush()
                if part % 2:
                    ledger.settle(name, part, of(0.01))
                if part % 3 == 0:
                    ledger.reserve_all(f"{name}all", part, of(0.001))

    rounds = 100 if isinstance(kinds, SqliteLedger) and sizes == "small" else 25
    # On a busy machine a child may be killed before it has done anything: then there are more, and they live longer.
    while rounds > 0 or (journal.read_text().count("\n") < 30 and rounds > -300):
        rounds -= 1
        child = fork(work)
        os.read(read, 1)
        time.sleep(choose.uniform(0, 0.03 if rounds > 0 else 0.2))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kept()  # sound: the sums are those of what was paid
    paid = parts_of(kept())
    acknowledged = [line.split() for line in journal.read_text().splitlines() if line.count(" ") == 2]
    assert len(acknowledged) >= 10
    for name, part, keys in acknowledged:
        assert paid[name, int(part)] == frozenset(split(bytes.fromhex(keys)))
    name, part, _ = acknowledged[-1]
    with pytest.raises(LedgerError, match="reserved before"):
        kept().reserve(name, int(part), of(0.02), UNITS)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("processes", [2, 4])
def test_racing_processes_never_exceed_a_units_grant(kept: Kept, processes: int) -> None:
    budget = Budget(1.0, 1e-5)
    kept(budget)

    def work() -> None:
        ledger, mine = kept(), random.Random(os.getpid())
        for part in range(120):
            paying = ledger.reserve(f"q{os.getpid()}", part, of(0.06), mine.sample(UNITS[:6], 3))
            if part % 4 == 0:
                ledger.settle(f"q{os.getpid()}", part, of(0.03))
            if not paying and part > 60:
                return

    children = [fork(work) for _ in range(processes)]
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    ledger = kept()
    parts_of(ledger)
    left = Budget(1.0, 1e-5).limit.pure - of(0.06).loss_nano[-1]
    for reading, _ in ledger.unit_balances():
        assert budget.admits_state(reading)
        assert reading.pure > left  # and each could pay until it was spent


@pytest.mark.usefixtures("sizes")
def test_files_of_any_moment_hold_acknowledged_reservations(tmp_path: Path) -> None:
    path, journal = tmp_path / "ledger.sqlite", tmp_path / "acknowledged"
    SqliteLedger.create(path, LARGE)
    journal.touch()

    def work() -> None:
        ledger = SqliteLedger(path)
        with journal.open("a") as file:
            for part in range(100_000):
                ledger.reserve("q", part, of(0.01), UNITS[part % 7 :])
                file.write(f"{part}\n")
                file.flush()
                ledger.settle("q", part, of(0.005))

    child = fork(work)
    try:
        for copied in moments(child, path, tmp_path):
            acknowledged = len(journal.read_text().splitlines())
            paid = parts_of(SqliteLedger(copied))
            assert all(paid["q", part] == frozenset(UNITS[part % 7 :]) for part in range(acknowledged))
        assert acknowledged > 0
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.usefixtures("sizes")
def test_full_disk_reserves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    SqliteLedger.create(path, LARGE)
    read, write = os.pipe()

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        ledger = SqliteLedger(path)
        for part in range(1000):
            try:
                ledger.reserve("q", part, of(0.01), UNITS)
            except LedgerError as error:
                os.write(write, f"{part} {error}".encode())
                return

    os.waitpid(fork(work), 0)
    os.close(write)
    paid, _, said = os.read(read, 10_000).decode().partition(" ")
    assert "Nothing was charged or released" in said
    assert len(parts_of(SqliteLedger(path))) == int(paid) > 0


def test_clock_that_goes_backwards_does_no_harm(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = kept(LARGE)
    times = {"2030": 1893456000, "1999": 915148800}
    for number, (time_, moment) in enumerate(times.items()):
        monkeypatch.setattr("discreet.log.chain.now", lambda moment=moment: moment)
        ledger.begin(time_, "mu-rag", None)
        ledger.charge(charge(time_, number))
    for time_ in times:
        assert ledger.reserve(time_, 0, of(0.1), UNITS) == frozenset(UNITS)
        ledger.settle(time_, 0, of(0.05))
    assert [question.time[:4] for question in kept().questions()] == ["2030", "1999"]
    parts_of(ledger)


DAMAGE = {
    "what a part reserved": "update log set failure = failure + 1 where question = 'q'",
    "who pays": "update log set content = substr(content, 1, 24) where question = 'q'",
    "a part": "delete from log where question = 'q'",
    "what a part spent": "update log set loss = (select loss from log where question = 'q') where kind = 'settle'",
    "that a part is settled": "delete from log where kind = 'settle'",
    "that all units pay": "update log set content = (select hash from log where question = 'q') where question = 's'",
    "what all units pay": "update log set failure = failure + 1 where question = 's'",
    "the grant": "update log set content = (select content from log where question = 'q') where kind = 'open'",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_sums_that_do_not_match_are_noticed(kept: Kept, damage: str) -> None:
    ledger = kept(LARGE)
    ledger.reserve("q", 0, of(0.5), UNITS)
    ledger.reserve("r", 0, of(0.5), UNITS[:3])
    ledger.settle("r", 0, of(0.25))
    ledger.reserve_all("s", 0, of(0.5))
    kept()
    change(ledger, DAMAGE[damage])
    with pytest.raises(LedgerError, match="corrupt"):
        kept()


def test_many_large_balances_stay_exact(kept: Kept) -> None:
    """Their sum over all units would not fit into 64 bits."""
    ledger, many = kept(Budget(9e5, 1e-5)), [number.to_bytes(16, "big") for number in range(10_500)]
    ledger.reserve("q", 0, of(8.9e5), many)
    ledger.settle("q", 0, of(8.9e5))
    assert kept().unit_balances() == [(ledger.budget.filter_state(of(8.9e5)), len(many))]
    change(ledger, "update log set failure = 1 where kind = 'reserve'")
    with pytest.raises(LedgerError, match="corrupt"):
        kept()


@pytest.mark.parametrize("statement", ["update log set kind = 'x' where id = 1", "delete from log where id = 1"])
def test_grant_is_final(kept: Kept, statement: str) -> None:
    ledger = kept(Budget(1.0, 1e-5, accountant="zcdp"))
    with pytest.raises(LedgerError), ledger.writing() as found:
        found.connection.exec_driver_sql(statement)
    assert kept().budget == Budget(1.0, 1e-5, accountant="zcdp")
    with pytest.raises(LedgerError, match="never overw"):
        kept(Budget(100.0, 1e-5))


def test_error_shows_no_question_and_no_unit(kept: Kept) -> None:
    ledger = kept(LARGE)
    change(ledger, "drop table log")
    with pytest.raises(LedgerError) as error:
        ledger.reserve("the question", 0, of(0.1), [b"a unit's own key"])
    chain = str(error.value) + str(error.value.__cause__)
    assert "the question" not in chain
    assert "own key" not in chain


# --- SQLite alone


def test_copy_carries_units_and_parts(tmp_path: Path) -> None:
    ledger = SqliteLedger.create(tmp_path / "ledger.sqlite", Budget(3.0, 1e-5))
    ledger.reserve("q", 0, of(2.0), UNITS)
    copy = ledger.copy(tmp_path / "copy.sqlite")
    assert copy.simulation
    assert copy.reserve("r", 0, of(2.0), UNITS) == frozenset()
    copy.settle("q", 0, of(0.5))
    assert copy.reserve("s", 0, of(2.0), UNITS) == frozenset(UNITS)
    assert ledger.reserve("r", 0, of(2.0), UNITS) == frozenset()


def test_replaced_or_removed_file_is_detected(tmp_path: Path) -> None:
    path, saved = tmp_path / "ledger.sqlite", tmp_path / "saved.sqlite"
    ledger = SqliteLedger.create(path, LARGE)
    ledger.charge(charge("q", 0))
    other = ledger.copy(saved)
    other.charge(charge("q", 1))
    del other
    for name in ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"):
        (tmp_path / name).unlink()
    saved.rename(path)
    assert ledger.spent() == of(0.01) + of(0.01)
    path.unlink()
    with pytest.raises(LedgerError, match="missing"):
        ledger.spent()
