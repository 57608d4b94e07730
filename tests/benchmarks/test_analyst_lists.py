"""Lists of films beside the truth and OpenDP: wordings that the rules know, and what the number that counts hides."""

from collections import Counter
from pathlib import Path

import pytest
from benchmarks.analyst_beside import Data
from benchmarks.analyst_lists import WORDINGS, Asked, by_discreet, by_table, questions, row, vault_of

FILMS = tuple(f"Film {letter}" for letter in "ABCDEFGHIJKL")
DATA = Data(tuple(frozenset(FILMS[-3:]) for _ in range(60)), WORDINGS, FILMS[-3:], "viewer")
PLENTY = {"epsilon": 500.0}


@pytest.mark.parametrize("about", WORDINGS)
def test_all_wordings_list_what_all_name(about: str, tmp_path: Path) -> None:
    vault = vault_of(tmp_path / "v", DATA)
    for seed, asked in enumerate(questions(DATA, about, 5)):
        listed = by_discreet(vault, PLENTY | {"each": 6}, seed, asked)
        assert listed == by_table(DATA, PLENTY | {"each": 6}, seed, asked) == dict.fromkeys(FILMS[-3:], 60)


def test_each_viewer_counts_for_as_many_films_as_count() -> None:
    asked = Asked("", "", Counter(film for unit in DATA.units for film in unit))
    found = by_table(DATA, PLENTY | {"each": 1}, 0, asked)
    assert sorted(found) == list(FILMS[-3:])
    assert sum(found.values()) == 60


def test_row_has_recall_and_precision() -> None:
    asked = [Asked("", "", Counter({film: 60 - place for place, film in enumerate(FILMS)}))] * 2
    ways = iter(({"Film A": 60.0, "Film L": 50.0}, {}))
    found = row("all viewers", 6, "1", "truth", asked, lambda *_: next(ways))
    assert found[4:8] == ["0.50", "0.05", "0.50", "1.00"]
