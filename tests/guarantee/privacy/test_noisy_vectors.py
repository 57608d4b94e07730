"""Projected vectors with noise: golden vectors, neighbouring inputs, exact laws, and broken twins that are caught."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import ZeroConcentrated
from discreet.privacy.mechanisms.vectors import NoisyVectors, Placed, spectral_norm
from discreet.privacy.noise import InsecureSeededNoise, SystemNoise, Whole
from discreet.privacy.private import Change, Relation
from tests.guarantee.privacy.laws import ADD_REMOVE, REPLACE, Law, divergence, gaussian_law

MATRIX = np.array([[2, -1], [1, 3], [0, 2]], dtype=np.int64)


class Silent(InsecureSeededNoise):
    """No noise at all: what a draw is before it."""

    def gaussians(self, scale: float, count: int) -> Whole:
        return np.zeros(count, dtype=np.int64)


def placed(row: int, *numbers: int) -> Placed:
    return row, np.array(numbers, dtype=np.int64)


def bare(release: NoisyVectors, shares: Sequence[Placed]) -> Whole:
    return release.draw(shares, Silent(0))


def test_golden_spectral_norm() -> None:
    """Of the matrix above: the root of the largest eigenvalue of ((5, 1), (1, 14)), which is (19 + sqrt(85))/2."""
    exact = math.sqrt((19 + math.sqrt(85)) / 2)
    assert exact < spectral_norm(MATRIX) < exact * (1 + 1e-8)


def test_golden_cost() -> None:
    """Privacy-spec, part 7: rho = (2 Delta |P|)^2/(2 sigma^2), sigma being in multiples of Delta |P| here."""
    release = NoisyVectors(MATRIX, 4, 5, 2.5)
    sigma = 2.5 * 5 * spectral_norm(MATRIX)
    rho = (2 * 5 * spectral_norm(MATRIX)) ** 2 / (2 * sigma**2)
    assert rho == pytest.approx(0.32)
    for change, expected in ((REPLACE, 0.32), (ADD_REMOVE, 0.08), (Change(3, Relation.REPLACE), 9 * 0.32)):
        cost = release.cost(change)
        assert isinstance(cost, ZeroConcentrated)
        assert cost.rho == pytest.approx(expected)
    again = NoisyVectors.calibrated(0.32, MATRIX, 4, 5, REPLACE)
    assert again.sigma == pytest.approx(2.5)


def test_golden_scale_for_a_budget() -> None:
    """rho = 0.125 is epsilon 2.165716 at delta 1e-5 (privacy-spec, part 1); two reaches then take sigma = 4."""
    assert NoisyVectors.calibrated(0.125, MATRIX, 4, 5, REPLACE).sigma == 4
    assert Spending.of(ZeroConcentrated(0.125)).epsilon(1e-5) == pytest.approx(2.165716, abs=1e-6)
    assert Budget(2.17, 1e-5).admits(Spending.of(ZeroConcentrated(0.125)))


def test_rows_hold_what_they_should() -> None:
    release = NoisyVectors(MATRIX, 3, 5, 1.0)
    found = bare(release, [placed(2, 1, 2, 3), placed(0, 0, 0, -5)])
    assert found.tolist() == [[0, -10], [0, 0], [4, 11]]


SHORT = [v for v in product(range(-2, 3), repeat=3) if np.dot(v, v) <= 4]
shares = st.lists(st.tuples(st.integers(-1, 3), st.sampled_from(SHORT)), max_size=4)


@given(
    shares, st.tuples(st.integers(-1, 3), st.sampled_from(SHORT)), st.tuples(st.integers(-1, 3), st.sampled_from(SHORT))
)
def test_neighbours_differ_by_no_more_than_is_paid_for(
    others: list[tuple[int, tuple[int, ...]]], one: tuple[int, tuple[int, ...]], other: tuple[int, tuple[int, ...]]
) -> None:
    """Whatever others are there, and whichever rows they claim: a share replaced, and one that comes or goes."""
    release = NoisyVectors(MATRIX, 3, 2, 1.0)
    held = [placed(row, *numbers) for row, numbers in others]
    without, first, second = (
        bare(release, [*held, *(placed(row, *numbers) for row, numbers in own)]) for own in ((), (one,), (other,))
    )
    assert np.linalg.norm(first - second) <= 2 * release.reach
    assert np.linalg.norm(first - without) <= release.reach


def test_the_worst_pair_is_as_far_apart_as_is_paid_for() -> None:
    """So that the bound is not silly: a long vector along the matrix's main direction, against its opposite."""
    length = 1000
    release = NoisyVectors(MATRIX, 1, length, 1.0)
    direction = np.linalg.svd(MATRIX.astype(float))[0][:, 0]
    longest = np.trunc(direction * (length - 1)).astype(np.int64)
    apart = bare(release, [(0, longest)]) - bare(release, [(0, -longest)])
    assert 0.99 * 2 * release.reach < np.linalg.norm(apart) <= 2 * release.reach


def law(numbers: Whole, scale: float) -> list[Law]:
    """Of each number by itself; they are independent."""
    noise = gaussian_law(scale, math.ceil(12 * scale))
    return [{int(number) + z: weight for z, weight in noise.items()} for number in numbers.ravel()]


def lost(first: list[Law], second: list[Law], order: float) -> float:
    total = 0.0
    for p, q in zip(first, second, strict=True):
        common = [outcome for outcome in p if outcome in q]  # tails are cut where they weigh nothing
        total += divergence({o: p[o] for o in common}, {o: q[o] for o in common}, order)
    return total


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0])
def test_the_exact_law_stays_within_its_cost_and_reaches_it(order: float) -> None:
    release = NoisyVectors(MATRIX, 1, 3, 2.0)
    rho, reached = release.cost(REPLACE).rho, 0.0  # type: ignore[attr-defined]
    vectors = [v for v in product(range(-3, 4), repeat=3) if np.dot(v, v) == 9]
    for one, other in product(vectors, repeat=2):
        laws = [law(bare(release, [placed(0, *v)]), release.sigma * release.reach) for v in (one, other)]
        loss = lost(laws[0], laws[1], order)
        assert loss <= order * rho * (1 + 1e-6)
        reached = max(reached, loss / (order * rho))
    assert reached > 0.85


class ByColumn(NoisyVectors):
    """A broken twin: its noise is fit to the longest column of the matrix, as if numbers moved one at a time."""

    @property
    def reach(self) -> float:
        return self.length * float(np.max(np.abs(self.matrix)))


class Appended(NoisyVectors):
    """A broken twin: a row for each share, in their order, so that one that goes moves all that come after it."""

    def draw(self, shares: Sequence[Placed], noise: InsecureSeededNoise) -> Whole:  # type: ignore[override]
        return super().draw([(row, vector) for row, (_, vector) in enumerate(shares)], noise)


class Overwritten(NoisyVectors):
    """A broken twin: the last of the shares that claim a row has it."""

    def draw(self, shares: Sequence[Placed], noise: InsecureSeededNoise) -> Whole:  # type: ignore[override]
        return super().draw(list(dict(shares).items()), noise)


def test_noise_for_single_numbers_is_caught() -> None:
    twin = ByColumn(MATRIX, 1, 3, 2.0)
    pair = [law(bare(twin, [placed(0, *v)]), twin.sigma * twin.reach) for v in ((1, 2, 2), (-1, -2, -2))]
    assert lost(pair[0], pair[1], 2.0) > 2.0 * twin.cost(REPLACE).rho * 1.05  # type: ignore[attr-defined]


def test_rows_in_the_order_of_the_shares_are_caught() -> None:
    twin = Appended(MATRIX, 4, 3, 1.0)
    held = [placed(0, 3, 0, 0), placed(1, -3, 0, 0), placed(2, 3, 0, 0), placed(3, -3, 0, 0)]
    assert np.linalg.norm(bare(twin, held) - bare(twin, held[1:])) > 2 * twin.reach


def test_row_of_the_last_claimant_costs_more_than_an_empty_row() -> None:
    """One share that takes another's row: its own is emptied, and the other's turned into its opposite."""
    twin, real = (kind(MATRIX, 2, 1000, 1.0) for kind in (Overwritten, NoisyVectors))
    direction = np.trunc(np.linalg.svd(MATRIX.astype(float))[0][:, 0] * 999).astype(np.int64)
    before, after = ([(1, direction), (0, direction)], [(1, direction), (1, -direction)])
    assert np.linalg.norm(bare(twin, before) - bare(twin, after)) > 2 * twin.reach
    assert np.linalg.norm(bare(real, before) - bare(real, after)) <= 2 * real.reach


def test_vectors_that_are_too_long_count_as_nothing() -> None:
    release = NoisyVectors(MATRIX, 4, 2, 1.0)
    huge = np.iinfo(np.int64).min
    wrong = [placed(0, 2, 1, 0), placed(1, huge, 0, 0), placed(2, 1, 1), placed(9, 1, 0, 0), placed(3, 2, 0, 0)]
    assert bare(release, wrong).tolist() == [[0, 0], [0, 0], [0, 0], [4, -2]]


def test_noise_is_on_every_row_and_has_its_scale() -> None:
    release = NoisyVectors(MATRIX, 500, 4, 3.0)
    drawn = release.draw([], SystemNoise())
    assert drawn.shape == (500, 2)
    assert np.std(drawn) == pytest.approx(3.0 * release.reach, rel=0.1)


def test_products_too_large_to_be_exact_are_refused() -> None:
    with pytest.raises(ValueError, match="exact"):
        NoisyVectors(MATRIX * 2**50, 1, 4096, 1.0)
