"""An audit of a whole private token: from draws alone, epsilon is bounded from below.

The bound is above the truth but once in a million times (Clopper and Pearson), so the real token passes; the same token
with half of its noise is caught, on two neighbouring ensembles chosen for it.
"""

import math
from collections import Counter

import pytest
import scipy

from discreet.privacy.costs import Together
from discreet.privacy.mechanisms.selection import ExponentialMechanism, SparseVector, vote_scale
from discreet.privacy.noise import InsecureSeededNoise, Noise
from discreet.privacy.private import Change, Relation

CHANGE = Change(1, Relation.REPLACE)
DRAWS = 60_000
DOUBT = 1e-6
PUBLIC = 0
# Twenty voters; the twelfth to agree with the public token is the one share that differs.
ELEVEN = (PUBLIC,) * 11 + (1,) * 9
TWELVE = (PUBLIC,) * 12 + (1,) * 8

Token = tuple[SparseVector, ExponentialMechanism]
REAL: Token = (
    SparseVector.calibrated(0.6, 11, CHANGE, split=1.0),
    ExponentialMechanism(2, vote_scale(CHANGE, 1.4)),
)


def with_noise(token: Token, factor: float) -> Token:
    sparse, selection = token
    return (
        SparseVector(sparse.threshold, sparse.threshold_scale * factor, sparse.query_scale * factor),
        ExponentialMechanism(selection.candidates, selection.scale * factor),
    )


def draws(token: Token, votes: tuple[int, ...], noise: Noise) -> Counter[int | None]:
    """How often each outcome is released: None while the voters agree, or the selected token."""
    sparse, selection = token
    agree = [vote == PUBLIC for vote in votes]
    return Counter(selection.draw(votes, noise) if sparse.start(noise)(agree)[0] else None for _ in range(DRAWS))


def epsilon_at_least(token: Token, noise: Noise) -> float:
    """The largest lower bound over outcomes and directions; DOUBT is shared out among them."""
    here, there = draws(token, ELEVEN, noise), draws(token, TWELVE, noise)
    each = DOUBT / 12  # three outcomes, two directions, two bounds
    bounds = []
    for outcome in (None, 0, 1):
        for one, other in ((here, there), (there, here)):
            low = scipy.stats.beta.ppf(each, one[outcome], DRAWS - one[outcome] + 1)
            high = scipy.stats.beta.ppf(1 - each, other[outcome] + 1, DRAWS - other[outcome])
            bounds.append(math.log(low / high))
    return max(bounds)


CLAIMED = float(Together(tuple(mechanism.cost(CHANGE) for mechanism in REAL)).curve[-1])


def test_the_real_token_is_within_its_claim_and_not_idle() -> None:
    found = epsilon_at_least(REAL, InsecureSeededNoise(3))
    assert pytest.approx(2.0) == CLAIMED
    assert 0.5 * CLAIMED <= found <= CLAIMED


def test_the_token_with_half_of_its_noise_is_caught() -> None:
    assert epsilon_at_least(with_noise(REAL, 0.5), InsecureSeededNoise(4)) > CLAIMED
