"""The model's work on a local cluster of two workers: the same, bit for bit; and what may be wrong with a cluster."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from discreet.engines.ray import RayModel, _compared_model, run_concurrently
from discreet.errors import DiscreetError
from discreet.models.capabilities import probe
from discreet.models.length_buckets import in_order
from discreet.models.loading import load_model
from discreet.models.prompts import rewrite_layout
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.store.documents import Document
from discreet.synthesis.base import SynthesisAlgorithm
from discreet.synthesis.dp_synrag import DPSynRAG
from discreet.synthesis.dp_synth import DPSynth
from discreet.synthesis.extraction import stated
from discreet.vault import Vault
from tests.copies import copy_of

TEXTS = [f"Case {n}: the diagnosis is Zonkitis, to be treated with Blerpox." for n in range(40)]
FEW = TEXTS[:16]
ROWS = 8
"""The number of rows of a batch, where a test is not about that number: all rows of a batch go to one worker."""
ENDLESS = 5000
"""The number of steps of a batch that never ends by itself. A step of so few rows takes some 50 ms."""
# Everybody is in every cluster.
SMALL = DPSynRAG(epsilon=300.0, tokens=4, keywords=3, clusters=2, overlap=2, text_tokens=8, wanted=6)
DEALT = DPSynth(epsilon=300.0, tokens=4, subsets=3, text_tokens=8)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayModel]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", "127.0.0.1:9")  # where no cluster is: "local" must not look there
        over = RayModel(load_model(), "local", workers=2)
    yield over
    over.close()


def filled(folder: Path) -> Vault:
    vault = Vault.create(folder / "v", epsilon=400, delta=1e-5, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"u{n}", text) for n, text in enumerate(FEW))
    return vault


def drawn(path: Path) -> list[str]:
    """The names of what a run has drawn, in order."""
    return [json.loads(line)["name"] for line in path.read_text().splitlines() if line]


@pytest.mark.parametrize("method", [SMALL, DEALT], ids=lambda method: method.name)
def test_a_corpus_is_the_same(method: SynthesisAlgorithm[Any], cluster: RayModel, tmp_path: Path) -> None:
    made, orders = [], []
    # One vault and its copy: another one, with another secret, would deal its units to other subsets.
    copy = copy_of(filled(tmp_path).path, tmp_path / "copy")
    for model, path in ((cluster, tmp_path / "v"), (load_model(), copy)):
        shop = Vault.open(path).workshop(InsecureSeededNoise(1), MemoryLedger(Budget(400.0, 1e-5, 5e-6)))
        told: list[int] = []
        step = lambda what, done, _, told=told: told.append(done) if what in ("clusters", "subsets") else None  # noqa: E731
        made.append(replace(shop, model=model).make(method, told=step))
        assert told == list(range(4 if method is DEALT else 3))
        orders.append(drawn(shop.folder / "run.jsonl"))
    assert made[0].texts == made[1].texts
    assert made[0].texts
    assert made[0].receipt.describe() == made[1].receipt.describe()
    assert sorted(orders[0]) == sorted(orders[1])
    if method is SMALL:  # the second cluster had begun before the first one was written; without Ray it had not
        begun = ["size" if name.startswith("size") else "text" for name in orders[0] if name[:4] in ("size", "text")]
        assert begun[:2] == ["size", "size"]
        assert [name[:4] for name in orders[1] if name[:4] in ("size", "text")] == ["size", "text"] * 2


def test_facts_are_the_same(cluster: RayModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.engines.ray._READ", 8)  # so that both workers read some
    assert in_order(stated(cluster, FEW, 4, 24)) == in_order(stated(load_model(), FEW, 4, 24))


@pytest.mark.usefixtures("signals_heard")
def test_ctrl_c_stops_what_is_under_way_at_its_next_step(cluster: RayModel) -> None:
    laid_out, steps, turn = rewrite_layout(cluster, 16, 4), list[int](), count()

    def endless() -> None:
        begun = cluster.start(laid_out.shared, [laid_out.prompt()] * ROWS, 4)
        while len(steps) < ENDLESS:  # it would go on for minutes
            begun.append(7)
            begun.logits()
            begun.truncate(0)
            steps.append(1)
            if next(turn) == 3:  # one thread alone sees it
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_concurrently(cluster, [endless] * 3, lambda _: None)
    ended = len(steps)
    assert cluster.start(laid_out.shared, [laid_out.prompt()] * ROWS, 4).logits().shape[0] == ROWS  # it works again
    assert len(steps) == ended < ENDLESS


def test_a_run_that_was_killed_goes_on_and_draws_nothing_twice(cluster: RayModel, tmp_path: Path) -> None:
    """With the operating system's noise, a ledger on disk, and a cluster of its own that dies with it."""
    vault = filled(tmp_path)
    path = vault.path / "synthesis" / "run.jsonl"
    script = f"""
from dataclasses import replace
from discreet.synthesis.dp_synth import DPSynth
from discreet.models.loading import load_model
from discreet.engines.ray import RayModel
from discreet.vault import Vault

model = RayModel(load_model(), "local", workers=2)
replace(Vault.open({str(vault.path)!r}).workshop(), model=model).make({DEALT!r})
"""
    killed = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
    until = time.monotonic() + 300
    while not (path.exists() and any(name.startswith("text") for name in drawn_so_far(path))):
        assert killed.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    first, paid, readings = path.read_text(), vault.ledger.spent(), vault.ledger.unit_balances()
    shop = replace(vault.workshop(), model=cluster)
    made = shop.make(DEALT)
    assert made.texts
    assert path.read_text().startswith(first)
    assert len(set(drawn_so_far(path))) == len(drawn_so_far(path))
    assert len([name for name in drawn_so_far(path) if name.startswith("text")]) == 3
    assert vault.ledger.spent() == paid
    assert len(vault.ledger.unit_balances()) == len(readings) == 1
    assert [text.text for text in shop.make(DEALT).texts] == [text.text for text in made.texts]


def drawn_so_far(path: Path) -> list[str]:
    """The names of what a run has drawn; the last line may be cut off."""
    found = []
    for line in path.read_text().splitlines():
        try:
            found.append(json.loads(line)["name"])
        except ValueError:
            continue
    return found


def test_workers_that_are_not_alike_are_refused(cluster: RayModel) -> None:
    model = load_model()
    assert cluster.probe == probe(model) == probe(model)
    with pytest.raises(DiscreetError, match="differ from those of this process"):
        _compared_model(model.name, "another")
    other = replace_probe(model)
    with pytest.raises(DiscreetError, match="differ from those of this process"):
        RayModel(other, "local", workers=2)
    assert cluster.workers == 2  # the process stays in the cluster


def replace_probe(model: Any) -> Any:
    """A model whose public rows are others than those of the workers."""
    other = copy(model)
    other.probe = "another"
    return other


def test_a_worker_that_is_lost_is_explained(cluster: RayModel) -> None:  # the last one with this cluster
    laid_out = rewrite_layout(cluster, 16, 4)
    begun = cluster.start(laid_out.shared, [laid_out.prompt()] * ROWS, 4)
    begun.logits()
    cluster._jobs.ray.kill(begun._worker)
    with pytest.raises(DiscreetError, match="charges and draws are kept"):
        begun.logits()
