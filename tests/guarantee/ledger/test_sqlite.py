"""The SQLite ledger under kill -9, races, damage and full disks: never unpaid, never more than granted."""

import os
import random
import resource
import shutil
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from discreet.errors import BudgetExhausted, LedgerError, MissingPart, VaultVersionError
from discreet.ledger.ledger import SqliteLedger
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import BoundedRange, Pure
from discreet.privacy.filter import Charge
from discreet.privacy.private import Change, Relation
from tests.server.keepers import wait_until

CHANGE = Change(1, Relation.REPLACE)
LARGE = Budget(1e6, 1e-5)


def charge(question: str, number: int, epsilon: float = 0.01) -> Charge:
    return Charge(question, number, "test", CHANGE, Pure(epsilon))


def fork(work: object) -> int:
    """Run `work` in a child that shares nothing but what is on disk."""
    child = os.fork()
    if child == 0:
        try:
            work()  # type: ignore[operator]
        finally:
            os._exit(0)
    return child


def moments(child: int, path: Path, folder: Path) -> Iterator[Path]:
    """Copies of a ledger's files, of ten moments while `child` writes; it stands still meanwhile."""
    for number in range(10):
        time.sleep(0.05)
        # Stopped, so that the files are those of one moment, wherever in a transaction that falls.
        os.kill(child, signal.SIGSTOP)
        os.waitpid(child, os.WUNTRACED)
        target = folder / f"copy{number}"
        target.mkdir()
        for name in (path.name, f"{path.name}-wal"):
            if path.with_name(name).exists():
                shutil.copy(path.with_name(name), target / name)
        yield target / path.name
        os.kill(child, signal.SIGCONT)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def test_ledger_is_found_as_it_was_left(path: Path) -> None:
    budget = Budget(7.3, 1e-5, 1e-6)
    made = SqliteLedger.create(path, budget, log_questions=True)
    made.begin("q", "dp-vote-rag", "Why?")
    made.charge(charge("q", 0))
    made.finish("q", "end")
    found = SqliteLedger(path)
    assert found.budget == budget
    assert found.spent() == Spending.of(Pure(0.01))
    (question,) = found.questions()
    assert (question.question, question.stopped, question.charges) == ("Why?", "end", 1)
    assert question.epsilon == pytest.approx(0.01)


def test_text_of_a_question_is_kept_on_request_alone(path: Path) -> None:
    ledger = SqliteLedger.create(path, LARGE)
    ledger.begin("q", "rag", "Has Ada Lind the fever?", private=False)
    (question,) = ledger.questions()
    assert question.question is None
    assert not question.private
    assert b"Ada Lind" not in b"".join(file.read_bytes() for file in path.parent.iterdir())


@pytest.mark.parametrize("seed", range(4))
def test_kill_at_any_time_releases_nothing_unpaid(path: Path, tmp_path: Path, seed: int) -> None:
    """50 kills at random moments: each release that was noted outside has its charge, and the ledger is sound."""
    SqliteLedger.create(path, LARGE)
    journal = tmp_path / "released"
    journal.touch()
    choose = random.Random(seed)

    read, write = os.pipe()

    def work() -> None:
        ledger, name = SqliteLedger(path), f"q{os.getpid()}"
        os.write(write, b".")
        with journal.open("a") as file:
            for number in range(10_000):
                ledger.charge(charge(name, number))
                file.write(f"{name} {number}\n")  # stands for the release
                file.flush()

    rounds = 50
    # On a busy machine a child may be killed before it has done anything: then there are more of them.
    while rounds > 0 or (journal.read_text().count("\n") < 10 and rounds > -300):
        rounds -= 1
        child = fork(work)
        os.read(read, 1)
        time.sleep(choose.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        SqliteLedger(path)  # sound: the total is the sum of the charges
    with closing(sqlite3.connect(path)) as database, database:
        charged = set(database.execute("select question, part from log where kind = 'charge'"))
    released = {(name, int(number)) for name, number in (line.split() for line in journal.read_text().splitlines())}
    assert len(released) >= 5
    assert released <= charged


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_that_race_never_spend_more_than_granted(path: Path, processes: int) -> None:
    budget = Budget(1.0, 1e-5)
    SqliteLedger.create(path, budget)

    def work() -> None:
        ledger, name = SqliteLedger(path), f"q{os.getpid()}"
        for number in range(100):
            try:
                ledger.charge(charge(name, number, 0.03))
            except BudgetExhausted:
                return

    children = [fork(work) for _ in range(processes)]
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    assert SqliteLedger(path).spent() == Spending.of(Pure(0.03), budget.affordable(Pure(0.03)))


def test_files_of_any_moment_hold_every_acknowledged_charge(path: Path, tmp_path: Path) -> None:
    """The files, copied while another process writes, open and hold every charge acknowledged before the copy."""
    SqliteLedger.create(path, LARGE)
    journal = tmp_path / "acknowledged"
    journal.touch()

    def work() -> None:
        ledger = SqliteLedger(path)
        with journal.open("a") as file:
            for number in range(100_000):
                ledger.charge(charge("q", number))
                file.write(f"{number}\n")
                file.flush()

    child = fork(work)
    try:
        wait_until(lambda: journal.stat().st_size > 0)  # a busy machine starts it later than all moments
        for copied in moments(child, path, tmp_path):
            acknowledged = len(journal.read_text().splitlines())
            found = SqliteLedger(copied)
            assert found.spent().loss_nano[-1] >= acknowledged * Spending.of(Pure(0.01)).loss_nano[-1]
        assert acknowledged > 0
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_full_disk_charges_nothing(path: Path) -> None:
    SqliteLedger.create(path, LARGE)
    read, write = os.pipe()

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
        ledger = SqliteLedger(path)
        for number in range(1000):
            try:
                ledger.charge(charge("q", number))
            except LedgerError as error:
                os.write(write, f"{number} {error}".encode())
                return

    os.waitpid(fork(work), 0)
    os.close(write)
    paid, _, said = os.read(read, 10_000).decode().partition(" ")
    assert "Nothing was charged or released" in said
    assert SqliteLedger(path).spent() == Spending.of(Pure(0.01), int(paid))


def test_clock_that_goes_backwards_does_no_harm(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = SqliteLedger.create(path, LARGE)
    for year, time_ in (("2030", 1893456000), ("1999", 915148800)):
        monkeypatch.setattr("discreet.log.chain.now", lambda time_=time_: time_)
        ledger.begin(year, "dp-vote-rag", "Why?")
        ledger.charge(charge(year, 0))
    assert [question.time[:4] for question in ledger.questions()] == ["2030", "1999"]
    assert ledger.spent() == Spending.of(Pure(0.01), 2)


def test_another_cost_under_the_same_number_is_an_error(path: Path) -> None:
    ledger = SqliteLedger.create(path, LARGE)
    ledger.charge(charge("q", 0, 0.5))
    with pytest.raises(LedgerError, match="another cost"):
        ledger.charge(charge("q", 0, 0.4))


def test_grant_is_final(path: Path) -> None:
    SqliteLedger.create(path, Budget(1.0, 1e-5))
    with closing(sqlite3.connect(path)) as database, database, pytest.raises(sqlite3.Error, match="final"):
        database.execute("update log set content = x'00' where id = 1")
    with pytest.raises(LedgerError, match="never overwrites"):
        SqliteLedger.create(path, Budget(100.0, 1e-5))


def test_copy_is_a_simulation_and_leaves_the_original_alone(path: Path, tmp_path: Path) -> None:
    ledger = SqliteLedger.create(path, LARGE)
    ledger.charge(charge("q", 0))
    copy = ledger.copy(tmp_path / "copy.sqlite")
    copy.charge(charge("q", 1))
    assert copy.simulation
    assert SqliteLedger(tmp_path / "copy.sqlite").simulation
    assert not SqliteLedger(path).simulation
    assert ledger.spent() == Spending.of(Pure(0.01))


def test_damage_is_noticed(path: Path) -> None:
    ledger = SqliteLedger.create(path, LARGE)
    for number in range(20):
        ledger.charge(charge("q", number))
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"\0" * len(whole), os.urandom(len(whole)), b""):
        for file in path.parent.glob("ledger.sqlite*"):
            file.unlink()
        path.write_bytes(damaged)
        with pytest.raises((LedgerError, VaultVersionError)):
            SqliteLedger(path)


@pytest.mark.parametrize("other", [7, 99])
def test_other_format_is_not_opened(path: Path, other: int) -> None:
    SqliteLedger.create(path, LARGE)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"pragma user_version = {other}")
    before = path.read_bytes()
    with pytest.raises(VaultVersionError, match=f"format {other}; .*discreet init") as said:
        SqliteLedger(path)
    assert (said.value.exit_code, path.read_bytes()) == (4, before)


def test_failure_probabilities_are_whole_numbers_rounded_up(path: Path) -> None:
    ledger = SqliteLedger.create(path, Budget(10.0, 1e-5, 1e-6))
    ledger.charge(Charge("q", 0, "test", CHANGE, BoundedRange(0.1, 1e-7 / 3)))
    assert ledger.spent().failure_atto == -(-(10**11) // 3)


def test_sqlite_that_is_too_old_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlite3.sqlite_version_info", (3, 34, 1))
    with pytest.raises(MissingPart, match="SQLite 3"):
        SqliteLedger.create(path, LARGE)
    assert not path.exists()
