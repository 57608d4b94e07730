"""What is drawn follows the exact laws, with real noise; and a wrong scale, or a wrong mechanism, is noticed.

Thresholds are so small (1e-9) that a sound sampler does not fail by chance; each test also shows that it can fail.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy

from discreet.privacy.mechanisms.selection import (
    ExponentialMechanism,
    LimitedDomain,
    ObservedSelection,
    PermuteAndFlip,
    SparseVector,
)
from discreet.privacy.noise import InsecureSeededNoise, Noise, SystemNoise
from tests.guarantee.privacy.laws import (
    Law,
    exponential_law,
    gaussian_law,
    laplace_law,
    limited_domain_law,
    observed_law,
    permute_and_flip_law,
    sparse_vector_law,
)

DRAWS = 10_000
VOTES = (0,) * 6 + (1,) * 4 + (3,) * 2
SOURCES: list[Noise] = [SystemNoise(), InsecureSeededNoise(11)]


def drawn(draw: Callable[[], object], draws: int = DRAWS) -> list[object]:
    """So many draws, to be tested against several laws."""
    return [draw() for _ in range(draws)]


def fits(outcomes: Iterable[object], law: Law) -> float:
    """The p-value of a chi-squared test of draws against a law."""
    counts = Counter(outcomes)
    draws = counts.total()
    assert set(counts) <= set(law)
    likely = [outcome for outcome, probability in law.items() if probability * draws >= 10]
    seen = [counts[outcome] for outcome in likely]
    expected = [law[outcome] * draws for outcome in likely]
    rest, unlikely = draws - sum(seen), draws - sum(expected)
    if unlikely >= 10:
        seen, expected = [*seen, rest], [*expected, unlikely]
    else:  # the test is valid for cells that expect some draws; a cell of less than one fails once in thousands of runs
        seen[-1], expected[-1] = seen[-1] + rest, expected[-1] + unlikely
    return float(scipy.stats.chisquare(seen, np.array(expected) * sum(seen) / sum(expected)).pvalue)


def test_threads_that_draw_at_once_draw_from_the_law() -> None:
    """Of one mechanism, which OpenDP builds once for all of them."""
    mechanism, noise = ExponentialMechanism(5, 2.0), SystemNoise()
    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(lambda _: mechanism.draw(VOTES, noise), range(DRAWS)))
    assert fits(outcomes, exponential_law(VOTES, 5, 2.0)) > 1e-9


@pytest.mark.parametrize("noise", SOURCES, ids=lambda noise: type(noise).__name__)
class TestDraws:
    def test_exponential(self, noise: Noise) -> None:
        mechanism = ExponentialMechanism(5, 2.0)
        outcomes = drawn(lambda: mechanism.draw(VOTES, noise))
        assert fits(outcomes, exponential_law(VOTES, 5, 2.0)) > 1e-9
        assert fits(outcomes, exponential_law(VOTES, 5, 1.4)) < 1e-9  # 30 % off
        assert fits(outcomes, permute_and_flip_law(VOTES, 5, 2.0)) < 1e-9

    def test_a_large_vocabulary(self, noise: Noise) -> None:
        mechanism = ExponentialMechanism(10_000, 0.8)
        law = exponential_law(VOTES, 10_000, 0.8)

        def grouped(token: int) -> object:
            return token if token in (0, 1, 3) else "unseen"

        joined: Law = {0: law[0], 1: law[1], 3: law[3]}
        joined["unseen"] = 1 - sum(joined.values())
        assert fits(drawn(lambda: grouped(mechanism.draw(VOTES, noise))), joined) > 1e-9
        unseen = [token for token in (mechanism.draw((2,), noise) for _ in range(2000)) if token != 2]
        assert scipy.stats.kstest(unseen, scipy.stats.uniform(0, 10_000).cdf).pvalue > 1e-9

    def test_permute_and_flip(self, noise: Noise) -> None:
        mechanism = PermuteAndFlip(5, 2.0)
        outcomes = drawn(lambda: mechanism.draw(VOTES, noise))
        assert fits(outcomes, permute_and_flip_law(VOTES, 5, 2.0)) > 1e-9
        assert fits(outcomes, exponential_law(VOTES, 5, 2.0)) < 1e-9

    def test_observed(self, noise: Noise) -> None:
        mechanism = ObservedSelection(2.0, 5.5)
        outcomes = drawn(lambda: mechanism.draw(VOTES, noise))
        assert fits(outcomes, observed_law(VOTES, 2.0, 5.5)) > 1e-9
        assert fits(outcomes, observed_law(VOTES, 2.0, 4.0)) < 1e-9

    def test_limited_domain(self, noise: Noise) -> None:
        mechanism = LimitedDomain(0.5, 0.05, domain=2, votes=12)
        outcomes = drawn(lambda: mechanism.draw(VOTES, noise))
        assert fits(outcomes, limited_domain_law(VOTES, 0.5, 0.05, 2)) > 1e-9
        assert fits(outcomes, limited_domain_law(VOTES, 0.65, 0.05, 2)) < 1e-9

    def test_laplace(self, noise: Noise) -> None:
        law: Law = {z: probability for z, probability in laplace_law(3.0, 80).items()}  # noqa: C416
        outcomes = [noise.laplace(3.0) for _ in range(DRAWS)]
        assert fits(outcomes, law) > 1e-9
        assert fits([round(one * 1.3) for one in outcomes], law) < 1e-9

    @pytest.mark.parametrize("scale", [0.4, 3.0])
    def test_gaussian(self, noise: Noise, scale: float) -> None:
        law, off = (
            {z: probability for z, probability in gaussian_law(factor * scale, 40).items() if probability > 0}
            for factor in (1.0, 1.3)
        )
        outcomes = drawn(lambda: noise.gaussian(scale))
        assert fits(outcomes, dict[object, float](law.items())) > 1e-9
        assert fits(outcomes, dict[object, float](off.items())) < 1e-9  # 30 % off

    @pytest.mark.parametrize("scale", [0.4, 3.0])
    def test_many_gaussians_at_once(self, noise: Noise, scale: float) -> None:
        law, off = (
            {z: probability for z, probability in gaussian_law(factor * scale, 40).items() if probability > 0}
            for factor in (1.0, 1.3)
        )
        outcomes = noise.gaussians(scale, DRAWS).tolist()
        assert fits(outcomes, dict[object, float](law.items())) > 1e-9
        assert fits(outcomes, dict[object, float](off.items())) < 1e-9  # 30 % off

    def test_sparse_vector(self, noise: Noise) -> None:
        mechanism = SparseVector(3, 2.0, 4.0)
        counts = (9, 7, 5, 0)

        def run() -> int | None:
            ask = mechanism.start(noise)
            return next((step for step, count in enumerate(counts) if ask([True] * count)[0]), None)

        outcomes = drawn(run, 8000)
        assert fits(outcomes, sparse_vector_law(counts, 3, 2.0, 4.0)) > 1e-9
        assert fits(outcomes, sparse_vector_law(counts, 3, 1.0, 2.0)) < 1e-9


def lower_bound(first: Callable[[], object], second: Callable[[], object], event: object, draws: int) -> float:
    """A lower bound of epsilon that holds but once in a million times, from draws on two neighbours."""
    hits = [sum(draw() == event for _ in range(draws)) for draw in (first, second)]
    if hits[0] == 0:
        return -np.inf
    low = scipy.stats.beta.ppf(5e-7, hits[0], draws - hits[0] + 1)
    high = scipy.stats.beta.ppf(1 - 5e-7, hits[1] + 1, draws - hits[1])
    return float(np.log(low / high))


def test_audit_of_one_private_token_catches_half_the_noise() -> None:
    """One run of the sparse vector and one selection, together epsilon 2, on neighbouring votes."""
    noise = InsecureSeededNoise(5)

    def token(votes: tuple[int, ...], factor: float) -> Callable[[], object]:
        sparse = SparseVector(2, 2.0 * factor, 4.0 * factor)
        selection = ExponentialMechanism(2, 2.0 * factor)

        def draw() -> object:
            fired, _ = sparse.start(noise)([vote == 0 for vote in votes])
            return selection.draw(votes, noise) if fired else "public"

        return draw

    with_unit, without = (0, 0, 1, 1, 1, 1), (0, 0, 0, 1, 1, 1)
    for factor, exceeds in ((1.0, False), (0.1, True)):
        bounds = [
            lower_bound(token(a, factor), token(b, factor), event, DRAWS)
            for a, b in ((with_unit, without), (without, with_unit))
            for event in (0, 1, "public")
        ]
        assert (max(bounds) > 2.0) is exceeds
