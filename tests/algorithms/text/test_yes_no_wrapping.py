"""The plain yes/no question inside a polite or a doubtful one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.text.normalize import claim_of, content, plain_question
from discreet.demo.corpus import DISEASES
from tests.cases import read_cases

CASES = read_cases(__file__)
TREATED = CASES["treated"]
WORDINGS = CASES["wordings"]
OTHERS = CASES["others"]


@pytest.mark.parametrize("question", TREATED)
def test_wrapped_question_is_found(question: str) -> None:
    assert plain_question(question) == "Is Thunder Heart treated with copper bracelets?"


@pytest.mark.parametrize("question", OTHERS)
def test_other_text_is_left(question: str) -> None:
    assert plain_question(question) == question


def test_statement_with_another_verb_becomes_a_question() -> None:
    assert plain_question("Is it true that tea helps against Red Echo?") == "Does tea help against Red Echo?"
    assert plain_question("Can you tell me if Red Echo has a cure?") == "Does Red Echo have a cure?"
    assert plain_question("Is it true that more patients have A than B?") == "Do more patients have A than B?"
    assert plain_question("Patients with Red Echo get tea, right?") == "Do Patients with Red Echo get tea?"
    assert plain_question("Would tea be what patients with Red Echo get?") == "Are patients with Red Echo given tea?"


@pytest.mark.parametrize(
    "question",
    [
        "Red Echo is not treated with tea, right?",
        "Is it true that Red Echo isn't treated with tea?",
        "Is it true that tea doesn't help against Red Echo?",
        "Can you tell me if tea is never used against Red Echo?",
    ],
)
def test_wrapped_denial_stays_a_denial(question: str) -> None:
    assert claim_of(question).negated


@pytest.mark.parametrize("wording", WORDINGS)
def test_all_wordings_claim_the_same(wording: str) -> None:
    for disease, other in zip(DISEASES[:3], (DISEASES[0], DISEASES[4], DISEASES[2]), strict=True):
        claim = claim_of(wording.format(d=disease.name, t=other.treatment))
        assert claim.subject == content(disease.name)
        assert claim.value == content(other.treatment)
        assert claim.open == f"What is the treatment for {disease.name}?"
        assert not claim.negated


@given(st.text())
def test_any_text_has_a_plain_question(question: str) -> None:
    assert plain_question(question)[:1] == question[:1] or plain_question(question).endswith("?")
