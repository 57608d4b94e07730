"""Texts with known codes are the same for a seed, and state what their truth says."""

from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from discreet.store.codebook import find_book, packaged_books
from discreet_lab.experiments import coded_texts
from discreet_lab.experiments.coded_texts import TEXTS, make_test_set, read_test_set, write_test_sets

BOOKS = packaged_books()
STOCKS = coded_texts._stocks()
MOST_BYTES = 40_000


def _entries(use: str, book: str) -> Iterator[tuple[str, str, str]]:
    for attribute, values in STOCKS[use][book]["says"].items():
        for value, entries in values.items():
            yield from ((attribute, value, one) for one in entries)


def test_packaged_test_sets_are_those_of_the_generator(tmp_path: Path) -> None:
    """If it fails after a change of a stock: `write_test_sets(Path("src/discreet/books"))`."""
    write_test_sets(tmp_path)
    for book in BOOKS:
        packaged = (files("discreet") / "books" / f"{book}.jsonl").read_bytes()
        assert (tmp_path / f"{book}.jsonl").read_bytes() == packaged
        assert len(packaged) < MOST_BYTES


@pytest.mark.parametrize("book", BOOKS)
def test_test_set_holds_every_value(book: str) -> None:
    texts, attributes = read_test_set(book), find_book(book).coded
    assert texts == make_test_set(book) != make_test_set(book, seed=1)
    assert len(texts) == TEXTS
    assert len({one.text for one in texts}) > 0.95 * TEXTS
    for attribute in attributes:
        counts = Counter(value for one in texts for value in one.codes[attribute.name])
        assert set(counts) == set(attribute.names)
        assert min(counts.values()) >= 8
    assert all(tuple(one.codes) == tuple(attribute.name for attribute in attributes) for one in texts)
    assert any(not any(one.codes.values()) for one in texts)
    assert any(len(one.codes[attributes[0].name]) > 1 for one in texts)
    assert all(len(one.codes[each.name]) <= 1 for one in texts for each in attributes if each.type == "one of")


@pytest.mark.parametrize("book", BOOKS)
def test_no_sentence_stands_in_two_stocks(book: str) -> None:
    """A coder is judged by other words than those that it was made from."""
    examples = [text for one in find_book(book).coded for value in one.values for text in value.examples]
    stocks = [[entry for *_, entry in _entries(use, book)] for use in STOCKS.keys() & {"tests", "figures"}
              if book in STOCKS[use]]  # fmt: skip
    said = Counter(text.split(" + ")[0].casefold() for text in [*examples, *(one for some in stocks for one in some)])
    assert set(said.values()) == {1}
