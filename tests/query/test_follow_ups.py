"""Follow-ups by rules: what two questions make together, and where none is made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.query.follow_ups import is_doubtful, is_follow_up, one_question, stand_alone
from tests.query.request_wordings import COMPARISONS, COUNTS, LISTS, SHARES, TRENDS, TYPICAL

COUNT = "How many patients have Winter Hand?"
SHARE = "What share of patients with Winter Hand have numb thumbs?"
LIST = "What are the most common symptoms of Winter Hand?"
FACT = "What is the treatment for Winter Hand?"


@pytest.mark.parametrize(
    ("earlier", "question", "made"),
    [
        (COUNT, "And of Glass Knee?", "How many patients have Glass Knee?"),
        (COUNT, "and with Glass Knee?", "How many patients have Glass Knee?"),
        (COUNT, "What about Glass Knee?", "How many patients have Glass Knee?"),
        (COUNT, "And in women?", "How many women have Winter Hand?"),
        (COUNT, "And by month?", "How many patients have Winter Hand by month?"),
        (COUNT, "and since 2024?", "How many patients have Winter Hand since 2024?"),
        (COUNT, "What share is that?", "What share of patients have Winter Hand?"),
        (COUNT, "And as a percentage?", "What share of patients have Winter Hand?"),
        (COUNT, "How many of them have numb thumbs?", "How many patients with Winter Hand have numb thumbs?"),
        (COUNT, "And what are their most common symptoms?", "What are the most common symptoms of Winter Hand?"),
        (COUNT, "What is its treatment?", "What is the treatment of Winter Hand?"),
        (COUNT, "Does it cause fever?", "Does Winter Hand cause fever?"),
        (SHARE, "And with Glass Knee?", "What share of patients with Glass Knee have numb thumbs?"),
        (SHARE, "And cold feet?", "What share of patients with Winter Hand have cold feet?"),
        (SHARE, "How many is that?", "How many patients with Winter Hand have numb thumbs?"),
        (LIST, "And of Glass Knee?", "What are the most common symptoms of Glass Knee?"),
        (LIST, "And what share of those have fever?", "What share of patients with Winter Hand have fever?"),
        (FACT, "And for Glass Knee?", "What is the treatment for Glass Knee?"),
        (FACT, "And which symptoms does it have?", "Which symptoms does Winter Hand have?"),
        (FACT, "How common is it?", "How common is Winter Hand?"),
        ("How many cases of Winter Hand by month?", "And by year?", "How many cases of Winter Hand by year?"),
        ("What is the average age of patients with Winter Hand?", "And with Glass Knee?", None),
        ("How many patients do not have fever?", "And chills?", "How many patients do not have chills?"),
    ],
)
def test_two_questions_make_one(earlier: str, question: str, made: str | None) -> None:
    assert stand_alone(question, earlier, "patient") == (made or earlier.replace("Winter Hand", "Glass Knee"))


@pytest.mark.parametrize(
    ("earlier", "question"),
    [
        (SHARE, "And how many of them have fever?"),  # of those with Winter Hand, or with both?
        (SHARE, "Does it cause fever?"),
        (COUNT, "And without fever?"),
        (COUNT, "Tell me more"),
        (COUNT, "Why?"),
        (COUNT, "And patients?"),
        (COUNT, "And top 5 diagnoses?"),
        (COUNT, "Number of patients with fever"),
        (COUNT, "How many patients have fever?"),
        ("What helps against Winter Hand?", "And of Glass Knee?"),
        ("Is fever more common with Winter Hand than with Glass Knee?", "And with Red Echo?"),
        ("How many patients with fever have chills after fever?", "And chills?"),
        ("", "And chills?"),
        (COUNT, ""),
    ],
)
def test_in_doubt_no_question_is_made(earlier: str, question: str) -> None:
    assert stand_alone(question, earlier, "patient") == ""


@pytest.mark.parametrize(
    "question",
    "And the rest?|And of the others?|And for the whole?|And by ward?|And per ward?|And yesterday?|And today?"
    "|And in 2024?|And men over 60?"
    "|What about none?|And wtih Glass Knee?|And the median?|And 60?|And of those over 60?|And how many don't?"
    "|And last year?|And in the north?|And everyone?|And in men over 60?|And older ones?|And without fever?"
    "|How many have fever?|And how many had chills?".split("|"),
)
def test_doubtful_follow_up_of_a_count_is_known(question: str) -> None:
    assert stand_alone(question, COUNT, "patient", ["ward"]) == ""
    assert is_doubtful(question, COUNT, "patient", ["ward"])


@pytest.mark.parametrize(
    ("question", "earlier"),
    [
        ("And with Glass Knee?", COUNT),
        ("How many patients have fever?", COUNT),
        ("And what is the treatment for Glass Knee?", COUNT),
        ("What helps against fever?", COUNT),
        ("And the rest?", FACT),
    ],
)
def test_question_is_not_doubtful(question: str, earlier: str) -> None:
    assert not is_doubtful(question, earlier, "patient")


def test_preposition_of_the_earlier_question_may_come_again() -> None:
    earlier = "How many patients live in the north?"
    assert stand_alone("And in the south?", earlier, "patient") in ("", "How many patients live in the south?")


@pytest.mark.parametrize("question", [one[1] for part in (COUNTS, SHARES, LISTS, COMPARISONS) for one in part])
def test_question_that_stands_alone_is_left_alone(question: str) -> None:
    assert stand_alone(question, SHARE, "patient") == ""


@pytest.mark.parametrize("question", [one[1] for part in (TRENDS, TYPICAL) for one in part])
def test_trend_and_typical_number_are_left_alone(question: str) -> None:
    assert stand_alone(question, SHARE, "patient") == ""


def test_several_turns_make_one_question() -> None:
    turns = ["How many patients have Winter Hand?", "And with Glass Knee?", "What share is that?"]
    assert one_question(turns, "patient") == "What share of patients have Glass Knee?"
    assert one_question(turns[:1], "patient") == ""
    assert one_question([], "patient") == ""
    assert one_question([*turns, "What helps against it?"], "patient") == "What helps against Glass Knee?"


def test_follow_up_is_known_without_the_question_before() -> None:
    assert is_follow_up("And with Glass Knee?")
    assert not is_follow_up(COUNT)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_are_read(earlier: str, question: str) -> None:
    assert stand_alone(question, earlier, "patient") == stand_alone(question, earlier, "patient")
