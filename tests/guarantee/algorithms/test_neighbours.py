"""A whole answer, from the store to the last token, on neighbouring vaults: its exact law stays within its cost.

`EveryNoise` walks through all outcomes of all draws, with their probabilities, so that the law of an answer is
computed, not estimated. Laplace noise is cut far out in its tails.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet.algorithms.base import Query
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger, PrivacyFilter, Receipt
from discreet.privacy.mechanisms.selection import ExponentialMechanism
from discreet.privacy.private import Change, Relation
from discreet.registry import DPSparseVoteRAG, DPVoteRAG
from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.embedding import HashingEmbedder
from discreet.store.sealed_corpus import SealedCorpus
from tests.accounts import account_over
from tests.exact import paths
from tests.indexing import indexer, read_once

VOTERS = 3
WORDS = 8


def law(
    folder: Path, units: dict[str, str], algorithm: DPVoteRAG | DPSparseVoteRAG, public: str = ""
) -> tuple[dict[object, float], Receipt]:
    """The probability of every transcript (text, reason, private tokens, charges)."""
    corpus = SealedCorpus(EmbeddedStore(folder, HashingEmbedder.dimension), HashingEmbedder())
    indexer(corpus).index(Document(unit, unit, f"fever say: {words} .") for unit, words in units.items())
    corpus = read_once(corpus)
    found: dict[object, float] = {}
    most: Receipt | None = None
    model = ToyModel(["a", "b", "c", "who", "knows"], default="who knows", size=WORDS)
    ceiling = algorithm.plan(Budget(1.0, 1e-5), WORDS).ceiling
    for noise in paths():
        privacy = PrivacyFilter(MemoryLedger(ceiling), ceiling, "q", noise=noise)
        draft = algorithm.run(Query("fever", public), corpus, model, account_over(privacy))
        receipt = privacy.receipt()
        transcript = (draft.text, draft.stopped, draft.private_tokens, len(receipt.charges))
        found[transcript] = found.get(transcript, 0.0) + noise.probability
        most = receipt if most is None or receipt.epsilon > most.epsilon else most
    assert most is not None
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-6)
    return found, most


def largest_loss(first: dict[object, float], second: dict[object, float]) -> float:
    assert first.keys() == second.keys()
    return max(abs(math.log(first[t] / second[t])) for t in first if first[t] > 1e-9)


VAULTS = {
    "the only one who says b": ({"u1": "a", "u2": "a", "u3": "b"}, "u3"),
    "one of three": ({"u1": "a", "u2": "a", "u3": "a"}, "u1"),
    "another moves in": ({"u1": "a", "u2": "b", "u3": "c", "u4": "c"}, "u2"),
    "alone": ({"u1": "a"}, "u1"),
}


def shared_losses(
    tmp_path: Path, algorithm: DPVoteRAG | DPSparseVoteRAG, names: Sequence[str] = tuple(VAULTS), public: str = ""
) -> list[tuple[float, float]]:
    losses = []
    for number, (units, gone) in enumerate(VAULTS[name] for name in names):
        with_unit, receipt = law(tmp_path / f"{number}a", units, algorithm, public)
        without = {unit: words for unit, words in units.items() if unit != gone}
        without_unit, _ = law(tmp_path / f"{number}b", without, algorithm, public)
        losses.append((largest_loss(with_unit, without_unit), receipt.epsilon))
    return losses


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_voting_on_neighbouring_vaults(tmp_path: Path, epsilon: float) -> None:
    algorithm = DPVoteRAG(voters=VOTERS, epsilon=epsilon, private_tokens=2, max_tokens=2)
    losses = shared_losses(tmp_path, algorithm)
    assert all(loss <= epsilon * (1 + 1e-9) for loss, _ in losses)
    assert max(loss for loss, _ in losses) > 0.3 * epsilon


@pytest.mark.parametrize(("public", "names"), [("", tuple(VAULTS)), ("say: a .", ("the only one who says b", "alone"))])
def test_sparse_voting_on_neighbouring_vaults(tmp_path: Path, public: str, names: Sequence[str]) -> None:
    epsilon = 4.0
    algorithm = DPSparseVoteRAG(voters=VOTERS, epsilon=epsilon, private_tokens=1, max_tokens=1)
    losses = shared_losses(tmp_path, algorithm, names, public)
    assert all(loss <= epsilon * (1 + 1e-3) for loss, _ in losses)
    assert max(loss for loss, _ in losses) > 0.1 * epsilon


def test_a_scale_for_the_wrong_relation_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: calibrated as if a unit's absence removed a vote, when another takes its place."""
    wrong = Change(1, Relation.ADD_REMOVE)
    real = DPVoteRAG.majority
    monkeypatch.setattr(DPVoteRAG, "majority", lambda self, e, d, _change, v: real(self, e, d, wrong, v))
    monkeypatch.setattr(ExponentialMechanism, "cost", lambda self, _: type(self).real_cost(self, wrong))
    monkeypatch.setattr(ExponentialMechanism, "real_cost", _cost, raising=False)
    algorithm = DPVoteRAG(voters=VOTERS, epsilon=4.0, private_tokens=1, max_tokens=1)
    losses = shared_losses(tmp_path, algorithm)
    assert any(loss > receipt_epsilon for loss, receipt_epsilon in losses)


_cost = ExponentialMechanism.cost
