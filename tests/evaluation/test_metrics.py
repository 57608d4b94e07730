"""What counts as a right answer, and how sure a mean is."""

import math

import pytest

from discreet.evaluation.metrics import matches, mean_and_margin


@pytest.mark.parametrize(
    ("answer", "acceptable", "right"),
    [
        ("The symptom is gas.", ["Gas"], True),
        ("He gasps.", ["Gas"], False),
        ("WINTER hand", ["Winter Hand"], True),
        ("It is Blergivac 3000.", ["Blergivac 3000"], True),
        ("It is Blergivac 30000.", ["Blergivac 3000"], False),
        ("neither", ["one", "two"], False),
        ("it is two", ["one", "two"], True),
        ("a (b) c", ["(b)"], True),
    ],
)
def test_an_answer_counts_if_it_occurs_as_whole_words(answer: str, acceptable: list[str], right: bool) -> None:
    assert matches(answer, acceptable) is right


def test_the_margin_comes_from_the_spread_of_questions() -> None:
    assert mean_and_margin([[1.0, 1.0], [0.0, 0.0]])[0] == 0.5
    mean, margin = mean_and_margin([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert (mean, margin) == (0.5, 0.0)
    assert math.isnan(mean_and_margin([[1.0]])[1])
