"""The share of questions out of reach: the votes of the specification, and the bound over all methods."""

import json
from math import exp
from pathlib import Path

import pytest

from discreet_lab.experiments.accuracy import reach_row, share_below, supports, votes_for_half


@pytest.mark.parametrize(("epsilon", "votes"), [(0.25, 48), (0.5, 26), (1.0, 14), (2.0, 8), (3.0, 6), (5.0, 4)])
def test_votes_for_half_are_those_of_the_specification(epsilon: float, votes: int) -> None:
    """Privacy-spec, 10.2, at delta 1e-6."""
    assert votes_for_half(epsilon, 1e-6) == votes


def bound(epsilon: float, delta: float, votes: int) -> float:
    """The largest probability of release by the two inequalities, from none without a vote."""
    found = 0.0
    for _ in range(votes):
        found = min(exp(epsilon) * found + delta, 1 - exp(-epsilon) * (1 - found - delta), 1.0)
    return found


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0, 5.0, 10.0])
def test_fewer_votes_are_out_of_reach_of_every_method(epsilon: float) -> None:
    votes = votes_for_half(epsilon, 5e-6)
    assert bound(epsilon, 5e-6, votes - 1) < 0.5 <= bound(epsilon, 5e-6, votes)


def test_row_counts_the_questions_below(tmp_path: Path) -> None:
    found = [1, 5, 10, 20]
    text = "".join(json.dumps({"question": "q", "support": support}) + "\n" for support in found)
    (tmp_path / "questions.jsonl").write_text(text)
    assert supports(tmp_path) == found
    assert share_below(found, 10) == 0.5
    assert reach_row(found, 1.0, 1e-5)[:2] == ["1", "5e-06"]
