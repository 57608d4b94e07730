"""The exact law of a consensus, from the store to the text, on neighbouring vaults; and twins that break it."""

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.algorithms import Consensus
from discreet.algorithms.ensemble import Rounds
from discreet.errors import PrivateValueError
from discreet.generation.toy import ToyModel
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import Mechanism, PrivacyFilter
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.mechanisms.exponential import ExponentialMechanism
from discreet.privacy.mechanisms.limited_domain import ObservedSelection
from discreet.privacy.private import Private
from discreet.retrieval.documents import Document
from discreet.retrieval.embedded_store import EmbeddedStore
from discreet.retrieval.embedding import HashingEmbedder
from discreet.retrieval.retriever import Corpus
from tests.exact import paths

Law = dict[object, float]

VAULTS = {
    "the only one who says b": {"u1": "x", "u2": "x", "u3": "b"},
    "all agree": {"u1": "x", "u2": "x", "u3": "x"},
    "another moves in": {"u1": "x", "u2": "b", "u3": "x", "u4": "x"},
    "another moves in and says something else": {"u1": "x", "u2": "b", "u3": "c", "u4": "c"},
    "one says nothing": {"u1": "x", "u2": "...", "u3": "x"},
    "alone": {"u1": "x"},
}


def law(folder: Path, units: dict[str, str], algorithm: Consensus) -> Law:
    corpus = Corpus(EmbeddedStore(folder, HashingEmbedder.dimension), HashingEmbedder())
    corpus.index(Document(unit, unit, f"fever say: {words} .") for unit, words in units.items())
    found: Law = {}
    model = ToyModel(["x", "b", "c", "who", "knows"], default="who knows", size=8)
    ceiling = algorithm.plan(Budget(1.0, 1e-5), 8).ceiling
    for noise in paths():
        privacy = PrivacyFilter(MemoryLedger(ceiling), ceiling, "q", noise=noise)
        draft = algorithm.answer("fever", corpus, model, privacy)
        transcript = (draft.text, draft.stopped, draft.released, draft.tokens, len(privacy.receipt().charges))
        found[transcript] = found.get(transcript, 0.0) + noise.probability
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-6)
    return found


def divergence(first: Law, second: Law, epsilon: float) -> float:
    """The larger of the two hockey-stick divergences: the least delta for which epsilon holds."""
    keys = first.keys() | second.keys()
    ahead = [sum(max(0.0, p.get(k, 0.0) - math.exp(epsilon) * q.get(k, 0.0)) for k in keys)
             for p, q in ((first, second), (second, first))]  # fmt: skip
    return max(ahead)


def deltas(tmp_path: Path, algorithm: Consensus, epsilon: float) -> list[float]:
    """For each vault, and each unit that goes."""
    found = []
    for number, units in enumerate(VAULTS.values()):
        present = law(tmp_path / f"{number}", units, algorithm)
        for gone in units:
            absent = law(tmp_path / f"{number}{gone}", {u: units[u] for u in units if u != gone}, algorithm)
            found.append(divergence(present, absent, epsilon))
    return found


@pytest.fixture(autouse=True)
def even_what_is_hopeless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consensus, "check", lambda self, rounds: None)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (2.0, 0.1)])
def test_a_consensus_keeps_its_epsilon_and_delta(tmp_path: Path, epsilon: float, delta: float) -> None:
    algorithm = Consensus(voters=3, epsilon=epsilon, delta=delta, sentence=False)
    found = deltas(tmp_path, algorithm, epsilon)
    assert max(found) <= delta * (1 + 1e-6)
    assert max(found) > 0.3 * delta  # nor is it far below


def test_choices_keep_their_epsilon_without_any_delta(tmp_path: Path) -> None:
    algorithm = Consensus(voters=3, epsilon=1.0, choices=("x", "b", "c"))
    assert max(deltas(tmp_path / "right", algorithm, 1.0)) <= 1e-9
    assert max(deltas(tmp_path / "less", algorithm, 0.5)) > 1e-3


def test_the_fallback_is_within_the_total(tmp_path: Path) -> None:
    algorithm = Consensus(
        voters=3, epsilon=6.0, delta=0.05, fallback=("sparse",), private_tokens=1, max_tokens=1, sentence=False
    )
    assert max(deltas(tmp_path, algorithm, 6.0)) <= 0.05


TWINS: dict[str, tuple[Consensus, Mechanism[Any, Any]]] = {
    "no threshold for answers that few give": (
        Consensus(voters=3, epsilon=1.0, delta=0.01, sentence=False),
        ObservedSelection(2.0, -100.0),
    ),
    "choices as if a vote came or went": (
        Consensus(voters=3, epsilon=1.0, choices=("x", "b", "c")),
        ExponentialMechanism(3, 1.0),
    ),
}


@pytest.mark.parametrize("twin", TWINS)
def test_broken_twins_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin: str) -> None:
    algorithm, broken = TWINS[twin]
    monkeypatch.setattr(PrivacyFilter, "_pay", lambda self, mechanism, change: None)
    monkeypatch.setattr(Consensus, "_stages", lambda self, epsilon, delta, change: [broken])
    monkeypatch.setattr(Consensus, "plan", lambda self, budget, vocabulary: SimpleNamespace(ceiling=budget))
    monkeypatch.setattr("discreet.algorithms.ensemble.split_total", lambda *_: Rounds(None, 1.0, 0.01))  # type: ignore[arg-type]
    assert max(deltas(tmp_path, algorithm, 1.0)) > 0.02


@pytest.mark.parametrize("choices", [(), ("x", "y")])
def test_an_answer_that_cannot_be_read_shows_only_as_one_that_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choices: tuple[str, ...]
) -> None:
    """The twin lets the error be seen: it tells for certain, and for nothing, whether somebody says "b"."""

    def brittle(answer: str, question: str = "") -> str:
        if "b" in answer.split():
            raise RecursionError
        return answer

    monkeypatch.setattr("discreet.algorithms.consensus.canonical", brittle)
    monkeypatch.setattr("discreet.algorithms.canonical.canonical", brittle)
    vaults = {"strange": {"u1": "x", "u2": "x", "u3": "b"}}
    monkeypatch.setattr("tests.algorithms.test_consensus_neighbours.VAULTS", vaults)
    algorithm = Consensus(voters=4, epsilon=2.0, delta=0.01, sentence=False, choices=choices)
    assert max(deltas(tmp_path / "sound", algorithm, 2.0)) <= 0.01
    monkeypatch.setattr(Private, "read", lambda self, transform, otherwise: self.map(transform))
    with pytest.raises(PrivateValueError, match="RecursionError"):
        deltas(tmp_path / "twin", algorithm, 2.0)


def test_a_form_that_looks_at_other_answers_would_be_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin takes the form that most others use: one unit then moves every vote."""

    def crowd(self: Private[str], transform: Callable[[str], object], otherwise: object) -> Private[object]:
        # "b" becomes "x" as soon as anybody says "x".
        def together(shares: object) -> list[object]:
            said = [transform(share) for share in shares]  # type: ignore[attr-defined]
            return ["x" if "x" in said and word else word for word in said]

        return self.map_batch(together)

    vaults = {"one turns all": {"u1": "x", "u2": "b", "u3": "b", "u4": "b"}}
    monkeypatch.setattr("tests.algorithms.test_consensus_neighbours.VAULTS", vaults)
    algorithm = Consensus(voters=4, epsilon=2.0, delta=0.01, sentence=False)
    honest = max(deltas(tmp_path / "honest", algorithm, 2.0))
    monkeypatch.setattr(Private, "read", crowd)
    assert honest <= 0.01 < max(deltas(tmp_path / "swayed", algorithm, 2.0))
