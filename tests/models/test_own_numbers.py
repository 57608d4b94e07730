"""A number that stands in no text of a voter is no vote."""

import pytest

from discreet.models.toy import ToyModel
from discreet.models.voters import VoterBatch, has_strange_number
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Private, unseal


@pytest.mark.parametrize(
    ("answer", "texts", "strange"),
    [
        ("The average satisfaction is 1.5.", ["Satisfaction: 1.", "Satisfaction: 2, not 15."], True),
        ("It is 1,5.", ["It is 1.5 of 5."], False),
        ("It is 1.5", ["It is 1.50."], False),
        ("10,000 steps", ["She walked 10000 steps."], False),
        ("12", ["112 beds on 1 ward"], True),
        ("12", ["Twelve beds."], False),
        ("31.01.2026", ["Seen on 2026-01-31."], False),
        ("January 31, 2026", ["Seen on 2026-01-30."], True),
        ("vitamin B12", ["Vitamin B12 was given."], False),
        ("two weeks", ["Nothing."], False),
        ("5 mg", ["Nothing."], True),
        ("7", ["Nothing."], False),
        ("\u0661", ["1 tablet"], True),
        ("", [], False),
    ],
)
def test_number_must_stand_in_a_text_or_the_question(answer: str, texts: list[str], strange: bool) -> None:
    assert has_strange_number(answer, texts, "What helps after 7 days?") is strange


def test_voter_with_a_strange_number_says_nothing() -> None:
    documents: Private[tuple[str, ...]] = Private(
        [("satisfied",), ("say: 3 of 5 .",), ("it is 1.5 here",)], REPLACE_ONE
    )
    answers, public = VoterBatch(ToyModel(default="1.5"), "average ?", documents, max_tokens=3).answers()
    assert unseal(answers, list) == ["", " 3 of 5", " 1.5"]
    assert public == " 1.5"
    answers, _ = VoterBatch(ToyModel(default="1.5"), "is it 1.5 ?", documents, max_tokens=3).answers()
    assert unseal(answers, list) == [" 1.5", " 3 of 5", " 1.5"]
