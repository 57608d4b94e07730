"""Histograms of which a unit is in K cells: golden vectors, exact laws over all neighbouring inputs, costs, twins."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import combinations, combinations_with_replacement
from typing import Any

import pytest

from discreet.privacy.accounting import Budget
from discreet.privacy.costs import Pure
from discreet.privacy.mechanisms import counting
from discreet.privacy.mechanisms.counting import GaussianHistogram, NoisyHistogram
from discreet.privacy.noise import InsecureSeededNoise, Noise, SystemNoise
from discreet.privacy.private import Change, Relation
from discreet.statistics.cells import StatisticPrice, choose_histogram, choose_tables, cost_of
from tests.exact import paths
from tests.guarantee.privacy.laws import ADD_REMOVE, REPLACE, Law, divergence, gaussian_law

Cells = tuple[int, ...]
Histogram = NoisyHistogram | GaussianHistogram
BUDGET = Budget(20.0, 1e-6, 5e-7)


class NoNoise(InsecureSeededNoise):
    """The true counts."""

    def laplace(self, scale: float) -> int:
        return 0

    def gaussian(self, scale: float) -> int:
        return 0


def shares(values: int) -> list[Cells]:
    """All sets of values, also larger ones than count."""
    return [one for size in range(values + 1) for one in combinations(range(values), size)]


def neighbours(values: int, size: int, relation: Relation) -> Iterator[tuple[list[Cells], list[Cells]]]:
    """All ordered pairs of neighbouring inputs of up to `size` shares, up to the order of shares."""
    for some in (list(one) for count in range(size) for one in combinations_with_replacement(shares(values), count)):
        for more in shares(values):
            if relation is Relation.ADD_REMOVE:
                yield [*some, more], some
                yield some, [*some, more]
            else:
                yield from (([*some, more], [*some, other]) for other in shares(values) if other != more)


def true(histogram: Histogram, some: Sequence[Cells]) -> Cells:
    return histogram.draw(some, NoNoise(0))


def moves(histogram: Histogram, relation: Relation, size: int = 2) -> set[Cells]:
    """How the true counts move, over all neighbours."""
    counted = cache(lambda some: true(histogram, some))
    return {
        tuple(a - b for a, b in zip(counted(tuple(first)), counted(tuple(second)), strict=True))
        for first, second in neighbours(histogram.values, size, relation)
    }


# -- golden vectors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("each", "scale", "sigma"), [(1, 1.0, 2.0), (3, 3.0, 3.4641016151377544), (6, 6.0, 4.898979485566356)]
)
def test_histograms_of_known_scale(each: int, scale: float, sigma: float) -> None:
    """Epsilon 1 and rho 1/8. A replaced share leaves K cells and comes to K others."""
    assert NoisyHistogram.calibrated(1.0, 8, ADD_REMOVE, each) == NoisyHistogram(8, scale, each)
    assert NoisyHistogram.calibrated(1.0, 8, REPLACE, each) == NoisyHistogram(8, 2 * scale, each)
    assert GaussianHistogram.calibrated(0.125, 8, ADD_REMOVE, each).sigma == pytest.approx(sigma, rel=1e-15)
    replaced = GaussianHistogram.calibrated(0.125, 8, REPLACE, each).sigma
    assert replaced == pytest.approx(math.sqrt(2) * sigma, rel=1e-15)
    assert NoisyHistogram(8, 2.0, each).cost(ADD_REMOVE) == Pure(each / 2)
    assert NoisyHistogram(8, 2.0, each).cost(REPLACE) == Pure(float(each))
    assert GaussianHistogram(8, 2.0, each).cost(ADD_REMOVE).rho == each / 8
    assert GaussianHistogram(8, 2.0, each).cost(REPLACE).rho == each / 4


def test_histogram_of_one_cell_a_unit_is_the_former_one() -> None:
    for change in (ADD_REMOVE, REPLACE):
        assert NoisyHistogram.calibrated(0.3, 5, change) == NoisyHistogram.calibrated(0.3, 5, change, 1)
        assert GaussianHistogram.calibrated(0.3, 5, change) == GaussianHistogram.calibrated(0.3, 5, change, 1)
    assert NoisyHistogram(2, 1.0).draw((0, 1, 1, -1, 5), NoNoise(0)) == (1, 2)
    assert NoisyHistogram(2, 1.0).draw(((0,), (1,), (1,), (), (5,)), NoNoise(0)) == (1, 2)


@pytest.mark.parametrize("each", [1, 2, 3, 6, 7, 49])
@pytest.mark.parametrize("change", [ADD_REMOVE, REPLACE, Change(3, ADD_REMOVE.relation)])
def test_calibrated_histograms_cost_at_most_their_price(each: int, change: Change) -> None:
    for price in (1e-3, 0.0301, 0.3, 1 / 3, 1.0, 7.0):
        pure = NoisyHistogram.calibrated(price, 9, change, each).cost(change)
        assert 0.999999 * price < pure.epsilon <= price  # type: ignore[attr-defined]
        rho = GaussianHistogram.calibrated(price, 9, change, each).cost(change).rho
        assert 0.999999 * price < rho <= price


# -- the law on neighbouring inputs ----------------------------------------------------------------------------------


def law(some: Sequence[Cells], histogram: NoisyHistogram) -> Law:
    """The exact law of what `draw` returns, walked through draw by draw."""
    found: Law = {}
    for noise in paths():
        counts = histogram.draw(some, noise)
        found[counts] = found.get(counts, 0.0) + noise.probability
    return found


def loss(histogram: NoisyHistogram) -> float:
    """The largest loss over all neighbours of up to two shares."""
    pairs = list(neighbours(histogram.values, 2, Relation.ADD_REMOVE))
    inputs = {tuple(sorted(some)) for pair in pairs for some in pair}
    laws = {some: law(some, histogram) for some in inputs}
    worst = 0.0
    for first, second in pairs:
        p, q = laws[tuple(sorted(first))], laws[tuple(sorted(second))]
        both = p.keys() & q.keys()  # without the ends of the tails, which are cut at different places
        worst = max(worst, *(abs(math.log(p[counts] / q[counts])) for counts in both))
    return worst


@pytest.mark.parametrize("each", [1, 2, 3])
def test_a_histogram_of_several_cells_costs_what_it_claims_and_no_less(each: int) -> None:
    histogram = NoisyHistogram.calibrated(2.5 * each, 3, ADD_REMOVE, each)
    assert loss(histogram) == pytest.approx(2.5 * each)


@pytest.mark.parametrize("each", [1, 2, 3])
@pytest.mark.parametrize("change", [ADD_REMOVE, REPLACE])
def test_one_share_moves_as_many_cells_as_are_paid(each: int, change: Change) -> None:
    """The cells have independent noise: the loss of Laplace noise is the sum of the moves over the scale, and the
    divergence of Gaussian noise that of their squares."""
    pure, gaussian = NoisyHistogram(2 * each, 1.0, each), GaussianHistogram(2 * each, 1.0, each)
    size = 4 - each  # more shares change nothing: counts are sums
    for histogram in (pure, gaussian):
        found = moves(histogram, change.relation, size)
        assert max(max(map(abs, one)) for one in found) == 1
        assert max(sum(map(abs, one)) for one in found) == pure.cost(change).epsilon  # type: ignore[attr-defined]
        assert max(sum(z * z for z in one) / 2 for one in found) == gaussian.cost(change).rho
        assert max(sum(map(bool, one)) for one in found) == each * change.moves


@pytest.mark.parametrize("each", [1, 2, 3])
def test_a_gaussian_histogram_of_several_cells_costs_what_it_claims(each: int) -> None:
    """Of a share that comes, each of its K cells has the divergence of one count; those of all cells add up."""
    histogram = GaussianHistogram(4, 1.5, each)
    z, shifted = gaussian_law(1.5, 13), {k + 1: p for k, p in gaussian_law(1.5, 13).items()}
    both = z.keys() & shifted.keys()
    one = divergence({k: z[k] for k in both}, {k: shifted[k] for k in both}, 2.0)
    moved = max(sum(map(abs, found)) for found in moves(histogram, Relation.ADD_REMOVE))
    allowed = histogram.cost(ADD_REMOVE).rho * 2.0
    assert 0.98 * allowed < moved * one <= allowed * (1 + 1e-9)


def broken_count(some: Sequence[int | Collection[int]], each: int) -> "Counter[int]":
    """A twin: one cell of a share too many."""
    return Counter(value for share in some for value in sorted(set(share))[: each + 1])  # type: ignore[arg-type]


@pytest.mark.parametrize("each", [1, 2])
def test_a_histogram_that_counts_one_cell_more_is_caught(each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_count", broken_count)
    histogram = NoisyHistogram.calibrated(2.5 * each, 3, ADD_REMOVE, each)
    assert loss(histogram) == pytest.approx(2.5 * (each + 1))
    gaussian = GaussianHistogram(3, 1.0, each)
    moved = max(sum(z * z for z in found) / 2 for found in moves(gaussian, Relation.ADD_REMOVE))
    assert moved > gaussian.cost(ADD_REMOVE).rho


def test_a_value_that_a_share_has_twice_counts_once() -> None:
    assert NoisyHistogram(2, 1.0, 2).draw([(1, 1, 1)], NoNoise(0)) == (0, 1)
    assert GaussianHistogram(3, 1.0, 2).draw([(2, 1, 1, 0)], NoNoise(0)) == (1, 1, 0)


@pytest.mark.parametrize("noise", [SystemNoise(), InsecureSeededNoise(3)])
@pytest.mark.parametrize("histogram", [NoisyHistogram(2, 1.0, 2), GaussianHistogram(2, 1.5, 2)])
def test_tables_are_drawn_from_their_law(noise: Noise, histogram: Any) -> None:
    draws, some = 1500, [(0, 1), (0,), (1, 5), (), (0, 1)]
    ratio = math.exp(-1.0)
    expected = (
        {z: (1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in range(-4, 5)}
        if isinstance(histogram, NoisyHistogram)
        else gaussian_law(1.5, 12)
    )
    found = [histogram.draw(some, noise) for _ in range(draws)]
    for cell, count in ((0, 3), (1, 3)):
        seen = Counter(one[cell] for one in found)
        for z in range(-3, 4):
            assert abs(seen[count + z] / draws - expected[z]) < 5 * math.sqrt(expected[z] / draws)


# -- the price of both tables ----------------------------------------------------------------------------------------

SIZES = [((1, 1), (12, 1)), ((1, 1), (12, 3)), ((12, 3), (144, 9)), ((5, 1), (60, 3)), ((240, 3), (4800, 60))]


@pytest.mark.parametrize(("sizes", "cells"), SIZES)
@pytest.mark.parametrize(
    "price",
    [StatisticPrice(BUDGET, epsilon=one) for one in (0.1, 0.5, 1.0, 4.0)]
    + [StatisticPrice(BUDGET, uses=n) for n in (3, 40)],
)
def test_both_tables_cost_the_price_and_no_more(
    sizes: tuple[int, int], cells: tuple[int, int], price: StatisticPrice
) -> None:
    tables = choose_tables(price, sizes, cells)
    cost = cost_of(*tables)
    assert price.admits(cost)
    assert type(tables[0]) is type(tables[1])
    assert [(one.values, one.each) for one in tables] == [sizes, cells]
    if price.epsilon:
        assert 0.98 * price.epsilon <= price.plan(cost).price(BUDGET) <= price.epsilon + 1e-6


def test_tables_of_known_noise() -> None:
    """K = 3 of 12 values. By itself at epsilon 1 with Laplace noise; one of many with Gaussian noise."""
    groups, cells = choose_tables(StatisticPrice(BUDGET, epsilon=1.0), (1, 1), (12, 3))
    assert isinstance(cells, NoisyHistogram)
    assert isinstance(groups, NoisyHistogram)
    assert cells.scale == pytest.approx(3 / 0.9, rel=1e-5)
    assert groups.scale == pytest.approx(10.0, rel=1e-5)
    many = choose_tables(StatisticPrice(BUDGET, uses=40), (1, 1), (12, 3))[1]
    assert isinstance(many, GaussianHistogram)
    assert many.deviation < math.sqrt(3) * choose_histogram(StatisticPrice(BUDGET, uses=40), 12).deviation * 1.06


def test_noise_of_a_table_is_the_lesser_one() -> None:
    """Laplace noise grows with K, and Gaussian noise with its root."""
    for price in (StatisticPrice(BUDGET, epsilon=1.0), StatisticPrice(BUDGET, uses=10)):
        kinds = [type(choose_tables(price, (1, 1), (100, each))[1]) for each in (1, 2, 3, 6, 12, 24, 48)]
        first = kinds.index(GaussianHistogram)
        assert set(kinds[first:]) == {GaussianHistogram}
