"""Questions that would count another thing than is asked: each is read rightly, or refused unpaid."""

import pytest

from discreet.errors import CannotAnswer
from tests.questions.routers import router_of

ROUTER = router_of(
    {"sex": "category(w=women/female, m=men/male)", "age": "number", "visit": "date", "ward": "category(north, south)"}
)


@pytest.mark.parametrize(
    "question",
    [
        "How many patients have a BMI over 30?",
        "How many patients take more than 5 drugs?",
        "What is the mean age by sex?",
        "Compare north and south",
        "How many women are not in the north ward?",
        "How many patients are not over 60?",
        "How many patients are not women?",
        "How many patients had at least two seizures?",
        "How many patients had fever in the last 30 days?",
        "How many times was fever mentioned?",
        "How many different drugs are prescribed?",
        "How many patients did not visit in 2026?",
        "How many patients had fever in 2025 but not 2026?",
        "List symptoms besides fever",
        "In how many notes is fever mentioned?",
        "What share of the letters mention fever?",
    ],
)
def test_what_would_be_another_count_is_refused(question: str) -> None:
    with pytest.raises(CannotAnswer):
        ROUTER.understand(question)


@pytest.mark.parametrize(
    ("question", "request_"),
    [
        ("How many more women than men have fever?", 'difference: sex = w versus sex = m, among "fever"'),
        ("How many patients dont have fever?", 'count: not "fever"'),
        ("How many patients with asthma over 60 smoke?", 'count: "smoke", among age > 60 and "asthma"'),
        ("What share of women are over 60?", "share: age > 60, among sex = w"),
    ],
)
def test_readings(question: str, request_: str) -> None:
    assert str(ROUTER.understand(question)) == request_


@pytest.mark.parametrize(
    "declared",
    [
        "category(w, m)",
        "category(1, 2, 3)",
        "category(a=in, b=out)",
        "category(p=patients, c=cases)",
        "category(x=people/persons, y=patient)",
        "category(in, out)",
    ],
)
def test_any_declared_values_are_read_to_an_end(declared: str) -> None:
    router = router_of({"status": declared})
    assert str(router.understand("How many patients have fever?")) == 'count: "fever"'


def test_a_value_of_one_letter_is_tested_beside_its_field() -> None:
    asked = router_of({"ward": "category(a, b)"}).understand("How many patients in ward a have fever?")
    assert str(asked) == 'count: "fever", among ward = a'


def test_very_many_tests_are_refused() -> None:
    with pytest.raises(CannotAnswer):
        ROUTER.understand("how many " + "women " * 40, "count")
