"""The tables of papers as data: parameters exist, figures stand beside rows, and rows carry their source."""

from dataclasses import fields
from itertools import product
from typing import Any

import pytest

from discreet.attacks.extraction import sensitive_strings
from discreet.bench.demo_data import EQUAL, QUICK_UNEQUAL, hospital, hospital_questions, mails
from discreet.bench.experiments.membership import read_curve
from discreet.bench.measures import columns_on
from discreet.bench.result import BenchResult, show, with_figures
from discreet.bench.runner import EXPERIMENTS, WITHOUT_VAULT, BenchOptions, run_table
from discreet.bench.table import BenchTable, Data
from discreet.bench.tables import TABLES, find_table
from discreet.errors import UnknownName, UsageError
from discreet.registry import ALGORITHMS
from discreet.synthesis.runner import METHODS

EACH = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
ANSWERING = [table for table in TABLES.values() if table.experiment == "answers"]


@EACH
def test_table_names_what_exists(table: BenchTable) -> None:
    assert table.experiment in EXPERIMENTS
    assert set(table.quick) <= set(table.sweep)
    for values in (table.sweep, {**table.sweep, **table.quick}):
        assert set(values.get("algorithm", ())) <= ALGORITHMS.keys()
        for _, method, options in values.get("corpus", ()):
            METHODS[method](epsilon=10, delta=1e-5, **options)
    assert table.found.endswith(".")
    assert table.differs.endswith(".")
    assert table.estimated


@EACH
def test_paper_figure_stands_beside_a_row_of_the_sweep(table: BenchTable) -> None:
    for reported in table.reported:
        named = {"corpus": {*table.sweep.get("algorithm", ()), *(one for one, *_ in table.sweep.get("corpus", ()))}}
        if set(reported.keys) - table.sweep.keys():
            continue  # the names of rows that an experiment makes: configurations of extraction
        for key in reported.values:
            for name, value in zip(reported.keys, key, strict=True):
                assert value is None or value in named.get(name, table.sweep[name])


@pytest.mark.parametrize("table", ANSWERING, ids=lambda table: table.name)
def test_parameter_of_a_sweep_belongs_to_an_algorithm(table: BenchTable) -> None:
    known = {one.name for name in table.sweep["algorithm"] for one in fields(ALGORITHMS[name])}
    assert set(table.sweep) - {"algorithm"} <= known


def test_each_paper_has_tables() -> None:
    papers = [table.paper.key for table in TABLES.values()]
    assert len(set(papers)) == 5
    assert min(papers.count(one) for one in set(papers)) >= 4


def test_figures_stand_right_after_ours_on_the_papers_kind_of_data() -> None:
    table = find_table("vote-parameters")
    row: dict[str, Any] = {"algorithm": "dp-vote-rag", "voters": 50, "epsilon_token": 1.0, "epsilon": 5.0}
    (found,) = with_figures(table, [{**row, "accuracy": 0.5, "margin": 0.1}], Data.FACTS)
    assert list(found)[-3:] == ["accuracy", "accuracy, paper", "margin"]
    assert found["accuracy, paper"] == 0.40
    (other,) = with_figures(table, [{**row, "ROUGE-1": 0.5}], Data.DIALOGUES)
    assert list(other) == [*row, "ROUGE-1"]


def test_figures_of_table_1_are_read_in_its_order() -> None:
    (reported,) = find_table("vote-parameters").reported
    cells = list(product(("dp-vote-rag", "dp-sparse-vote-rag"), (30, 40, 50), (1.0, 2.0, 5.0), (5.0, 10.0, 20.0, 40.0)))
    assert set(reported.values) == set(cells)
    assert reported.values["dp-vote-rag", 30, 1.0, 5.0] == 0.37
    assert reported.values["dp-sparse-vote-rag", 40, 2.0, 10.0] == 0.55
    assert reported.values["dp-sparse-vote-rag", 50, 5.0, 40.0] == 0.61


def test_references_are_measured_by_likeness() -> None:
    assert columns_on(("accuracy", "margin", "passed"), Data.FACTS) == ("accuracy", "margin", "passed")
    assert columns_on(("accuracy", "margin", "passed"), Data.DIALOGUES) == ("ROUGE-1", "BERTScore", "passed")


def test_epsilon_replaces_that_of_the_sweep_or_is_refused() -> None:
    assert find_table("vote-epsilon").values(quick=True, epsilons=(3.0,))["epsilon"] == (3.0,)
    with pytest.raises(UsageError, match="does not vary epsilon"):
        find_table("ksa-lengths").values(quick=False, epsilons=(3.0,))
    with pytest.raises(UnknownName, match="vote-epsilon"):
        find_table("vote-epsilom")


def test_demonstration_has_questions_that_its_notes_answer() -> None:
    notes = hospital(QUICK_UNEQUAL)
    assert len(notes) == sum(QUICK_UNEQUAL)
    for question in hospital_questions(QUICK_UNEQUAL):
        assert sum(question.answers[0].lower() in note.text.lower() for note in notes) == question.support
    assert len(hospital_questions(EQUAL)) == 24
    strings = sensitive_strings(mail.text for mail in mails(40))
    assert min(map(len, strings.values())) > 10


def test_curve_is_read_between_its_points() -> None:
    assert read_curve([(0.0, 0.0), (0.5, 1.0), (1.0, 1.0)], 0.25) == 0.5
    assert read_curve([(0.0, 0.2), (0.1, 0.4), (1.0, 1.0)], 0.1) == 0.4


def test_cell_is_shown_in_three_digits() -> None:
    shown = [show(one) for one in (None, float("nan"), float("inf"), True, 0.5, 2.0, 0.12345, 40, "rag", 12345.6)]
    assert shown == ["-", "-", "infinite", "yes", "0.5", "2", "0.123", "40", "rag", "12345.6"]


@pytest.mark.parametrize("name", [one.name for one in TABLES.values() if one.experiment in WITHOUT_VAULT])
def test_arithmetic_runs_without_a_vault(name: str) -> None:
    found: BenchResult = run_table(find_table(name), BenchOptions(seed=4))
    assert found.rows
    assert found.describe()["version"]
    assert (found.seed, found.model) == (4, "none")
