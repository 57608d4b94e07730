"""Things that the words of a question join: a condition, or a refusal before a payment."""

import pytest

from discreet.errors import CannotAnswer
from discreet.questions.request import Request
from tests.cases import read_cases
from tests.questions.routers import router_of

CASES = read_cases(__file__)
ROUTER = router_of()


def understood(question: str) -> Request:
    request = ROUTER.understand(question)
    assert request is not None
    return request


@pytest.mark.parametrize(
    ("question", "asked"),
    CASES["things_that_words_join_are_a_condition"],
)
def test_things_that_words_join_are_a_condition(question: str, asked: str) -> None:
    assert str(understood(question)) == asked


@pytest.mark.parametrize(
    "question",
    CASES["what_can_be_read_in_two_ways_is_refused"],
)
def test_what_can_be_read_in_two_ways_is_refused(question: str) -> None:
    with pytest.raises(CannotAnswer, match=r"two things|two questions"):
        understood(question)


@pytest.mark.parametrize(
    ("question", "offered"),
    CASES["refusal_offers_the_request_that_joins_what_was_said"],
)
def test_refusal_offers_the_request_that_joins_what_was_said(question: str, offered: str) -> None:
    with pytest.raises(CannotAnswer) as refused:
        ROUTER.understand(question)
    assert f"such as {offered}. " in refused.value.advice


WARDS = router_of(
    {"ward": "category(north=north ward, south=south ward)", "sex": "category(w=women, m=men)", "visit": "date"}
)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("How many patients are there in each ward?", "list: ward"),
        ("How many women by ward in March 2026?", "list: ward, among sex = w and visit = 2026-03"),
        ("How many women are in each ward?", "list: ward, among sex = w"),
        ("In March 2026, how many patients had a fever by ward?", 'compare: "fever", {groups}, among visit = 2026-03'),
        ("How many patients had a fever by ward since 2026?", 'compare: "fever", {groups}, among visit >= 2026'),
    ],
)
def test_groups_are_the_values_of_one_field(question: str, asked: str) -> None:
    request = WARDS.understand(question)
    assert str(request) == asked.format(groups="groups ward = north versus ward = south")


def test_second_field_of_groups_is_refused() -> None:
    with pytest.raises(CannotAnswer, match="Groups are of one field"):
        WARDS.understand("How many patients with asthma by ward and sex?")
