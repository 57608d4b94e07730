"""The conformance suite of coders."""

from collections.abc import Sequence

import pytest

from discreet.store.codebook import Codebook
from discreet.synthesis.readings import Coder
from discreet.synthesis.statements import Found

BOOK = Codebook.parse(
    {
        "attributes": [
            {
                "name": "complaint",
                "type": "any of",
                "values": [
                    {"name": "cough", "words": ["coughing"], "examples": ["He coughs at night."]},
                    {"name": "rash", "words": ["red spots"], "examples": ["There are red spots on his arms."]},
                ],
            },
            {
                "name": "urgency",
                "type": "one of",
                "values": [
                    {"name": "urgent", "examples": ["The patient was brought in an ambulance."]},
                    {"name": "routine", "examples": ["The patient came for a yearly check."]},
                ],
            },
        ]
    }
)
TEXTS = (
    "The patient has a dry cough and a rash. A routine visit.",
    "Red spots on both arms since Monday, coughing, urgent.",
    "No cough, and no rash.",
    "A letter about the car park.",
    "The patient has a dry cough and a rash. A routine visit.",
    "cough " * 2000,
)
ODD = ("", " \n", "!!! ... ???", "\x00 \u2603 \u00e9", "\ud800", "a" * 5000)


class CoderSuite:
    """Tests of a `Coder`. A subclass overrides the fixture `coder`, and `book` if the coder needs another one.

    The privacy guarantee needs one property above all: the codes of a text depend on that text and on the book alone.
    If they do not, one unit changes the codes of others, and every sensitivity is wrong.
    """

    @pytest.fixture
    def coder(self) -> Coder:
        """Return the coder under test."""
        raise NotImplementedError("Override the fixture `coder`.")

    @pytest.fixture
    def book(self) -> Codebook:
        """Return the codebook by which it codes."""
        return BOOK

    def test_each_text_is_coded_once(self, coder: Coder, book: Codebook) -> None:
        """Check that each position of a text comes once, and that no text gives no codes."""
        assert sorted(place for place, _ in coder.code(TEXTS, book)) == list(range(len(TEXTS)))
        assert not list(coder.code([], book))

    def test_codes_stand_in_the_book(self, coder: Coder, book: Codebook) -> None:
        """Check that a code is a value of an attribute that has values, which the text does not deny."""
        names = {(one.name, value) for one in book.coded for value in one.names}
        for own in _codes(coder, TEXTS, book):
            assert {(name, value) for name, value, *_ in own} <= names
            assert not any(denied for _, _, denied, *_ in own)

    def test_some_code_is_found(self, coder: Coder, book: Codebook) -> None:
        """Check that the coder finds something in texts that name values of the book."""
        assert any(_codes(coder, TEXTS, book))

    def test_codes_depend_on_their_text_alone(self, coder: Coder, book: Codebook) -> None:
        """Check that a text has the same codes alone, among others, and in another order."""
        alone = [_codes(coder, [text], book)[0] for text in TEXTS]
        for first in range(4):  # turned, turned round, and shortened
            order = [*range(first, len(TEXTS)), *range(first)][:: -1 if first % 2 else 1][first:]
            for place, own in zip(order, _codes(coder, [TEXTS[place] for place in order], book), strict=True):
                assert own == alone[place]

    def test_rare_code_is_found(self, coder: Coder, book: Codebook) -> None:
        """Check that many equal texts do not change the codes of another one."""
        alone = _codes(coder, TEXTS[:1], book)[0]
        assert _codes(coder, [TEXTS[3]] * 300 + [TEXTS[0]], book)[-1] == alone

    def test_no_text_causes_an_error(self, coder: Coder, book: Codebook) -> None:
        """Check that empty texts and odd characters have codes, or none: an error would tell of a document."""
        assert len(_codes(coder, ODD, book)) == len(ODD)

    def test_about_does_not_depend_on_texts(self, coder: Coder, book: Codebook) -> None:
        """Check that what the codes depend on, beside the text, is the same before and after texts were coded."""
        before = coder.about(book)
        _codes(coder, TEXTS, book)
        assert coder.about(book) == before
        assert all(isinstance(part, str | int | float | bool | None) for part in before)

    def test_about_changes_with_the_values(self, coder: Coder, book: Codebook) -> None:
        """Check that a book with fewer values is another one: its codes are found anew."""
        first = book.coded[0]
        fewer = first.model_copy(update={"values": first.values[1:]})
        other = book.model_copy(update={"attributes": (fewer, *book.attributes[1:])})
        assert coder.about(other) != coder.about(book)


def _codes(coder: Coder, texts: Sequence[str], book: Codebook) -> list[list[Found]]:
    """Return the codes of each text, by its position."""
    codes = dict(coder.code(texts, book))
    return [list(codes[place]) for place in range(len(texts))]
