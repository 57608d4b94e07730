"""A plan says what statistics a grant pays for, and a question's plan what it leaves and what it needs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.planning.plan import (
    count_within,
    make_plan,
)
from discreet.planning.prices import vault_budget
from discreet.statistics.values import ListValues
from discreet.store.documents import Document
from discreet.vault import Vault


def test_plan_has_the_statistics_of_a_grant() -> None:
    count, share, listed = make_plan(2000, 10.0).statistics
    assert [(one.name, one.times) for one in (count, share, listed)] == [("count", 76), ("share", 76), ("list", 18)]
    assert count.within == count_within(vault_budget(10.0, 1e-6), 76)
    assert share.within == pytest.approx(count.within / 2000, rel=0.3)
    assert listed.within > count.within


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("small") / "v"
    vault = Vault.create(path, epsilon=3.0, delta=1e-6, embedder="hashing", fields={"ward": "category"})
    vault.add_documents([Document("d", "p", "A fever.", fields={"ward": "north"})])
    return path


def planned(path: Path, *words: str) -> str:
    return " ".join(CliRunner().invoke(app, ["ask", str(path), *words, "--plan"]).output.split())


def test_plan_of_a_count_says_what_it_leaves(small: Path) -> None:
    said = planned(small, "How many units have a fever?")
    assert "A unit in the set, which paid nothing before, can then take part in no open question any more." in said
    about = json.loads(
        CliRunner().invoke(app, ["ask", str(small), "How many have a fever?", "--plan", "--json"]).stdout
    )
    assert about["open_questions"] == [1, 0]


def test_plan_of_a_list_says_how_many_share_a_value(small: Path) -> None:
    needed = ListValues(attribute="ward").needs(vault_budget(3.0, 1e-6))
    assert f"{needed:,} units must share a value" in planned(small, "List the wards")
