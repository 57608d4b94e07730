"""The tables of papers as data: parameters exist, figures stand beside rows, and rows carry their source."""

from dataclasses import fields
from typing import Any

import pytest

from discreet.errors import UnknownName, UsageError
from discreet.registry import ALGORITHMS
from discreet.synthesis.runner import METHODS
from discreet_lab.bench.experiments.answers import settings_of
from discreet_lab.bench.result import BenchResult, tell_other_kind
from discreet_lab.bench.run import BenchRun
from discreet_lab.bench.runner import EXPERIMENTS, WITHOUT_VAULT, BenchOptions, run_table
from discreet_lab.bench.table import TOP_K_RELEASE, BenchTable, Data
from discreet_lab.bench.tables import TABLES, find_table

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
    assert not table.ours.endswith(".")
    assert table.estimated


@EACH
def test_paper_figure_stands_beside_a_row_of_the_sweep(table: BenchTable) -> None:
    for reported in table.reported:
        if table.settings.get("top_k_release"):
            assert (TOP_K_RELEASE,) in reported.values
        named = {"corpus": {*table.sweep.get("algorithm", ()), *(one for one, *_ in table.sweep.get("corpus", ()))}}
        if set(reported.keys) - table.sweep.keys():
            continue  # the names of rows that an experiment makes: configurations of extraction
        for key in reported.values:
            for name, value in zip(reported.keys, key, strict=True):
                assert value in (None, TOP_K_RELEASE) or value in named.get(name, table.sweep[name])


@pytest.mark.parametrize("table", ANSWERING, ids=lambda table: table.name)
def test_parameter_of_a_sweep_belongs_to_an_algorithm(table: BenchTable) -> None:
    known = {one.name for name in table.sweep["algorithm"] for one in fields(ALGORITHMS[name])}
    assert set(table.sweep) - {"algorithm"} <= known


@EACH
def test_figures_stand_on_their_own_kind_of_data_alone(table: BenchTable) -> None:
    words = {"Medical Synth": Data.PATIENTS, "MovieLens": Data.FILMS, "SearchQA": Data.KNOWLEDGE, "NQ": Data.KNOWLEDGE}
    words |= {"Trivia": Data.KNOWLEDGE, "TQA": Data.KNOWLEDGE, "Natural Questions": Data.KNOWLEDGE}
    words |= {"ChatDoctor": Data.DIALOGUES, "MQuAKE": Data.CHAINS, "Enron": Data.MAILS, "RTX 4090": Data.MAILS}
    for kind in Data:
        for reported in table.reported_on(kind):
            assert {words[word] for word in words if word in reported.source} == {kind}
        said = tell_other_kind(table, kind)
        assert bool(said) is bool(table.reported and not table.reported_on(kind))


def test_table_without_algorithms_says_why() -> None:
    refused = {table.name for table in TABLES.values() if table.no_plugin}
    assert refused == {
        *("ksa-lengths", "vote-accounting", "murag-overlap"),
        *("projection-knn-lm", "projection-prompting", "projection-k", "projection-claim"),
    }
    for name in refused:
        with pytest.raises(UsageError, match=find_table(name).no_plugin):
            run_table(find_table(name), BenchOptions(plugins=("rag",)))


def test_epsilon_replaces_that_of_the_sweep_or_is_refused() -> None:
    assert find_table("vote-epsilon").values(quick=True, given={"epsilon": (3.0,)})["epsilon"] == (3.0,)
    with pytest.raises(UsageError, match="does not vary epsilon"):
        find_table("ksa-lengths").values(quick=False, given={"epsilon": (3.0,)})
    with pytest.raises(UnknownName, match="vote-epsilon"):
        find_table("vote-epsilom")


def test_parameters_replace_those_of_the_table() -> None:
    """One that the table varies takes several values; another one is that of all rows."""
    table = find_table("vote-epsilon")
    given = {"private_tokens": (3, 4), "max_tokens": (5,)}
    assert table.values(quick=False, given=given)["private_tokens"] == (3, 4)
    with pytest.raises(UsageError, match="does not vary max_tokens"):
        table.values(quick=False, given={"max_tokens": (5, 6)})
    run = BenchRun(table, table.values(False, given), Data.FACTS, 1, given={"max_tokens": 5}, delta=1e-4)
    made: list[Any] = [one for one in settings_of(run).values() if hasattr(one, "delta")]
    assert {(one.max_tokens, one.delta) for one in made} == {(5, 1e-4)}
    with pytest.raises(UsageError, match="has no delta of its own"):
        run_table(find_table("vote-membership"), BenchOptions(delta=1e-4))


@pytest.mark.parametrize("name", [one.name for one in TABLES.values() if one.experiment in WITHOUT_VAULT])
def test_arithmetic_runs_without_a_vault(name: str) -> None:
    found: BenchResult = run_table(find_table(name), BenchOptions(seed=4))
    assert found.rows
    assert found.shown().version
    assert (found.seed, found.seeds, found.model) == (4, 1, "none")
    assert "runs" not in found.source()["data"]
