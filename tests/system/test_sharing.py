"""Threads take turns with a vault: nothing is lost, nothing fails, and one is inside at a time."""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from discreet.models.toy import ToyModel
from discreet.registry import Consensus, MuRAGAda
from discreet.store.documents import Document
from discreet.store.embedding import HashingEmbedder
from discreet.system.databases import TurnLock
from discreet.vault import Vault
from tests.docs.pages import ROOT
from tests.system.forking import MAKERS

THREADS, TURNS = 16, 2
ALGORITHM = MuRAGAda(inner=Consensus(voters=20, max_tokens=3), epsilon=2.0, lowest=0.0, bins=4)


class NoTurn(TurnLock):
    """BROKEN: whoever comes is inside at once."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class Watching(HashingEmbedder):
    """Waits for a second thread within the work of the first."""

    def __init__(self) -> None:
        self.both, self.met = threading.Barrier(2, timeout=0.5), False

    def embed(self, texts: Sequence[str], progress: object = None) -> np.ndarray:
        try:
            self.both.wait()
            self.met = True
        except threading.BrokenBarrierError:
            self.both.reset()
        return super().embed(texts)


def hospital(path: Path, units: int = 60) -> Vault:
    vault = Vault.create(path, epsilon=200, delta=1e-6, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs say: winterhand .") for n in range(units))
    return Vault.open(path, model=ToyModel(["winterhand", "thumbs", "numb"]))


def test_sixteen_threads_ask_add_and_remove_at_once(tmp_path: Path) -> None:
    vault = hospital(tmp_path / "v")

    def work(number: int) -> list[str]:
        said = []
        for turn in range(TURNS):
            name = f"new{number}-{turn}"
            assert vault.add_documents([Document(name, name, f"numb thumbs say: winterhand {number} .")]).added == 1
            said.append(vault.ask(f"numb thumbs {number} {turn}", ALGORITHM, reuse=False).text)
            if number % 2:
                assert vault.remove_unit(name) == 1
            else:
                assert vault.remove(name) == 1
            vault.budget()
        vault.add_documents([Document(f"kept{number}", f"kept{number}", "numb thumbs say: winterhand .")])
        return said

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(work, range(THREADS)))
    assert [len(said) for said in answers] == [TURNS] * THREADS
    asked = vault.ledger.questions()
    assert len(asked) == TURNS * THREADS
    assert all(question.stopped for question in asked)
    assert (vault.store.count_documents(), vault.store.count_units()) == (60 + THREADS, 60 + THREADS)
    assert not vault.store.unsettled()
    again = Vault.open(tmp_path / "v")
    assert again.store.count_units() == 60 + THREADS
    assert again.ledger.unit_balances() == vault.ledger.unit_balances()


def test_another_thread_than_the_one_that_opened_it_may_ask(tmp_path: Path) -> None:
    vault = hospital(tmp_path / "v")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(vault.ask, "numb thumbs", ALGORITHM).result()
    assert answer.receipt is not None
    assert answer.receipt.epsilon > 0


@pytest.mark.parametrize(("turn", "met"), [(TurnLock, False), (NoTurn, True)])
def test_turn_admits_one_thread_at_a_time(tmp_path: Path, turn: type[TurnLock], met: bool) -> None:
    watching = Watching()
    vault = Vault.open(hospital(tmp_path / "v", 1).path, embedder=watching)
    vault.turn = turn()

    def add(number: int) -> None:
        try:
            vault.add_documents([Document(f"e{number}", f"e{number}", "text")])
        except Exception:
            assert isinstance(vault.turn, NoTurn)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(add, range(2)))
    assert watching.met is met


def test_who_waits_for_a_quantum_lets_others_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault, entered = hospital(tmp_path / "v"), threading.Event()
    inside, ask = threading.Thread(target=vault.ask, args=("numb", ALGORITHM), kwargs={"quantum": 3600}), vault._ask

    def answered(*args: object, **options: object) -> object:
        found = ask(*args, **options)  # type: ignore[arg-type]
        entered.set()
        return found

    monkeypatch.setattr(vault, "_ask", answered)
    inside.daemon = True  # it waits for an hour
    inside.start()
    assert entered.wait(60)
    assert vault.budget() is not None


def test_forked_child_continues_while_another_thread_is_inside(tmp_path: Path) -> None:
    vault = hospital(tmp_path / "v")
    entered, leave = threading.Event(), threading.Timer(0.3, lambda: done.set())
    done = threading.Event()

    def inside() -> None:
        with vault.turn, vault.store.batch():
            vault.store.put(Document("x", "x", ""), [])
            entered.set()
            done.wait(60)

    thread = threading.Thread(target=inside)
    thread.start()
    entered.wait(60)
    leave.start()
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if vault.store.count_documents() == 61 and vault.remove("x") == 1 else 1)
        finally:
            os._exit(2)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert vault.store.count_documents() == 60


@pytest.mark.parametrize("kind", MAKERS)
def test_fork_hooks_run_while_another_thread_opens_vaults(kind: str) -> None:
    command = [sys.executable, "-m", "tests.system.forking", kind]
    for _ in range(2):  # one process misses the defect one time in four
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        assert (done.returncode, done.stderr) == (0, "")


FORK = """
import os, threading, time
from discreet.system.databases import TurnLock, at_fork
turn, inner, inside = TurnLock(), threading.Lock(), threading.Event()
at_fork(inner.acquire, inner.release)

def work():
    with turn:
        inside.set()
        time.sleep(0.2)
        with inner:
            pass

threading.Thread(target=work).start()
inside.wait()
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
else:
    with turn, inner:
        os._exit(0)
"""


def test_fork_takes_inner_locks_after_all_turns() -> None:
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=60)


TWO_TURNS = """
import os, sys, threading
from discreet.system.databases import TurnLock
outer, inner = sorted((TurnLock(), TurnLock()), key=id, reverse=sys.argv[1] == "inner first")
held, forking = threading.Event(), threading.Event()

def work():
    with outer:
        held.set()
        forking.wait(0.5)  # meanwhile the other thread forks
        with inner:
            pass

thread = threading.Thread(target=work, daemon=True)
thread.start()
held.wait()
if os.fork() == 0:
    with outer, inner:
        os._exit(0)
thread.join()
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.parametrize("order", ["outer first", "inner first"])
def test_fork_waits_for_a_thread_that_takes_two_turns(order: str) -> None:
    """While it waits for one, it holds no other one, whatever the order in which it looks at them."""
    subprocess.run([sys.executable, "-c", TWO_TURNS, order], check=True, timeout=60)
