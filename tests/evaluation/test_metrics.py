"""What counts as a right answer, and how sure a mean is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from discreet.query.known_answers import matches
from discreet_lab.evaluation.metrics import rouge_1, rouge_l


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


WORDS = st.lists(st.sampled_from(["the", "winter", "hand", "Hand,", "of", "3", "x-ray"]), max_size=9).map(" ".join)


@given(WORDS, WORDS)
def test_rouge_is_what_the_reference_implementation_says(answer: str, reference: str) -> None:
    expected = RougeScorer(["rouge1", "rougeL"]).score(reference, answer)
    assert rouge_1(answer, reference) == pytest.approx(expected["rouge1"].fmeasure)
    assert rouge_l(answer, reference) == pytest.approx(expected["rougeL"].fmeasure)
