"""The advantage of an attacker, beside what (epsilon, delta) allows."""

import math
import random

import pytest

from discreet_lab.attacks.rates import Advantage, most_advantage


def test_separated_scores_refute_a_small_claim() -> None:
    seen = Advantage.of([1.0] * 400, [0.0] * 400, 1.0, 1e-6)
    assert (seen.auc.value, seen.value) == (1.0, 1.0)
    assert seen.exceeded
    assert seen.shown < 5  # of so few draws
    assert not Advantage.of([1.0] * 400, [0.0] * 400, 5.0, 1e-6).exceeded


def test_scores_of_one_law_show_nothing() -> None:
    draw = random.Random(3)
    ins, outs = ([draw.gauss(0, 1) for _ in range(500)] for _ in range(2))
    seen = Advantage.of(ins, outs, 0.1, 0)
    assert abs(seen.value) < 0.15
    assert not seen.exceeded
    assert seen.auc.low < 0.5 < seen.auc.high


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_randomized_response_reaches_what_is_allowed(epsilon: float) -> None:
    draw, truth = random.Random(2), math.exp(epsilon) / (1 + math.exp(epsilon))
    ins = [float(draw.random() < truth) for _ in range(4000)]
    outs = [float(draw.random() >= truth) for _ in range(4000)]
    seen = Advantage.of(ins, outs, epsilon, 0)
    assert seen.value == pytest.approx(seen.most, abs=0.05)
    assert not seen.exceeded
    assert seen.shown > 0.6 * epsilon
    assert seen.auc.value == pytest.approx(seen.most_auc, abs=0.02)


def test_what_is_allowed_grows_with_both_parts() -> None:
    assert most_advantage(0, 0) == 0
    assert most_advantage(0, 0.25) == 0.25
    assert most_advantage(1000, 0) == 1
    assert most_advantage(1, 0) < most_advantage(1, 0.1) < most_advantage(2, 0.1)
