"""Threads take turns with a vault: nothing is lost, nothing fails, and one is inside at a time."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from discreet.generation.toy import ToyModel
from discreet.registry import Consensus, MuRAGAda
from discreet.retrieval.documents import Document
from discreet.vault import Vault

THREADS, TURNS = 16, 2
ALGORITHM = MuRAGAda(inner=Consensus(voters=20, max_tokens=3), epsilon=2.0, lowest=0.0, bins=4)


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
