"""The methods of making a corpus one by one: what each costs, and what it makes of a unit from that unit alone."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BudgetExhausted, UsageError
from discreet.models.answers import sample_texts
from discreet.models.prompts import vary_layout, write_layout
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import ZeroConcentrated
from discreet.privacy.partition import ADD_REMOVE_ONE, partition_by_cluster
from discreet.privacy.private import Change, Private, Relation, unseal
from discreet.store.embedding import HashingEmbedder
from discreet.synthesis.aug_pe import AugPE, most_votes, vote, whole
from discreet.synthesis.base import Public, TextPiece, UnitTexts
from discreet.synthesis.dp_synth import DPSynth, one_text, subset
from tests.guarantee.privacy.laws import Law, divergence, gaussian_law
from tests.later import Later

dp_accounting = Later("dp_accounting")

GRANT = Budget(20.0, 1e-5, 5e-6)
WORDS = ["winterhand", "wants", "sand", "glassknee", "steam"]


def unit(name: str, *texts: str) -> UnitTexts:
    vectors = np.rint(HashingEmbedder().embed(list(texts)).astype(np.float64) * 4000).astype(np.int64)
    return UnitTexts(tuple(TextPiece(text, own, ()) for text, own in zip(texts, vectors, strict=True)), 0, name)


# -- what they cost ------------------------------------------------------------------------------------------------


def by_dp_accounting(event: Any) -> float:
    return float(dp_accounting.rdp.RdpAccountant().compose(event).get_epsilon(1e-5))


@pytest.mark.parametrize("epsilon", [3.0, 10.0])
def test_votes_of_all_generations_fill_the_price(epsilon: float) -> None:
    plan = AugPE(epsilon=epsilon, generations=5).plan(GRANT, Spending.nothing(), 384, 4096)
    votes = dp_accounting.GaussianDpEvent(plan.votes.each.sigma)
    assert by_dp_accounting(dp_accounting.SelfComposedDpEvent(votes, 5)) == pytest.approx(epsilon, rel=0.01)
    assert plan.rho == pytest.approx(5 / (2 * plan.votes.each.sigma**2))
    assert (Spending.of(plan.cost).curve[:-1] <= Spending.of(ZeroConcentrated(plan.rho)).curve[:-1] + 1e-6).all()
    assert plan.ceiling is not None
    assert 0.98 * epsilon <= plan.ceiling.spent(Spending.of(plan.cost)) <= epsilon


@pytest.mark.parametrize("epsilon", [3.0, 10.0])
def test_tokens_of_one_subset_fill_the_price(epsilon: float) -> None:
    plan = DPSynth(epsilon=epsilon, subsets=7, tokens=48).plan(GRANT, Spending.nothing(), 384, 4096)
    assert plan.rho == pytest.approx(48 * plan.clip**2 / 2)  # one subset's, however many there are
    # By exact curves somewhat more fits than by the formula, which dp-accounting converts.
    assert epsilon <= by_dp_accounting(dp_accounting.ZCDpEvent(48 * plan.clip**2 / 2)) <= 1.1 * epsilon
    assert plan.ceiling is not None
    assert 0.98 * epsilon <= plan.ceiling.spent(Spending.of(plan.cost)) <= epsilon


def test_the_zcdp_of_the_specification() -> None:
    """1.782696 at epsilon 10 and delta 1e-5 (privacy-spec, part 8); nothing of delta goes to failures here."""
    plan = AugPE(epsilon=10.0, generations=4).plan(Budget(20.0, 1e-5), Spending.nothing(), 384, 4096)
    assert plan.rho == pytest.approx(1.782696, rel=2e-3)
    assert plan.votes.each.sigma == pytest.approx(math.sqrt(4 / (2 * 1.782696)), rel=1e-3)
    tokens = DPSynth(epsilon=10.0, tokens=50).plan(Budget(20.0, 1e-5), Spending.nothing(), 384, 4096)
    assert tokens.clip >= math.sqrt(2 * 1.782696 / 50)  # exact curves afford somewhat more than the formula


@pytest.mark.parametrize("method", [AugPE, DPSynth])
def test_price_that_is_not_left_or_invalid_is_refused(method: type[AugPE] | type[DPSynth]) -> None:
    spent = Spending.of(ZeroConcentrated(5.0))
    with pytest.raises(BudgetExhausted, match="not left"):
        method(epsilon=10.0).plan(GRANT, spent, 384, 4096)
    with pytest.raises(UsageError, match="above 0"):
        method(epsilon=1.0).plan(Budget(20.0, 0.0), Spending.nothing(), 384, 4096)
    for wrong in ({"tokens": 0}, {"epsilon": math.nan}, {"delta": 2.0}):
        with pytest.raises(UsageError):
            method(**wrong)
    with pytest.raises(UsageError):
        DPSynth(subsets=0)
    with pytest.raises(UsageError, match="Unknown shape"):
        DPSynth(shape="round")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="shared out"):
        DPSynth(shape="difference")
    with pytest.raises(UsageError, match="temperature"):
        AugPE(temperature=0.0)
    with pytest.raises(UsageError, match="--about"):
        AugPE(about=" ")


def test_too_few_units_to_be_heard_are_refused() -> None:
    dealt = DPSynth(subsets=10).plan(GRANT, Spending.nothing(), 384, 4096)
    needed = math.ceil(math.log(50_000) / (2 * dealt.clip))
    dealt.check_size(10 * needed, 50_000)
    with pytest.raises(BadData, match="fewer subsets"):
        dealt.check_size(10 * needed - 1, 50_000)
    voted = AugPE().plan(GRANT, Spending.nothing(), 384, 4096)
    assert voted.least == math.ceil(voted.votes.each.sigma * math.sqrt(2 * math.log(400)))
    voted.check_size(voted.least, 50_000)
    with pytest.raises(BadData, match="fewer generations"):
        voted.check_size(voted.least - 1, 50_000)


# -- random subsets ------------------------------------------------------------------------------------------------

UNITS = [unit(f"{number:016x}", f"note {number}", "another note") for number in range(40)]
Dealing = Callable[[Sequence[UnitTexts]], list[list[str]]]


def by_name(units: Sequence[UnitTexts]) -> list[list[str]]:
    parts = partition_by_cluster(
        Private(units, ADD_REMOVE_ONE),
        lambda one: [subset(one.name, 4)],
        4,
        1,
        name=lambda one: one.name,
        remember=lambda found: found,
    )
    return [unseal(part, lambda shares: [one.name for one in shares]) for part in parts]


def by_place(units: Sequence[UnitTexts]) -> list[list[str]]:
    """The broken twin: dealt like cards, one after the other."""
    return [[one.name for one in units[first::4]] for first in range(4)]


def most_touched(deal: Dealing) -> int:
    """In how many subsets the presence of one unit changes who is there."""
    everybody = deal(UNITS)
    without = [deal(UNITS[:gone] + UNITS[gone + 1 :]) for gone in range(len(UNITS))]
    return max(sum(a != b for a, b in zip(everybody, others, strict=True)) for others in without)


def test_a_unit_is_in_one_subset_and_moves_nobody_else() -> None:
    assert most_touched(by_name) == 1
    assert all(by_name(UNITS))  # no subset of these is empty
    assert most_touched(by_place) == 4


def test_a_unit_brings_one_text_whatever_its_order() -> None:
    assert one_text(unit("a", "one", "two", "three")) == one_text(unit("a", "three", "one", "two", "one"))
    assert len({one_text(unit("a", f"note {n}", f"other {n}")).split()[0] for n in range(40)}) == 2


# -- votes ---------------------------------------------------------------------------------------------------------

TEXTS = ["winterhand wants sand", "glassknee wants steam", "nothing of the kind"]
AMONG = whole(Public(ToyModel(), HashingEmbedder()), TEXTS)
SEVERAL = unit("a", "winterhand wants sand", "glassknee steam", "winterhand sand", "winterhand wants")


def votes_of_documents(one: UnitTexts) -> list[int]:
    """The broken twin: every document votes."""
    return [int(sum(places)) for places in zip(*(vote(unit("", p.text), AMONG, 3) for p in one.pieces), strict=True)]


def loss(moved: Sequence[int], sigma: float) -> float:
    """The divergence of order 2 between noisy counts with a unit that casts these votes, and without it."""
    law, total = gaussian_law(sigma, math.ceil(12 * sigma)), 0.0
    for step in moved:  # counts are independent; tails are cut where they weigh nothing
        both = [z for z in law if z - step in law]
        there: Law = {z: law[z - step] for z in both}
        here: Law = {z: law[z] for z in both}
        total += divergence(there, here, 2.0)
    return total


def test_a_unit_casts_one_vote_however_many_documents_it_has() -> None:
    plan = AugPE(epsilon=10.0, generations=4).plan(GRANT, Spending.nothing(), 1024, 4096)
    price = plan.votes.each.cost(ADD_REMOVE_ONE)
    assert isinstance(price, ZeroConcentrated)
    cast = vote(SEVERAL, AMONG, 3).tolist()
    assert cast == [1, 0, 0]
    assert loss(cast, plan.votes.each.sigma) <= 2 * price.rho * (1 + 1e-6)
    assert votes_of_documents(SEVERAL) == [3, 1, 0]
    assert loss(votes_of_documents(SEVERAL), plan.votes.each.sigma) > 2 * price.rho * 5


def test_votes_follow_from_the_unit_alone() -> None:
    assert vote(unit("a", *[piece.text for piece in SEVERAL.pieces[::-1]]), AMONG, 3).tolist() == [1, 0, 0]
    assert vote(unit("a", "steam for a glassknee"), AMONG, 4).tolist() == [0, 1, 0, 0]
    assert vote(unit("a", ""), AMONG, 3).tolist() == [0, 0, 0]
    assert vote(unit("a", "winterhand"), AMONG[:0], 3).tolist() == [0, 0, 0]
    doubled = np.vstack([AMONG, AMONG])
    assert vote(SEVERAL, doubled, 6).tolist() == [1, 0, 0, 0, 0, 0]


def test_those_with_most_votes_are_kept() -> None:
    assert most_votes(["a", "b", "c"], [1, 5, 1, 99], 2) == ["b", "a"]


def test_the_whole_is_charged_for_one_unit_that_comes_or_goes() -> None:
    votes = AugPE(generations=3).plan(GRANT, Spending.nothing(), 8, 4096).votes
    assert votes.cost(ADD_REMOVE_ONE).curve[0] == pytest.approx(3 * votes.each.cost(ADD_REMOVE_ONE).curve[0])
    replaced = votes.cost(Change(1, Relation.REPLACE)).curve[0]
    assert replaced > votes.cost(ADD_REMOVE_ONE).curve[0]


# -- public texts --------------------------------------------------------------------------------------------------


def test_public_texts_follow_from_their_names() -> None:
    model = ToyModel(WORDS, default="winterhand wants sand", size=8)
    laid_out = write_layout(model, "a note", 6)
    prompts = [(f"0 {number}", "a note") for number in range(40)]
    found = sample_texts(model, laid_out, prompts, tokens=6, temperature=6.0)
    assert found == sample_texts(model, laid_out, prompts, tokens=6, temperature=6.0)
    assert found[33:] == sample_texts(model, laid_out, prompts[33:], tokens=6, temperature=6.0)
    assert len(set(found)) > 20
    told: list[int] = []
    cold = sample_texts(model, laid_out, prompts, tokens=6, temperature=0.01, on_progress=told.append)
    assert set(cold) == {"winterhand wants sand"}
    assert told == [32, 40]


def test_texts_that_do_not_fit_the_model_are_refused() -> None:
    model = ToyModel(WORDS)
    with pytest.raises(UsageError, match="room for"):
        vary_layout(model, 4000, 4000)
    with pytest.raises(UsageError, match="room for"):
        write_layout(model, "word " * 4090, 48)


def test_a_population_holds_each_text_once_and_what_was_kept() -> None:
    model = ToyModel(WORDS, default="winterhand wants sand", size=8)
    method = AugPE(texts=3, variations=2, tokens=5, temperature=3.0)
    first = method.population(0, [], model, lambda *_: None)
    assert len(set(first)) == len(first) <= 9
    second = method.population(1, first[:3], model, lambda *_: None)
    assert second[:3] == first[:3]
    assert 3 < len(second) <= 9
    other = AugPE(texts=3, variations=2, tokens=5, temperature=3.0, seed=1)
    assert other.population(0, [], model, lambda *_: None) != first
