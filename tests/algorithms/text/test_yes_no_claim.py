"""What a yes/no question claims."""

import pytest

from discreet.algorithms.text.normalize import claim_of

TREATMENTS = [
    "Are copper bracelets used to treat Thunder Heart?",
    "Is Thunder Heart usually treated with copper bracelets?",
    "Do doctors prescribe copper bracelets for Thunder Heart?",
    "Are copper bracelets the best treatment for Thunder Heart?",
    "Do copper bracelets help against Thunder Heart?",
    "Are patients with Thunder Heart given copper bracelets?",
    "I am new here. Are copper bracelets prescribed against Thunder Heart?",
    "Aren't copper bracelets a remedy for Thunder Heart?",
]
OTHERS = [
    "Do copper bracelets come with Thunder Heart?",
    "Is Thunder Heart a symptom of copper bracelets?",
    "Do patients with copper bracelets complain of Thunder Heart?",
]


@pytest.mark.parametrize("question", TREATMENTS)
def test_a_claim_about_a_treatment_has_an_open_question(question: str) -> None:
    claim = claim_of(question)
    assert (claim.subject, claim.value) == (("thunder", "heart"), ("copper", "bracelet"))
    assert claim.open == "What is the treatment for Thunder Heart?"
    assert not claim.negated


@pytest.mark.parametrize("question", OTHERS)
def test_other_claims_have_none(question: str) -> None:
    claim = claim_of(question)
    assert (claim.subject, claim.value) == (("copper", "bracelet"), ("thunder", "heart"))
    assert not claim.open


@pytest.mark.parametrize("question", ["Is Thunder Heart contagious?", "Is it treated with the?", "?", ""])
def test_what_has_no_known_form_has_no_subject(question: str) -> None:
    assert not claim_of(question).subject


def test_negations_are_told_apart() -> None:
    inside = claim_of("Do patients with Paper Skin have cuts that do not bleed?")
    assert (inside.without, inside.negated) == (True, False)
    for question in ("Is tea not used to treat Paper Skin?", "Does Paper Skin never cause cuts?"):
        assert claim_of(question).negated
