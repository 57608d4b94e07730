"""A number of voters for each question: its price, its exact law on neighbouring vaults, and twins that break it."""

import math
from pathlib import Path

import pytest

from discreet.algorithms.adaptive import COUNT_SHARE
from discreet.algorithms.base import GeneratedAnswer, Plan, Query
from discreet.algorithms.ensemble import VoterEnsemble
from discreet.errors import BudgetExhausted, UsageError
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import BoundedRange, Pure
from discreet.privacy.filter import MemoryLedger, PrivacyFilter
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.privacy.noise import InsecureSeededNoise, Noise
from discreet.privacy.private import Private
from discreet.query.admission import question_budget
from discreet.registry import DPKSA, Adaptive, Consensus, DPSparseVoteRAG, make_algorithm
from discreet.store.documents import Document, Passage
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.embedding import HashingEmbedder
from discreet.store.sealed_corpus import Found, SealedCorpus
from tests.accounts import account_over
from tests.exact import paths
from tests.indexing import ReadOnce, indexer

BUDGET = Budget(10.0, 1e-5, 0.5e-5)
Law = dict[object, float]


class Watched(ReadOnce):
    """Remembers how many voters were dealt documents."""

    voters = 0

    def partition_to_voters(
        self, found: Private[Found], voters: int, units_per_voter: int
    ) -> Private[tuple[Passage, ...]]:
        self.voters = voters
        return super().partition_to_voters(found, voters, units_per_voter)


def corpus_of(folder: Path, units: dict[str, str]) -> Watched:
    corpus = Watched(EmbeddedStore(folder, HashingEmbedder.dimension), HashingEmbedder())
    indexer(corpus).index(Document(unit, unit, text) for unit, text in units.items())
    return corpus


def many(near: int) -> dict[str, str]:
    """So many units that are near to a question about fever, and fifty that are not."""
    found = {f"near {n}": "fever say: Zibber ." for n in range(near)}
    return found | {f"far {n}": "a broken leg say: plaster ." for n in range(50)}


def answered(
    algorithm: Adaptive, corpus: SealedCorpus, noise: Noise | None = None, budget: Budget = BUDGET
) -> tuple[GeneratedAnswer, PrivacyFilter, Plan]:
    plan = algorithm.plan(budget, 1000)
    privacy = PrivacyFilter(MemoryLedger(plan.ceiling), plan.ceiling, "q", noise=noise or InsecureSeededNoise(0))
    return algorithm.run(Query("fever"), corpus, ToyModel(default="who knows"), account_over(privacy)), privacy, plan


# -- what it does ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("near", "voters"), [(0, 20), (22, 20), (41, 40), (77, 80), (120, 80)])
@pytest.mark.parametrize("inner", [Consensus(epsilon=8), DPKSA(epsilon=8)], ids=["consensus", "dp-ksa"])
def test_number_of_voters_follows_the_number_of_near_units(
    tmp_path: Path, near: int, voters: int, inner: VoterEnsemble
) -> None:
    corpus = corpus_of(tmp_path, many(near))
    draft, _, _ = answered(Adaptive(inner=inner, similarity=0.2), corpus)
    assert corpus.voters == voters
    assert draft.released == (("zibber",) if near else ("plaster",))  # the nearest are read, however far


def test_a_voter_that_reads_two_units_needs_two() -> None:
    algorithm = Adaptive(inner=Consensus(units_per_voter=2))
    assert [algorithm.number(counted) for counted in (-5, 60, 62, 100, 1000)] == [20, 20, 40, 40, 80]


@pytest.mark.parametrize(
    "inner",
    [Consensus(), Consensus(delta=1e-6), Consensus(fallback=("keywords",), epsilon=6), DPKSA(epsilon=1),
     DPKSA(epsilon=3, delta=1e-6), DPSparseVoteRAG(epsilon=5)],
)  # fmt: skip
def test_the_count_is_in_the_plan_and_first_on_the_receipt(tmp_path: Path, inner: VoterEnsemble) -> None:
    _, privacy, plan = answered(Adaptive(inner=inner, similarity=0.2), corpus_of(tmp_path, many(30)))
    first, *others = privacy.receipt().describe()["charges"]
    assert first["mechanism"] == f"noisy count, scale {1 / (COUNT_SHARE * inner.epsilon):.6g}"
    assert first["change"] == "add-remove of 1 share"
    assert first["cost"]["epsilon"] == pytest.approx(COUNT_SHARE * inner.epsilon)
    assert others
    assert privacy.receipt().epsilon <= inner.epsilon
    assert plan.ceiling.admits(plan.max_cost)
    assert plan.ceiling.spent(plan.max_cost) == pytest.approx(inner.epsilon, rel=0.01)


def test_count_is_paid_first_and_not_drawn_if_unpaid(tmp_path: Path) -> None:
    corpus, ceiling = corpus_of(tmp_path, many(30)), Budget(2.0, 1e-5, 1e-7)
    poor = MemoryLedger(Budget(0.05, 1e-5, 1e-7))
    privacy = PrivacyFilter(poor, ceiling, "q", noise=InsecureSeededNoise(0))
    with pytest.raises(BudgetExhausted):
        Adaptive().run(Query("fever"), corpus, ToyModel(), account_over(privacy))
    assert not poor.charges
    assert corpus.voters == 0


def test_a_budget_too_small_is_refused_with_what_would_do() -> None:
    with pytest.raises(UsageError, match="It takes epsilon"):
        Adaptive(inner=Consensus(epsilon=0.3)).plan(BUDGET, 1000)
    with pytest.raises(UsageError, match="It takes epsilon"):
        Adaptive(inner=Consensus(epsilon=0.4), numbers=(10, 20)).plan(BUDGET, 1000)
    Adaptive(inner=Consensus(epsilon=0.7)).plan(BUDGET, 1000)
    with pytest.raises(BudgetExhausted) as refused:
        question_budget(Adaptive(inner=Consensus(epsilon=3)), BUDGET, Spending.of(BoundedRange(8.5, 1e-7)), 1000)
    assert 1 < refused.value.would_fit < 2


@pytest.mark.parametrize(
    "options",
    [{"numbers": ()}, {"numbers": (0, 20)}, {"numbers": (20, 5000)}, {"similarity": 2.0}, {"voters": 40}, {"uses": 2}],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        make_algorithm("adaptive", options)


def test_every_number_is_tried_before_anything_is_paid() -> None:
    with pytest.raises(UsageError, match="threshold"):
        Adaptive(inner=DPSparseVoteRAG(threshold=30))


def test_it_is_made_by_name_with_the_parameters_of_what_answers() -> None:
    made = make_algorithm("adaptive", {"inner": "dp-ksa", "epsilon": 3.0, "similarity": 0.4, "max_tokens": 9})
    assert made == Adaptive(inner=DPKSA(epsilon=3.0, max_tokens=9), similarity=0.4)


# -- exact laws ------------------------------------------------------------------------------------------------------

VAULTS = {
    "as many as there may be": {"u1": "x", "u2": "x", "u3": "x"},
    "another moves in": {"u1": "x", "u2": "b", "u3": "x", "u4": "x"},
    "two": {"u1": "x", "u2": "b"},
    "alone": {"u1": "x"},
}


def law(folder: Path, units: dict[str, str], algorithm: Adaptive) -> Law:
    """The probability of every (answer, number of voters, charges)."""
    corpus = corpus_of(folder, {unit: f"fever say: {words} ." for unit, words in units.items()})
    model, found, plan = ToyModel(["x", "b", "who", "knows"], default="who knows"), Law(), algorithm.plan(BUDGET, 1000)
    for noise in paths():
        privacy = PrivacyFilter(MemoryLedger(plan.ceiling), plan.ceiling, "q", noise=noise)
        draft = algorithm.run(Query("fever"), corpus, model, account_over(privacy))
        transcript = (draft.text, draft.stopped, draft.released, corpus.voters, len(privacy.receipt().charges))
        found[transcript] = found.get(transcript, 0.0) + noise.probability
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-6)
    return found


def divergence(first: Law, second: Law, epsilon: float) -> float:
    """The larger hockey-stick divergence: the least delta for which epsilon holds."""
    return max(
        sum(max(0.0, p.get(key, 0.0) - math.exp(epsilon) * q.get(key, 0.0)) for key in p.keys() | q.keys())
        for p, q in ((first, second), (second, first))
    )


def worst(folder: Path, algorithm: Adaptive, epsilon: float, vaults: dict[str, dict[str, str]]) -> float:
    """Over all vaults, and each unit that goes."""
    found = []
    for number, units in enumerate(vaults.values()):
        present = law(folder / f"{number}", units, algorithm)
        for gone in units:
            absent = law(folder / f"{number}{gone}", {u: units[u] for u in units if u != gone}, algorithm)
            found.append(divergence(present, absent, epsilon))
    return max(found)


def small(inner: VoterEnsemble) -> Adaptive:
    return Adaptive(inner=inner, similarity=0.1, numbers=(1, 2, 3))


@pytest.fixture
def even_what_is_hopeless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consensus, "check", lambda self, rounds: None)


@pytest.mark.usefixtures("even_what_is_hopeless")
@pytest.mark.parametrize(("epsilon", "delta"), [(2.0, 0.05), (4.0, 0.02)])
def test_a_consensus_keeps_its_epsilon_and_delta(tmp_path: Path, epsilon: float, delta: float) -> None:
    algorithm = small(Consensus(epsilon=epsilon, delta=delta, sentence=False))
    assert worst(tmp_path, algorithm, epsilon, VAULTS) <= delta * (1 + 1e-6)


def test_choices_keep_their_epsilon_without_any_delta(tmp_path: Path) -> None:
    algorithm = small(Consensus(epsilon=2.0, choices=("x", "b")))
    assert worst(tmp_path / "right", algorithm, 2.0, VAULTS) <= 1e-9
    # Answer and number of voters together lose more than half of it.
    lonely = {name: VAULTS[name] for name in ("another moves in", "alone")}
    assert worst(tmp_path / "less", algorithm, 1.2, lonely) > 1e-3


def test_dp_ksa_keeps_its_epsilon_and_delta(tmp_path: Path) -> None:
    algorithm = small(DPKSA(epsilon=12.0, delta=0.1, most_keywords=2))
    assert worst(tmp_path, algorithm, 12.0, {"two": VAULTS["two"]}) <= 0.1


@pytest.mark.usefixtures("even_what_is_hopeless")
def test_the_true_count_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: without noise, one unit that goes is seen in the number of voters."""
    monkeypatch.setattr(NoisyCount, "draw", lambda self, shares, noise: sum(shares))
    algorithm = small(Consensus(epsilon=2.0, delta=0.05, sentence=False))
    assert worst(tmp_path, algorithm, 2.0, VAULTS) > 0.9


def test_a_count_that_the_plan_forgot_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other twin gives all of the total to the answer: the filter does not let it pay for both."""
    monkeypatch.setattr(Adaptive, "calibrate", lambda self, *budget: self.inner.calibrate(*budget))
    with pytest.raises(BudgetExhausted):
        answered(Adaptive(similarity=0.2), corpus_of(tmp_path, many(30)))


def test_count_costs_at_most_a_selection_of_the_same_scale() -> None:
    """Why it is a count: the exponential mechanism over numbers, scores -|count - n|, has bounded range 2/scale."""
    for scale in (1.0, 5.0, 20.0):
        assert (Pure(1 / scale).curve <= BoundedRange(2 / scale).curve * (1 + 1e-9)).all()
