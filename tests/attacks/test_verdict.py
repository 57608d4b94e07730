"""What counts as telling more than epsilon allows: also what shows at few false positives alone."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet_lab.attacks.membership import measure_membership
from discreet_lab.attacks.rates import most_auc
from discreet_lab.attacks.verdict import Comparison

DOUBT = 0.05
PEOPLE = 600


def compared(ins: NDArray[np.float64], outs: NDArray[np.float64], epsilon: float, delta: float = 0.0) -> Comparison:
    """People who are in the first copy alone."""
    return Comparison(
        "x", measure_membership(np.stack([ins, outs], axis=1), [[True, False]] * len(ins)), (epsilon, delta)
    )


@pytest.mark.parametrize("turned", [False, True])
def test_few_certain_members_are_detected_within_the_area(turned: bool) -> None:
    rng = np.random.default_rng(0)
    ins, outs = rng.random((2, PEOPLE))
    ins[rng.random(PEOPLE) < 0.3] += 1  # no threshold above 1 has a false positive
    if turned:
        ins, outs = 1 - outs, 1 - ins
    found = compared(ins, outs, 1.0)
    assert found.found.auc.value < most_auc(1.0, 0.0)
    assert not found.found.auc.more_than(most_auc(1.0, 0.0), DOUBT)
    assert found.exceeded(DOUBT)
    assert not compared(ins, outs, 1.0, delta=0.4).exceeded(DOUBT)


def test_what_is_allowed_is_not_called_more() -> None:
    epsilon, alarms, rng = 1.0, 0, np.random.default_rng(1)
    yes = math.exp(epsilon) / (1 + math.exp(epsilon))
    for _ in range(100):
        ins, outs = (rng.random(PEOPLE) < yes).astype(float), (rng.random(PEOPLE) < 1 - yes).astype(float)
        alarms += compared(ins, outs, epsilon).exceeded(DOUBT)
    assert alarms <= 8  # 5 of 100 are allowed, and few come up: intervals are cautious
