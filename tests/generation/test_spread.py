"""The model's work on a local cluster of two workers: the same, bit for bit; and what may be wrong with a cluster."""

import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.algorithms.dp_synrag.parameters import DPSynRAG
from discreet.cli.app import app
from discreet.errors import DiscreetError, MissingPart, UsageError
from discreet.generation.loading import load_model
from discreet.generation.model import ScoredDecoding
from discreet.generation.prompts import rewriting
from discreet.generation.spread import SpreadModel, _alike, probe, spread
from discreet.privacy.accounting import Budget
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.retrieval.documents import Document
from discreet.vault import Vault

TEXTS = [f"Case {n}: the diagnosis is Zonkitis, to be treated with Blerpox." for n in range(40)]
SMALL = DPSynRAG(epsilon=300.0, tokens=4, keywords=2, clusters=2, text_tokens=16, wanted=30)


@pytest.fixture(scope="module")
def cluster() -> Iterator[SpreadModel]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", "127.0.0.1:9")  # where no cluster is: "local" must not look there
        over = SpreadModel(load_model(), "local", workers=2)
    yield over
    over.close()


def filled(folder: Path) -> Vault:
    vault = Vault.create(folder / "v", epsilon=400, delta=1e-5, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"u{n}", text) for n, text in enumerate(TEXTS))
    return vault


def test_a_corpus_is_the_same(cluster: SpreadModel, tmp_path: Path) -> None:
    made = []
    for model, name in ((cluster, "spread"), (load_model(), "here")):
        (tmp_path / name).mkdir()
        shop = filled(tmp_path / name).workshop(InsecureSeededNoise(1), MemoryLedger(Budget(400.0, 1e-5, 5e-6)))
        made.append(replace(shop, model=model).make(SMALL))
    assert made[0].texts == made[1].texts
    assert made[0].texts
    assert made[0].receipt.epsilon == made[1].receipt.epsilon


def test_two_workers_continue_prompts_at_once(cluster: SpreadModel) -> None:
    model = load_model()
    assert cluster.workers == 2
    laid_out = rewriting(model, 16, 4)
    prompts = [laid_out.prompt(model.encode(text)) for text in TEXTS[:32]]
    here = model.start(laid_out.shared, prompts, 4)
    there = [cluster.start(laid_out.shared, prompts, 4) for _ in range(2)]
    decodings: list[ScoredDecoding] = [here, *there]
    for decoding in decodings:
        decoding.append(7)
        decoding.append_each(range(32))
        decoding.truncate(1)
        decoding.append(9)
    for decoding in decodings[1:]:
        assert np.array_equal(decoding.logits(), here.logits())
        assert np.array_equal(decoding.best(), here.best())
    assert np.array_equal(cluster.surprise((5,), prompts[:3]), model.surprise((5,), prompts[:3]))


def test_a_step_that_failed_is_not_passed_over(cluster: SpreadModel) -> None:
    laid_out = rewriting(cluster, 16, 1)
    begun = cluster.start(laid_out.shared, [laid_out.prompt()] * 32, 1)
    begun.append(7)
    begun.append(7)  # one more than there is room for: nobody waits for it
    with pytest.raises(DiscreetError, match="workers of the cluster failed"):
        begun.logits()


def test_workers_that_are_not_alike_are_refused() -> None:
    model = load_model()
    assert probe(model) == probe(model)
    _alike([probe(model)] * 3)
    with pytest.raises(DiscreetError, match="not alike"):
        _alike([probe(model), "another", probe(model)])


def test_a_worker_that_is_lost_is_explained(cluster: SpreadModel) -> None:  # the last one with this cluster
    laid_out = rewriting(cluster, 16, 4)
    begun = cluster.start(laid_out.shared, [laid_out.prompt()] * 32, 4)
    begun.logits()
    cluster._ray.kill(begun._worker)
    with pytest.raises(DiscreetError, match="What was paid and drawn is kept"):
        begun.logits()


def test_without_an_address_nothing_is_spread() -> None:
    model = load_model()
    with spread(model, None) as same:
        assert same is model


@pytest.mark.parametrize("address", ["nonsense", "host:", ":80", "host:port"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(UsageError, match="has an address such as"):
        SpreadModel(load_model(), address)


def test_nothing_answers(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    vault = filled(tmp_path)
    command = ["synthesize", str(vault.path), "--out", str(tmp_path / "c.jsonl"), "--ray", address]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1
    assert "No Ray cluster answers" in result.output
    assert vault.budget().spent == 0
    assert not (tmp_path / "c.jsonl").exists()


def test_ray_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingPart, match="discreet\\[ray\\]"):
        SpreadModel(load_model(), "local")
