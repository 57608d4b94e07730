"""Texts read on a cluster of two workers (`discreet code --statements --ray`): the same statements, whatever is killed.

The model is a small one of random weights, with the tokenizer of the packaged one: it loads fast, and ends no text.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from discreet.store.documents import Document
from discreet.vault import Vault
from tests.copies import copy_of
from tests.ray_cluster import Cluster, cluster

TEXTS = [f"Case {n}: the diagnosis is Zonkitis number {n * n}, to be treated with Blerpox." for n in range(384)]
"""Six batches: more than the workers are given at once."""


@pytest.fixture(scope="module")
def vault(small_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault whose texts were not read yet; tests copy it."""
    path = tmp_path_factory.mktemp("vault") / "v"
    made = Vault.create(path, epsilon=10, delta=1e-6, embedder="hashing", model=str(small_model))
    made.add_documents(Document(f"d{at}", f"p{at}", text) for at, text in enumerate(TEXTS))
    return path


@pytest.fixture(scope="module")
def alone(vault: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The statements that one process reads."""
    path = copy_of(vault, tmp_path_factory.mktemp("alone") / "v")
    assert Vault.open(path).read() == len(TEXTS)
    return statements_in(path)


@pytest.fixture(scope="module")
def here() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


def statements_in(path: Path) -> dict[str, object]:
    """The statements of each text that was read, by the text's name. A line that was cut off does not count."""
    found = dict[str, object]()
    for file in (path / "readings").glob("statements-*.jsonl"):
        for line in file.read_text(encoding="ascii", errors="replace").split("\n"):
            with suppress(ValueError):
                *_, name, statements = json.loads(line)
                assert name not in found, "A text was read twice."
                found[name] = statements
    return found


def started(path: Path, here: Cluster) -> "subprocess.Popen[str]":
    """Start to read on the cluster, and wait until some texts were read."""
    command = [sys.executable, "-m", "discreet", "code", str(path), "--statements", "--ray", here.address]
    reading = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until = time.monotonic() + 300
    while not statements_in(path):
        assert reading.poll() is None, reading.communicate()[0]
        assert time.monotonic() < until
        time.sleep(0.02)
    return reading


def test_killed_worker_loses_nothing_that_was_read(
    here: Cluster, vault: Path, alone: dict[str, object], tmp_path: Path
) -> None:
    path = copy_of(vault, tmp_path / "v")
    reading = started(path, here)
    os.kill(here.processes_of("MapBatches")[0], signal.SIGKILL)
    said = " ".join(reading.communicate(timeout=300)[0].split())
    assert reading.returncode == 0, said  # Ray gives its texts to another worker
    assert f"{len(TEXTS)} texts coded" in said
    assert "Zonkitis" not in said
    assert statements_in(path) == alone
