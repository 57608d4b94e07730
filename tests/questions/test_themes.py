"""Questions in words about codes: themes, conditions by code, and what is refused. All of it from the public book."""

from collections.abc import Sequence

import pytest

from discreet.config import VaultConfig
from discreet.errors import CannotAnswer, DiscreetError
from discreet.questions.request import Request, parse_request, request_of_statistic, themes
from discreet.questions.router import Router
from discreet.registry import Consensus, Themes
from discreet.store.codebook import find_book
from tests.cases import read_cases

CASES = read_cases(__file__)
FIELDS = {
    "ward": "category(north, south=the south wing, day clinic)",
    "sex": "category(w=women/female patients, m=men)",
    "date": "date",
    "age": "number",
}
SETTINGS = VaultConfig(1, 20.0, 1e-6, "patient", "smollm2-135m", "hashing", log_questions=False, fields=FIELDS)
ROUTER = Router(SETTINGS, "en", None, None, find_book("medical-visit"))
WITHOUT = Router(SETTINGS, "en", None)


def decided(router: Router, question: str) -> str:
    def usual(_: str, choices: Sequence[str]) -> Consensus:
        return Consensus()

    return str(router.decide(question, usual).request)


THEMES = CASES["themes"]
DATED = {
    "What are the main complaints by month?": "themes: complaint, by month of date, since ",
    "Show complaints per quarter.": "themes: complaint, by quarter of date, since ",
    "How have complaints changed over time?": "themes: complaint, by month of date, since ",
    "How many patients with eye problems are there per month?": "trend: complaint = eyes, by month of date, since ",
}
CONDITIONS = {
    "How many patients have skin problems?": "count: complaint = skin",
    "How many patients have breathing problems?": "count: complaint = breathing",
    "What share of patients have mental health problems?": "share: complaint = 'mental health'",
    "What share of women have heart problems?": "share: complaint = heart, among sex = w",
    "How many patients have no skin problems?": "count: not complaint = skin",
    "How many patients have skin problems and breathing problems?": (
        "count: in one record (complaint = skin) and in one record (complaint = breathing)"
    ),
    "How many have skin or heart problems?": "count: complaint = skin or complaint = heart",
    "What share of women have skin, heart or eye problems?": (
        "share: complaint = skin or complaint = heart or complaint = eyes, among sex = w"
    ),
    "How many have neither skin nor heart problems?": "count: not (complaint = skin or complaint = heart)",
    "How many more patients have skin problems than heart problems?": (
        "difference: complaint = skin versus complaint = heart"
    ),
    "Are skin problems more common in women than in men?": "compare: complaint = skin, groups sex = w versus sex = m",
    "How many women with skin problems have fever?": (
        'count: "fever", among sex = w and in one record (complaint = skin)'
    ),
    "What share of patients with skin problems have heart problems?": (
        "share: in one record (complaint = heart), among in one record (complaint = skin)"
    ),
    "Summarise what the notes say about patients with skin problems.": (
        "themes: complaint, among in one record (complaint = skin)"
    ),
    "How many patients have fever?": 'count: "fever"',
    'How many patients have "skin problems"?': 'count: "skin problems"',  # a quoted phrase names no code
    "What is the treatment for Winter Hand?": "fact: What is the treatment for Winter Hand?",
}


@pytest.mark.parametrize(("question", "request_"), (THEMES | CONDITIONS).items())
def test_words_of_the_book_are_its_codes(question: str, request_: str) -> None:
    assert decided(ROUTER, question) == request_


@pytest.mark.parametrize(("question", "start"), DATED.items())
def test_periods_are_the_last_ones(question: str, start: str) -> None:
    assert decided(ROUTER, question).startswith(start)


@pytest.mark.parametrize(
    "question",
    [
        "Main complaints, by ward and month",
        "Complaints by ward and by month",
        "What are the main complaints of children?",
        "What is the main complaint of Ana Costa?",
        "themes: age",
        "themes: complaint, by age",
        "themes: complaint, by week",
        "themes: complaint, since 2026",
        "themes: complaint, by ward, until 2026",
        "themes: ",
        "themes: complaint, most many",
        "themes: diagnosis",  # a text: its values are not public
    ],
)
def test_what_would_be_lost_or_is_not_public_is_refused(question: str) -> None:
    with pytest.raises(DiscreetError):
        decided(ROUTER, question)


@pytest.mark.parametrize("question", ["What are the main topics?", "themes: complaint"])
def test_without_a_book_themes_are_refused(question: str) -> None:
    with pytest.raises(CannotAnswer):
        decided(WITHOUT, question)


def test_refusal_without_a_book_names_the_way_to_one() -> None:
    bare = Router(VaultConfig(1, 20.0, 1e-6, "patient", "toy", "hashing", log_questions=False), "en", None)
    with pytest.raises(CannotAnswer, match="discreet code VAULT --book"):
        decided(bare, "themes: complaint")
    with pytest.raises(CannotAnswer, match="ward, sex"):
        decided(WITHOUT, "themes: complaint")


MONTHS = "themes: complaint, by month of date, since 2026-01, until 2026-03"


@pytest.mark.parametrize("text", [*THEMES.values(), MONTHS])
def test_request_for_themes_is_one_in_words_and_in_data(text: str) -> None:
    request = parse_request(text)
    assert parse_request(str(request)) == request
    assert Request.model_validate_json(request.model_dump_json(by_alias=True)) == request
    found = ROUTER.decide(text, lambda *_: Consensus()).algorithm
    assert isinstance(found, Themes)
    assert request_of_statistic(found) == request
    assert str(themes("complaint", by="ward", among="sex = w")) == "themes: complaint, by ward, among sex = w"


@pytest.mark.parametrize(("text", "each", "spread"), [("themes: ward", 3, 0), ("themes: sex, by ward", 2, 3)])
def test_a_person_may_have_several_values_of_a_declared_category(text: str, each: int, spread: int) -> None:
    """Someone may have been on each ward: a table that counts one of them would miss, whatever its noise."""
    found = ROUTER.decide(text, lambda *_: Consensus()).algorithm
    assert isinstance(found, Themes)
    assert (found.each, found.spread) == (each, spread)
