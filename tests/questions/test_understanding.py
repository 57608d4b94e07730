"""Any text is read to an end, tests of fields stand in any place, and a typing error is asked back."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import CannotAnswer, DiscreetError, UsageError
from discreet.questions.kinds import guess_kind
from discreet.questions.vocabulary import nearest
from tests.cases import read_cases
from tests.questions.routers import router_of

CASES = read_cases(__file__)
FIELDS = {"sex": "category(w=women/female, m=men)", "age": "number", "ward": "category(north, south)", "visit": "date"}
ROUTER = router_of(FIELDS | {"satisfaction": "number"})
STATISTICS = ("", "count", "share", "versus", "trend", "typical", "list", "summary")
FRAMES = CASES["frames"]


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
    CASES["tests_of_fields_stand_in_any_place"],
)
def test_tests_of_fields_stand_in_any_place(question: str, request_: str) -> None:
    assert understand(question) == request_


@pytest.mark.parametrize(
    "question",
    CASES["what_the_grammar_leaves_over_is_refused"],
)
def test_what_the_grammar_leaves_over_is_refused(question: str) -> None:
    with pytest.raises(UsageError):
        understand(question, "count")


def test_word_with_a_typing_error_is_asked_back() -> None:
    with pytest.raises(CannotAnswer, match="Did you mean 'diabetes'"):
        understand("How many patients have diabtes?")
    assert understand('How many patients have "diabtes"?') == 'count: "diabtes"'
    for word in ("zonkitis", "mould", "statin", "wheezed", "Winter", "ab"):
        assert nearest(word) == ""
    assert nearest("norht", frozenset(["north"])) == "north"
