"""Numbers under which units may be missing say so, from the prices of earlier questions alone."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from typer.testing import CliRunner

from discreet.algorithms.base import Answer, Figure, Support
from discreet.cli.app import app
from discreet.errors import BudgetExhausted
from discreet.privacy.filter import released_before
from discreet.query.answer_cache import Released
from discreet.query.recall import derive
from discreet.registry import Compare, Count, Difference, ListValues, Share, Trend, Typical
from discreet.statistics.cells import MAY_LACK, Counted, at_most
from discreet.statistics.counts import say_share
from discreet.statistics.statistic import CellStatistic, Statistic
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_server.keeper.served import describe
from discreet_server.wire import AnswerFields

GRANT = 10.0
QUARTER = GRANT / 4
FALSE_REASON = "A misspelled word"
MANY = ("Winter Hand", "numb thumbs", "Winter", "numb", "Hand", "thumbs", "north")
"""Different conditions that hold of every unit."""


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
    for phrase in ("Glass Knee", "Glass Foot", "Glass Ear", "Glass Arm"):
        ask(tmp_path / "v", Count(condition=phrase, epsilon=QUARTER * 1.01))
    return tmp_path / "v"


def test_five_counts_of_five_processes(tmp_path: Path) -> None:
    """The prices of the first three are known to the ledger alone when the fourth process begins."""
    ward(tmp_path / "v")
    count = ["count", "--epsilon", str(QUARTER * 1.01), "--anew"]
    command = [sys.executable, "-m", "discreet", "ask", str(tmp_path / "v"), "How many?", "--algorithm", *count]
    phrases = ["Winter Hand", "numb thumbs", "Winter", "thumbs", "Hand"]
    said = [
        subprocess.run(
            [*command, "--param", f"condition={one}"], capture_output=True, text=True, check=True, env=dict(os.environ)
        ).stdout
        for one in phrases
    ]
    assert [MAY_LACK in " ".join(one.split()) for one in said] == [False] * 3 + [True] * 2
    assert not any(FALSE_REASON in one for one in said)


def test_the_same_question_again_is_refused_when_nobody_may_be_left(tmp_path: Path) -> None:
    """It is refused at the same question with one unit more or less, and with none that pays: prices decide."""
    for size, condition in ((40, "Winter Hand"), (39, "Winter Hand"), (40, "Summer Foot")):
        path = tmp_path / f"{size} {condition}"
        ward(path, size)
        count = Count(condition=condition, epsilon=QUARTER * 1.01)
        assert not any(MAY_LACK in ask(path, count).text for _ in range(3))
        paid = Vault.open(path).ledger.spent_at_most()
        for _ in range(2):
            with pytest.raises(BudgetExhausted, match="Earlier questions may have used up the grant of all units"):
                ask(path, count)
        assert Vault.open(path).ledger.spent_at_most() == paid


def test_vault_that_grew_is_not_measured_by_an_old_count(tmp_path: Path) -> None:
    """The newest count of a larger set says how many there are at most; one from before the growth does not."""
    path = tmp_path / "v"
    ward(path, 10)
    ask(path, Count(epsilon=QUARTER * 1.01))
    Vault.open(path).add_documents(Document(f"e{n}", f"q{n}", "Winter Hand. Numb thumbs.") for n in range(400))
    for condition in ("Winter Hand", "numb thumbs", "Winter Hand"):
        answer = ask(path, Count(condition=condition, epsilon=QUARTER * 1.01))
        assert answer.table[0].value > 300


@pytest.mark.parametrize("price", [{"uses": 5}, {"epsilon": 3.0}, {"epsilon": QUARTER}])
def test_what_is_lost_is_within_the_interval(tmp_path: Path, price: dict[str, Any]) -> None:
    """Units are lost at some question of the same price, and from the same one on the note is there."""
    ward(tmp_path / "v")
    answers = [ask(tmp_path / "v", Count(condition=one, **price)) for one in MANY]
    lost = [one.table[0].value < 39 for one in answers]
    assert lost == [MAY_LACK in one.text for one in answers] == [bool(one.unable) for one in answers]
    assert lost == sorted(lost)
    assert lost[-1]
    assert not lost[2]
    assert all(one.table[0].high >= 78 for one in answers if one.unable)


def test_five_counts_of_five_things_leave_most_units(tmp_path: Path) -> None:
    """After five counts of others, at a quarter of the grant each, most of those who paid nothing are known to be."""
    vault = Vault.create(tmp_path / "v", epsilon=GRANT, delta=1e-6, embedder="hashing")
    words = ["ash", "oak", "elm", "fir", "yew", "box"]
    vault.add_documents(Document(f"d{n}", f"p{n}", f"A {words[n % 6]} tree.") for n in range(900))
    for word in words[:5]:
        vault.ask("How many?", Count(condition=word, epsilon=QUARTER))
    found = vault.ask("How many?", Count(condition="tree", epsilon=QUARTER))
    assert 250 <= (found.unable or 0) <= 300  # 750 payments; three of them leave too little for this one
    assert found.table[0].low <= 900 <= found.table[0].high


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
def test_each_statistic_says_how_many_units_may_be_missing(spent: Path, statistic: Statistic) -> None:
    found = ask(spent, statistic)
    said = f"\nUp to {found.unable} units {MAY_LACK} The intervals have room for them."
    assert found.unable
    assert found.text.endswith(said)
    assert said in str(found.describe()["answer"])
    assert said in describe(found)["text"]
    assert MAY_LACK in found._repr_html_()
    again = ask(spent, statistic, anew=False)  # a free repetition
    assert again.text == found.text
    assert again.unable == found.unable


@pytest.mark.parametrize(
    "statistic",
    [
        Share(condition="numb thumbs"),
        Compare(groups=("Winter Hand", "numb thumbs"), condition="Winter Hand"),
        Difference(groups=("Winter Hand", "numb thumbs")),
        Trend(condition="numb thumbs", date_field="admitted", until="2026-02"),
        Typical(attribute="age"),
        Typical(attribute="age", what="mean"),
    ],
    ids=lambda one: one.name,
)
def test_intervals_have_room_for_units_in_any_cell(statistic: CellStatistic) -> None:
    """Wherever the units that could not pay would have counted, the interval without noise has the number."""
    counts = np.arange(1, statistic.cells + 1)
    found = statistic.conclude(Counted(tuple(counts), (1e-9,) * len(counts), unable=5))[1]
    for cell in range(statistic.cells):
        true = counts.copy()
        true[cell] += 5
        there = statistic.conclude(Counted(tuple(true), (1e-9,) * len(counts)))[1]
        assert all(one.low - 1e-6 <= other.value <= one.high + 1e-6 for one, other in zip(found, there, strict=True))


@pytest.mark.parametrize("unable", [12, None])
def test_keeper_lets_the_bound_and_an_open_end_leave(unable: int | None) -> None:
    counted = Counted((40,), (1.0,), unable=unable)
    text, table = Count(condition="fever").conclude(counted)
    receipt = replace(released_before("patient"), private=True)
    answer = Answer(
        text + counted.note, "end", 0, table=tuple(table), receipt=receipt, unable=unable, algorithm="count"
    )
    left = TypeAdapter(AnswerFields).validate_python(describe(answer))
    assert left["unable"] == unable
    assert (left["table"][0]["high"] is None) == (unable is None)


def test_number_without_a_bound_has_no_upper_end() -> None:
    counted = Counted((40, 60), (1.0, 1.0), unable=None)
    text, (count,) = Count(condition="fever").conclude(Counted((40,), (1.0,), unable=None))
    assert count.low > 30
    assert count.high == math.inf
    assert "38 or more" in text
    assert f"Units {MAY_LACK}" in counted.note
    share = say_share(counted, [0], [0, 1])[1][0]
    assert (share.low, share.high) == pytest.approx((0.0, 1.0))


def test_number_that_follows_keeps_the_note(spent: Path, tmp_path: Path) -> None:
    ask(spent, Share(population="Winter Hand", condition="numb thumbs", epsilon=QUARTER))
    follows = ask(spent, Count(population="Winter Hand", condition="numb thumbs"), anew=False)
    assert follows.follows
    assert follows.text.count(MAY_LACK) == 1
    assert follows.unable
    sample = tmp_path / "sample.jsonl"
    line = json.dumps({"text": "Numb thumbs.", "holds": ["numb thumbs"]})
    other = json.dumps({"text": "Winter Hand.", "holds": ["Winter Hand"]})
    sample.write_text("\n".join([line] * 20 + [other] * 20))
    labelled = ask(spent, Count(condition="Winter Hand", epsilon=QUARTER / 2), labelled=sample)
    assert labelled.text.count(MAY_LACK) == 1


@pytest.mark.parametrize("unable", [0, 7, None])
def test_number_that_follows_has_the_note_of_its_releases(unable: int | None) -> None:
    count = Count(condition="Winter Hand")
    counts = {"counts": [40], "deviations": [1.0], "gaussian": True, "unable": unable}
    given: dict[str, Any] = {"counts": counts, "parts": count.parts, "choices": count.set_apart}
    found = derive([Released("q", "About 40.", "end", "count", 0, **given)], "q", count)
    assert found is not None
    assert (MAY_LACK in found.answer) == (unable != 0)


@pytest.mark.parametrize("kind", ["count", "share"])
def test_share_of_none_has_the_note_of_a_count(tmp_path: Path, kind: str) -> None:
    ward(tmp_path / "v")

    def said(phrase: str) -> str:
        command = ["ask", str(tmp_path / "v"), "How many?", "--algorithm", kind, "--anew"]
        more = ["--param", f"condition={phrase}", "--epsilon", str(QUARTER * 1.2)]
        return " ".join(CliRunner().invoke(app, [*command, *more]).output.split())

    found = [said(f"Wintre {one}") for one in ("Hand", "Foot", "Knee", "Arm", "Ear", "Eye")]
    assert any(FALSE_REASON in one for one in found[:3])  # each is with probability 0.975
    said_so = MAY_LACK if kind == "count" else "Nothing was released or charged."  # all units paid for each share
    assert all(said_so in one and FALSE_REASON not in one for one in found[3:])


def test_voted_answer_goes_on_and_says_it(spent: Path) -> None:
    command = ["ask", str(spent), "What is numb?", "--kind", "fact", "--anew"]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0, found.output
    assert "Note: Up to" in found.output
    assert "had no part in this: earlier questions may have used up their grant" in " ".join(found.output.split())


# -- "13 of 6" -------------------------------------------------------------------------------------------------------


def test_voters_are_at_most_those_that_were_asked() -> None:
    assert Support(13, 7, 19, 6) == Support(6, 6, 19, 6)
    assert Support(13, 7, 19) == Support(13, 7, 19, 0)  # it is not known how many could have given it
    assert Support(5, 2, 8, 6) == Support(5, 2, 8, 6)


def _of_share(counted: Counted) -> list[Figure]:
    return say_share(counted, [0], [0, 1])[1][1:]


def _of_list(counted: Counted) -> list[Figure]:
    return ListValues(attribute="floor")._table([("north", 13)], Counted((6,), (2.2,)), 5.0)[::2]


@pytest.mark.parametrize("table", [_of_share, _of_list])
def test_part_is_at_most_the_whole(table: Callable[[Counted], list[Figure]]) -> None:
    part, whole = table(Counted((13, -7), (5.0, 5.0)))
    assert (part.value, whole.value) == (6, 6)
    assert part.low <= part.value <= part.high
    assert part.high > 13  # the interval still covers


def test_part_below_the_whole_stays() -> None:
    part, whole = Figure("a", "count", 5, 2, 8), Figure("of", "count", 6, 3, 9)
    assert at_most(part, whole) == part
