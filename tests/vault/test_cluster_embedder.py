"""One actor of a Ray cluster embeds for all askers, on a real cluster: vectors, what a kill does, and no torch here."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.generation.remote.worker_model import WORKER
from discreet.retrieval.documents import Document
from discreet.retrieval.embedding import meaning, open_embedder
from discreet.system.ray_cluster import HERE, _joined, leave_ray
from discreet.vault import Vault
from discreet.vault.cluster_embedder import ClusterLink, EmbeddingActor, open_on_cluster
from discreet.vault.worker_embedder import WorkerEmbedder
from tests.ray_cluster import Cluster, cluster
from tests.server.model_worker.test_embedder import ASK, QUESTIONS

DEFAULT, PACKAGED = "minilm+words", "smollm2-135m"


@pytest.fixture(scope="module")
def here() -> Iterator[Cluster]:
    with cluster() as found:
        yield found
        while _joined:
            leave_ray(next(iter(_joined)))


def test_vectors_are_those_of_this_process_also_after_a_kill(here: Cluster) -> None:
    there, own = WorkerEmbedder(ClusterLink(here.address, DEFAULT), DEFAULT), open_embedder(DEFAULT)
    assert there.dimension == own.dimension
    assert there.embed(QUESTIONS).tobytes() == own.embed(QUESTIONS).tobytes()
    assert meaning(there).embed(QUESTIONS).tobytes() == meaning(own).embed(QUESTIONS).tobytes()
    [process] = here.processes_of(EmbeddingActor.__name__)
    os.kill(process, signal.SIGKILL)
    assert there.embed([*QUESTIONS, "another"])[:-1].tobytes() == own.embed(QUESTIONS).tobytes()
    there.check_ready()


def test_asker_of_the_command_line_loads_no_torch(here: Cluster, tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=100, delta=1e-6, payment="corpus")
    vault.add_documents(Document(f"d{n}", f"p{n}", "Marsh Fever is treated with cold tea.") for n in range(25))
    command = [sys.executable, "-c", ASK, "ask", str(vault.path), "What helps against Marsh Fever?", "--epsilon", "8"]
    command += ["--param", "voters=10", "--param", "max_tokens=4", "--ray", here.address]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    mebibytes, loaded = ended.stdout.splitlines()[-1].split(" ", 1)
    assert loaded == "[]"
    assert float(mebibytes) < 300
    assert "loads the embedder" not in ended.stderr


def test_asker_loads_what_the_cluster_lacks_and_says_so(here: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert open_on_cluster(here.address, PACKAGED, "no/such/model") is None
    said = capsys.readouterr().err
    assert f"ray:{here.address} cannot embed" in said
    assert "loads the embedder 'no/such/model' itself" in said


@pytest.mark.parametrize(("address", "name"), [("", DEFAULT), (HERE, DEFAULT), ("127.0.0.1:1", "hashing")])
def test_other_askers_embed_by_themselves(address: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WORKER, raising=False)
    assert open_on_cluster(address, PACKAGED, name) is None
