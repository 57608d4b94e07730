"""What one voter makes of a claim."""

import pytest

from discreet.algorithms.text.normalize import claim_of
from discreet.algorithms.text.phrases import is_about, vote

NOTE = (
    "Ada Lind has a tight chest, restless feet and cuts that do not bleed. Doctor: given the symptoms (Nose twitching, "
    "Bluish discoloration of lips and fingers), the diagnosis is Thunder Heart, and the treatment is copper bracelets. "
    "No fever was seen."
)
COPPER, OTHER = "The treatment for Thunder Heart is copper bracelets.", "The treatment is Copper Lung."


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("Are copper bracelets used to treat Thunder Heart?", COPPER, "yes"),
        ("Are bracelets used to treat Thunder Heart?", COPPER, "yes"),
        ("Is cold tea used to treat Thunder Heart?", COPPER, "no"),
        ("Is a tight chest used to treat Thunder Heart?", COPPER, "no"),
        ("Is cold tea used to treat Thunder Heart?", "Cold tea.", ""),  # an invention
        ("Is cold tea used to treat Thunder Heart?", OTHER, ""),  # another one
        ("Is cold tea used to treat Thunder Heart?", "Thunder Heart", ""),
        ("Is cold tea used to treat Thunder Heart?", "", ""),
        ("Are copper bracelets used to treat Winter Hand?", COPPER, ""),
        ("Are copper bracelets not used to treat Thunder Heart?", COPPER, ""),
        ("Does Thunder Heart cause restless feet?", "", "yes"),
        ("Does Thunder Heart cause bluish lips?", "", "yes"),
        ("Does Thunder Heart cause cuts that do not bleed?", "", "yes"),
        ("Does Thunder Heart cause cuts that bleed?", "", "no"),
        ("Does Thunder Heart cause fever?", "", "no"),
        ("Does Thunder Heart cause a restless chest?", "", ""),
        ("Does Thunder Heart cause copper bracelets?", "", ""),
        ("Do copper bracelets cause Thunder Heart?", "", ""),
        ("Do patients with Thunder Heart get copper bracelets?", "", "yes"),
        ("Is Thunder Heart contagious?", "", ""),
    ],
)
def test_votes(question: str, answer: str, said: str) -> None:
    assert vote(claim_of(question), [NOTE], answer) == said


def test_voter_needs_one_of_its_documents_for_a_vote() -> None:
    claim = claim_of("Does Thunder Heart cause restless feet?")
    assert vote(claim, []) == ""
    assert vote(claim, ["Nothing of it.", NOTE]) == "yes"


@pytest.mark.parametrize(
    ("question", "decides"),
    [
        ("Is cold tea used to treat Thunder Heart?", True),
        ("Is cold tea used to treat Winter Hand?", False),
        ("Does Thunder Heart cause fever?", True),
        ("Is Thunder Heart contagious?", True),  # no known form, so no subject
    ],
)
def test_documents_without_the_subject_do_not_decide(question: str, decides: bool) -> None:
    assert is_about(claim_of(question), ["An idle note.", NOTE]) == decides
    assert not is_about(claim_of("Is tea used to treat Thunder Heart?"), [])
