"""What counts as a right answer, and how sure a mean is."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from discreet.query.known_answers import matches
from discreet_lab.evaluation.metrics import Likeness, levenshtein, mean_and_margin, rouge_1, rouge_l, token_f1


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


WORDS = st.lists(st.sampled_from(["the", "winter", "hand", "Hand,", "of", "3", "x-ray"]), max_size=9).map(" ".join)


@given(WORDS, WORDS)
def test_rouge_is_what_the_reference_implementation_says(answer: str, reference: str) -> None:
    expected = RougeScorer(["rouge1", "rougeL"]).score(reference, answer)
    assert rouge_1(answer, reference) == pytest.approx(expected["rouge1"].fmeasure)
    assert rouge_l(answer, reference) == pytest.approx(expected["rougeL"].fmeasure)


def test_likeness_by_hand() -> None:
    assert token_f1("The winter hand!", "a hand") == pytest.approx(2 / 3)
    assert levenshtein("Hand", "band") == 0.75
    assert token_f1("", "x") == rouge_1("", "x") == rouge_l("", "x") == levenshtein("", "x") == 0
    best = Likeness.of("winter hand", ["summer", "winter hand"])
    assert best == Likeness(1, 1, 1, 1)
