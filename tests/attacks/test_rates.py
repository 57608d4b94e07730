"""Areas, rates and their intervals, against known values; what differential privacy allows."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy

from discreet_lab.attacks.rates import Auc, Rate, curve, most_auc, most_true_positives, true_positives


def test_the_area_counts_pairs_and_ties_half() -> None:
    assert Auc.of([2, 3], [1]).value == 1
    assert Auc.of([1], [2, 3]).value == 0
    assert Auc.of([1, 1], [1, 1]).value == 0.5
    assert Auc.of([3, 1], [2, 1]).value == pytest.approx(2.5 / 4)
    ins, outs = np.random.default_rng(1).normal(size=(2, 30)).tolist()
    assert Auc.of(ins, outs).value == pytest.approx(scipy.stats.mannwhitneyu(ins, outs).statistic / 900)


def test_the_interval_is_one_of_scores() -> None:
    found = Auc.of(list(range(100)), [n + 0.5 for n in range(100)])
    assert found.value == pytest.approx(0.495)
    # Near the middle it is 1.96 standard errors, each about sqrt(1/12 (1/m + 1/n)).
    assert found.high - found.low == pytest.approx(2 * 1.96 * math.sqrt(2 / 1200), rel=0.05)
    certain = Auc.of([2.0] * 10, [1.0] * 10)
    assert (certain.value, certain.high) == (1, 1)
    assert 0.6 < certain.low < 0.9
    mirrored = Auc.of([1.0] * 10, [2.0] * 10)
    assert (mirrored.low, mirrored.high) == pytest.approx((0, 1 - certain.low))


def test_the_interval_covers_the_area_as_often_as_it_says() -> None:
    draw, truth = np.random.default_rng(5), scipy.stats.norm.cdf(1 / math.sqrt(2))
    found = [Auc.of(draw.normal(1, 1, 25).tolist(), draw.normal(0, 1, 25).tolist()) for _ in range(400)]
    assert np.mean([auc.low <= truth <= auc.high for auc in found]) > 0.92


@pytest.mark.parametrize(
    ("shift", "alike"), [(0.0, 0.0), (0.0, 0.9), (1.0, 0.0), (2.0, 0.9)], ids=["noise", "texts", "leak", "sure leak"]
)
def test_interval_of_pairs_has_its_stated_coverage(shift: float, alike: float) -> None:
    """Scores of the same people in and out, which have `alike` in common and differ by `shift`."""
    draw, truth = np.random.default_rng(7), scipy.stats.norm.cdf(shift / math.sqrt(2))
    covered = []
    for _ in range(300):
        outs, own = draw.normal(size=(2, 30))
        ins = shift + alike * outs + math.sqrt(1 - alike**2) * own
        auc = Auc.of_pairs(ins.tolist(), outs.tolist())
        covered.append(auc.low <= truth <= auc.high)
        assert auc.low <= auc.value <= auc.high
    assert np.mean(covered) > 0.94


def test_pairs_narrow_the_interval_if_presence_has_no_effect() -> None:
    scores = np.random.default_rng(2).normal(size=100).tolist()
    pairs, apart = Auc.of_pairs(scores, scores), Auc.of(scores, scores)
    assert pairs.value == apart.value == 0.5
    assert 0 < pairs.high - pairs.low < 0.4 * (apart.high - apart.low)
    assert (Auc.of_pairs([1.0] * 9, [0.0] * 9).high, Auc.of_pairs([0.0] * 9, [1.0] * 9).low) == (1, 0)
    assert 0.5 < Auc.of_pairs([1.0] * 9, [0.0] * 9).low < 0.9


@pytest.mark.parametrize(("people", "alike", "noisy"), [(20, 0.12, 0.19), (100, 0.03, 0.08)])
def test_pairs_tell_an_area_as_well_as_the_docs_say(people: int, alike: float, noisy: float) -> None:
    draw = np.random.default_rng(6)
    scores = draw.normal(size=(100, 2, people)).tolist()
    same = Auc.of_pairs(scores[0][0], scores[0][0])
    assert (same.high - same.low) / 2 == pytest.approx(alike, abs=0.005)
    widths = [auc.high - auc.low for auc in (Auc.of_pairs(ins, outs) for ins, outs in scores)]
    assert np.mean(widths) / 2 == pytest.approx(noisy, abs=0.01)


def test_nothing_is_compared_with_itself() -> None:
    """Noise that both scores of a person share would tell them apart, where nobody else's do."""
    noise = np.random.default_rng(4).normal(size=40)
    shared = Auc.of_pairs((noise + 1e-9).tolist(), noise.tolist())
    assert shared.value == pytest.approx(0.5)
    assert Auc.of((noise + 1e-9).tolist(), noise.tolist()).value > 0.51


def test_larger_error_of_pairs_excuses_a_larger_area() -> None:
    """Scores in are high where scores out are low: the error is larger than that of independent ones."""
    outs = np.linspace(-1, 1, 40)
    found = Auc.of_pairs((1 - outs).tolist(), outs.tolist())
    plain = replace(found, error=0.0)
    most = max(most for most in np.linspace(0.5, 1, 200).tolist() if plain.more_than(most, 0.05))
    assert not found.more_than(most, 0.05)


def test_few_who_are_told_apart_are_not_overlooked() -> None:
    """One in twenty is told apart for certain: the interval holds 0.525, though most samples hold few of them."""
    draw, covered = np.random.default_rng(3), []
    for _ in range(300):
        outs = draw.normal(size=30)
        auc = Auc.of_pairs(np.where(draw.random(30) < 0.05, 9, outs).tolist(), outs.tolist())
        covered.append(auc.low <= 0.525 <= auc.high)
    assert np.mean(covered) > 0.94


@pytest.mark.parametrize(("count", "of"), [(0, 50), (3, 50), (50, 50), (1, 2)])
def test_rates_have_the_interval_of_clopper_and_pearson(count: int, of: int) -> None:
    found, expected = Rate.among(count, of), scipy.stats.binomtest(count, of).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert found.value == count / of


def test_true_positives_at_few_false_ones() -> None:
    outs = [n / 200 for n in range(200)]  # at 1 %, two of them may be above
    assert true_positives([0.986, 0.98, 0.99, 0.1], outs, 0.01).count == 2
    assert true_positives([0.99, 0.995, 1.0, 0.1], outs, 0.001).count == 1  # none may
    assert true_positives([1.0, 1.0], [1.0, 0.0], 0.01).count == 0  # a tie is no finding


def test_the_curve_goes_from_corner_to_corner() -> None:
    assert curve([2, 1], [1, 0]) == [(0, 0), (0, 0.5), (0.5, 1), (1, 1)]


def test_what_differential_privacy_allows() -> None:
    assert most_auc(0, 0) == pytest.approx(0.5)
    assert most_auc(1000, 0) == pytest.approx(1)
    assert most_true_positives(0.01, 1, 1e-5) == pytest.approx(0.01 * math.e + 1e-5)
    assert most_true_positives(0.9, 1, 0) == pytest.approx(1 - 0.1 / math.e)
    grid = np.linspace(0, 1, 20_001)
    for epsilon, delta in ((0.5, 0.0), (1.0, 0.01), (4.0, 1e-5)):
        heights = [most_true_positives(rate, epsilon, delta) for rate in grid.tolist()]
        assert most_auc(epsilon, delta) == pytest.approx(np.trapezoid(heights, grid), abs=1e-6)


def test_randomised_response_reaches_what_is_allowed() -> None:
    """Its area is the largest of all pure mechanisms: the bound is no looser than it must be."""
    truth = math.e / (1 + math.e)
    assert most_auc(1, 0) == pytest.approx(truth * truth + truth * (1 - truth))
