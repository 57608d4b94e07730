import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from discreet.generation.loading import load_model
from discreet.generation.transformers_model import TransformersModel
from discreet.vault import Vault

# How long an example takes depends on what else the machine does; no test is about that.
hypothesis.settings.register_profile("discreet", deadline=None)
hypothesis.settings.load_profile("discreet")

Record = dict[str, object]


@pytest.fixture(scope="module")
def two_threads() -> Iterator[None]:
    """For tests of what a row depends on: how rows are dealt to threads is one of the things that could matter."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def signals_heard() -> Iterator[None]:
    """Ctrl-C and a hang-up are heard: a shell starts what is in the background deaf to one, nohup to the other."""
    heard: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in heard.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def smollm() -> TransformersModel:
    """The packaged model, as it is used."""
    return load_model()


@pytest.fixture
def write_jsonl(tmp_path: Path) -> Callable[[Sequence[Record], str], Path]:
    """Writes records as JSON lines into the test's folder."""

    def write(records: Sequence[Record], name: str = "notes.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    return write


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """A vault with the hashing embedder and the packaged model (loaded at the first question)."""
    return Vault.create(tmp_path / "vault", epsilon=20, delta=1e-5, unit_field="patient", embedder="hashing")
