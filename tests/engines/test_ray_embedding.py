"""Documents embedded on a cluster of two workers: the same vectors, whatever is killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.engines.ray import RayEmbedder, connect_ray, leave_ray
from discreet.errors import DiscreetError
from discreet.store.documents import Document
from discreet.store.embedding import HashingEmbedder, Told, Vectors, open_embedder
from discreet.store.indexer import Fate, Indexer
from discreet.system.progress import Advance, shown_by
from discreet.vault import Vault
from tests.ray_cluster import Cluster, cluster

TEXTS = [f"Case {n}: the diagnosis is Zonkitis number {n * n}, to be treated with Blerpox." for n in range(1000)]
ODD = ["", "\x00", "a\x00", "a", "\ud800 broken", "é" * 3000]


@pytest.fixture(scope="module")
def here() -> Iterator[Cluster]:
    with cluster() as found:
        connect_ray(found.address, 0)  # each embedder leaves, and the process stays
        yield found
        leave_ray(found.address)


@pytest.fixture
def spread(here: Cluster) -> Iterator[RayEmbedder]:
    found = RayEmbedder(open_embedder("hashing"), here.address)
    yield found
    found.close()


class Slow(HashingEmbedder):
    """An embedder that differs from the workers' in one vector."""

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        found = super().embed(texts, progress)
        found[-1, 0] = np.nextafter(found[-1, 0], np.float32(1))
        return found


def vault_at(path: Path) -> Vault:
    return Vault.create(path, epsilon=10, delta=1e-6, embedder="hashing")


def notes(texts: Sequence[str] = TEXTS) -> list[Document]:
    return [Document(f"d{at}", f"p{at}", text) for at, text in enumerate(texts)]


def vectors_in(path: Path) -> bytes:
    return (path / "store" / "vectors.i16").read_bytes()


def test_vectors_are_those_of_one_process(spread: RayEmbedder) -> None:
    told: list[int] = []
    for texts in (TEXTS, ODD, TEXTS[:1], []):
        found = spread.embed(texts, told.append)
        assert found.tobytes() == open_embedder("hashing").embed(texts).tobytes()
        assert found.shape == (len(texts), 1024)
    assert sum(told) == len(TEXTS) + len(ODD) + 1


def test_progress_says_that_workers_start(here: Cluster) -> None:
    """Texts are counted as they arrive. Until the first one does, a person sees what takes so long."""
    shown = list[tuple[str, str]]()

    @contextmanager
    def show(name: str, _total: int | None) -> Iterator[Advance]:
        shown.append(("begun", name))
        yield lambda _: None
        shown.append(("ended", name))

    with shown_by(show):
        embedder = RayEmbedder(open_embedder("hashing"), here.address)
        for at, _ in enumerate(embedder.stream(TEXTS)):
            shown.append(("texts", str(at)))
        embedder.embed(ODD)
        embedder.close()
    starting = "Starting 2 workers, which load the embedder"
    assert shown[:2] == [("begun", "Joining the cluster"), ("ended", "Joining the cluster")]
    assert shown[2:5] == [("begun", starting), ("ended", starting), ("texts", "0")]
    assert all(what == "texts" for what, _ in shown[5:])


def test_another_machine_is_refused(here: Cluster) -> None:
    other = RayEmbedder(Slow(), here.address)
    with pytest.raises(DiscreetError, match=r"differ from those of this process.*Run the command again"):
        other.embed(TEXTS)
    other.close()


def test_added_documents_are_those_of_one_process(spread: RayEmbedder, tmp_path: Path) -> None:
    there, alone = vault_at(tmp_path / "a"), vault_at(tmp_path / "b")
    done: list[int] = []
    counts = Indexer(there.store, spread).index(notes(), progress=done.append)
    assert counts.fates[Fate.ADDED] == len(TEXTS) == sum(done)
    assert Indexer(there.store, spread).index(notes()).fates[Fate.UNCHANGED] == len(TEXTS)
    alone.add_documents(notes())
    assert vectors_in(there.path) == vectors_in(alone.path)


def test_killed_worker_loses_nothing(here: Cluster, spread: RayEmbedder, tmp_path: Path) -> None:
    many = [f"{text} " + "word " * 200 + str(copy) for copy in range(6) for text in TEXTS]
    killed: list[int] = []

    def kill() -> None:
        while not killed:
            for process in here.processes_of("MapBatches"):
                os.kill(process, signal.SIGKILL)
                killed.append(process)
            time.sleep(0.02)

    threading.Thread(target=kill, daemon=True).start()
    there, alone = vault_at(tmp_path / "a"), vault_at(tmp_path / "b")
    assert Indexer(there.store, spread).index(notes(many)).fates[Fate.ADDED] == len(many)
    assert killed
    alone.add_documents(notes(many))
    assert vectors_in(there.path) == vectors_in(alone.path)


def test_killed_command_is_resumed_and_adds_nothing_twice(here: Cluster, tmp_path: Path) -> None:
    many = [f"{text} " + "word " * 100 + str(copy) for copy in range(10) for text in TEXTS]
    there, alone = vault_at(tmp_path / "a"), vault_at(tmp_path / "b")
    file = tmp_path / "notes.csv"
    rows = "".join(f'd{at},p{at},"{text}"\n' for at, text in enumerate(many))
    file.write_text(f"id,unit,text\n{rows}")
    arguments = ["add", str(there.path), str(file), "--yes", "--json", "--ray", here.address]
    killed = subprocess.Popen([sys.executable, "-m", "discreet", *arguments], stdout=subprocess.DEVNULL)
    while not (before := Vault.open(there.path).store.count_documents()):
        assert killed.poll() is None
        time.sleep(0.05)
    killed.kill()
    killed.wait()
    assert before < len(many)
    said = CliRunner().invoke(app, arguments)
    assert said.exit_code == 0, said.output
    assert Vault.open(there.path).store.count_documents() == len(many)
    alone.add(file)
    stored = np.frombuffer(vectors_in(there.path), dtype=np.float32).reshape(-1, 1024)
    expected = np.frombuffer(vectors_in(alone.path), dtype=np.float32).reshape(-1, 1024)
    assert sorted(map(bytes, stored)) == sorted(map(bytes, expected))
