"""DP-RAG: what it writes, its price, its exact law on neighbouring vaults, and twins that break it."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from discreet.algorithms.base import GeneratedAnswer, Query
from discreet.algorithms.dp_rag import LEVELS, THRESHOLD_SHARE, Near, share_out
from discreet.errors import BudgetExhausted, UnknownName, UsageError
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import BoundedRange
from discreet.privacy.filter import MemoryLedger, PrivacyFilter
from discreet.privacy.mechanisms.vectors import LARGEST_CLIP, AggregatedLogits, Weights
from discreet.privacy.noise import InsecureSeededNoise, Noise
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.privacy.private import Private, unseal
from discreet.query.admission import question_budget
from discreet.registry import DPRAG, make_algorithm
from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.embedding import HashingEmbedder
from discreet.store.sealed_corpus import SealedCorpus
from discreet_lab.evaluation.caching_model import CachingModel
from tests.accounts import account_over
from tests.exact import paths
from tests.indexing import indexer

BUDGET = Budget(10.0, 1e-5, 0.5e-5)
Law = dict[object, float]
Units = dict[str, list[str]]
"""The texts of each unit."""


def corpus_of(folder: Path, units: Units) -> SealedCorpus:
    corpus = SealedCorpus(EmbeddedStore(folder, HashingEmbedder.dimension), HashingEmbedder())
    indexer(corpus).index(
        Document(f"{unit} {n}", unit, text) for unit, texts in units.items() for n, text in enumerate(texts)
    )
    return corpus


def answered(
    algorithm: DPRAG, corpus: SealedCorpus, budget: Budget = BUDGET, ledger: Budget | None = None, public: str = ""
) -> tuple[GeneratedAnswer, PrivacyFilter]:
    ceiling = algorithm.plan(budget, 1000).ceiling
    privacy = PrivacyFilter(MemoryLedger(ledger or ceiling), ceiling, "q", noise=InsecureSeededNoise(0))
    # So few tokens that one drawn at random hardly ever is another than the model's wish.
    model = ToyModel("zibber drops plaster who knows released before".split(), default="who knows", size=10)
    return algorithm.run(Query("fever", public), corpus, model, account_over(privacy)), privacy


# -- what it does ----------------------------------------------------------------------------------------------------


def notes(near: int) -> Units:
    """So many units near a question about fever, and ten that are not."""
    found = {f"near {n}": ["fever say: zibber drops ."] for n in range(near)}
    return found | {f"far {n}": ["a broken leg say: plaster ."] for n in range(10)}


def test_the_units_near_the_question_write_the_answer_and_end_it(tmp_path: Path) -> None:
    draft, privacy = answered(DPRAG(epsilon=8, levels=[0.3, 0.2]), corpus_of(tmp_path, notes(70)))  # type: ignore[arg-type]
    assert (draft.text, draft.stopped, draft.tokens, draft.private_tokens) == (" zibber drops", "end", 2, 2)
    first, *tokens = privacy.receipt().describe()["charges"]
    assert first["mechanism"].startswith("choice among 2 thresholds, 80 wanted")
    assert [charge["times"] for charge in tokens] == [3]  # the end is drawn, and paid; the other thirteen are not
    assert {charge["change"] for charge in (first, *tokens)} == {"add-remove of 1 share"}
    assert all(charge["mechanism"].startswith("token from aggregated logits, clip") for charge in tokens)
    assert 0 < privacy.receipt().epsilon < 8


def test_threshold_by_weight_admits_more_if_more_are_near(tmp_path: Path) -> None:
    """By number, one that sixty pass is worse than one that nobody does; by weight it is the other way around."""
    levels, written = (0.4, 0.3, 0.2), {}
    by_weight, by_number = (
        DPRAG(epsilon=500, levels=levels, share=0.6),
        DPRAG(epsilon=500, levels=levels, wanted=5),
    )
    for name, algorithm in (("weight", by_weight), ("number", by_number)):
        draft, privacy = answered(algorithm, corpus_of(tmp_path / name, notes(60)), Budget(500.0, 1e-5))
        written[name] = draft.text, str(privacy.receipt().describe()["charges"][0]["mechanism"])
    assert "0.6 of all weight wanted" in written["weight"][1]
    assert "5 wanted" in written["number"][1]
    assert (written["weight"][0], written["number"][0]) == (" zibber drops", " who knows")


def test_public_answer_is_paid_if_no_unit_is_above_a_threshold(tmp_path: Path) -> None:
    draft, privacy = answered(DPRAG(levels=(0.99, 0.98)), corpus_of(tmp_path, notes(5)))
    assert (draft.text, draft.stopped) == (" who knows", "end")
    assert len(privacy.receipt().charges) == 4


def test_what_was_released_before_is_in_the_public_prompt(tmp_path: Path) -> None:
    found = answered(DPRAG(), corpus_of(tmp_path, {}), public="say: released before .")
    assert found[0].text == " released before"


@pytest.mark.parametrize("tokens", [1, 16])
@pytest.mark.parametrize("budget", [BUDGET, Budget(10.0, 0.0)], ids=["delta", "pure"])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_price_is_filled_and_shared_out(epsilon: float, budget: Budget, tokens: int) -> None:
    algorithm = DPRAG(epsilon=epsilon, max_tokens=tokens)
    plan, steps = algorithm.plan(budget, 1000), share_out(algorithm, budget.delta)
    assert plan.ceiling.admits(plan.max_cost)
    assert plan.ceiling.spent(plan.max_cost) == pytest.approx(epsilon, rel=1e-3)
    # Bounded range e is e^2/8-zCDP: of a token, whose weights lie in [-c, c], c^2/2.
    threshold, answer = (2 / steps.threshold.scale) ** 2 / 8, tokens * steps.token.clip**2 / 2
    assert threshold / (threshold + answer) == pytest.approx(THRESHOLD_SHARE)


def test_a_whole_answer_costs_what_was_planned(tmp_path: Path) -> None:
    algorithm = DPRAG(epsilon=3, max_tokens=2)
    draft, privacy = answered(algorithm, corpus_of(tmp_path, {}))
    assert draft.stopped == "length"
    assert privacy.receipt().epsilon == pytest.approx(3, rel=1e-3)


def test_a_large_price_buys_no_larger_clip_than_the_largest() -> None:
    assert share_out(DPRAG(epsilon=500), 1e-5).token.clip == pytest.approx(LARGEST_CLIP)


def test_only_what_releases_nothing_at_all_is_refused() -> None:
    assert share_out(DPRAG(epsilon=0.01), 1e-5).token.clip > 0
    with pytest.raises(UsageError, match="Raise epsilon"):
        DPRAG(epsilon=1e-7).plan(BUDGET, 1000)
    with pytest.raises(BudgetExhausted) as refused:
        question_budget(DPRAG(epsilon=3), BUDGET, Spending.of(BoundedRange(9.0)), 1000)
    assert 0 < refused.value.would_fit < 3
    question_budget(DPRAG(epsilon=refused.value.would_fit), BUDGET, Spending.of(BoundedRange(9.0)), 1000)


def test_nothing_is_drawn_if_the_ledger_cannot_pay(tmp_path: Path) -> None:
    with pytest.raises(BudgetExhausted):
        answered(DPRAG(epsilon=3), corpus_of(tmp_path, {}), ledger=Budget(0.01, 1e-5))
    pure = share_out(DPRAG(epsilon=3), BUDGET.delta)
    enough = 2 / pure.threshold.scale + 2.5 * 2 * pure.token.clip
    draft, _ = answered(DPRAG(epsilon=3), corpus_of(tmp_path, {}), ledger=Budget(enough, 0.0))
    assert (draft.text, draft.stopped) == (" who knows", "budget")  # another process spent the rest


def test_model_without_logits_is_refused_before_payment(tmp_path: Path) -> None:
    ledger = MemoryLedger(BUDGET)
    account = account_over(PrivacyFilter(ledger, BUDGET, "q"))
    with pytest.raises(UsageError, match="probability of each token"):
        DPRAG().run(Query("fever"), corpus_of(tmp_path, {}), CachingModel(ToyModel()), account)
    assert not ledger.charges


@pytest.mark.parametrize(
    "options",
    [{"epsilon": 0.0}, {"delta": 1.0}, {"wanted": 0}, {"max_tokens": 0}, {"levels": ()}, {"levels": (2.0,)},
     {"omega": -1.0}, {"omega": math.nan}, {"share": 1.0}, {"share": -0.1}, {"falloff": 0.0},
     {"document_tokens": -1}, {"voters": 40}],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        make_algorithm("dp-rag", options)


def test_names_that_are_not_there() -> None:
    with pytest.raises(UnknownName):
        DPRAG(shape="round")  # type: ignore[arg-type]
    made = make_algorithm("dp-rag", {"epsilon": 3.0, "delta": 1e-6, "max_tokens": 9, "prefix": "It is"})
    assert made == DPRAG(epsilon=3.0, delta=1e-6, max_tokens=9, prefix="It is")
    assert (LEVELS[0], LEVELS[-1]) == (0.8, 0.2)


# -- exact laws ------------------------------------------------------------------------------------------------------

PURE = Budget(10.0, 0.0)
"""The plain sum: the threshold's epsilon and twice the clip for each token are the question's epsilon."""
WORDS = 4  # the end, padding, a and b
NEAREST, NEAR = "fever fever say: {} .", "fever say: {} ."
VAULTS: dict[str, tuple[Units, str]] = {
    "alone": ({"u1": [NEAR.format("a a")]}, "u1"),
    "one of three": ({u: [NEAR.format("a a")] for u in ("u1", "u2", "u3")}, "u1"),
    "the nearest": ({"u1": [NEAREST.format("a a")], "u2": [NEAR.format("b b")]}, "u1"),
    "two documents": ({"u1": [NEAREST.format("a a"), NEAR.format("b b")], "u2": [NEAR.format("b a")]}, "u1"),
}


def small(algorithm: type[DPRAG] = DPRAG, **options: object) -> DPRAG:
    return algorithm(wanted=1, levels=(0.5, 0.1), max_tokens=2, document_tokens=12, **options)  # type: ignore[arg-type]


def law(folder: Path, units: Units, algorithm: DPRAG, budget: Budget) -> Law:
    """The probability of every (answer, charges), however it ended."""
    corpus, found, plan = corpus_of(folder, units), Law(), algorithm.plan(budget, WORDS)
    for noise in paths():
        privacy = PrivacyFilter(MemoryLedger(plan.ceiling), plan.ceiling, "q", noise=noise)
        model = ToyModel(["a", "b"], default="b b", size=WORDS)
        draft = algorithm.run(Query("fever"), corpus, model, account_over(privacy))
        transcript = (draft.text, draft.stopped, len(privacy.receipt().charges))
        found[transcript] = found.get(transcript, 0.0) + noise.probability
    assert sum(found.values()) == pytest.approx(1.0)
    return found


def neighbours(folder: Path, algorithm: DPRAG, name: str, budget: Budget = PURE) -> tuple[Law, Law]:
    units, gone = VAULTS[name]
    others = {unit: texts for unit, texts in units.items() if unit != gone}
    return law(folder / "with", units, algorithm, budget), law(folder / "without", others, algorithm, budget)


def loss(first: Law, second: Law) -> float:
    """The largest log-ratio; infinite if something can be said of one vault alone."""
    likely = {key: (first.get(key, 0.0), second.get(key, 0.0)) for key in first.keys() | second.keys()}
    return max(abs(math.log(p / q)) if min(p, q) > 0 else math.inf for p, q in likely.values() if max(p, q) > 0)


@pytest.mark.parametrize("shape", ["difference", "votes"])
@pytest.mark.parametrize("name", VAULTS)
def test_a_unit_that_comes_or_goes_is_covered_by_the_price(tmp_path: Path, name: str, shape: str) -> None:
    found = loss(*neighbours(tmp_path, small(epsilon=4.0, shape=shape), name))
    assert found <= 4.0
    if name == "alone":
        assert found > 0.6 * 4.0


@pytest.mark.parametrize("name", VAULTS)
def test_and_so_it_is_with_a_threshold_by_weight(tmp_path: Path, name: str) -> None:
    assert loss(*neighbours(tmp_path, small(epsilon=4.0, shape="votes", share=0.5), name)) <= 4.0


@pytest.mark.parametrize("name", VAULTS)
def test_and_so_it_is_with_a_delta(tmp_path: Path, name: str) -> None:
    first, second = neighbours(tmp_path, small(epsilon=4.0, delta=0.1, shape="votes"), name, Budget(10.0, 0.1))
    for p, q in ((first, second), (second, first)):
        assert sum(max(0.0, p[key] - math.exp(4.0) * q.get(key, 0.0)) for key in p) <= 0.1


class Capped(DPRAG):
    """The first twin: at most one unit, by rank, charged as if nobody moved up."""

    def above(self, units: Private[Near], chosen: int) -> Private[Near]:
        near = super().above(units, chosen)
        return Private(unseal(near, lambda found: found[:1]), ADD_REMOVE_ONE)


def test_a_cap_by_rank_is_caught(tmp_path: Path) -> None:
    assert loss(*neighbours(tmp_path / "cap", small(Capped, epsilon=4.0, shape="votes"), "the nearest")) > 4.0
    assert loss(*neighbours(tmp_path / "none", small(epsilon=4.0, shape="votes"), "the nearest")) <= 4.0


def test_sampling_among_the_best_of_private_sums_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second twin: with one unit, another token is among the best two; without it, that is never said."""

    def best_two(self: AggregatedLogits, shares: Sequence[Weights], noise: Noise) -> int:
        total = self.public + sum((share / 2**16 for share in shares), np.zeros(len(self.public)))
        best = np.argsort(-total, kind="stable")[:2]
        return int(best[noise.select(total[best].tolist(), 1.0)])

    monkeypatch.setattr(AggregatedLogits, "draw", best_two)
    assert loss(*neighbours(tmp_path, small(epsilon=4.0), "alone")) == math.inf
