"""The visit of the bins of MuRAG-Ada: the noise of empty bins does not end it before the documents."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.algorithms import murag
from discreet.algorithms.base import Query
from discreet.planning.prices import vault_budget
from discreet.privacy.account import UnitAccount
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.privacy.private import unseal
from discreet.registry import Consensus, MuRAGAda
from tests.guarantee.algorithms.test_multi import corpus_of

FAR = MuRAGAda(highest=0.9, lowest=-0.01)
"""With these bins, documents without a word of the question are in the last one of 16."""
CHOOSING = replace(FAR, inner=Consensus(choices=("yes", "no")))
BUDGET = vault_budget(500.0, 1e-6)


def reached(folder: Path, algorithm: MuRAGAda, visits: int = 400) -> float:
    """The part of the visits that get to the documents."""
    corpus, rounds = corpus_of(folder, {f"u{n}": "tea" for n in range(1, 31)}), algorithm.calibrate(BUDGET, 1000)
    found = 0
    for seed in range(visits):
        account = UnitAccount(MemoryLedger(BUDGET), "q", noise=InsecureSeededNoise(seed))
        paying, _ = algorithm.retrieve(Query("zebra"), corpus, rounds, account)
        found += unseal(paying, len) == 30
    return found / visits


@pytest.mark.long
@pytest.mark.parametrize(
    "algorithm",
    [replace(CHOOSING, epsilon=20), replace(CHOOSING, epsilon=2), FAR],
    ids=["few units suffice", "choices", "open"],
)
def test_visit_gets_to_documents_that_are_far(tmp_path: Path, algorithm: MuRAGAda) -> None:
    assert reached(tmp_path, algorithm) > 0.94


def test_broken_twin_with_one_deviation_stops_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(murag, "ABOVE_NOISE", 0.0)
    assert reached(tmp_path, replace(CHOOSING, epsilon=20)) < 0.85


@pytest.mark.parametrize(("draw", "expected"), [("standard_normal", 1 / 54), ("laplace", 1 / 34)])
def test_noise_of_sixteen_empty_bins_seldom_ends_the_visit(draw: str, expected: float) -> None:
    """The rates that `ABOVE_NOISE` names, where any sum above that noise ends the visit."""
    noise = getattr(np.random.default_rng(0), draw)(size=(100_000, 16))
    sums = np.cumsum(noise / noise.std(), axis=1) / np.sqrt(np.arange(1, 17))
    assert (sums > murag.ABOVE_NOISE).any(axis=1).mean() == pytest.approx(expected, rel=0.05)
