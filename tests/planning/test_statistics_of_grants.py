"""A plan says what statistics a grant pays for, and a question's plan what it leaves and what it needs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.algorithms.statistics.values import ListValues
from discreet.cli.app import app
from discreet.planning.plan import make_plan
from discreet.planning.prices import vault_budget
from discreet.planning.statistics import (
    count_within,
    counts_that_are_within,
    open_questions_left,
    shares_that_are_within,
)
from discreet.privacy.accounting import Spending
from discreet.registry import Count
from discreet.retrieval.documents import Document
from discreet.vault import Vault


def test_plan_has_the_statistics_of_a_grant() -> None:
    count, share, listed = make_plan(2000, 10.0).statistics
    assert [(one.name, one.times) for one in (count, share, listed)] == [("count", 76), ("share", 76), ("list", 18)]
    assert count.within == count_within(vault_budget(10.0, 1e-6), 76)
    assert share.within == pytest.approx(count.within / 2000, rel=0.3)
    assert listed.within > count.within


@pytest.mark.parametrize(("epsilon", "counts"), [(1.0, 40), (5.0, 40), (8.0, 52), (10.0, 76), (20.0, 200), (40.0, 200)])
def test_grant_is_divided_among_as_many_counts_as_are_of_use(epsilon: float, counts: int) -> None:
    budget = vault_budget(epsilon, 1e-6)
    assert Count().usual_uses(budget) == counts
    assert (count_within(budget, counts) <= 10) == (epsilon > 5)


@pytest.mark.parametrize(("epsilon", "lists"), [(1.0, 10), (5.0, 10), (8.0, 12), (10.0, 18), (20.0, 40)])
def test_grant_is_divided_among_as_many_lists_as_show_what_fifty_share(epsilon: float, lists: int) -> None:
    budget = vault_budget(epsilon, 1e-6)
    assert ListValues(attribute="ward").usual_uses(budget) == lists
    assert (ListValues(attribute="ward").needs(budget) <= 50) == (epsilon > 5)


def test_number_of_precise_questions_is_the_largest() -> None:
    budget = vault_budget(3.0, 1e-6)
    most = counts_that_are_within(budget, 10)
    assert count_within(budget, most) <= 10 < count_within(budget, most + 1)
    assert shares_that_are_within(budget, 200, 0.05) < shares_that_are_within(budget, 2000, 0.05)


def test_value_of_a_list_is_shown_nine_times_in_ten() -> None:
    budget, listed = vault_budget(10.0, 1e-6), ListValues(attribute="symptom")
    assert listed.needs(budget) > ListValues(attribute="symptom", uses=10).needs(budget) > 10


def test_cheap_count_ends_open_questions_of_a_small_grant() -> None:
    for epsilon, after in ((3.0, 0), (10.0, 11)):
        budget = vault_budget(epsilon, 1e-6)
        paid = Count().plan(budget, 0).max_cost  # a half of a hundredth of the grant
        assert open_questions_left(budget, Spending.nothing()) > open_questions_left(budget, paid) == after


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
