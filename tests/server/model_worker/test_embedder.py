"""A model worker embeds for its askers: bits as in one process, no torch in an asker, and clear words if it cannot."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.errors import EngineFailed
from discreet.generation.opening import find_socket
from discreet.generation.remote.endpoint import Reply, ServerGone
from discreet.generation.remote.worker_model import WORKER, SocketLink
from discreet.registry import Consensus
from discreet.retrieval.documents import Document
from discreet.retrieval.embedding import Embedder, meaning, open_embedder
from discreet.retrieval.served_embedder import computing_versions
from discreet.testing import EmbedderSuite
from discreet.vault import Vault
from discreet.vault.worker_embedder import WorkerEmbedder, find_failure, open_at_worker
from tests.server.model_worker.processes import short_folder, worker

DEFAULT = "minilm+words"
QUESTIONS = ["What helps against numb thumbs?", "Who has white hands? " * 30, "\u2603 \u00e9", ""]
ASK = """
import sys
from pathlib import Path
from discreet.cli.app import app
app(sys.argv[1:], standalone_mode=False)
status = Path("/proc/self/status").read_text().splitlines()
peak = max(int(line.split()[1]) for line in status if line.startswith(("VmHWM", "VmRSS")))
print(peak / 1024, sorted({"torch", "transformers", "tokenizers"} & set(sys.modules)))
"""


@pytest.fixture(scope="module")
def socket() -> Iterator[Path]:
    with short_folder() as folder, worker(folder / "model"):
        yield folder / "model"


class TestEmbedderAtWorker(EmbedderSuite):
    @pytest.fixture(params=["minilm", DEFAULT])
    def embedder(self, request: pytest.FixtureRequest, socket: Path) -> Embedder:
        return WorkerEmbedder(SocketLink(str(socket)), request.param)


def test_vectors_have_the_bits_of_this_process(socket: Path) -> None:
    there, here = WorkerEmbedder(SocketLink(str(socket)), DEFAULT), open_embedder(DEFAULT)
    assert there.embed(QUESTIONS).tobytes() == here.embed(QUESTIONS).tobytes()
    assert meaning(there).embed(QUESTIONS).tobytes() == meaning(here).embed(QUESTIONS).tobytes()
    for one in QUESTIONS:
        assert there.embed([one]).tobytes() == here.embed([one]).tobytes()
    many = [f"text {number}" for number in range(300)]  # more than one request has
    assert there.embed(many)[299].tobytes() == there.embed(many[299:])[0].tobytes()


def test_vector_depends_on_no_other_asker(socket: Path) -> None:
    askers = [WorkerEmbedder(SocketLink(str(socket)), DEFAULT) for _ in range(3)]
    alone, found = askers[0].embed(QUESTIONS).tobytes(), dict[int, set[bytes]]()

    def ask(number: int) -> None:
        texts = [*QUESTIONS, *["another one"] * number]
        found[number] = {askers[number].embed(texts)[: len(QUESTIONS)].tobytes() for _ in range(4)}

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: {alone} for number in range(3)}


def test_asker_of_the_command_line_loads_no_torch(socket: Path, tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=100, delta=1e-6, model=f"worker:{socket}", payment="corpus")
    vault.add_documents(Document(f"d{n}", f"p{n}", "fever say: red hand .") for n in range(40))
    command = [sys.executable, "-c", ASK, "ask", str(vault.path), "What helps against fever?", "--epsilon", "8"]
    ended = subprocess.run([*command, "--param", "voters=20"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    mebibytes, loaded = ended.stdout.splitlines()[-1].split(" ", 1)
    assert loaded == "[]"
    assert float(mebibytes) < 250
    assert "red hand" in ended.stdout
    assert "loads the embedder" not in ended.stderr


@pytest.mark.parametrize(
    ("served", "reason"), [("hashing", "serves the embedder 'hashing'"), ("none", "is of an older version")]
)
def test_asker_loads_what_the_worker_lacks_and_says_so(
    served: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with short_folder() as folder, worker(folder / "model", 0, "x", served):
        assert open_at_worker(str(folder / "model"), DEFAULT, "toy") is None
        said = capsys.readouterr().err
        assert reason in said
        assert f"loads the embedder '{DEFAULT}' itself" in said
        assert f"discreet serve-model toy --socket {folder / 'model'}" in said


@pytest.mark.parametrize("name", ["hashing", DEFAULT])
def test_without_a_worker_nothing_is_asked(name: str) -> None:
    assert open_at_worker("", name) is None
    assert open_at_worker("/nowhere/model", "hashing") is None


def test_absent_worker_is_named() -> None:
    with pytest.raises(ServerGone, match=r"none runs.*discreet serve-model toy --socket /nowhere/model"):
        open_at_worker("/nowhere/model", DEFAULT, "toy")
    with pytest.raises(ServerGone, match=r"discreet serve-model --embedder some/model --socket /nowhere/model"):
        open_at_worker("/nowhere/model", "some/model")


def test_reply_by_another_version_is_refused() -> None:
    here = computing_versions()
    assert {"discreet", "torch"} <= here.keys()
    there = {"embedder": DEFAULT, "computed_by": here}
    assert find_failure(Reply(200, there), DEFAULT) == ""
    assert find_failure(Reply(200, there | {"computed_by": {"torch": "1.0"}}), DEFAULT).startswith(
        "embeds with torch 1.0, and here is "
    )
    assert find_failure(Reply(200, there | {"computed_by": {"other": "1.0"}}), DEFAULT) == ""
    assert "status 500" in find_failure(Reply(500, {}), DEFAULT)


def test_worker_that_comes_again_without_the_embedder_costs_nothing() -> None:
    algorithm = Consensus(voters=5, epsilon=1, choices=("red hand", "blue foot"), max_tokens=4)
    with short_folder() as folder:
        place = folder / "model"
        made = Vault.create(folder / "v", epsilon=9, delta=1e-6, model=f"worker:{place}", payment="corpus")
        made.add_documents(Document(f"d{n}", f"p{n}", "fever say: red hand .") for n in range(10))
        vault = Vault.open(made.path)
        with worker(place):
            assert vault.ask("fever 1?", algorithm).receipt is not None
        with pytest.raises(ServerGone, match="none runs"):
            vault.ask("fever 2?", algorithm)
        with worker(place, 0, "nothing known", "hashing"), pytest.raises(EngineFailed, match="Open the vault again"):
            vault.ask("fever 2?", algorithm)
        assert len(vault.ledger.questions()) == 1
        with worker(place):
            assert vault.ask("fever 2?", algorithm).receipt is not None


def test_socket_is_that_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WORKER, raising=False)
    assert find_socket("worker:/run/model") == "/run/model"
    assert find_socket("smollm2-135m") == ""
    monkeypatch.setenv(WORKER, "/run/other")
    assert find_socket("smollm2-135m") == "/run/other"
    assert find_socket("openai:http://127.0.0.1:8000/v1") == ""
    monkeypatch.setenv(WORKER, "ray:127.0.0.1:6379")
    assert find_socket("smollm2-135m") == ""
