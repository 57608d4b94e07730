"""Questions as requests for a statistic. A question for another thing is none."""

import dataclasses
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.query.requests import KINDS, Wording, request_of
from discreet_lab.experiments.first_hour_questions import QUESTIONS
from tests.query import request_wordings_held_out as held_out
from tests.query.request_wordings import (
    COMPARISONS,
    COUNTS,
    DIFFERENCES,
    FACTS,
    FIELDS,
    LISTS,
    NEGATIONS,
    SHARES,
    TRENDS,
    TYPICAL,
)
from tests.query.test_question_kinds import EXAMPLES

WORDINGS = (*COUNTS, *SHARES, *LISTS, *COMPARISONS, *TRENDS, *TYPICAL, *DIFFERENCES, *NEGATIONS)
IN_GERMAN = {"Wie viele Patienten haben Zonkitis?": "count"}
REFUSED_TODAY = {
    "How many patients have Zonkitis?": "count",
    "How many of my patients have Zonkitis?": "count",
    "Can you tell me how many people got Blerpox?": "count",
    "What share of the patients has a fever?": "share",
    "What percentage of all notes mentions Zonkitis?": "share",
    "How often is Zonkitis diagnosed?": "share",
    "How common is Zonkitis?": "share",
    "What is the average age of patients with Zonkitis?": "typical",
    "Count the patients with Zonkitis.": "count",
    **dict.fromkeys(EXAMPLES["list"], "list"),
}
"""Questions that are refused as a count or a list without this module, each with its kind of statistic."""


@pytest.mark.parametrize(("unit", "question", "wanted"), WORDINGS)
def test_wording_is_parsed(unit: str, question: str, wanted: Wording) -> None:
    assert request_of(question, unit, FIELDS) == wanted


@pytest.mark.parametrize(("unit", "question", "wanted"), held_out.HELD_OUT)
def test_held_out_wording_is_parsed(unit: str, question: str, wanted: Wording | None) -> None:
    assert request_of(question, unit, held_out.FIELDS) == wanted


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "summary"])
def test_each_kind_has_twelve_wordings(kind: str) -> None:
    assert sum(wanted.kind == kind for _, _, wanted in WORDINGS) >= 12


@pytest.mark.parametrize("question", FACTS)
@pytest.mark.parametrize("unit", ["", "patient"])
def test_fact_is_no_request(question: str, unit: str) -> None:
    assert request_of(question, unit, FIELDS) is None


@pytest.mark.parametrize("question", [one for kind in EXAMPLES for one in EXAMPLES[kind]])
def test_examples_of_other_kinds_are_no_request(question: str) -> None:
    found = request_of(question, "patient")
    if question in EXAMPLES["summary"]:
        assert found is None or found.kind in ("summary", "list")
    else:
        assert (found.kind if found else None) == (REFUSED_TODAY | IN_GERMAN).get(question)


def test_refused_counts_and_lists_are_requests() -> None:
    assert set(REFUSED_TODAY) == {*EXAMPLES["count"], *EXAMPLES["list"]}


def test_analyst_questions_hold_five_requests() -> None:
    found = [one.text for one in QUESTIONS if request_of(one.text, "patient")]
    assert found == [
        "How many patients have Zonkitis?",
        "List the symptoms of Zonkitis.",
        "Summarise what the notes say about Flibberflamius Extremus.",
        "How common is Schnitzelploxia?",
        "Which symptoms does Snurflesickness have?",
    ]


# --- what must not be lost --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        "How many patients have Zonkitis, and how many have Burpdynia?",
        "How many more patients do not have fever than chills?",
        "How many more patients with Marsh Fever have chills than patients with Zonkitis?",
        "How many patients had fever by month and ward?",
        "What is the median age by ward of patients with Zonkitis?",
        "Average age and fee of patients",
        "Number of falls from 2020 to 2023",
        "Give me the top 5 patients by age",
        "What percentage of patients have chills versus fever?",
        "How old were patients when they were diagnosed?",
        "Which reasons do customers give most often for leaving?",
    ],
)
def test_request_that_would_lose_a_part_is_none(question: str) -> None:
    assert request_of(question, "patient", FIELDS) is None


@pytest.mark.parametrize(
    ("question", "population", "condition"),
    [
        ("How many patients with Marsh Fever in ward 3 had chills in 2024?", "Marsh Fever in ward 3", "chills in 2024"),
        ("How many cases of Marsh Fever were there in March 2024?", "", "Marsh Fever in March 2024"),
        ("How many patients had fever before 2020?", "", "fever before 2020"),
        ("How many patients have fever but not chills?", "", "fever but not chills"),
        ("How many patients without fever got cold tea?", "without fever", "cold tea"),
        ("How many patients who did not get tea had fever?", "not tea", "fever"),
        ("Of the patients with Marsh Fever, how many had chills?", "Marsh Fever", "chills"),
        ("How many Marsh Fever patients had chills?", "Marsh Fever", "chills"),
    ],
)
def test_narrowing_is_kept(question: str, population: str, condition: str) -> None:
    assert request_of(question, "patient") == Wording("count", population, condition)


@pytest.mark.parametrize(
    "question",
    [
        "How many patients don't have fever?",
        "How many patients don\u2019t have fever?",
        "How many patients did not have fever?",
        "How many patients have never had fever?",
        "How many patients have no fever?",
        "How many patients without fever?",
        "How many patients lack fever?",
        "How many patients who had no fever?",
        "How many patients had not had fever?",
    ],
)
def test_denial_is_kept(question: str) -> None:
    assert request_of(question, "patient") == Wording("count", condition="fever", negated=True)


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("2024", "2024"),
        ("2024-03", "2024-03"),
        ("2024-03-07", "2024-03-07"),
        ("March 2024", "2024-03"),
        ("Sept. 2024", "2024-09"),
        ("7 March 2024", "2024-03-07"),
        ("March 7th, 2024", "2024-03-07"),
        ("the 7th of March 2024", "2024-03-07"),
        ("07.03.2024", "2024-03-07"),
        ("3/2024", "2024-03"),
        ("the start of 2024", "2024"),
    ],
)
def test_date_is_read(text: str, since: str) -> None:
    wanted = Wording("count", condition="fever", since=since)
    assert request_of(f"How many patients had fever since {text}?", "patient") == wanted
    assert request_of(f"Since {text}, how many patients had fever?", "patient") == wanted


@pytest.mark.parametrize("text", ["31.02.2024", "2024-13", "the flood", "last year"])
def test_date_that_cannot_be_read_stays_in_the_phrase(text: str) -> None:
    found = request_of(f"How many patients had fever since {text}?", "patient")
    assert found == Wording("count", condition=f"fever since {text}")


def test_field_is_known_by_its_name_alone() -> None:
    assert request_of("How many patients had falls by ward?", "patient") == Wording("count", condition="falls by ward")
    wanted = Wording("trend", condition="falls", by="care_unit")
    assert request_of("How many patients had falls by care unit?", "patient", ("care_unit",)) == wanted


def test_unit_is_counted_by_its_own_word() -> None:
    assert request_of("How many vessels leak?") is None
    assert request_of("How many vessels leak?", "vessel") == Wording("count", condition="leak")


@pytest.mark.parametrize("word", ["topical", "friction", "patent", "medial", "diagnosed", "patience", "Medain"])
def test_word_like_a_frequent_one_is_kept(word: str) -> None:
    found = request_of(f"How many patients have {word} pain?", "patient")
    assert found == Wording("count", condition=f"{word} pain")


def test_unit_is_no_pattern() -> None:
    assert request_of("How many vessels leak?", "(.*") is None
    assert request_of("How many patients have fever?", "(.*") == Wording("count", condition="fever")


# --- any text ---------------------------------------------------------------------------------------------------------


def in_lower_case(request: Wording | None) -> dict[str, str]:
    return {name: str(value).casefold() for name, value in dataclasses.asdict(request).items()} if request else {}


@pytest.mark.parametrize(("unit", "question", "wanted"), WORDINGS)
def test_case_does_not_matter(unit: str, question: str, wanted: Wording) -> None:
    for other in (question.lower(), question.upper()):
        assert in_lower_case(request_of(other, unit, FIELDS)) == in_lower_case(wanted)


@given(st.text(), st.text(max_size=20), st.lists(st.text(max_size=10), max_size=3))
def test_any_text_is_parsed(question: str, unit: str, fields: list[str]) -> None:
    assert request_of(question, unit, fields) == request_of(question, unit, fields)


_PARTS = (
    "how many|patients|with|without|fever|had|is|are|more common|often|than|among|compare|and|or|by|month|since|2020"
)
_PARTS += (
    "|the|most|symptoms|of|share|average|age|typically|list|top|5|what|which|in|who|,|vs.|Winter Hand|not|do|each|ward"
)


@given(st.lists(st.sampled_from(_PARTS.split("|")), max_size=40).map(" ".join))
def test_any_order_of_words_is_parsed(question: str) -> None:
    found = request_of(question, "patient", FIELDS)
    if found:
        assert found.kind in KINDS
        assert found.kind != "compare" or len(found.groups) >= 2
        assert found.kind not in ("list", "typical") or found.attribute
        assert found.kind != "share" or found.condition
        assert not any(one != one.strip() for one in (found.population, found.condition, found.attribute))


@pytest.mark.parametrize("size", [290, 1_990, 20_000])
@pytest.mark.parametrize(
    "word", ["a", "and ", "in a than ", "how many patients with ", "is more common in ", "since 2020 ", "' ", ", "]
)
@pytest.mark.parametrize("start", ["", "compare ", "how many patients with ", "is ", "average ", "which "])
def test_long_text_is_parsed_at_once(start: str, word: str, size: int) -> None:
    before = time.process_time()
    request_of((start + word * (size // len(word)))[:size], "patient", FIELDS)
    assert time.process_time() - before < 1


@pytest.mark.parametrize(
    ("question", "request_"),
    [
        ("Summarise what the notes say about Winter Hand.", Wording("summary", population="Winter Hand")),
        ("Summarize the records of patients with Winter Hand", Wording("summary", population="Winter Hand")),
        ("What do the notes say about Winter Hand?", Wording("summary", population="Winter Hand")),
        ("Give me an overview of patients with Winter Hand", Wording("summary", population="Winter Hand")),
        ("A short summary of Winter Hand, please", Wording("summary", population="Winter Hand")),
        ("Summarise the notes.", Wording("summary")),
        ("Summarise what patients complain of.", Wording("list", attribute="complaints")),
        ("Tell me all you know about Winter Hand", Wording("summary", population="Winter Hand")),
        ("What are the main topics?", None),
    ],
)
def test_summaries(question: str, request_: Wording | None) -> None:
    assert request_of(question, "patient") == request_


@pytest.mark.parametrize(
    ("question", "population", "groups"),
    [
        ("How many more women than men have fever?", "fever", ("women", "men")),
        ("How many fewer women than men have fever?", "fever", ("men", "women")),
        ("Do more women than men have fever?", "fever", ("women", "men")),
        ("How many more patients with asthma than with flu have fever?", "fever", ("asthma", "flu")),
        ("Are there more patients with fever than with cough?", "", ("fever", "cough")),
    ],
)
def test_difference_of_two_sets_is_understood(question: str, population: str, groups: tuple[str, str]) -> None:
    assert request_of(question, "patient") == Wording("difference", population, groups=groups)


@pytest.mark.parametrize(
    "question",
    [
        "How many more patients have fever than we thought?",
        "How many more patients have fever than anyone said?",
        "How many more patients have fever than doctors believe?",
        "How many more patients have fever than people expected?",
        "How many more patients had fever in 2024 than in 2023?",
    ],
)
def test_comparison_with_no_second_set_is_no_request(question: str) -> None:
    assert request_of(question, "patient") is None


@pytest.mark.parametrize(
    ("question", "groups"),
    [
        ("Do more patients have Winter Hand or Glass Knee?", ("Winter Hand", "Glass Knee")),
        ("Are there more patients with Winter Hand or with Glass Knee?", ("Winter Hand", "Glass Knee")),
        ("Did fewer patients have fever or chills?", ("chills", "fever")),
    ],
)
def test_which_of_two_is_more_is_a_difference(question: str, groups: tuple[str, str]) -> None:
    """It was asked as a question for yes or no, and "no" was released, paid and meant nothing."""
    assert request_of(question, "patient") == Wording("difference", groups=groups)


@pytest.mark.parametrize(
    ("question", "attribute"),
    [
        ("What is the most common disease?", "diseases"),
        ("What's the most frequent diagnosis?", "diagnoses"),
        ("Which wards are most common?", "wards"),
        ("Which symptoms are most common?", "symptoms"),
    ],
)
def test_most_common_one_is_a_list(question: str, attribute: str) -> None:
    """The voters of a fact know one text each: what they agree on need not be common in the vault."""
    assert request_of(question, "patient") == Wording("list", attribute=attribute)
