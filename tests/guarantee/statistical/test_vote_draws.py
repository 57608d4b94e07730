"""What the new samplers draw follows their laws, in a million draws of the operating system's randomness."""

import math
from bisect import bisect_left
from collections import Counter

import pytest
import scipy

from discreet.privacy.mechanisms.counting import SecretSample, ThresholdedCounts
from discreet.privacy.mechanisms.optimal_selection import CountedSelection, OptimalSelection
from discreet.privacy.noise import WHOLE, InsecureSeededNoise, Noise, SystemNoise
from tests.guarantee.statistical.test_draws import fits

SOURCES: list[Noise] = [SystemNoise(), InsecureSeededNoise(11)]


def draws_of(noise: Noise) -> int:
    """A million of the real source; fewer of the one for simulations."""
    return 10**6 if noise.secure else 10**5


@pytest.mark.parametrize("noise", SOURCES, ids=lambda noise: type(noise).__name__)
class TestVotes:
    @pytest.mark.parametrize("chance", [1e-4, 0.012818, 0.5, 0.999])
    def test_coins_fall_with_their_weight(self, noise: Noise, chance: float) -> None:
        draws = draws_of(noise)
        weight = math.floor(chance * WHOLE)
        heads = sum(noise.toss(weight) for _ in range(draws))
        assert scipy.stats.binomtest(heads, draws, chance).pvalue > 1e-9
        assert scipy.stats.binomtest(heads, draws, min(1.0, 1.02 * chance + 0.005)).pvalue < 1e-9

    def test_certain_coins_never_fall_otherwise(self, noise: Noise) -> None:
        assert not any(noise.toss(0) for _ in range(20_000))
        assert all(noise.toss(WHOLE) for _ in range(20_000))

    def test_selected_sets(self, noise: Noise) -> None:
        mechanism = OptimalSelection(1.0, 1e-6, ("c",), 0.01)
        votes = ("a",) * 13 + ("b",) * 11 + ("c",) * 3
        chances = {"a": mechanism.chance(13), "b": mechanism.chance(11), "c": mechanism.candidate_chance(3)}
        law: dict[object, float] = {(): 1.0}
        for answer, chance in chances.items():
            law = {
                (*known, *own): p * q  # type: ignore[misc]
                for known, p in law.items()
                for own, q in (((answer,), chance), ((), 1 - chance))
            }
        draws = draws_of(noise)
        drawn = Counter(mechanism.draw(votes, noise) for _ in range(draws))
        assert fits(drawn, law) > 1e-9
        off = {outcome: 0.97 * p for outcome, p in law.items()}
        off["a", "c"] += 0.03
        assert fits(drawn, off) < 1e-9

    def test_selected_counts(self, noise: Noise) -> None:
        mechanism = CountedSelection[str](1.0, 1e-6)
        table = mechanism.curve()
        centre = bisect_left(table, WHOLE // 2)
        law: dict[object, float] = {13 - m + centre: (table[m] - table[m - 1]) / WHOLE for m in range(1, 14)}
        law[None] = 1 - table[13] / WHOLE
        for votes, draws, fits_well in ((13, draws_of(noise), True), (14, 10**5, False)):
            shares = ("a",) * votes
            released = (mechanism.draw(shares, noise) for _ in range(draws))
            counts = Counter(min(one[0].count, 13 + centre - 1) if one else None for one in released)
            assert (fits(counts, law) > 1e-9) is fits_well

    def test_thresholded_counts(self, noise: Noise) -> None:
        mechanism = ThresholdedCounts(1.5, 7)
        shares = [("a",)] * 7
        released = sum(bool(mechanism.draw(shares, noise)) for _ in range(20_000))
        assert scipy.stats.binomtest(released, 20_000, mechanism.chance(7)).pvalue > 1e-9
        assert scipy.stats.binomtest(released, 20_000, mechanism.chance(6)).pvalue < 1e-9

    def test_secret_samples(self, noise: Noise) -> None:
        sampled = SecretSample(OptimalSelection[str](5.0, 1e-3), 0.3)
        released = sum(bool(sampled.draw(("a", "a"), noise)) for _ in range(20_000))
        chances = [sampled.mechanism.chance(votes) for votes in range(3)]  # type: ignore[attr-defined]
        law = 2 * 0.3 * 0.7 * chances[1] + 0.09 * chances[2]
        assert scipy.stats.binomtest(released, 20_000, law).pvalue > 1e-9
        assert scipy.stats.binomtest(released, 20_000, chances[2]).pvalue < 1e-9
