"""Follow-ups: missing slots come from the caller's own earlier request, and where none is made."""

import pytest

from discreet.questions.follow_ups import complete
from tests.questions.routers import router_of

COUNT = "How many patients have Winter Hand?"
SHARE = "What share of patients with Winter Hand have numb thumbs?"
LIST = "What are the most common symptoms of Winter Hand?"
FIELDS = {"sex": "category(w=women, m=men)", "age": "number", "visit": "date"}
ROUTER = router_of(FIELDS)


@pytest.mark.parametrize(
    ("earlier", "question", "made"),
    [
        (COUNT, "And of Glass Knee?", 'count: "Glass Knee"'),
        (COUNT, "and with Glass Knee?", 'count: "Glass Knee"'),
        (COUNT, "What about Glass Knee?", 'count: "Glass Knee"'),
        (COUNT, "And in women?", 'count: "Winter Hand", among sex = w'),
        (COUNT, "And over 60?", 'count: "Winter Hand", among age > 60'),
        (COUNT, "And by month?", 'trend: "Winter Hand", by month'),
        (COUNT, "and since 2024?", 'count: "Winter Hand", among visit >= 2024'),
        (COUNT, "What share is that?", 'share: "Winter Hand"'),
        (COUNT, "And as a percentage?", 'share: "Winter Hand"'),
        (COUNT, "How many of them have numb thumbs?", 'count: "numb thumbs", among "Winter Hand"'),
        (SHARE, "And cold feet?", 'share: "cold feet", among "Winter Hand"'),
        (SHARE, "How many is that?", 'count: "numb thumbs", among "Winter Hand"'),
        (LIST, "And of Glass Knee?", 'list: symptoms, among "Glass Knee"'),
        ("How many cases of Winter Hand by month?", "And by year?", 'trend: "Winter Hand", by year'),
        (
            "What is the average age of patients with Winter Hand?",
            "And with Glass Knee?",
            'typical: mean of age, among "Glass Knee"',
        ),
    ],
)
def test_missing_slots_come_from_the_earlier_request(earlier: str, question: str, made: str) -> None:
    assert complete([earlier, question], ROUTER) == (made, False)


@pytest.mark.parametrize(
    "question",
    "And the rest?|And of the others?|And for the whole?|And yesterday?|And today?|And the median?|And 60?|And how "
    "many don't?"
    "|And last year?|And everyone?|And older ones?|And patients?|And without fever?".split("|"),
)
def test_in_doubt_no_question_is_made(question: str) -> None:
    made, doubtful = complete([COUNT, question], ROUTER)
    assert made == ""
    assert doubtful


@pytest.mark.parametrize(
    "question",
    ["How many patients have fever?", "What is the treatment for Glass Knee?", "Number of patients with fever"],
)
def test_question_that_stands_alone_is_left_alone(question: str) -> None:
    assert complete([COUNT, question], ROUTER) == ("", False)


FIELDS = {"sex": "category(w=women, m=men)", "age": "number", "visit": "date", "ward": "category(north, south)"}


@pytest.mark.parametrize(
    ("earlier", "question", "made"),
    [
        (COUNT, "And per ward?", ""),
        (COUNT, "And by ward?", ""),
        (COUNT, "And really?", ""),
        ("What are the most common symptoms of patients with Winter Hand?", "And the top 3?", ""),
        ("How many patients do not have Winter Hand?", "And asthma?", ""),
        ("How many patients had Winter Hand per year since 2024?", "And before 2023?", ""),
        (COUNT, "And over 60 or under 20?", 'count: "Winter Hand", among age > 60 or age < 20'),
        (COUNT, "And in those with asthma?", 'count: "Winter Hand", among "asthma"'),
        (
            "How many women have Winter Hand?",
            "And in men with asthma?",
            'count: "Winter Hand", among sex = m and "asthma"',
        ),
    ],
)
def test_follow_up_keeps_what_it_does_not_change(earlier: str, question: str, made: str) -> None:
    assert complete([earlier, question], router_of(FIELDS))[0] == made
