"""Texts with known codes are the same for a seed, and state what their truth says."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from discreet.retrieval.codebook import find_book, packaged_books
from discreet_lab.experiments import coded_texts
from discreet_lab.experiments.clinic import make_clinic
from discreet_lab.experiments.coded_texts import (
    SYSTEMS,
    TEXTS,
    CodedText,
    code_clinic,
    code_dialogues,
    make_survey,
    make_test_set,
    make_tickets,
    read_test_set,
    write_csv,
    write_test_sets,
)

BOOKS = packaged_books()
STOCKS = coded_texts._stocks()
MOST_BYTES = 40_000


def _entries(use: str, book: str) -> Iterator[tuple[str, str, str]]:
    for attribute, values in STOCKS[use][book]["says"].items():
        for value, entries in values.items():
            yield from ((attribute, value, one) for one in entries)


def _share(texts: list[CodedText], attribute: str, value: str) -> float:
    return sum(value in one.codes[attribute] for one in texts) / len(texts)


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


@pytest.mark.parametrize("book", BOOKS)
def test_stock_tells_only_what_book_does_not_count(book: str) -> None:
    main = find_book(book).coded[0]
    counted = {"denials": main.denied, "past": main.past, "relatives": main.family}
    for use in ("tests", "figures"):
        stock = STOCKS[use].get(book, {})
        assert not [kind for kind, counts in counted.items() if counts and stock.get(kind)]


def test_what_is_denied_past_or_of_a_relative_does_not_hold() -> None:
    texts = make_test_set("medical-visit", 1_000)
    phrases = [(value, one.split(" + ")[0]) for _, value, one in _entries("tests", "medical-visit") if one[-1] != "."]
    for form in ("denies {}.", "no {} at present.", "her mother has {}.", "last year {}, fully"):
        found = [(one, value) for one in texts for value, said in phrases if form.format(said) in one.text.lower()]
        assert len(found) > 10
        assert not [(one, value) for one, value in found if value in one.codes["complaint"]]


def test_stated_phrase_holds_with_all_its_values() -> None:
    texts = make_test_set("medical-visit", 1_000)
    stated = [one for one in texts if "complains" not in one.text and "reports toothache." in one.text.lower()]
    assert stated
    assert all({"ear nose throat", "pain"} <= {*one.codes["complaint"]} for one in stated)


def test_survey_has_themes_of_departments(tmp_path: Path) -> None:
    people = make_survey(600)
    assert people == make_survey(600) != make_survey(600, seed=1)
    assert len({one.unit for one in people}) == 600
    groups = {name: [one for one in people if one.fields["department"] == name] for name in ("production", "IT")}
    assert _share(groups["production"], "theme", "workplace") > 2 * _share(groups["IT"], "theme", "workplace")
    assert _share(groups["IT"], "theme", "tools") > 1.5 * _share(groups["production"], "theme", "tools")
    write_csv(people, tmp_path / "a.csv")
    head, first, *_ = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()
    assert head == "unit,department,site,text"
    assert first.startswith(f"E00001,{people[0].fields['department']},")


def test_tickets_have_customers_and_a_trend() -> None:
    tickets = make_tickets(1_000, 300)
    assert tickets == make_tickets(1_000, 300) != make_tickets(1_000, 300, seed=1)
    counts = Counter(one.unit for one in tickets)
    assert len(counts) == 300
    assert max(counts.values()) > 15
    assert len({(one.unit, one.fields["plan"]) for one in tickets}) == 300
    days = [one.fields["date"] for one in tickets]
    assert days == sorted(days)
    march = [one for one in tickets if one.fields["date"].startswith("2025-03")]
    assert _share(march, "topic", "speed") > 1.5 * _share(list(tickets), "topic", "speed")
    assert {name for one in tickets for name in one.codes} == {"topic", "urgency", "outcome"}


def test_dialogues_are_coded_by_their_words(tmp_path: Path) -> None:
    said = "Patient's description: My knee hurts, but I have no cough. ### Doctor's answer: A skin test helps."
    with gzip.open(tmp_path / "a.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps({"id": "1", "unit": "u", "text": said}) + "\n")
    (short,), (whole,) = (code_dialogues(tmp_path / "a.jsonl.gz", one) for one in (False, True))
    assert short == CodedText("My knee hurts, but I have no cough.", {"complaint": ("muscles and joints", "pain")}, "u")
    assert whole.codes["complaint"] == ("skin", "muscles and joints", "pain")
    assert whole.text.endswith("A skin test helps.")


def test_tables_name_complaints_of_the_book() -> None:
    names = find_book("medical-visit").coded[0].names
    assert tuple(STOCKS["dialogues"]) == names
    assert set(STOCKS["clinic"]) <= set(names)
    assert (*SYSTEMS, "pain", "general") == names


def test_clinic_is_coded_by_what_notes_state() -> None:
    clinic = make_clinic()
    notes = code_clinic(clinic)
    assert [one.text for one in notes] == [one.text for one in clinic.notes]
    assert all(
        ("skin" in one.codes["complaint"]) == ("rash" in note.states)
        for one, note in zip(notes, clinic.notes, strict=True)
    )
