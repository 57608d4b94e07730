"""Each mechanism's exact law, over all neighbouring inputs, against the cost that it claims; and broken twins."""

import math
from collections.abc import Callable, Iterable

import pytest

from discreet.privacy.costs import BoundedRange, Cost, Pure
from discreet.privacy.mechanisms.selection import (
    ExponentialMechanism,
    LimitedDomain,
    ObservedSelection,
    PermuteAndFlip,
    SparseVector,
    vote_scale,
)
from discreet.privacy.private import Change, Relation
from tests.guarantee.privacy.laws import (
    ADD_REMOVE,
    REPLACE,
    Law,
    Votes,
    check_cost,
    common,
    exponential_law,
    hockey_stick,
    laplace_law,
    largest_loss,
    limited_domain_law,
    neighbours,
    observed_law,
    permute_and_flip_law,
    span,
    sparse_vector_law,
)

CHANGES = (REPLACE, ADD_REMOVE)
EPSILONS = (0.5, 1.0, 2.0)
LawOf = Callable[[Votes], Law]


def worst(law: LawOf, cost: Cost, change: Change, values: int = 3, votes: int = 6) -> float:
    """Check all neighbouring pairs; the largest share of the claim that one of them reaches."""
    pairs: Iterable[tuple[Votes, Votes]] = neighbours(values, votes, change.relation)
    reached = []
    for first, second in pairs:
        p, q = law(first), law(second)
        reached.append(check_cost(p, q, cost))
        if isinstance(cost, BoundedRange):
            assert span(*common(p, q, cost.delta)) <= cost.epsilon * (1 + 1e-9)
    return max(reached)


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("epsilon", EPSILONS)
class TestClaims:
    def test_exponential(self, epsilon: float, change: Change) -> None:
        mechanism = ExponentialMechanism(4, vote_scale(change, epsilon))
        assert isinstance(mechanism.cost(change), BoundedRange)
        assert mechanism.cost(change).curve[-1] == pytest.approx(epsilon)
        reached = worst(lambda v: exponential_law(v, 4, mechanism.scale), mechanism.cost(change), change, votes=8)
        assert reached >= 0.75  # the loss alone; the range is reached whole, below

    def test_permute_and_flip(self, epsilon: float, change: Change) -> None:
        mechanism = PermuteAndFlip(3, vote_scale(change, epsilon))
        reached = worst(lambda v: permute_and_flip_law(v, 3, mechanism.scale), mechanism.cost(change), change)
        assert reached >= 0.9

    def test_observed(self, epsilon: float, change: Change) -> None:
        mechanism = ObservedSelection.calibrated(epsilon, 0.01, change)
        cost = mechanism.cost(change)
        assert cost.delta == pytest.approx(0.01)
        law: LawOf = lambda v: observed_law(v, mechanism.scale, mechanism.bottom)  # noqa: E731
        worst(law, cost, change)
        # (epsilon, delta)-DP as a whole, and tight: the worst pair reaches delta.
        pairs = [(law(a), law(b)) for a, b in neighbours(3, 8, change.relation)]
        sticks = [hockey_stick(p, q, epsilon) for p, q in pairs]
        assert 0.9 * 0.01 <= max(sticks) <= 0.01 * (1 + 1e-9)

    def test_limited_domain(self, epsilon: float, change: Change) -> None:
        mechanism = LimitedDomain.calibrated(epsilon, 0.01, change, 6)
        cost = mechanism.cost(change)
        assert cost.curve[-1] == pytest.approx(epsilon)
        assert cost.delta == pytest.approx(0.01)
        worst(lambda v: limited_domain_law(v, mechanism.epsilon, mechanism.delta, mechanism.domain), cost, change)

    def test_limited_domain_that_leaves_counts_out(self, epsilon: float, change: Change) -> None:
        mechanism = LimitedDomain(epsilon / 2, 0.01, domain=2, votes=6)
        cost = mechanism.cost(change)
        assert isinstance(cost, Pure)
        for a, b in neighbours(4, 6, change.relation):
            p, q = (limited_domain_law(v, mechanism.epsilon, mechanism.delta, 2) for v in (a, b))
            assert hockey_stick(p, q, cost.epsilon) <= cost.delta * (1 + 1e-9)

    def test_sparse_vector(self, epsilon: float, change: Change) -> None:
        for split in (1.0, 2 ** (2 / 3)):
            mechanism = SparseVector.calibrated(epsilon, 3, change, split=split)
            assert mechanism.cost(change).curve[-1] == pytest.approx(epsilon)
            reached = [
                largest_loss(*common(law(mechanism, a), law(mechanism, b), 1e-12))
                for a, b in count_sequences(change.relation)
            ]
            assert max(reached) <= epsilon * (1 + 1e-6)
            assert max(reached) >= 0.9 * epsilon


def law(mechanism: SparseVector, counts: tuple[int, ...]) -> Law:
    return sparse_vector_law(counts, mechanism.threshold, mechanism.threshold_scale, mechanism.query_scale)


def count_sequences(relation: Relation) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Neighbouring sequences of counts: silent steps that change, and a last one that changes back or not at all."""
    pairs = []
    for steps in (1, 3, 8):
        for high, low in ((6, 0), (9, -9), (3, 3)):
            pairs.append(((high,) * steps + (low,), (high - 1,) * steps + (low,)))
            pairs.append(((high,) * steps + (low,), (high - 1,) * steps + (low - 1,)))
            if relation is Relation.REPLACE:
                pairs.append(((high,) * steps + (low,), (high - 1,) * steps + (low + 1,)))
    return pairs + [(b, a) for a, b in pairs]


def test_the_range_of_the_exponential_mechanism_is_reached() -> None:
    scale = vote_scale(REPLACE, 1.0)
    first, second = (0,) * 8, (0,) * 7 + (1,)
    assert span(exponential_law(first, 3, scale), exponential_law(second, 3, scale)) == pytest.approx(1.0)


# -- golden vectors (privacy-spec, parts 2a and 2b) ------------------------------------------------------------


def test_golden_selection() -> None:
    votes = (0,) * 25 + (1,) * 10 + (2,) * 5
    found = exponential_law(votes, 3, vote_scale(REPLACE, 1.0))
    assert [found[c] for c in range(3)] == pytest.approx([0.999402, 0.000553, 0.000045], abs=5e-7)


@pytest.mark.parametrize(
    ("epsilon", "delta", "bottom"),
    [
        (0.5, 1e-6, 56.262038),
        (1, 1e-6, 28.631019),
        (2, 1e-6, 14.815510),
        (4, 1e-6, 7.907755),
        (1, 1e-5, 24.025831),
        (2, 1e-5, 12.512915),
    ],
)
def test_golden_bottoms(epsilon: float, delta: float, bottom: float) -> None:
    assert ObservedSelection.calibrated(epsilon, delta, REPLACE).bottom == pytest.approx(bottom, abs=5e-7)


@pytest.mark.parametrize(
    ("voters", "share", "chances"),
    [
        (40, 0.6, (0.000, 0.090, 1.000, 1.000)),
        (40, 0.8, (0.002, 0.843, 1.000, 1.000)),
        (80, 0.4, (0.002, 0.843, 1.000, 1.000)),
        (80, 0.8, (0.874, 1.000, 1.000, 1.000)),
        (200, 0.4, (0.997, 1.000, 1.000, 1.000)),
    ],
)
def test_golden_chances_of_release(voters: int, share: float, chances: tuple[float, ...]) -> None:
    top = round(voters * share)
    votes = (0,) * top + tuple(range(1, voters - top + 1))
    for epsilon, chance in zip((0.5, 1, 2, 4), chances, strict=True):
        mechanism = ObservedSelection.calibrated(epsilon, 1e-6, REPLACE)
        assert observed_law(votes, mechanism.scale, mechanism.bottom)[0] == pytest.approx(chance, abs=6e-4)


@pytest.mark.parametrize(("epsilon", "chance"), [(0.25, 0.506), (0.5, 0.904), (1, 0.999)])
def test_golden_public_choices(epsilon: float, chance: float) -> None:
    # Half of 40 votes for one of ten choices; the others evenly, as the specification has it.
    votes = (0,) * 20 + tuple(1 + place % 9 for place in range(20))
    assert exponential_law(votes, 10, vote_scale(REPLACE, epsilon))[0] == pytest.approx(chance, abs=0.03)


# -- several shares a unit ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", list(Relation))
def test_a_unit_with_several_shares_pays_for_all_of_them(relation: Relation) -> None:
    change = Change(2, relation)
    mechanism = ObservedSelection.calibrated(1.0, 0.01, change)
    cost = mechanism.cost(change)
    assert cost.curve[-1] == pytest.approx(1.0)
    steps = list(neighbours(3, 5, relation))
    after: dict[Votes, list[Votes]] = {}
    for a, b in steps:
        after.setdefault(tuple(sorted(a)), []).append(tuple(sorted(b)))
    for a, b in steps:
        for c in after.get(tuple(sorted(b)), []):
            p, q = (observed_law(v, mechanism.scale, mechanism.bottom) for v in (a, c))
            assert hockey_stick(p, q, 1.0) <= cost.delta * (1 + 1e-9)
    assert SparseVector.calibrated(1.0, 3, change).cost(change).curve[-1] == pytest.approx(1.0)
    with pytest.raises(NotImplementedError):
        LimitedDomain(1.0, 0.01, 6, 6).cost(change)


# -- broken twins ----------------------------------------------------------------------------------------------------


def test_half_the_noise_is_caught() -> None:
    real = ExponentialMechanism(3, vote_scale(REPLACE, 1.0))
    with pytest.raises(AssertionError):
        worst(lambda v: exponential_law(v, 3, real.scale / 2), real.cost(REPLACE), REPLACE)
    flip = PermuteAndFlip(3, vote_scale(REPLACE, 1.0))
    with pytest.raises(AssertionError):
        worst(lambda v: permute_and_flip_law(v, 3, flip.scale / 2), flip.cost(REPLACE), REPLACE)
    sparse = SparseVector.calibrated(1.0, 3, REPLACE)
    half = SparseVector(3, sparse.threshold_scale / 2, sparse.query_scale / 2)
    pairs = [(law(half, a), law(half, b)) for a, b in count_sequences(Relation.REPLACE)]
    losses = [largest_loss(*common(p, q, 1e-9)) for p, q in pairs]
    assert max(losses) > 1.0


def test_the_cost_of_the_wrong_relation_is_caught() -> None:
    scale = vote_scale(ADD_REMOVE, 1.0)
    with pytest.raises(AssertionError):
        worst(lambda v: exponential_law(v, 3, scale), ExponentialMechanism(3, scale).cost(ADD_REMOVE), REPLACE)


def test_limited_domain_as_the_paper_charges_it_is_caught() -> None:
    # DPVoteRAG charges (epsilon, delta) for an ensemble that changes by replacement; the range is twice that.
    printed = LimitedDomain(1.0, 0.001, 8, 8)
    with pytest.raises(AssertionError):
        worst(lambda v: limited_domain_law(v, 1.0, 0.001, 8), printed.cost(ADD_REMOVE), REPLACE, votes=8)
    first, second = ((0,) * 10 + (1,) * 10, (0,) * 9 + (1,) * 11)
    p, q = (limited_domain_law(votes, 1.0, 0.4, 40) for votes in (first, second))
    assert span(*common(p, q, 0.5)) == pytest.approx(2.0)


def test_a_bottom_that_is_too_low_is_caught() -> None:
    real = ObservedSelection.calibrated(1.0, 0.01, REPLACE)
    with pytest.raises(AssertionError):
        worst(lambda v: observed_law(v, real.scale, real.bottom - 1), real.cost(REPLACE), REPLACE)


def test_noise_on_observed_values_alone_is_caught() -> None:
    scale = vote_scale(REPLACE, 1.0)
    with pytest.raises(AssertionError):
        worst(lambda v: observed_law(v, scale, -math.inf), BoundedRange(1.0, 0.01), REPLACE)


def test_an_ordered_output_is_caught() -> None:
    # All values in the order of their counts, rather than one of them: an outcome that only one neighbour has.
    def ordered(votes: Votes) -> Law:
        return {tuple(sorted(set(votes), key=lambda v: (-votes.count(v), v))): 1.0}

    with pytest.raises(AssertionError):
        worst(ordered, BoundedRange(1.0, 0.01), REPLACE)


def two_firings(first: tuple[int, ...], second: tuple[int, ...], mechanism: SparseVector) -> Law:
    """The joint law of the steps of two firings with one threshold."""
    joint: Law = {}
    for shift, weight in laplace_law(mechanism.threshold_scale, 60).items():
        runs = [sparse_vector_law(counts, shift, 0.02, mechanism.query_scale, reach=20) for counts in (first, second)]
        for a, p in runs[0].items():
            for b, q in runs[1].items():
                joint[a, b] = joint.get((a, b), 0.0) + weight * p * q
    return joint


def test_asking_again_after_a_firing_is_caught() -> None:
    """One run's price for two firings with one threshold: each firing costs its queries' share anew."""
    mechanism = SparseVector.calibrated(1.0, 0, REPLACE, split=1.0)  # 1/2 for the threshold, 1/2 for the firing
    here, there = (*(2,) * 8, 0), (*(1,) * 8, 1)
    p, q = two_firings(here, here, mechanism), two_firings(there, there, mechanism)
    lost = largest_loss(*common(p, q, 1e-6))
    assert lost > 1.0
    assert lost <= 1.5 * (1 + 1e-6)  # what it would cost if one paid: the threshold once, the queries twice
