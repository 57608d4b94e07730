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
        "How many patients have potassium above 5?",
        "How many patients with potassium above 5 smoke?",
        "How many patients with asthma over 60 smoke?",  # of the same form
        "How many patients have platelets under 100?",
        "How many patients smoked over 20 cigarettes?",
        "How many have been married for over 40 years?",
        "Wie viele Patienten haben Kalium über 5?",
        "How many patients had fever since the end of 2025?",
        "How many patients had fever in the first half of 2026?",
        "How many patients had fever two weeks before March 2026?",
        "How many patients were born before 1960?",
        "Which symptoms did patients with fever have in 2025?",
        "How many patients in ward north and south have fever?",
        "How many patients outside the ward have fever?",
        "One in how many patients has fever?",
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
        ("How many patients over 65 years old have fever?", 'count: "fever", among age > 65'),
        ("How many patients over the age of 65 have fever?", 'count: "fever", among age > 65'),
        ("How many patients are at least 18 years old?", "count: all, among age >= 18"),
        ("How many had pain for two weeks in March 2026?", 'count: "pain for two weeks", among visit = 2026-03'),
        ("What percentage of the north ward are women?", "share: sex = w, among ward = north"),
        ("How many patients had fever per month before 2026?", 'trend: "fever", by month, until 2025'),
        ("How many patients had fever per month after March 2026?", 'trend: "fever", by month, since 2026-04'),
        ("How many patients had fever per month after 2026-02-28?", 'trend: "fever", by month, since 2026-03-01'),
        (
            "How many more patients had fever in 2025 than in 2024?",
            'difference: visit = 2025 versus visit = 2024, among "fever"',
        ),
        (
            "Are there more women with fever than men with asthma?",
            'difference: sex = w and "fever" versus sex = m and "asthma"',
        ),
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
