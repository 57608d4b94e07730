"""The same question at the same time is paid once."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from discreet.log.sqlite import alone_by_file
from discreet.models.toy import ToyModel
from discreet.query.answer_cache import flight
from discreet.registry import Consensus, MuRAG
from discreet.store.documents import Document
from discreet.vault import Vault

ASKED = "numb thumbs disease?"
VOTE = MuRAG(inner=Consensus(voters=25, max_tokens=4, epsilon=8, sentence=False), similarity=-1, epsilon=8)
FORK = multiprocessing.get_context("fork")


class Slow(ToyModel):
    """Takes so long that the others arrive meanwhile."""

    def start(self, *args: Any, **kwargs: Any) -> Any:
        time.sleep(0.5)
        return super().start(*args, **kwargs)


def hospital(path: Path, says: str = "say: winterhand .") -> Path:
    vault = Vault.create(path, epsilon=50, delta=1e-6, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", f"numb thumbs {says.format(n=n)}") for n in range(30))
    return path


def ask(path: Path) -> tuple[str | None, str]:
    vault = Vault.open(path, model=Slow())
    answer = vault.ask(ASKED, VOTE)
    assert answer.receipt
    return answer.answer, answer.receipt.payment


@pytest.mark.parametrize(
    ("says", "answer"), [("say: winterhand .", "winterhand"), ("say: w{n} .", None)], ids=["answer", "nothing"]
)
def test_sixteen_threads_pay_once(tmp_path: Path, says: str, answer: str | None) -> None:
    path, found = hospital(tmp_path / "v", says), []
    threads = [threading.Thread(target=lambda: found.append(ask(path))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {text for text, _ in found} == {answer}
    assert sorted(payment for _, payment in found) == ["each unit that took part", *["nobody"] * 15]
    assert len(Vault.open(path).ledger.questions()) == 1
    assert not list(path.glob("flight.*"))


def test_four_processes_pay_once(tmp_path: Path) -> None:
    path = hospital(tmp_path / "v")
    with ProcessPoolExecutor(4, FORK) as pool:  # ends without a signal: a handler of another test could lose it
        found = list(pool.map(ask, [path] * 4))
    assert sorted(payment for _, payment in found) == ["each unit that took part", *["nobody"] * 3]
    assert len(Vault.open(path).ledger.questions()) == 1


def test_the_broken_twin_without_flights_pays_more_than_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def none(*_: object) -> Iterator[None]:
        yield

    monkeypatch.setattr("discreet.query.pipeline.alone_with", none)
    path, found = hospital(tmp_path / "v"), []
    threads = [threading.Thread(target=lambda: found.append(ask(path))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Vault.open(path).ledger.questions()) > 1


def _hold(folder: Path, held: "multiprocessing.synchronize.Event") -> None:
    with alone_by_file(folder, b"key"):
        held.set()
        time.sleep(600)


def test_who_holds_a_flight_and_is_killed_holds_it_no_more(tmp_path: Path) -> None:
    held = FORK.Event()
    holder = FORK.Process(target=_hold, args=(tmp_path, held))
    holder.start()
    assert held.wait(60)
    arrived = threading.Event()

    def wait() -> None:
        with alone_by_file(tmp_path, b"key"):
            arrived.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert not arrived.wait(0.3)
    assert holder.pid
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    assert arrived.wait(10)
    waiting.join()
    assert not list(tmp_path.iterdir())


def test_question_is_asked_even_if_no_flight_file_can_be_made(tmp_path: Path) -> None:
    with alone_by_file(tmp_path / "none", b"key"):
        pass


def test_flight_key_is_that_of_one_release_and_reveals_nothing() -> None:
    one = flight("What is Glass Knee?", ("a", "b"), b"secret")
    assert one == flight("what is glass knee, please", ("b", "a"), b"secret")
    assert one != flight("What is Glass Knee?", (), b"secret")
    assert one != flight("What is Glass Knee?", ("a", "b"), b"another")


@pytest.mark.parametrize("payment", ["unit", "corpus"])
def test_flight_key_reveals_no_question_without_the_vault(tmp_path: Path, payment: str) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=50, delta=1e-6, embedder="hashing", payment=payment)
    names = [
        flight(ASKED, (), one.components.flight_secret)
        for one in (vault, Vault.create(tmp_path / "w", epsilon=50, delta=1e-6, payment=payment))
    ]
    assert names[0] != names[1]
    assert flight(ASKED, (), b"") not in names
    assert flight(ASKED, (), Vault.open(vault.path).components.flight_secret) == names[0]
