"""The experiment that the paper's theorem does not cover, and what it can and cannot show."""

import math

import pytest

from discreet.errors import UsageError
from discreet_lab.attacks.distinguish import distinguish
from discreet_lab.attacks.rates import lower_bound
from discreet_lab.claims import ProjectionClaim


def test_neighbours_are_told_apart_with_the_papers_parameters() -> None:
    """Privacy-spec, part 7: 1000 documents, 384 numbers, k 64, sigma 0.1, lengths between 1 and 2."""
    found = distinguish(trials=1000)
    assert found.true_positives >= 995
    assert found.false_positives <= 5
    assert found.epsilon > 5.051
    assert found.refuted


def test_projection_attack_succeeds_if_the_claim_is_near_zero() -> None:
    """Embeddings of length one, as most embedders make them."""
    assert ProjectionClaim(gamma=1, delta=1.0001).epsilon < 1e-3
    found = distinguish(rows=33, dimension=32, k=8, gamma=1, longest=1.0001, trials=1000)
    assert (found.true_positives, found.false_positives) == (1000, 0)


def test_a_bound_is_not_above_what_is_true() -> None:
    """Randomised response of epsilon 2, counted exactly as often as it happens, is never said to lose more."""
    honest = math.exp(2) / (1 + math.exp(2))
    for trials in (10, 100, 10_000):
        assert lower_bound(round(honest * trials), round((1 - honest) * trials), trials) < 2
    assert lower_bound(round(honest * 100_000), round((1 - honest) * 100_000), 100_000) > 1.9


@pytest.mark.parametrize(
    "wrong",
    [{"rows": 384}, {"k": 385}, {"k": 0}, {"gamma": 0.0}, {"gamma": 2.0}, {"sigma": 0.0}, {"trials": 0}],
)
def test_bad_parameters(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        distinguish(**({"trials": 1} | wrong))  # type: ignore[arg-type]
