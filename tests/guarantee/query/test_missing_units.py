"""Numbers under which units may be missing say so, from the prices of earlier questions alone."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.algorithms.common.algorithm import Answer, Figure, Support
from discreet.algorithms.statistics.counted import MAY_LACK, Counted, at_most
from discreet.algorithms.statistics.share import say_share
from discreet.algorithms.statistics.statistic import Statistic
from discreet.cli.app import app
from discreet.query.answer_cache import Released
from discreet.query.derived import derive
from discreet.registry import Compare, Count, Difference, ListValues, Share, Trend, Typical
from discreet.retrieval.documents import Document
from discreet.server.keeper.served import describe
from discreet.vault import Vault

GRANT = 10.0
QUARTER = GRANT / 4
FALSE_REASON = "A misspelled word"


def ward(path: Path, size: int = 78) -> None:
    fields = {"age": "number", "admitted": "date", "floor": "category"}
    vault = Vault.create(path, epsilon=GRANT, delta=1e-6, embedder="hashing", unit_field="patient", fields=fields)
    vault.add_documents(
        Document(
            f"d{n}",
            f"p{n}",
            "Winter Hand. Numb thumbs.",
            fields={"age": 40.0 + n % 9, "admitted": "2026-01-05", "floor": "north"},
        )
        for n in range(size)
    )


def ask(path: Path, statistic: Statistic, question: str = "How many?", **options: Any) -> Answer:
    """Ask as a new process does: what is known of earlier questions comes from the ledger."""
    return Vault.open(path).ask(question, statistic, **{"anew": True} | options)


@pytest.fixture
def spent(tmp_path: Path) -> Path:
    """A vault whose earlier questions may have used up any unit, though no unit took part in them: that is private."""
    ward(tmp_path / "v")
    for _ in range(4):
        ask(tmp_path / "v", Count(condition="Glass Knee", epsilon=QUARTER * 1.01))
    return tmp_path / "v"


def test_five_counts_of_five_processes(tmp_path: Path) -> None:
    """The prices of the first three are known to the ledger alone when the fourth process begins."""
    ward(tmp_path / "v")
    count = ["count", "--param", "condition=Winter Hand", "--epsilon", str(QUARTER * 1.01), "--anew"]
    command = [sys.executable, "-m", "discreet", "ask", str(tmp_path / "v"), "How many?", "--algorithm", *count]
    said = [
        subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ)).stdout
        for _ in range(5)
    ]
    assert [MAY_LACK in " ".join(one.split()) for one in said] == [False] * 3 + [True] * 2
    assert not any(FALSE_REASON in one for one in said)


def test_note_depends_on_prices_and_not_on_units(tmp_path: Path) -> None:
    """With one unit more or less, and with none that pays, the note comes at the same question."""
    noted = []
    for size, condition in ((40, "Winter Hand"), (39, "Winter Hand"), (40, "Summer Foot")):
        path = tmp_path / f"{size} {condition}"
        ward(path, size)
        answers = [ask(path, Count(condition=condition, epsilon=QUARTER * 1.01)) for _ in range(5)]
        noted.append([MAY_LACK in one.text for one in answers])
    assert noted == [[False] * 3 + [True] * 2] * 3


@pytest.mark.parametrize("price", [{"uses": 5}, {"epsilon": 3.0}, {"epsilon": QUARTER}])
def test_note_comes_with_the_first_units_that_are_lost(tmp_path: Path, price: dict[str, Any]) -> None:
    """Units are lost at some question of the same price, and from the same one on the note is there."""
    ward(tmp_path / "v")
    answers = [ask(tmp_path / "v", Count(condition="Winter Hand", **price)) for _ in range(7)]
    lost = [one.table[0].value < 39 for one in answers]
    assert lost == [MAY_LACK in one.text for one in answers]
    assert lost == sorted(lost)
    assert lost[-1]
    assert not lost[2]


@pytest.mark.parametrize(
    "statistic",
    [
        Count(condition="numb thumbs"),
        Share(condition="numb thumbs"),
        Compare(groups=("Winter Hand", "numb thumbs"), condition="Winter Hand"),
        Difference(groups=("Winter Hand", "numb thumbs")),
        Trend(condition="numb thumbs", date_field="admitted", until="2026-02"),
        Typical(attribute="age"),
        ListValues(attribute="floor", epsilon=4.0),
    ],
    ids=lambda one: one.name,
)
def test_each_statistic_says_that_units_may_be_missing(spent: Path, statistic: Statistic) -> None:
    found = ask(spent, statistic)
    assert found.text.endswith(f"\n{MAY_LACK}")
    assert MAY_LACK in str(found.describe()["answer"])
    assert MAY_LACK in describe(found)["text"]
    assert MAY_LACK in found._repr_html_()
    assert ask(spent, statistic, anew=False).text == found.text  # a free repetition


def test_number_that_follows_keeps_the_note(spent: Path, tmp_path: Path) -> None:
    ask(spent, Share(population="Winter Hand", condition="numb thumbs", epsilon=QUARTER))
    follows = ask(spent, Count(population="Winter Hand", condition="numb thumbs"), anew=False)
    assert follows.follows
    assert follows.text.endswith(f"\n{MAY_LACK}")
    sample = tmp_path / "sample.jsonl"
    line = json.dumps({"text": "Numb thumbs.", "holds": ["numb thumbs"]})
    other = json.dumps({"text": "Winter Hand.", "holds": ["Winter Hand"]})
    sample.write_text("\n".join([line] * 20 + [other] * 20))
    labelled = ask(spent, Count(condition="Winter Hand", epsilon=QUARTER), labelled=sample)
    assert labelled.text.count(MAY_LACK) == 1


def test_number_that_follows_from_whole_ones_has_no_note() -> None:
    count = Count(condition="Winter Hand")
    counts = {"counts": [40], "deviations": [1.0], "gaussian": True}
    given: dict[str, Any] = {"counts": counts, "parts": count.parts, "choices": count.set_apart}
    for answer in ("About 40.", f"About 40.\n{MAY_LACK}"):
        found = derive([Released("q", answer, "end", "count", 0, **given)], "q", count)
        assert found is not None
        assert (MAY_LACK in found.answer) == (MAY_LACK in answer)


@pytest.mark.parametrize("kind", ["count", "share"])
def test_share_of_none_has_the_note_of_a_count(tmp_path: Path, kind: str) -> None:
    ward(tmp_path / "v")

    def said() -> str:
        command = ["ask", str(tmp_path / "v"), "How many?", "--algorithm", kind, "--anew"]
        more = ["--param", "condition=Wintre Hand", "--epsilon", str(QUARTER * 1.2)]
        return " ".join(CliRunner().invoke(app, [*command, *more]).output.split())

    found = [said() for _ in range(8)]
    assert any(FALSE_REASON in one for one in found[:3])  # each is with probability 0.975
    assert all(MAY_LACK in one and FALSE_REASON not in one for one in found[3:])


# -- "13 of 6" -------------------------------------------------------------------------------------------------------


def test_voters_are_at_most_those_that_were_asked() -> None:
    assert Support(13, 7, 19, 6) == Support(6, 6, 19, 6)
    assert Support(13, 7, 19) == Support(13, 7, 19, 0)  # it is not known how many could have given it
    assert Support(5, 2, 8, 6) == Support(5, 2, 8, 6)


def _of_share(counted: Counted) -> list[Figure]:
    return say_share(counted, [0], [0, 1])[1][1:]


def _of_list(counted: Counted) -> list[Figure]:
    return ListValues(attribute="floor")._table([("north", 13)], 6, *_sizes())[::2]


def _sizes() -> Any:
    from discreet.privacy.mechanisms.counting import GaussianHistogram
    from discreet.privacy.partition import ADD_REMOVE_ONE

    return GaussianHistogram.calibrated(0.1, 1, ADD_REMOVE_ONE), 5.0


@pytest.mark.parametrize("table", [_of_share, _of_list])
def test_part_is_at_most_the_whole(table: Callable[[Counted], list[Figure]]) -> None:
    part, whole = table(Counted((13, -7), (5.0, 5.0)))
    assert (part.value, whole.value) == (6, 6)
    assert part.low <= part.value <= part.high
    assert part.high > 13  # the interval still covers


def test_part_below_the_whole_stays() -> None:
    part, whole = Figure("a", "count", 5, 2, 8), Figure("of", "count", 6, 3, 9)
    assert at_most(part, whole) == part
