"""Questions in German, French and Spanish as requests."""

import pytest

from discreet.errors import CannotAnswer
from discreet.questions.request import Request
from discreet.questions.sentences import nouns_of
from discreet.questions.understanding import read_foreign
from tests.cases import read_cases

CASES = read_cases(__file__)
FIELDS = {
    "sex": "category(w=women/female, m=men/male)",
    "age": "number",
    "visit": "date",
    "team": "category(sales, legal)",
}
NOUNS = nouns_of("patient", tuple(FIELDS))

WORDINGS = CASES["wordings"]
NONE = CASES["none"]


@pytest.mark.parametrize(("question", "wanted"), WORDINGS)
def test_question_is_the_request(question: str, wanted: str) -> None:
    assert str(_read(question)).split(" (")[0] == wanted


@pytest.mark.parametrize("question", NONE)
def test_other_question_is_no_request(question: str) -> None:
    assert _read(question) is None


@pytest.mark.parametrize(
    "question", ["Wie viele Patienten haben Brust- und Rückenschmerzen?", "Wie viele haben 3 Zähne?"]
)
def test_part_that_would_be_lost_is_refused(question: str) -> None:
    with pytest.raises(CannotAnswer):
        _read(question)


def _read(question: str) -> Request | None:
    return read_foreign(question, FIELDS, NOUNS)
