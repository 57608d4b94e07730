"""The exact law of a consensus, from the store to the text, on neighbouring vaults; and twins that break it."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.algorithms.base import Plan, Query
from discreet.algorithms.ensemble import RoundBudget
from discreet.errors import PrivateValueError
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Budget
from discreet.privacy.costs import Pure
from discreet.privacy.filter import Mechanism, MemoryLedger, PrivacyFilter
from discreet.privacy.mechanisms.selection import ExponentialMechanism, ObservedSelection
from discreet.privacy.private import Private
from discreet.registry import Consensus
from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.embedding import HashingEmbedder
from discreet.store.sealed_corpus import SealedCorpus
from tests.accounts import account_over
from tests.exact import paths
from tests.indexing import indexer, read_once

Law = dict[object, float]

VAULTS = {
    "the only one who says b": {"u1": "x", "u2": "x", "u3": "b"},
    "all agree": {"u1": "x", "u2": "x", "u3": "x"},
    "another moves in": {"u1": "x", "u2": "b", "u3": "x", "u4": "x"},
    "another moves in and says something else": {"u1": "x", "u2": "b", "u3": "c", "u4": "c"},
    "one says nothing": {"u1": "x", "u2": "...", "u3": "x"},
    "alone": {"u1": "x"},
}


def law(folder: Path, units: dict[str, str], algorithm: Consensus, question: str = "fever") -> Law:
    corpus = SealedCorpus(EmbeddedStore(folder, HashingEmbedder.dimension), HashingEmbedder())
    indexer(corpus).index(Document(unit, unit, f"fever say: {words} .") for unit, words in units.items())
    corpus = read_once(corpus)
    found: Law = {}
    model = ToyModel(["x", "b", "c", "who", "knows"], default="who knows", size=8)
    ceiling = algorithm.plan(Budget(1.0, 1e-5), 8).ceiling
    for noise in paths():
        privacy = PrivacyFilter(MemoryLedger(ceiling), ceiling, "q", noise=noise)
        draft = algorithm.run(Query(question), corpus, model, account_over(privacy))
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


def deltas(tmp_path: Path, algorithm: Consensus, epsilon: float, question: str = "fever") -> list[float]:
    """For each vault, and each unit that goes. A vault that comes up twice is looked at once."""
    laws: dict[tuple[tuple[str, str], ...], Law] = {}

    def law_of(units: dict[str, str]) -> Law:
        key = tuple(units.items())
        if key not in laws:
            laws[key] = law(tmp_path / f"{len(laws)}", units, algorithm, question)
        return laws[key]

    return [
        divergence(law_of(units), law_of({unit: units[unit] for unit in units if unit != gone}), epsilon)
        for units in VAULTS.values()
        for gone in units
    ]


@pytest.fixture(autouse=True)
def even_what_is_hopeless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consensus, "check", lambda self, rounds: None)


# The last one is a leader selection; the others are too large in delta for one.
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (2.0, 0.1), (8.0, 1e-6)])
def test_a_consensus_keeps_its_epsilon_and_delta(tmp_path: Path, epsilon: float, delta: float) -> None:
    algorithm = Consensus(voters=3, epsilon=epsilon, delta=delta, sentence=False)
    found = deltas(tmp_path, algorithm, epsilon)
    assert max(found) <= delta * (1 + 1e-6)
    assert max(found) > 0.3 * delta  # nor is it far below


def test_choices_keep_their_epsilon_without_any_delta(tmp_path: Path) -> None:
    algorithm = Consensus(voters=3, epsilon=1.0, choices=("x", "b", "c"))
    assert max(deltas(tmp_path / "right", algorithm, 1.0)) <= 1e-9
    assert max(deltas(tmp_path / "less", algorithm, 0.5)) > 1e-3


RUNS = Consensus(voters=3, epsilon=1.0, delta=0.01, sentence=False, grounded=True)


def test_votes_of_shared_words_keep_epsilon_and_delta(tmp_path: Path) -> None:
    found = deltas(tmp_path, RUNS, 1.0)
    assert max(found) <= 0.01 * (1 + 1e-6)
    assert max(found) > 0.003  # nor is it far below


def test_voter_that_joins_the_words_of_another_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin has a voter that shares no words with its record vote as another one does."""
    honest = Consensus._votes

    def swayed(self: Consensus, *given: Any) -> Private[str | None]:
        return honest(self, *given).map_batch(
            lambda votes: [one or next((other for other in votes if other), None) for one in votes]
        )

    vaults = {"one speaks for three": {"u1": "x", "u2": "...", "u3": "..."}}
    monkeypatch.setattr("tests.guarantee.algorithms.test_consensus_neighbours.VAULTS", vaults)
    algorithm = replace(RUNS, epsilon=4.0)
    assert max(deltas(tmp_path / "honest", algorithm, 4.0)) <= 0.01 * (1 + 1e-6)
    monkeypatch.setattr(Consensus, "_votes", swayed)
    assert max(deltas(tmp_path / "swayed", algorithm, 4.0)) > 0.02


GROUNDED = Consensus(voters=3, epsilon=1.0, choices=("yes", "no", "not said"), unsaid="not said", grounded=True)


@pytest.mark.parametrize("question", ["Is x used to treat fever?", "Do patients with fever have x?"])
def test_grounded_votes_keep_their_epsilon_without_any_delta(tmp_path: Path, question: str) -> None:
    assert max(deltas(tmp_path / "right", GROUNDED, 1.0, question)) <= 1e-9
    assert max(deltas(tmp_path / "less", GROUNDED, 0.5, question)) > 1e-3


@pytest.mark.parametrize("question", ["Is x used to treat fever?", "Do patients with fever have x?"])
def test_a_vote_that_looks_at_other_voters_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """The twin lets one voter's yes stand for all who would say nothing."""
    honest = Consensus._grounded

    def swayed(self: Consensus, *given: Any) -> Private[str | None]:
        return honest(self, *given).map_batch(
            lambda votes: [one or ("yes" if "yes" in votes else None) for one in votes]
        )

    vaults = {"one speaks for two": {"u1": "x", "u2": "...", "u3": "..."}}
    monkeypatch.setattr("tests.guarantee.algorithms.test_consensus_neighbours.VAULTS", vaults)
    assert max(deltas(tmp_path / "honest", GROUNDED, 1.0, question)) <= 1e-9
    monkeypatch.setattr(Consensus, "_grounded", swayed)
    assert max(deltas(tmp_path / "swayed", GROUNDED, 1.0, question)) > 0.02


def test_the_fallback_is_within_the_total(tmp_path: Path) -> None:
    algorithm = Consensus(
        voters=3, epsilon=12.0, delta=0.05, fallback=("sparse",), private_tokens=1, max_tokens=1, sentence=False
    )
    found = max(deltas(tmp_path, algorithm, 12.0))
    assert 0.01 < found <= 0.05  # at a smaller epsilon the noise has more outcomes, and less of delta is used


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
    rounds = RoundBudget(Plan(Budget(1.0, 1e-5), Pure(0.0), 1), 1.0, 0.01)
    monkeypatch.setattr(Consensus, "calibrate", lambda self, budget, vocabulary: rounds)
    assert max(deltas(tmp_path, algorithm, 1.0)) > 0.02


@pytest.mark.parametrize("choices", [(), ("x", "y")])
def test_unreadable_answer_counts_as_an_empty_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choices: tuple[str, ...]
) -> None:
    """The twin lets the error be seen: it tells for certain, and for nothing, whether somebody says "b"."""

    def brittle(answer: str, question: str = "") -> str:
        if "b" in answer.split():
            raise RecursionError
        return answer

    monkeypatch.setattr("discreet.algorithms.consensus.canonical", brittle)
    monkeypatch.setattr("discreet.algorithms.text.normalize.canonical", brittle)
    vaults = {"strange": {"u1": "x", "u2": "x", "u3": "b"}}
    monkeypatch.setattr("tests.guarantee.algorithms.test_consensus_neighbours.VAULTS", vaults)
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
    monkeypatch.setattr("tests.guarantee.algorithms.test_consensus_neighbours.VAULTS", vaults)
    algorithm = Consensus(voters=4, epsilon=2.0, delta=0.01, sentence=False)
    honest = max(deltas(tmp_path / "honest", algorithm, 2.0))
    monkeypatch.setattr(Private, "read", crowd)
    assert honest <= 0.01 < max(deltas(tmp_path / "swayed", algorithm, 2.0))
