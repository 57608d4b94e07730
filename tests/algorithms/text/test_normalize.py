"""When two short answers are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.text.normalize import canonical, check_choices, choice
from discreet.errors import UsageError

SAME = [
    ("What is the disease?", "Winter Hand", "winter hand"),
    ("What is the disease?", "The disease is Winter Hand.", "winter hand"),
    ("What is the disease?", "The disease is called Winter Hand!", "winter hand"),
    ("What is the disease?", "Winter Hand is the disease.", "winter hand"),
    ("What is the disease?", "It is Winter Hand. It is rare, and nobody knows why.", "winter hand"),
    ("What is the disease?", "WINTER\N{NO-BREAK SPACE}HAND\nQuestion: what now", "winter hand"),
    ("What is the disease?", "The most likely diagnosis is the Winter Hand", "winter hand"),
    (
        "What is the treatment for Ash Lung?",
        "The treatment for Ash Lung is Zibber Drops 3.5 mg.",
        "zibber drops 3.5 mg",
    ),
    ("What is the treatment for Ash Lung?", "The treatment for Bo Kerr is Zibber Drops 3.5 mg.", "zibber drops 3.5 mg"),
    ("Name one symptom of Ash Lung.", "One of the symptoms of Ash Lung is a loss of the voice.", "loss of the voice"),
    ("Who leads the ward?", "Dr. Lind leads the ward.", "dr lind leads the ward"),
    ("Is it red?", "Yes, it is.", "yes"),
    ("Is it red?", "No. It is blue.", "no"),
    ("What is it?", "Yes, Prime Minister", "yes prime minister"),
    ("What is it called?", "Crohn\N{RIGHT SINGLE QUOTATION MARK}s disease", "crohn's disease"),
    ("?", "Blip-o-Rama", "blip-o-rama"),
    ("?", "", ""),
    ("?", " \n ", ""),
    ("?", "The", ""),
    ("What is the blood group?", "The blood group is A.", "a"),
    ("?", "...", ""),
]


@pytest.mark.parametrize(("question", "answer", "form"), SAME)
def test_the_form(question: str, answer: str, form: str) -> None:
    assert canonical(answer, question) == form


@given(st.text(), st.text())
def test_canonical_form_is_idempotent_without_the_question(answer: str, question: str) -> None:
    form = canonical(answer, question)
    assert form == form.strip()
    assert "\n" not in form
    assert canonical(answer.swapcase() if answer.isascii() else answer, question) == form


def test_however_often_an_answer_leads_up_to_itself() -> None:
    """A prefix is the analyst's: one at the edge of what recursion allows would tell who answers anything."""
    assert canonical("it is " * 5000 + "Ash") == "ash"


CHOICES = ("Ash", "Ash Lung", "Winter Hand", "B-12")


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("Ash", 0),
        ("The disease is ash lung.", 1),
        ("Ash Lung, not Winter Hand", 1),
        ("Winter hand or Ash", 2),
        ("Better than Ash is Winter Hand", 0),
        ("It is vitamin b-12!", 3),
        ("Ashes", None),
        ("", None),
    ],
)
def test_the_choice_that_an_answer_names(answer: str, named: int | None) -> None:
    assert choice(answer, CHOICES, "What is the disease?") == named


def test_choices_that_nobody_could_tell_apart_are_refused() -> None:
    check_choices(CHOICES)
    for wrong in (("Ash",), ("Ash", "ash!"), ("Ash", "..."), ()):
        with pytest.raises(UsageError):
            check_choices(wrong)


def test_ten_thousand_choices_are_found_at_once() -> None:
    many = tuple(f"code {number}" for number in range(10_000))
    assert [choice(f"It is code {number}.", many) for number in (0, 77, 9_999)] == [0, 77, 9_999]
