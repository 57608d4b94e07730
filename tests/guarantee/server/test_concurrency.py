"""Many askers at once, in processes and threads, on one file: no cap is exceeded by one, and no charge is lost."""

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from discreet_server.accounts import Accounts, Key, KeyExhausted, Reservation
from discreet_server.accounts import questions as operations
from discreet_server.accounts.books import KeyQuestion
from discreet_server.accounts.questions import Outcome
from tests.server.accounts.helpers import VAULT, Bank, pure, unsettled

ASKERS = 64
FORK = multiprocessing.get_context("fork")
Make = Callable[[Path], Accounts]


class TwoTransactions(Accounts):
    """A broken twin: it checks in one transaction, and writes in another."""

    def _ask(self, one: KeyQuestion, *, anew: bool) -> Outcome:
        with self.reading() as found:
            one.asked = self._now(found.state)
            outcome = operations.check(found, one, anew=anew)
        if not isinstance(outcome, Reservation):
            return outcome
        time.sleep(0.1)  # others check meanwhile, also where few processors run them in turn
        with self.writing() as found:
            operations.write(found, one)
            return outcome


def ask_once(make: Make, path: Path, key: str, number: int, fingerprint: str, ready: Any, outcomes: Any) -> None:
    accounts = make(path)
    ready.wait()
    charge = pure(0.5)
    outcome = accounts.reserve(key, f"{number:032x}", charge, vault=VAULT, model=VAULT, fingerprint=fingerprint)
    outcomes.put((number, type(outcome).__name__))


@contextmanager
def running(processes: list[Any]) -> Iterator[None]:
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.join(60)
            process.kill()


def ask_in_processes(make: Make, bank: Bank, key: Key, fingerprint: str = "") -> Counter[str]:
    """Have 64 processes ask at once, of different contents unless one is given. Returns how often each outcome came."""
    ready, outcomes = FORK.Barrier(ASKERS), FORK.Queue()
    common = make, bank.path, key.id
    processes = [
        FORK.Process(target=ask_once, args=(*common, 1000 + n, fingerprint or f"content {n}", ready, outcomes))
        for n in range(ASKERS)
    ]
    bank.accounts.close()
    with running(processes):
        return Counter(outcomes.get(timeout=120)[1] for _ in range(ASKERS))


def test_64_processes_stay_within_the_cap(bank: Bank) -> None:
    key = bank.key(10.0)
    assert ask_in_processes(Accounts, bank, key) == {"Reservation": 20, "KeyExhausted": 44}
    meter = bank.accounts.odometer(key.id)
    assert meter.spent == pytest.approx(10.0)
    assert meter.questions == len(unsettled(bank.accounts)) == 20


def test_64_processes_stay_within_a_cap_in_questions(bank: Bank) -> None:
    key = bank.key(100.0, questions=7)
    assert ask_in_processes(Accounts, bank, key) == {"Reservation": 7, "KeyExhausted": 57}


def test_64_processes_with_one_request_pay_once(bank: Bank) -> None:
    key = bank.key(10.0)
    assert ask_in_processes(Accounts, bank, key, "same") == {"Reservation": 1, "InFlight": 63}
    assert bank.accounts.odometer(key.id).spent == pytest.approx(0.5)


def test_twin_with_two_transactions_is_caught(bank: Bank) -> None:
    key = bank.key(10.0, questions=7)
    assert ask_in_processes(TwoTransactions, bank, key)["Reservation"] > 7


def test_64_threads_stay_within_the_cap(bank: Bank) -> None:
    key = bank.key(10.0)
    outcomes: list[object] = []
    ready = threading.Barrier(ASKERS)

    def ask(number: int) -> None:
        ready.wait()
        question = f"{number:032x}"
        outcome = bank.accounts.reserve(key.id, question, pure(0.5), vault=VAULT, model=VAULT, fingerprint=question)
        outcomes.append(outcome)
        if isinstance(outcome, Reservation):
            bank.accounts.settle(question, pure(0.5), {"n": number})

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(ASKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(map(type, outcomes)) == {Reservation: 20, KeyExhausted: 44}
    assert unsettled(bank.accounts) == {}
    assert len(bank.accounts.receipts(key.id)) == bank.accounts.odometer(key.id).questions == 20


def reserve_and_wait(path: Path, key: str, reserved: Any) -> None:
    accounts = Accounts(path)
    accounts.reserve(key, "0" * 32, pure(2), vault=VAULT, model=VAULT, fingerprint="same")
    reserved.set()
    signal.pause()


def reserve_for_ever(path: Path, key: str, begun: Any) -> None:
    accounts, number = Accounts(path), 0
    while True:
        number += 1
        question = f"{os.getpid():08x}{number:024x}"
        accounts.reserve(key, question, pure(0.01), vault=VAULT, model=VAULT, fingerprint=question)
        accounts.settle(question, pure(0.005), {"n": number})
        begun.set()


def test_killed_process_leaves_the_ceiling_charged(bank: Bank) -> None:
    key, reserved = bank.key(10.0), FORK.Event()
    bank.accounts.close()
    process = FORK.Process(target=reserve_and_wait, args=(bank.path, key.id, reserved))
    process.start()
    assert reserved.wait(60)
    process.kill()
    process.join()
    found = Accounts(bank.path)
    assert list(unsettled(found)) == ["0" * 32]
    assert found.odometer(key.id).spent == pytest.approx(2)
    assert isinstance(bank.ask(key, pure(9)), KeyExhausted)


def test_process_killed_at_any_moment_loses_no_charge(bank: Bank) -> None:
    key = bank.key(100.0)
    bank.accounts.close()
    for _ in range(5):
        begun = FORK.Event()
        process = FORK.Process(target=reserve_for_ever, args=(bank.path, key.id, begun))
        process.start()
        assert begun.wait(60)
        process.kill()
        process.join()
        found = Accounts(bank.path)
        receipts = found.receipts(key.id, limit=1000)
        total = sum(round(one["epsilon"] * 1e9) for one in receipts)
        assert found.odometer(key.id).spending.loss_nano[-1] == total
        assert sum(not one["settled"] for one in receipts) <= len(unsettled(found))
        found.close()
