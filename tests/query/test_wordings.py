"""The wordings of `accuracy wordings`: each is understood as what it asks for, or as no other statistic."""

from dataclasses import replace

import pytest

from discreet.algorithms.statistics.statistic import Statistic
from discreet.errors import CannotAnswer
from discreet.query.question_kinds import check_answerable, recognise
from discreet.questions.statistics import build_statistic, statistic_asked
from discreet.registry import Compare, Count, Share
from discreet_lab.experiments.wordings import HELD_OUT, ORIGINS, VOTES, is_same, questions, wanted
from tests.query.test_foreign_requests import SETTINGS as BARE

SETTINGS = replace(BARE, fields={"age": "number", "seen": "date"})


def ask(question: str) -> object:
    """Return the statistic of a question; raise the refusal of one that is asked for nothing that can be answered."""
    request = statistic_asked(question, SETTINGS)
    if request is not None:
        return build_statistic(request, SETTINGS, {})
    check_answerable(question, unit="patient")
    return None


REFUSED = {
    "comparison": (
        "Please compare {d} and {e} with regard to {s}.",
        "how does {d} compare to {e} when it comes to {s}",
    ),
    "list": ("please list everything patients with {d} report",),
    "trend": ("Did the number of {d} cases go up during 2025?",),
}
"""Wordings that are refused unpaid: of a phrase, the rules do not know whether it is one value or has several."""
STATISTICS = [kind for kind in HELD_OUT if kind not in VOTES]


@pytest.mark.parametrize("kind", STATISTICS)
@pytest.mark.parametrize("origin", ["plain", "held out"])
def test_wording_is_understood(kind: str, origin: str) -> None:
    for wording in ORIGINS[origin][kind]:
        for asked in questions(24 * (wording not in REFUSED.get(kind, ()))):
            if kind == "difference" and "that" in asked.symptom + asked.strange:
                continue  # "cuts that do not bleed" may be a second statement
            found = ask(asked.text(wording))
            assert isinstance(found, Statistic), wording
            assert is_same(found, wanted(kind, asked)), wording


@pytest.mark.parametrize("wording", [one for some in REFUSED.values() for one in some])
def test_other_wording_is_refused_unpaid(wording: str) -> None:
    with pytest.raises(CannotAnswer):
        ask(questions(1)[0].text(wording))


@pytest.mark.parametrize(
    "question",
    [
        "Are there more patients with fever than we thought?",
        "Are there more patients with fever than expected?",
        "Do we have more patients with fever than usual?",
        "Do more patients have fever than doctors believe?",
        "Were there fewer cases of fever than in 2023?",
        "Is fever more common than we thought?",
    ],
)
def test_comparison_with_an_expectation_is_refused_unpaid(question: str) -> None:
    with pytest.raises(CannotAnswer, match=r"Compare two groups|compares groups"):
        ask(question)


def test_count_that_names_no_units_is_about_all() -> None:
    assert ask("How many have fever?") == Count(condition="fever")
    assert ask("And how many got tea?") == Count(condition="tea")
    assert ask("How many have to wait?") is None


@pytest.mark.parametrize(
    ("question", "population", "condition"),
    [
        ("How common are cuts that do not bleed in patients with Paper Skin?", "Paper Skin", "cuts that do not bleed"),
        ("What share of patients with a rash that does not itch had fever?", "rash that does not itch", "fever"),
    ],
)
def test_inner_clause_stays_in_its_phrase(question: str, population: str, condition: str) -> None:
    assert ask(question) == Share(population=population, condition=condition)
    with pytest.raises(CannotAnswer, match="women"):
        ask("How common is pain in the chest in women with asthma?")


def test_denied_clause_in_the_middle_is_refused() -> None:
    with pytest.raises(CannotAnswer):
        ask("How many patients with fever who do not have chills got tea?")


def test_companions_are_no_condition() -> None:
    assert ask("How many patients came in with fever?") == Count(condition="fever")
    assert ask("How many patients came with their mother?") == Count(condition="came with their mother")


def test_what_compares_two_things_is_no_count_of_one_phrase() -> None:
    with pytest.raises(CannotAnswer):
        ask("How many additional patients have fever compared with chills?")
    found = ask("Is fever seen more often with asthma than with flu?")
    assert found == Compare(condition="fever", groups=("asthma", "flu"))


@pytest.mark.parametrize(
    "question",
    ["Are there more patients with fever than with cough?", "Are there patients who do not tolerate Blerpox?"],
)
def test_other_question_about_numbers_is_no_such_comparison(question: str) -> None:
    request = statistic_asked(question, SETTINGS)
    assert request or recognise(question, unit="patient").name == "yes-no"
