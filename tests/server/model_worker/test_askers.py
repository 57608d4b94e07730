"""Several askers share a model worker: payments add up, answers are those of one process, a kill loses nothing."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.errors import DiscreetError
from discreet.generation.remote.endpoint import ServerGone
from discreet.generation.remote.worker_model import SocketLink, WorkerModel
from discreet.generation.torch_backend.transformers_model import TransformersModel
from discreet.generation.toy import ToyModel
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import Consensus, MuRAG
from discreet.retrieval.documents import Document
from discreet.retrieval.embedding import open_embedder
from discreet.vault import Vault
from discreet.vault.worker_embedder import WorkerEmbedder
from tests.server.model_worker.checks import check_as_one
from tests.server.model_worker.processes import result, short_folder, started_asker, worker

ASKERS, QUESTIONS = 4, 3
VOTE = MuRAG(inner=Consensus(voters=25, max_tokens=4, epsilon=8, sentence=False), similarity=-1, epsilon=8)


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as found:
        yield found


def filled(folder: Path, payment: str, text: str = "say: red hand .", embedder: str = "hashing") -> Vault:
    """A vault whose model is in a worker, which does not run yet: documents are embedded here."""
    model = f"worker:{folder / 'model'}"
    vault = Vault.create(
        folder / "v", epsilon=100, delta=1e-6, embedder=embedder, model=model, payment=payment, history=False
    )
    vault.add_documents(Document(f"d{n}", f"p{n}", f"fever {n % 3} {text}") for n in range(40))
    return vault


@pytest.mark.parametrize("embedder", ["hashing", "minilm+words"])
def test_askers_pay_what_the_ledger_has_and_answer_as_one(folder: Path, embedder: str) -> None:
    """The checks 1, 2 and 5: the sum of receipts, the answers, and the memory of an asker, which loads no torch."""
    vault = filled(folder, "corpus", embedder=embedder)
    with worker(folder / "model"):
        askers = [started_asker(vault.path, number, QUESTIONS) for number in range(ASKERS)]
        found = [result(asker) for asker in askers]
    check_as_one(vault.path, found, QUESTIONS)


def test_two_workers_compute_alike(folder: Path) -> None:
    with worker(folder / "a"), worker(folder / "b"):
        one, other = WorkerModel(str(folder / "a")), WorkerModel(str(folder / "b"))
        assert one.probe == other.probe
        texts = ["say: red hand .", "nothing", "say: a b c d e f ."]
        assert one.complete(texts, 4) == other.complete(texts, 4) == ToyModel().complete(texts, 4)


def test_killed_worker_charges_releases_nothing_and_goes_on(folder: Path) -> None:
    vault = filled(folder, "unit", "stall say: red hand .")
    failed: list[BaseException] = []
    with worker(folder / "model") as process:
        asking = Vault.open(vault.path)

        def ask() -> None:
            try:
                asking.ask("fever 1?", VOTE)
            except ServerGone as error:
                failed.append(error)

        _ = asking.components.model
        thread = threading.Thread(target=ask)
        thread.start()
        watching = Vault.open(vault.path, model=ToyModel()).ledger
        while not (questions := watching.questions()) or not watching.unit_balances():
            time.sleep(0.05)
        time.sleep(0.5)  # it computes now
        os.kill(process.pid, signal.SIGKILL)
        thread.join(60)
    assert "No answer was released. What the question could have cost is charged." in str(failed[0])
    assert "red" not in str(failed[0])
    assert questions[0].stopped is None
    most = VOTE.plan(watching.budget, 1000).max_cost
    assert watching.spent_at_most([questions[0].id]) == most

    vault.add_documents(Document(f"d{n}", f"p{n}", "fever 1 say: red hand .") for n in range(40))
    with worker(folder / "model"):  # at the socket that the killed one left
        again = Vault.open(vault.path).ask("fever 1?", VOTE)
        assert again.answer == "red hand"
        assert again.receipt is not None
        assert again.receipt.assumed == ()


def test_worker_with_another_model_is_refused_before_a_payment(folder: Path) -> None:
    vault = filled(folder, "unit")
    with worker(folder / "model"):
        asking = Vault.open(vault.path)
        asking.ask("fever 1?", VOTE)
        before = asking.ledger.unit_balances()
    with pytest.raises(ServerGone):
        asking.ask("fever 2?", VOTE)
    with worker(folder / "model", 0, "something else"), pytest.raises(DiscreetError, match="computes otherwise"):
        asking.ask("fever 2?", VOTE)
    assert asking.ledger.unit_balances() == before
    with worker(folder / "model"):
        assert asking.ask("fever 2?", VOTE).answer == "red hand"


def test_packaged_model_answers_alike(folder: Path, smollm: TransformersModel) -> None:
    """Once with the packaged model, few voters and few tokens: seeded simulations, here and by the worker."""
    vault = Vault.create(folder / "v", epsilon=100, delta=1e-6, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", "Numb thumbs are Winter Hand. Rest helps.") for n in range(4))
    algorithm = Consensus(voters=3, epsilon=30, delta=1e-3, max_tokens=6, document_tokens=24, sentence=False)
    question = "What are numb thumbs?"
    here = Vault.open(vault.path, model=smollm).simulate(question, algorithm, noise=InsecureSeededNoise(1))
    command = [sys.executable, "-m", "discreet", "serve-model", "--socket", str(folder / "model")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "Serving smollm2-135m" not in (line := process.stderr.readline()):
            assert line
        try:
            by_worker = WorkerModel(str(folder / "model"), "smollm2-135m")
            there = Vault.open(vault.path, model=by_worker).simulate(question, algorithm, noise=InsecureSeededNoise(1))
            vectors = WorkerEmbedder(SocketLink(str(folder / "model")), "minilm+words").embed([question])
        finally:
            process.terminate()
    assert process.returncode == 0
    assert not (folder / "model").exists()
    assert there.text == here.text
    assert there.stopped == here.stopped == "end"
    assert by_worker.row_independent
    assert vectors.tobytes() == open_embedder("minilm+words").embed([question]).tobytes()
