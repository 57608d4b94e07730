"""Flights of both kinds of ledgers: one at a time for each key, and free once the holder is gone, however it went."""

import fcntl
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, event, text

from discreet.ledger.ledger import PostgresLedger, SqliteLedger
from discreet.privacy.accounting import Budget
from tests.guarantee.ledger.conftest import Kept, sql

KEY = b"sixteen  letters"
BUDGET = Budget(10.0, 1e-5)
WORKERS = 8


@pytest.fixture
def ledgers(kept: Kept) -> Callable[[], Any]:
    """Opens the ledger once more, as another process does."""
    kept(BUDGET)
    return kept


def forked(work: Callable[[], None]) -> int:
    """A child that does some work, and ends."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def gets_it(ledger: Any, within: float, key: bytes = KEY) -> bool:
    """Whether a flight is free within so many seconds. A thread that still waits then gets it later, and ends."""
    return waiting(ledger, key).wait(within)


def waiting(ledger: Any, key: bytes = KEY) -> threading.Event:
    """A thread that waits for a flight; the event is set when it gets it."""
    got = threading.Event()

    def work() -> None:
        with ledger.alone(key):
            got.set()

    threading.Thread(target=work, daemon=True).start()
    return got


def inside_and_seen(alone: Callable[[], Any], log: Path) -> None:
    with alone():
        with log.open("a") as file:
            file.write("in\n")
        time.sleep(0.01)
        with log.open("a") as file:
            file.write("out\n")


def one_at_a_time(log: Path) -> bool:
    lines = log.read_text().split()
    assert len(lines) == 2 * WORKERS
    return lines == ["in", "out"] * WORKERS


def race_of_threads(alone: Callable[[], Any], log: Path) -> bool:
    threads = [threading.Thread(target=inside_and_seen, args=(alone, log)) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return one_at_a_time(log)


@pytest.mark.parametrize("shared", [True, False], ids=["one ledger", "a ledger each"])
def test_of_threads_one_is_inside(ledgers: Callable[[], Any], tmp_path: Path, shared: bool) -> None:
    one = ledgers()
    assert race_of_threads(lambda: (one if shared else ledgers()).alone(KEY), tmp_path / "log")


def test_broken_twin_with_a_key_each_lets_several_in(ledgers: Callable[[], Any], tmp_path: Path) -> None:
    one = ledgers()
    assert not race_of_threads(lambda: one.alone(os.urandom(16)), tmp_path / "log")


def test_of_processes_one_is_inside(ledgers: Callable[[], Any], tmp_path: Path) -> None:
    children = [forked(lambda: inside_and_seen(lambda: ledgers().alone(KEY), tmp_path / "log")) for _ in range(WORKERS)]
    assert [ended(child) for child in children] == [0] * WORKERS
    assert one_at_a_time(tmp_path / "log")


def test_another_key_waits_for_none(ledgers: Callable[[], Any]) -> None:
    with ledgers().alone(KEY):
        assert gets_it(ledgers(), 30, b"another of these")


def test_payment_waits_for_no_flight(ledgers: Callable[[], Any]) -> None:
    with ledgers().alone(KEY):
        other = ledgers()
        other.begin("q", "murag", None)
        assert [one.id for one in other.questions()] == ["q"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_holder_that_is_killed_holds_it_no_more(ledgers: Callable[[], Any], how: signal.Signals) -> None:
    read, write = os.pipe()

    def hold() -> None:
        with ledgers().alone(KEY):
            os.write(write, b".")
            signal.pause()

    holder = forked(hold)
    os.read(read, 1)
    waiter = ledgers()
    assert not gets_it(waiter, 0.5)
    os.kill(holder, how)
    ended(holder)
    assert gets_it(waiter, 30)


def test_waiter_that_is_killed_leaves_the_flight_to_its_holder(ledgers: Callable[[], Any]) -> None:
    def wait() -> None:
        with ledgers().alone(KEY):
            pass

    with ledgers().alone(KEY):
        waiter = forked(wait)
        time.sleep(0.3)
        os.kill(waiter, signal.SIGKILL)
        ended(waiter)
        assert not gets_it(ledgers(), 0.5)
    assert gets_it(ledgers(), 30)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_error_within_lets_go(ledgers: Callable[[], Any], error: type[BaseException]) -> None:
    one = ledgers()
    with pytest.raises(error), one.alone(KEY):
        raise error
    assert gets_it(one, 30)
    assert gets_it(ledgers(), 30)


def test_who_is_interrupted_while_it_waits_holds_nothing(ledgers: Callable[[], Any]) -> None:
    holder, waiter = ledgers(), ledgers()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with holder.alone(KEY):
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            with pytest.raises(KeyboardInterrupt), waiter.alone(KEY):
                pytest.fail("two are inside")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for one in (holder, waiter, ledgers()):
        assert gets_it(one, 30)


def test_second_interruption_leaves_no_flight_behind(ledgers: Callable[[], Any]) -> None:
    """Ctrl-C again while the flight is let go of: the process lives on, and its flight must not."""
    one, other = ledgers(), ledgers()

    def fly() -> threading.Event:
        with suppress(KeyboardInterrupt), interrupted_letting_go(one), one.alone(KEY):
            arrived = waiting(other)
            assert not arrived.wait(0.5)
        return arrived

    arrived = fly()
    assert arrived.wait(30)
    assert gets_it(one, 30)
    assert gets_it(ledgers(), 30)


@contextmanager
def interrupted_letting_go(ledger: Any) -> Iterator[None]:
    if isinstance(ledger, SqliteLedger):
        flock, holder = fcntl.flock, threading.current_thread()

        def interrupt(file: Any, how: int) -> None:
            if how == fcntl.LOCK_UN and threading.current_thread() is holder:  # as Ctrl-C; the waiter lets go itself
                raise KeyboardInterrupt
            flock(file, how)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fcntl, "flock", interrupt)
            yield
        return

    def execute(*call: Any) -> None:
        if "pg_advisory_unlock" in call[2]:
            raise KeyboardInterrupt

    event.listen(ledger.place.engine, "before_cursor_execute", execute)
    try:
        yield
    finally:
        event.remove(ledger.place.engine, "before_cursor_execute", execute)


def held_by_server(url: str) -> int:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        count = int(connection.execute(text("select count(*) from pg_locks where locktype = 'advisory'")).scalar_one())
    engine.dispose()
    return count


def test_broken_connection_frees_the_flight(url: str, name: str) -> None:
    ledger = PostgresLedger.create(url, name, BUDGET)
    with ledger.alone(KEY):
        assert held_by_server(url) == 1
        sql(
            url,
            "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and pid <> pg_backend_pid()",
        )
        assert gets_it(PostgresLedger(url, name), 30)
        ledger.begin("q", "murag", None)  # goes on, and pays
    assert gets_it(ledger, 30)
    assert held_by_server(url) == 0


def test_nothing_of_a_flight_is_left_on_the_server(url: str, name: str) -> None:
    ledger = PostgresLedger.create(url, name, BUDGET)
    for _ in range(3):
        with ledger.alone(KEY):
            assert held_by_server(url) == 1
        assert held_by_server(url) == 0
    assert ledger.place.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_flight_of_another_ledger_in_the_database_is_another(url: str, name: str) -> None:
    one, other = PostgresLedger.create(url, name, BUDGET), PostgresLedger.create(url, f"{name}0", BUDGET)
    with one.alone(KEY):
        assert gets_it(other, 30)
