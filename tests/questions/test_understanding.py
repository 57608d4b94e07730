"""Any text is read to an end, tests of fields stand in any place, and a typing error is asked back."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import CannotAnswer, DiscreetError, UsageError
from discreet.questions.kinds import KINDS, guess_kind
from discreet.questions.vocabulary import nearest
from tests.questions.routers import router_of

FIELDS = {"sex": "category(w=women/female, m=men)", "age": "number", "ward": "category(north, south)", "visit": "date"}
ROUTER = router_of(FIELDS | {"satisfaction": "number"})
STATISTICS = ("", "count", "share", "versus", "trend", "typical", "list", "summary")
FRAMES = (
    "have",
    "find out",
    "tell",
    "the",
    "and",
    "in general",
    "how many",
    "or",
    "most common",
    "than",
    "with",
    "of",
    ",",
    "by month",
)


def understand(question: str, kind: str = "") -> str:
    found = ROUTER.understand(question, kind)
    return str(found)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_understood_or_refused(text: str) -> None:
    for kind in STATISTICS:
        with contextlib.suppress(DiscreetError):
            ROUTER.understand(text, kind)
    assert sum(guess_kind(text).shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("word", FRAMES)
@pytest.mark.parametrize(
    ("before", "after"), [("", "zebra how many patients have fever"), ("what are the ", " zebra!x"), ("is ", " than x")]
)
def test_words_of_a_frame_many_times_are_read_to_an_end(word: str, before: str, after: str) -> None:
    """A pattern with two ways to read a word would need twice the time for each of them."""
    for kind in STATISTICS:
        with contextlib.suppress(DiscreetError):
            ROUTER.understand((before + f"{word} " * 80)[:240] + after, kind)


@pytest.mark.parametrize(
    ("question", "request_"),
    [
        ("How many women over 60 have fever?", 'count: "fever", among sex = w and age > 60'),
        (
            "How many patients in the north ward had a rash in March 2026?",
            'count: "rash", among visit = 2026-03 and ward = north',
        ),
        (
            "Between January and March 2026, how many patients had fever?",
            'count: "fever", among visit = 2026-01..2026-03',
        ),
        ("What share of patients with a satisfaction below 3 have fever?", 'share: "fever", among satisfaction < 3'),
        ("What share of patients with fever are women?", 'share: sex = w, among "fever"'),
        ("Fever by ward", 'compare: "Fever", groups ward = north versus ward = south'),
        ("What is the average age of women with fever?", 'typical: mean of age, among sex = w and "fever"'),
        ("Top 3 symptoms of men aged 30 to 39", "list: symptoms, most 3, among sex = m and age = 30..39"),
        ("How many patients had fever per month since 2025?", 'trend: "fever", by month, since 2025'),
        ("What were the monthly counts of fever in 2026?", 'trend: "fever", by month, since 2026, until 2026'),
        ("Is there an upward trend in falls among women?", 'trend: "falls", by month, among sex = w'),
        ("Out of all patients with fever, how many smoke?", 'count: "smoke", among "fever"'),
        ("How many patients have wounds that did not heal?", 'count: "wounds that did not heal"'),
        ("Are there more women than men with gout?", 'difference: sex = w versus sex = m, among "gout"'),
        ("How many patients aged 60 or over smoke?", 'count: "smoke", among age >= 60'),
        ("How many 30-year-olds have fever?", 'count: "fever", among age = 30'),
        ("How many patients took 60 mg of aspirin?", 'count: "60 mg of aspirin"'),
        ("How many patients had fever only in March 2026?", 'count: "fever", among visit = 2026-03'),
        ("How many patients came from north korea?", 'count: "came from north korea"'),
        ("What do patients ask for?", "list: requests"),
    ],
)
def test_tests_of_fields_stand_in_any_place(question: str, request_: str) -> None:
    assert understand(question) == request_


@pytest.mark.parametrize(
    "question",
    [
        "How many patients with which disease have fever?",
        "Prices of patients how often?",
        "Does fever peak in certain months?",
        "How many patients have fever by street and by doctor?",
        "How many patients had fever last week?",
        "Fever by ward over time",
        "New cases of fever by month",
    ],
)
def test_what_the_grammar_leaves_over_is_refused(question: str) -> None:
    with pytest.raises(UsageError):
        understand(question, "count")


def test_refusal_has_the_words_of_the_question() -> None:
    """A mark of a test is a sign of the grammar's own."""
    with pytest.raises(CannotAnswer, match=r"'still'.* ask: How many patients over 60 have fever\?"):
        understand("How many patients over 60 still have fever?")


def test_word_with_a_typing_error_is_asked_back() -> None:
    with pytest.raises(CannotAnswer, match="Did you mean 'diabetes'"):
        understand("How many patients have diabtes?")
    assert understand('How many patients have "diabtes"?') == 'count: "diabtes"'
    for word in ("zonkitis", "mould", "statin", "wheezed", "Winter", "ab"):
        assert nearest(word) == ""
    assert nearest("norht", frozenset(["north"])) == "north"


def test_kinds_are_those_of_the_weights() -> None:
    assert set(guess_kind("How many patients have fever?").shares) == set(KINDS)


@pytest.mark.parametrize(("word", "meant"), [("fevr", "fever"), ("pain", ""), ("rahs", "")])
def test_a_short_word_is_compared_with_own_words_alone(word: str, meant: str) -> None:
    assert nearest(word, frozenset(("fever", "paint"))) == meant
    assert nearest(word) == ""
