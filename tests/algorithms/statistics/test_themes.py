"""Intervals of themes cover, by the law of the noise, in at least 9 of 10 draws; and the words of a table."""

from collections import Counter
from dataclasses import replace

import pytest

from discreet.privacy.accounting import Budget
from discreet.privacy.mechanisms.counting import GaussianHistogram
from discreet.privacy.noise import InsecureSeededNoise
from discreet.statistics.cells import Counted
from discreet.statistics.themes import Themes

BUDGET = Budget(20.0, 1e-6, 5e-7)
VALUES = ("cough", "rash", "fever", "chills")
ASKED = Themes(attribute="complaint", values=VALUES, each=2, epsilon=1.0)
BY = replace(ASKED, by="ward", groups=("north", "south"), spread=2)
DRAWS = 150


@pytest.mark.parametrize("asked", [ASKED, replace(ASKED, epsilon=0.3), replace(ASKED, epsilon=None, uses=40), BY])
@pytest.mark.parametrize("scale", [1, 8])
def test_intervals_of_a_table_cover(asked: Themes, scale: int) -> None:
    groups = len(asked._names)
    sizes, cells = asked.histograms(BUDGET)
    of = [50 * scale - 10 * group for group in range(groups)]
    true = [value * scale for value in (30, 11, 2, 0)] * groups
    covered, noise = Counter[str](), InsecureSeededNoise(5)
    gaussian = isinstance(cells, GaussianHistogram)
    for _ in range(DRAWS):
        noisy = [
            tuple(count + _one(noise, histogram.deviation, gaussian=gaussian) for count in counts)
            for histogram, counts in ((sizes, of), (cells, true))
        ]
        _, table = asked._table(Counted.by(sizes, noisy[0]), Counted.by(cells, noisy[1]))
        for figure in table:
            group, _, value = figure.name.rpartition(": ")
            place = asked._names.index(group)
            whole = of[place]
            number = whole if value == "of" else true[place * len(VALUES) + VALUES.index(value)]
            expected = number if figure.kind == "count" else number / whole
            covered[f"{figure.name} {figure.kind}"] += figure.low - 1e-9 <= expected <= figure.high + 1e-9
    assert len(covered) == groups * (2 * len(VALUES) + 1)
    assert min(covered.values()) >= 0.9 * DRAWS, covered


def _one(noise: InsecureSeededNoise, deviation: float, *, gaussian: bool) -> int:
    return noise.gaussian(deviation) if gaussian else noise.laplace(deviation / 2**0.5)


def test_table_in_words() -> None:
    sizes, cells = BY.histograms(BUDGET)
    text, table = BY._table(Counted.by(sizes, (40, 0)), Counted.by(cells, (30, 10, 0, 5, 0, 0, 0, 0)))
    lines = text.splitlines()
    assert lines[0].startswith("north, of about 40 (")
    assert lines[0].split(";")[0].split(": ")[1] == "cough"
    assert lines[1].endswith(": no value named.")
    assert lines[2] == "Each counts in at most 4 values, in at most 2 of the 2 groups."
    unnamed = [
        figure.high for figure in table if not figure.low and figure.kind == "count" and figure.name[-2:] != "of"
    ]
    assert lines[3] == f"Not named: {len(unnamed)} that may be none, each at most {max(unnamed):.0f}."
    assert [figure.name for figure in table if figure.kind == "share"][:3] == [
        "north: cough",
        "north: rash",
        "north: chills",  # those of most units first
    ]


@pytest.mark.parametrize("unable", [3, None])
def test_intervals_have_room_for_units_that_are_missing(unable: int | None) -> None:
    sizes, cells = ASKED.histograms(BUDGET)
    full = ASKED._table(Counted.by(sizes, (40,)), Counted.by(cells, (30, 10, 0, 5)))[1]
    lacking = ASKED._table(Counted.by(sizes, (40,), unable), Counted.by(cells, (30, 10, 0, 5), unable))[1]
    for one, other in zip(full, lacking, strict=True):
        assert other.low <= one.low
        if one.kind == "count":
            assert other.high == (one.high + 3 if unable else float("inf"))
            assert other.low == one.low
        else:
            assert other.high >= one.high
            # The missing ones may have the value, or be of the others.
            assert (unable is None and other.high == 1) or other.high > one.high or one.high == 1
