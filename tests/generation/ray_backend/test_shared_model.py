"""Several askers share a model on a Ray cluster: payments, answers, memory, and what a kill does.

These are the checks of the model worker on a socket (`tests/server/model_worker`), on real clusters.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.errors import DiscreetError, UsageError
from discreet.generation.loading import PACKAGED, load_model
from discreet.generation.model import Completer, Prompt
from discreet.generation.opening import open_model
from discreet.generation.probing import probe
from discreet.generation.ray_backend.ray_link import RayLink
from discreet.generation.remote.endpoint import ServerGone
from discreet.generation.remote.served_model import ANSWERS
from discreet.generation.remote.worker_model import WORKER, WorkerModel
from discreet.generation.torch_backend.transformers_model import TransformersModel
from discreet.generation.toy import ToyModel
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import Consensus, MuRAG
from discreet.retrieval.documents import Document
from discreet.system.ray_cluster import _joined, leave_ray
from discreet.testing import ModelSuite
from discreet.vault import Vault
from tests.generation.ray_backend.askers import load, load_and_tell, load_if_there, load_unlike, shared, started
from tests.ray_cluster import Cluster, cluster
from tests.server.model_worker.checks import check_as_one
from tests.server.model_worker.processes import result, served, short_folder

ASKERS, QUESTIONS = 4, 3
VOTE = MuRAG(inner=Consensus(voters=25, max_tokens=4, epsilon=8, sentence=False), similarity=-1, epsilon=8)


@pytest.fixture(scope="module")
def here() -> Iterator[Cluster]:
    with cluster() as found:
        yield found
        leave()


@pytest.fixture(scope="module")
def address(here: Cluster) -> str:
    return here.address


def leave() -> None:
    """Leave the cluster, so that this process may join another one."""
    while _joined:
        leave_ray(next(iter(_joined)))


@pytest.fixture(scope="module")
def toy(address: str) -> WorkerModel:
    return shared(address)


class TestSharedModel(ModelSuite):
    @pytest.fixture
    def model(self, toy: WorkerModel) -> Completer:
        return toy


def filled(folder: Path, payment: str, text: str = "say: red hand .") -> Vault:
    vault = Vault.create(folder / "v", epsilon=100, delta=1e-6, embedder="hashing", payment=payment, history=False)
    vault.add_documents(Document(f"d{n}", f"p{n}", f"fever {n % 3} {text}") for n in range(40))
    return vault


def test_askers_pay_what_the_ledger_has_and_answer_as_one(address: str, toy: WorkerModel, tmp_path: Path) -> None:
    """The checks 1, 2 and 5: the sum of receipts, the answers, and the memory of an asker."""
    vault = filled(tmp_path, "corpus")
    found = [result(asker) for asker in [started(vault.path, address, n, QUESTIONS) for n in range(ASKERS)]]
    check_as_one(vault.path, found, QUESTIONS)


def test_two_workers_compute_alike(here: Cluster) -> None:
    model = shared(here.address, "toy 0.2", workers=2)
    texts = ["say: red hand .", "nothing", "say: a b c d e f ."]
    expected, begun = ToyModel().complete(texts, 4), time.monotonic()
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(model.complete(texts, 4))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
    assert time.monotonic() - begun > 0.35  # four batches of 0.2 s by two workers
    assert len(here.processes_of("ModelWorker")) >= 2


def test_first_come_is_first_served(address: str) -> None:
    """As of the worker on a socket. Ray may hand over calls that are made at once in any order, so they come apart."""
    link = RayLink(address, "toy 0.4", load, workers=1)
    assert WorkerModel(link).name == "toy"  # it runs
    given = {"shared": [], "prompts": [[0, [5, 6]]], "max_tokens": 2, "all_steps": True}

    def call(number: int) -> Any:
        time.sleep(0.1 * bool(number))
        return link._queue.reply.remote(ANSWERS, given)

    first, *others = map(call, range(6))
    link._ray.cancel(others[2])  # its asker left
    waiting, order = {number: promise for number, promise in enumerate(others) if number != 2}, list[int]()
    assert link._ray.get(first, timeout=60)[1] == ""
    while waiting:
        (ended,), _ = link._ray.wait(list(waiting.values()), timeout=60)
        number = next(number for number, promise in waiting.items() if promise == ended)
        assert link._ray.get(waiting.pop(number))[1] == ""
        order.append(number)
    assert order == [0, 1, 3, 4]
    with pytest.raises(link._ray.exceptions.RayError):
        link._ray.get(others[2], timeout=60)


def test_workers_that_are_not_alike_are_refused(address: str) -> None:
    with pytest.raises(ServerGone, match="not alike"):
        WorkerModel(RayLink(address, "unlike", load_unlike, workers=2))


def test_worker_that_cannot_load_says_why_and_the_next_asker_tries_anew(address: str, tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    with pytest.raises(ServerGone, match="could not load the model: Make"):
        WorkerModel(RayLink(address, f"toy {mended}", load_if_there, workers=1))
    mended.touch()
    assert WorkerModel(RayLink(address, f"toy {mended}", load_if_there, workers=1)).name == "toy"


def test_environment_names_the_cluster(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKER, f"ray:{address}")
    with pytest.raises(ServerGone, match=r"could not load the model: .*no-such-model"):
        open_model("/no-such-model")


def test_text_that_cannot_be_encoded_is_one_row_alone(toy: WorkerModel) -> None:
    with pytest.raises(ValueError, match="fails with this text"):
        toy.encode("unreadable")
    assert len(toy.answers((), [Prompt((5, 6), 0)], 2)) == 1


def test_error_has_nothing_of_a_row(toy: WorkerModel) -> None:
    with pytest.raises(ServerGone, match=r"refused the rows: .*vocabulary") as caught:
        toy.answers((), [Prompt((987_654_321,), 0)], 2)
    assert "987" not in str(caught.value)
    assert caught.value.__context__ is None
    toy.check_ready()


def test_second_cluster_is_refused(here: Cluster, toy: WorkerModel) -> None:
    with pytest.raises(DiscreetError, match=f"is in the Ray cluster at {here.address} already"):
        shared("local")


@pytest.mark.parametrize("lost", ["ModelWorker", "ModelQueue"])
def test_killed_actor_charges_releases_nothing_and_goes_on(lost: str, tmp_path: Path) -> None:
    vault = filled(tmp_path, "unit", "stall say: red hand .")
    failed: list[BaseException] = []
    leave()
    with cluster() as other:
        asking = Vault.open(vault.path, model=shared(other.address))

        def ask() -> None:
            try:
                asking.ask("fever 1?", VOTE)
            except ServerGone as error:
                failed.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        watching = Vault.open(vault.path, model=ToyModel()).ledger
        while not (questions := watching.questions()) or not watching.unit_balances():
            time.sleep(0.05)
        time.sleep(1)  # it computes now
        (process,) = other.processes_of(lost)
        os.kill(process, signal.SIGKILL)
        thread.join(60)
        assert "No answer was released. What the question could have cost is charged." in str(failed[0])
        assert "red" not in str(failed[0])
        assert questions[0].stopped is None
        most = VOTE.plan(watching.budget, 1000).max_cost
        assert watching.spent_at_most([questions[0].id]) == most

        vault.add_documents(Document(f"d{n}", f"p{n}", "fever 1 say: red hand .") for n in range(40))
        again = asking.ask("fever 1?", VOTE)
        assert again.answer == "red hand"
        assert again.receipt is not None
        assert again.receipt.assumed == ()
        leave()


@pytest.mark.parametrize("name", ["openai:http://127.0.0.1:9/v1#x", "worker:/nowhere"])
def test_engine_is_not_spread(name: str) -> None:
    with pytest.raises(UsageError, match="computed by an engine already"):
        open_model(name, "127.0.0.1:9")


@pytest.mark.parametrize("command", ["ask", "eval", "chat"])
def test_absent_cluster_is_named_before_a_payment(command: str, tmp_path: Path) -> None:
    vault = filled(tmp_path, "corpus")
    questions = tmp_path / "q.jsonl"
    questions.write_text('{"question": "What is a red hand?", "answers": ["x"]}')
    asked = {"ask": ["What is a red hand?"], "eval": [str(questions)], "chat": ["--yes"]}[command]
    said = CliRunner().invoke(
        app, [command, str(vault.path), *asked, "--ray", "127.0.0.1:9"], input="What is a red hand?"
    )
    assert "No Ray cluster answers at 127.0.0.1:9" in " ".join(said.output.split())
    assert not vault.ledger.questions()


def test_packaged_model_answers_alike_on_the_command_line(smollm: TransformersModel, tmp_path: Path) -> None:
    """Once with the packaged model: seeded simulations, here and by a worker; and the command, whose asker pays."""
    vault = Vault.create(tmp_path / "v", epsilon=100, delta=1e-6, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", "Numb thumbs are Winter Hand. Rest helps.") for n in range(4))
    algorithm = Consensus(voters=3, epsilon=30, delta=1e-3, max_tokens=6, document_tokens=24, sentence=False)
    question = "What are numb thumbs?"
    expected = Vault.open(vault.path, model=smollm).simulate(question, algorithm, noise=InsecureSeededNoise(1))
    leave()
    with cluster() as other:
        opened = Vault.open(vault.path, ray=other.address)
        found = opened.simulate(question, algorithm, noise=InsecureSeededNoise(1))
        options = ["--algorithm", "consensus", "--epsilon", "10", "--max-tokens", "6", "--anyway", "--json"]
        said = CliRunner().invoke(app, ["ask", str(vault.path), question, *options, "--ray", other.address])
        assert len(other.processes_of("ModelWorker")) == 1  # the command and this process share it
        leave()
    assert found.text == expected.text
    assert found.stopped == expected.stopped == "end"
    assert opened.components.model.row_independent
    assert said.exit_code == 0, said.output
    assert len(vault.ledger.questions()) == 1


def test_workers_of_the_packaged_model_are_equal_bit_for_bit(smollm: TransformersModel) -> None:
    """Two on a cluster, one on a socket and this process: a digest is that of all logits of public rows."""
    leave()
    length = 24
    texts = [smollm.encode(f"Case {number}: numb thumbs are Winter Hand. Rest helps.")[:length] for number in range(6)]
    rows = [Prompt((smollm.pad_token,) * (length - len(own)) + tuple(own), length - len(own)) for own in texts]
    expected, digest = smollm.answers((5, 6), rows, 6), probe(smollm)
    with cluster() as other, short_folder() as folder, served(PACKAGED, folder / "model"):
        spread, alone = WorkerModel(RayLink(other.address, PACKAGED, load_model, 2)), WorkerModel(str(folder / "model"))
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda model: model.answers((5, 6), rows, 6), [spread, alone] * 2))
        assert len(other.processes_of("ModelWorker")) == 2
        leave()
    assert spread.probe == alone.probe == digest
    assert found == [expected] * 4


def test_worker_has_the_gpu_of_its_machine_beside_those_of_other_models(tmp_path: Path) -> None:
    leave()
    with cluster(gpus=1) as other:
        for name in ("one", "another"):
            WorkerModel(RayLink(other.address, f"toy {tmp_path / name}", load_and_tell, workers=1))
            assert (tmp_path / name).read_text() == "0"
        leave()
