"""English phrases with two things of which one does not hold: a set and a condition, or a refusal before a payment."""

import pytest

from discreet.errors import CannotAnswer
from discreet.query.requests import request_of
from discreet.query.statistics import build_statistic
from discreet.query.tested import check_tested
from discreet.registry import Count
from tests.query.test_foreign_requests import SETTINGS


def built(question: str) -> object:
    request = request_of(question, "patient")
    assert request is not None
    statistic = build_statistic(request, SETTINGS, {})
    check_tested(statistic, question)
    return statistic


@pytest.mark.parametrize(
    "question",
    [
        "How many patients have fever but not chills?",
        "How many patients have fever but no chills?",
        "How many patients have fever and no chills?",
        "How many patients have fever and without chills?",
        "How many patients with fever have no chills?",
    ],
)
def test_count_of_one_without_the_other(question: str) -> None:
    count = built(question)
    assert isinstance(count, Count)
    assert (count.population, count.condition, count.negated) == ("fever", "chills", True)


@pytest.mark.parametrize(
    "question",
    [
        "What share of patients have fever but not chills?",
        "How many patients with Marsh Fever have fever but not chills?",
        "How many patients have no fever but chills?",
        "How many patients have neither fever nor chills?",
        "How many patients have fever or no chills?",
        "How many patients have fever but not chills or cough?",
        "How many patients have fever and cough but not chills?",
    ],
)
def test_other_denials_are_refused(question: str) -> None:
    with pytest.raises(CannotAnswer, match=r"two things.*How many patients with fever have no chills"):
        built(question)


@pytest.mark.parametrize(
    "question",
    ["How many patients have no fever?", "How many patients without fever got cold tea?", "How many lack fever?"],
)
def test_one_denial_is_no_two_things(question: str) -> None:
    request = request_of(question, "patient")
    if request is not None:
        assert isinstance(build_statistic(request, SETTINGS, {}), Count)


@pytest.mark.parametrize(
    ("question", "population", "condition"),
    [
        ("How many patients have migraine without aura?", "", "migraine without aura"),
        ("How many patients with migraine without aura have nausea?", "migraine without aura", "nausea"),
    ],
)
def test_one_thing_that_a_text_says_with_without_is_kept(question: str, population: str, condition: str) -> None:
    count = built(question)
    assert isinstance(count, Count)
    assert (count.population, count.condition, count.negated) == (population, condition, False)
