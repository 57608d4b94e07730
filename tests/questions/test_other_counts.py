"""Questions that would count another thing than is asked: each is read rightly, or refused unpaid."""

import pytest

from discreet.errors import CannotAnswer
from tests.cases import read_cases
from tests.questions.routers import router_of

CASES = read_cases(__file__)
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
    CASES["readings"],
)
def test_readings(question: str, request_: str) -> None:
    assert str(ROUTER.understand(question)) == request_


def test_very_many_tests_are_refused() -> None:
    with pytest.raises(CannotAnswer):
        ROUTER.understand("how many " + "women " * 40, "count")
