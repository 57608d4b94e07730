"""Units from the names of files: the fewest characters, nothing guessed."""

import pytest

from discreet.errors import UsageError
from discreet.files.units import Pattern, propose


@pytest.mark.parametrize(
    ("pattern", "path", "unit"),
    [
        ("{unit}/**", "ada/letters/one.txt", "ada"),
        ("{unit}/**", "one.txt", ""),
        ("{unit}_*.txt", "ada_2024.txt", "ada"),
        ("{unit}_*.txt", "ada_2024.pdf", ""),
        ("{unit}_*.txt", "sub/ada_2024.txt", ""),
        ("{unit}_*.txt", "adler_ada_2024.txt", "adler"),  # the fewest characters: joined, never split
        ("{unit}_[0-9]*.txt", "adler_ada_2024.txt", "adler_ada"),
        ("{unit}_[0-9]*.txt", "adler_ada_2024_03.txt", "adler_ada"),
        ("**/{unit}_*", "a/b/ada_1.txt", "ada"),
        ("**/{unit}_*", "ada_1.txt", "ada"),
        ("*/{unit}/*", "ward/ada/1.txt", "ada"),
        ("letter {unit} ????.txt", "letter Ada 2024.txt", "Ada"),
        ("{unit}_[!x]*", "ada_y1", "ada"),
        ("{unit}_[!x]*", "ada_x1", ""),
        ("{unit}.(a+b)", "ada.(a+b)", "ada"),
        ("{unit}_*", "Zoe\u0308_1", "Zo\u00eb"),
        ("{unit}_*", " _1", ""),
        ("{unit}.txt", "ada.txt", "ada"),
    ],
)
def test_unit_of_a_path(pattern: str, path: str, unit: str) -> None:
    assert Pattern(pattern).unit(path) == unit


def test_what_may_be_read_in_two_ways_is_told() -> None:
    assert Pattern("{unit}_*.txt").ambiguous("adler_ada_2024.txt") == ("adler", "adler_ada")
    assert Pattern("{unit}_*.txt").ambiguous("ada_2024.txt") is None
    assert Pattern("{unit}/**").ambiguous("ada/b/c.txt") is None


@pytest.mark.parametrize(
    "wrong", ["", "*.txt", "{unit}/{unit}", "{units}_*", "{unit}*", "{unit}**", "{unit}?a", "{unit}_[b-a]"]
)
def test_pattern_that_names_no_unit_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError):
        Pattern(wrong)


@pytest.mark.parametrize(
    ("paths", "pattern", "units"),
    [
        (["ada/1.txt", "ada/2.txt", "ben/1.txt"], "{unit}/**", 2),
        (["ada_2024.txt", "ada_2025.txt", "ben_2024.txt"], "{unit}_[0-9]*.txt", 2),
        (["adler_ada_2024.txt", "adler_ada_2025.pdf", "adler_ben_2024.txt"], "adler_{unit}_[0-9]*", 2),
        (["letter-P1-a.txt", "letter-P1-b.txt", "letter-P2-a.txt"], "letter-{unit}-*.txt", 2),
        (["x/ada_1.txt", "x/ada_2.txt", "x/ben_1.txt"], "**/{unit}_[0-9]*.txt", 2),
        (["a*_1.txt", "a*_2.txt", "a[_1.txt"], "{unit}_[0-9]*.txt", 2),
    ],
)
def test_pattern_is_proposed_from_the_names(paths: list[str], pattern: str, units: int) -> None:
    found = propose(paths)
    assert found is not None
    assert (found[0].text, len(found[1])) == (pattern, units)
