"""When two short answers are the same."""

import pytest

from discreet.algorithms.text.normalize import canonical, check_choices, choice
from discreet.errors import UsageError
from tests.cases import read_cases

CASES = read_cases(__file__)
SAME = CASES["same"]


@pytest.mark.parametrize(("question", "answer", "form"), SAME)
def test_the_form(question: str, answer: str, form: str) -> None:
    assert canonical(answer, question) == form


CHOICES = ("Ash", "Ash Lung", "Winter Hand", "B-12")


@pytest.mark.parametrize(
    ("answer", "named"),
    CASES["the_choice_that_an_answer_names"],
)
def test_the_choice_that_an_answer_names(answer: str, named: int | None) -> None:
    assert choice(answer, CHOICES, "What is the disease?") == named


def test_choices_that_nobody_could_tell_apart_are_refused() -> None:
    check_choices(CHOICES)
    for wrong in (("Ash",), ("Ash", "ash!"), ("Ash", "..."), ()):
        with pytest.raises(UsageError):
            check_choices(wrong)
