"""The packaged codebooks load, and a word of one means one thing."""

from collections import Counter

import pytest

from discreet.store.codebook import Codebook, find_book, packaged_books

BOOKS = ("employee-survey", "legal-intake", "medical-visit", "support-ticket")


@pytest.fixture(params=BOOKS)
def book(request: pytest.FixtureRequest) -> Codebook:
    return find_book(request.param)


def test_books_are_packaged() -> None:
    assert packaged_books() == BOOKS


def test_word_of_book_means_one_thing(book: Codebook) -> None:
    """A question names an attribute or a value, of any attribute, by these words."""
    words = Counter(word for one in book.attributes for word in one.called)
    words.update(word for one in book.coded for value in one.values for word in (value.name, *value.words))
    assert not [word for word, count in words.items() if count > 1]


def test_value_has_meaning_words_and_examples(book: Codebook) -> None:
    for attribute in book.coded:
        assert attribute.meaning
        for value in attribute.values:
            assert value.meaning
            assert value.words
            assert 2 <= len(value.examples) <= 4
