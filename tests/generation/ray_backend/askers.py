"""Askers of a cluster as processes: python -m tests.generation.ray_backend.askers VAULT ADDRESS NUMBER QUESTIONS."""

import json
import os
import subprocess
import sys
from pathlib import Path

from discreet.errors import UsageError
from discreet.generation.ray_backend.ray_link import RayLink
from discreet.generation.remote.worker_model import WorkerModel
from discreet.generation.toy import ToyModel
from discreet.vault import Vault
from tests.ray_cluster import ROOT
from tests.server.model_worker.asker import ask
from tests.server.model_worker.worker import SlowModel

WORDS = "say: red hand . nothing a b c d e f".split()
"""The vocabulary of the workers, as a real tokenizer has one: words that a worker learns have other ids in another."""


def load(name: str) -> SlowModel:
    """A toy model, loaded by a worker: "toy", with seconds for each batch after a space."""
    return SlowModel(float(name.partition(" ")[2] or 0), "nothing known", WORDS)


def load_unlike(name: str) -> ToyModel:
    """A model that differs between processes."""
    return ToyModel(size=1000 + os.getpid() % 1000)


def load_if_there(name: str) -> ToyModel:
    """A model that needs a file, whose path is the second word of its name."""
    if not Path(name.split()[1]).exists():
        raise UsageError("Make the file.")
    return ToyModel()


def load_and_tell(name: str) -> ToyModel:
    """A model that writes the GPUs that it may use to a file, whose path is the second word of its name."""
    Path(name.split()[1]).write_text(os.environ.get("CUDA_VISIBLE_DEVICES", "all"))
    return ToyModel()


def shared(address: str, name: str = "toy", workers: int = 1) -> WorkerModel:
    """The toy model on a cluster."""
    return WorkerModel(RayLink(address, name, load, workers))


def started(*arguments: object) -> "subprocess.Popen[str]":
    """Start a process that asks."""
    command = [sys.executable, "-m", "tests.generation.ray_backend.askers", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


if __name__ == "__main__":
    path, address, number, questions = sys.argv[1:]
    vault = Vault.open(path, model=shared(address))
    print(json.dumps(ask(Path(path), int(number), int(questions), vault)))
