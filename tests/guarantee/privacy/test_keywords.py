"""DP-KSA's mechanisms: exact laws over all neighbouring inputs, golden vectors (privacy-spec, part 4), broken twins.

Laws come from the mechanisms themselves, by walking through all outcomes of their draws, and, for what is tested
against them, from formulas of their own.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations_with_replacement
from statistics import NormalDist

import pytest

from discreet.privacy.accounting import compose, largest, zcdp_epsilon
from discreet.privacy.costs import BoundedRange, Cost, ZeroConcentrated
from discreet.privacy.mechanisms.selection import (
    GapChoice,
    StableSet,
    Words,
    by_count,
    gap_after,
    gap_sensitivity,
    gap_to_pass,
    pass_probability,
    shift,
)
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change, Relation
from tests.exact import EveryNoise, paths
from tests.guarantee.privacy.laws import (
    ADD_REMOVE,
    REPLACE,
    Law,
    check_cost,
    common,
    gaussian_law,
    hockey_stick,
    largest_loss,
    softmax,
    span,
)

Shares = tuple[Words, ...]
Draw = Callable[[Sequence[Words], EveryNoise], object]
SETS = [frozenset(word for bit, word in enumerate("abc") if number >> bit & 1) for number in range(8)]
TWO = [words for words in SETS if "c" not in words]


def neighbours(sets: Sequence[Words], voters: int, relation: Relation) -> Iterator[tuple[Shares, Shares]]:
    """All ordered pairs of neighbouring inputs of up to so many voters, up to the order of voters."""
    for count in range(1, voters + 1):
        for rest in combinations_with_replacement(sets, count - 1):
            for words in sets:
                first = (*rest, words)
                if relation is Relation.ADD_REMOVE:
                    yield first, rest
                    yield rest, first
                else:
                    yield from ((first, (*rest, other)) for other in sets if other != words)


def law_of(draw: Draw) -> Callable[[Shares], Law]:
    """The law of a mechanism, once for each multiset of shares."""

    @cache
    def law(shares: Shares) -> Law:
        found: Law = {}
        for noise in paths():
            outcome = draw(shares, noise)
            found[outcome] = found.get(outcome, 0.0) + noise.probability
        return found

    return lambda shares: law(tuple(sorted(shares, key=sorted)))


def gaps(shares: Shares, most: int) -> list[int]:
    """The gaps by a formula of its own."""
    counts = sorted((sum(word in words for words in shares) for word in set().union(*shares)), reverse=True)
    padded = counts + [0] * (most + 1)
    return [padded[k] - padded[k + 1] for k in range(most)]


# -- gaps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("relation", "most"), [(Relation.REPLACE, 2), (Relation.ADD_REMOVE, 1)])
def test_the_sensitivity_of_a_gap_is_reached_and_never_exceeded(relation: Relation, most: int) -> None:
    moves, spreads = set(), set()
    for first, second in neighbours(SETS, 4, relation):
        moved = [b - a for a, b in zip(gaps(first, 4), gaps(second, 4), strict=True)]
        moves.update(moved)
        spreads.add(max(moved) - min(moved))
    assert (min(moves), max(moves)) == (-most, most)
    assert max(spreads) == 2 * most  # one gap rises as far as it can while another falls: the whole range
    assert gap_sensitivity(Change(1, relation)) == most


def test_gaps_are_those_of_counts_of_answers() -> None:
    shares = tuple(frozenset(text.split()) for text in ("b a", "a b", "a", "c b", "b"))
    ranked = by_count(shares)
    assert ranked == [("b", 4), ("a", 3), ("c", 1)]
    assert [gap_after(size, ranked) for size in range(1, 6)] == [1, 2, 1, 0, 0] == gaps(shares, 5)
    assert by_count(()) == []
    assert gap_after(1, by_count([frozenset()])) == 0


# -- choosing k --------------------------------------------------------------------------------------------------------


def choice_check(choice: GapChoice, cost: Cost, change: Change, voters: int = 4) -> float:
    """Check all pairs; the largest share of the range that one reaches."""
    law, reached = law_of(choice.draw), 0.0
    for first, second in neighbours(SETS, voters, change.relation):
        p, q = law(first), law(second)
        check_cost(p, q, cost)
        assert isinstance(cost, BoundedRange)
        assert span(p, q) <= cost.epsilon * (1 + 1e-9)
        reached = max(reached, span(p, q) / cost.epsilon)
    return reached


@pytest.mark.parametrize("change", [REPLACE, ADD_REMOVE], ids=str)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_choosing_k_costs_what_it_claims_and_no_less(epsilon: float, change: Change) -> None:
    choice = GapChoice.calibrated(epsilon, 1, 3, change)
    assert choice.scale == (4 if change is REPLACE else 2) / epsilon
    assert choice.cost(change).curve[-1] == pytest.approx(epsilon)
    assert choice_check(choice, choice.cost(change), change) == pytest.approx(1.0)


def test_a_unit_with_two_shares_pays_for_both() -> None:
    change = Change(2, Relation.REPLACE)
    choice = GapChoice.calibrated(1.0, 1, 3, change)
    law, steps = law_of(choice.draw), list(neighbours(TWO, 3, Relation.REPLACE))
    for first, second in steps:
        for third, fourth in steps:
            if sorted(map(sorted, second)) == sorted(map(sorted, third)):
                assert span(law(first), law(fourth)) <= 1 + 1e-9


def test_the_choice_is_among_a_public_range_only() -> None:
    agreed = (frozenset("abc"),) * 5
    assert set(law_of(GapChoice(2, 4, 1.0).draw)(agreed)) == {2, 3, 4}
    for least, most in ((0, 3), (3, 2)):
        with pytest.raises(ValueError, match="1 <= least <= most"):
            GapChoice(least, most, 1.0)


def papers_choice(counts: Sequence[int], epsilon: float, most: int) -> Law:
    padded = [*sorted(counts, reverse=True), *[0] * (most + 1)]
    return softmax({k: float(padded[k] - padded[k + 1]) for k in range(most)}, 2 / epsilon)


def test_golden_the_papers_noise_costs_nearly_twice_what_it_says() -> None:
    """1.978775 at nominal 1; the specification does not say on which input, and this is one on which it is."""
    p, q = (papers_choice(counts, 1.0, 7) for counts in ((18, 15, 0, 0), (19, 14, 1, 0)))
    assert largest_loss(p, q) == pytest.approx(1.978775, abs=5e-7)
    p, q = (papers_choice(counts, 1.0, 2) for counts in ((39, 39, 0), (40, 38, 1)))
    assert 1.9999 < largest_loss(p, q) < 2.0  # and it comes as near to twice as one likes


def test_the_papers_noise_is_caught() -> None:
    ours = GapChoice.calibrated(1.0, 1, 3, REPLACE)
    with pytest.raises(AssertionError):
        choice_check(GapChoice(1, 3, ours.scale / 2), ours.cost(REPLACE), REPLACE)


def test_add_remove_scale_on_replaced_shares_is_caught() -> None:
    cheap = GapChoice.calibrated(1.0, 1, 3, ADD_REMOVE)
    with pytest.raises(AssertionError):
        choice_check(cheap, cheap.cost(ADD_REMOVE), REPLACE)


# -- testing and releasing ---------------------------------------------------------------------------------------------

SIGMA, DELTA = 0.8, 0.02


def set_check(draw: Draw, cost: Cost, relation: Relation = Relation.REPLACE) -> float:
    """Check all pairs, as Renyi divergence with failure and as (epsilon, delta); the largest probability of failing."""
    law, failed = law_of(draw), 0.0
    stages = [(total, compose([cost]).epsilon(total)) for total in (1.01 * cost.delta, 2 * cost.delta, 0.3)]
    pairs = [*neighbours(SETS, 4, relation), *neighbours(TWO, 8, relation)]
    # Many pairs of inputs have the same pair of laws.
    for first, second in {tuple(tuple(law(shares).items()) for shares in pair) for pair in pairs}:
        p, q = dict(first), dict(second)
        check_cost(p, q, cost)
        for delta, epsilon in stages:
            assert hockey_stick(p, q, epsilon) <= delta
        failed = max(failed, sum(p[outcome] for outcome in p if outcome not in q))
    return failed


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_stable_set_costs_what_it_claims(size: int, relation: Relation) -> None:
    test = StableSet(SIGMA, DELTA, size)
    assert test.cost(REPLACE) == ZeroConcentrated(1 / (2 * SIGMA**2), DELTA)
    failed = set_check(test.draw, test.cost(Change(1, relation)), relation)
    assert failed <= DELTA


def test_failure_probability_is_close_to_delta() -> None:
    for delta in (0.0145, 0.0025):  # where whole numbers leave little over
        failed = set_check(StableSet(SIGMA, delta).draw, ZeroConcentrated(1 / (2 * SIGMA**2), delta))
        assert 0.8 * delta < failed <= delta


def test_the_probability_of_failure_is_never_above_delta() -> None:
    """The whole-numbered shift, by the exact tail of the discrete Gaussian; and no smaller one would always do."""
    largest_share = 0.0
    for sigma in (0.05, 0.3, 0.5, 0.6315, 0.77, 1.0, 1.4546, 2.0802, 3.8748, 17.3):
        law = gaussian_law(2 * sigma, math.ceil(40 * sigma) + 40)
        for delta in (0.15, 0.1, 0.01, 1e-3, 5e-5, 1e-6, 1e-9, 1e-12):
            t = shift(sigma, delta)
            tail = math.fsum(probability for z, probability in law.items() if z > t)
            assert tail <= delta
            assert pass_probability(2, sigma, delta) == pytest.approx(tail, abs=1e-15)
            largest_share = max(largest_share, tail / delta)
    assert largest_share > 0.95


def test_released_words_are_in_alphabetical_order() -> None:
    class Far:
        def gaussian(self, scale: float) -> int:
            return 100

    noise: Noise = Far()  # type: ignore[assignment]
    shares = [frozenset("zb"), frozenset("zc"), frozenset("z")]
    assert StableSet(1.0, 1e-3, 1).draw(shares, noise) == ("z",)
    assert StableSet(1.0, 1e-3, 2).draw(shares, noise) == ("b", "z")
    assert StableSet(1.0, 1e-3, 2).draw(shares[::-1], noise) == ("b", "z")
    assert StableSet(1.0, 1e-3, 9).draw(shares, noise) == ("b", "c", "z")
    assert StableSet(1.0, 1e-3, 9).draw([frozenset()], noise) == ()


def test_what_is_not_analysed_is_refused() -> None:
    with pytest.raises(NotImplementedError):
        StableSet(1.0, 1e-3).cost(Change(2, Relation.REPLACE))
    for delta in (0.0, 0.2, 1.0, math.nan):
        with pytest.raises(ValueError, match="probability"):
            StableSet(1.0, delta)


def test_receipts_say_scale_sigma_and_delta() -> None:
    assert str(GapChoice(1, 20, 4.0)) == "number of words, 1 to 20, by gap of counts, scale 4"
    assert str(StableSet(1.5, 1e-6).of(3)) == "set of the 3 most frequent, if stable, sigma 1.5, delta 1e-06"


CALIBRATION = [
    (1, 0.037003, 0.1721, 3.8748, 32.2, 42.1),
    (2, 0.128385, 0.3205, 2.0802, 18.2, 23.5),
    (3, 0.262583, 0.4583, 1.4546, 13.3, 17.1),
    (5, 0.634403, 0.7124, 0.9358, 9.3, 11.7),
    (8, 1.393205, 1.0557, 0.6315, 6.9, 8.5),
]


@pytest.mark.parametrize(("epsilon", "rho", "epsilon_choice", "sigma", "half", "most"), CALIBRATION)
def test_golden_calibration(
    epsilon: float, rho: float, epsilon_choice: float, sigma: float, half: float, most: float
) -> None:
    """Delta 1e-4, half for the test and half for conversion, and 10 % of rho for the choice."""
    found = largest(lambda rho: zcdp_epsilon(rho, 5e-5) <= epsilon, 1e-6, 10.0)
    assert found == pytest.approx(rho, abs=6e-7)
    test = StableSet.calibrated(0.9 * found, 5e-5)
    assert test.sigma == pytest.approx(sigma, abs=6e-5)
    assert math.sqrt(8 * 0.1 * found) == pytest.approx(epsilon_choice, abs=6e-5)
    for probability, gap in ((0.5, half), (0.9, most)):
        normal = NormalDist()
        continuous = 2 + 2 * sigma * (normal.inv_cdf(probability) - normal.inv_cdf(5e-5))
        assert continuous == pytest.approx(gap, abs=0.06)
        # With whole numbers: the next one, or one more.
        assert continuous <= gap_to_pass(probability, test.sigma, 5e-5) < continuous + 2


def test_the_probability_to_pass_is_that_of_the_mechanism() -> None:
    for count in range(9):
        shares = (frozenset("ab"),) * count + (frozenset("c"),)
        test = StableSet(SIGMA, DELTA, 2)
        passed = 1 - law_of(test.draw)(shares)[None]
        gap = gaps(shares, 2)[1]
        assert passed == pytest.approx(pass_probability(gap, SIGMA, DELTA), abs=1e-12)
    for probability in (0.001, 0.5, 0.9, 0.999):
        gap = gap_to_pass(probability, SIGMA, DELTA)
        assert pass_probability(gap, SIGMA, DELTA) >= probability
        assert gap <= 2 or pass_probability(gap - 1, SIGMA, DELTA) < probability


# Broken twins: each differs from the real test in one respect.


def twin(
    size: int = 1,
    *,
    floor: int = 2,
    stable: int = 2,
    scale: float = 2 * SIGMA,
    lowered: int | None = None,
    ordered: bool = False,
) -> Draw:
    def draw(shares: Sequence[Words], noise: EveryNoise) -> object:
        ranked = by_count(shares)
        by = shift(SIGMA, DELTA) if lowered is None else lowered
        if max(floor, gap_after(size, ranked)) + noise.gaussian(scale) - by <= stable:
            return None
        found = tuple(word for word, _ in ranked[:size])
        return found if ordered else tuple(sorted(found))

    return draw


CLAIM = StableSet(SIGMA, DELTA).cost(REPLACE)


def test_a_twin_without_a_fault_passes() -> None:
    set_check(twin(), CLAIM)


@pytest.mark.parametrize(
    "fault",
    [
        {"lowered": 0},
        {"lowered": shift(SIGMA, DELTA) - 1},
        {"stable": 1, "floor": 1},
        {"scale": SIGMA, "lowered": shift(SIGMA / 2, DELTA)},
        {"scale": 1.4 * SIGMA, "lowered": shift(0.7 * SIGMA, DELTA)},
    ],
    ids=["not lowered", "lowered by too little", "stable from 2 on", "sensitivity 1", "30 % less noise"],
)
def test_a_faulty_test_is_caught(fault: dict[str, float]) -> None:
    with pytest.raises(AssertionError):
        set_check(twin(**fault), CLAIM)  # type: ignore[arg-type]


def test_words_in_the_order_of_their_counts_are_caught() -> None:
    set_check(twin(2), CLAIM)
    with pytest.raises(AssertionError):
        set_check(twin(2, ordered=True), CLAIM)


def test_without_the_maximum_nothing_breaks() -> None:
    """max(2, d) makes the failure's probability one number; without it, smaller gaps fail less, at the same cost."""
    set_check(twin(floor=-100), CLAIM)


def test_stable_set_has_no_outcome_of_one_neighbour_alone() -> None:
    law = law_of(StableSet(SIGMA, DELTA, 2).draw)
    first, second = (frozenset("ab"),) * 7, (*(frozenset("ab"),) * 6, frozenset("c"))
    assert law(first).keys() == law(second).keys() == {None, ("a", "b")}
    assert common(law(first), law(second), 0.0)
