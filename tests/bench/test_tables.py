"""The tables of papers as data: parameters exist, figures stand beside rows, and rows carry their source."""

import json
import re
from dataclasses import fields
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import UnknownName, UsageError
from discreet.query.known_answers import KnownQuestion
from discreet.registry import ALGORITHMS
from discreet.synthesis.runner import METHODS
from discreet.vault import Vault
from discreet_lab.attacks.extraction import sensitive_strings
from discreet_lab.bench.demo_data import EQUAL, QUICK_UNEQUAL, hospital, hospital_questions, mails
from discreet_lab.bench.experiments.answers import settings_of
from discreet_lab.bench.experiments.membership import read_curve
from discreet_lab.bench.measures import columns_on
from discreet_lab.bench.open_data import kind_of, kind_of_texts, read_stream
from discreet_lab.bench.papers.dp_vote_rag_tables import REPORTED, TOKENS, TOTALS, VOTERS, choose_best
from discreet_lab.bench.result import BenchResult, show, tell_other_kind, with_figures
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
def test_what_ours_does_otherwise_tells_nothing_of_a_run(table: BenchTable) -> None:
    """The model, the data, delta and epsilon are those of the run (`BenchResult.differs`)."""
    assert not re.search(r"135|model ha|billion|other (mails|documents)|delta 1e|at epsilon", table.ours)


@pytest.mark.parametrize(
    ("name", "model", "deltas", "quick", "said", "unsaid"),
    [
        ("vote-epsilon", "smollm2-135m", (1e-5,), False, ["smollm2-135m", "OPT 1.3B", "delta is 1e-05"], ["quick"]),
        ("vote-epsilon", "facebook/opt-1.3b", (1e-4,), False, ["Renyi"], ["the model is", "delta is"]),
        (
            "vote-epsilon",
            "/models/Llama-3.1-8B-Instruct",
            (1e-4, 1e-5),
            True,
            ["Delta is 1e-05,", "quick"],
            ["model is"],
        ),
        ("murag-precision", "mistralai/Mistral-7B-v0.1", (1e-5,), False, ["Renyi"], ["model is", "delta is"]),
        ("vote-accounting", "none", (), False, ["Renyi"], ["model is", "delta is"]),
        ("vote-ensembles", "gpt2-xl", (), False, ["Nothing that is known."], ["model is"]),
        ("murag-uses", "pythia-1.4b", (), False, ["embedder is minilm+words", "24 questions"], ["model is"]),
    ],
)
def test_reason_is_computed_from_the_run(
    name: str, model: str, deltas: tuple[float, ...], quick: bool, said: list[str], unsaid: list[str]
) -> None:
    table = find_table(name)
    embedder, asked = ("minilm+words", 24) if name == "murag-uses" else ("facebook/dpr-question_encoder", 100)
    found = BenchResult(table, [], "n", Data.KNOWLEDGE, model, embedder, asked, 0, 1, quick, (), 0.0, deltas).differs
    assert found.endswith(".")
    assert all(one in found for one in said), found
    assert not any(one in found for one in unsaid), found


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


def test_each_paper_has_tables() -> None:
    papers = [table.paper.key for table in TABLES.values()]
    assert len(set(papers)) == 5
    assert min(papers.count(one) for one in set(papers)) >= 4


def test_figures_stand_right_after_ours_on_the_papers_kind_of_data() -> None:
    table = find_table("vote-parameters")
    row: dict[str, Any] = {"algorithm": "dp-vote-rag", "voters": 50, "epsilon_token": 1.0, "epsilon": 5.0}
    (found,) = with_figures(table, [{**row, "accuracy": 0.5, "margin": 0.1}], Data.KNOWLEDGE)
    first, *_, last = (name for name in found if "paper" in name)
    assert (first, last) == (
        "accuracy, paper (Table I (Trivia, OPT (1.3B)))",
        "accuracy, paper (Table XII (NQ, GPT2-XL))",
    )
    assert list(found)[4] == "accuracy"
    assert list(found)[-2:] == ["margin", "beside"]
    assert found["beside"] == "3 of 12 within the margin"
    assert (found[first], found[last]) == (0.40, 0.27)
    (other,) = with_figures(table, [{**row, "ROUGE-1": 0.5, "BERTScore": 0.8}], Data.DIALOGUES)
    assert [value for name, value in other.items() if "paper" in name] == [0.83, 0.85, 0.84]
    for kind in (Data.FACTS, Data.PATIENTS, Data.FILMS, Data.CHAINS):
        assert with_figures(table, [{**row, "accuracy": 0.5}], kind) == [{**row, "accuracy": 0.5}]


def test_kind_of_data_is_that_of_all_its_questions() -> None:
    def kind(*names: str) -> Data:
        return kind_of([KnownQuestion("", "?", ("yes",), kind=name) for name in names])

    assert kind("general-knowledge", "general-knowledge") is Data.KNOWLEDGE
    assert kind("disease-to-symptoms", "treatment") is Data.PATIENTS
    assert kind("co-liked") is Data.FILMS
    assert kind("reference") is Data.DIALOGUES
    assert kind("general-knowledge", "co-liked") is Data.FACTS
    assert kind("") is kind("budget", "place") is Data.FACTS
    assert kind_of(hospital_questions(EQUAL)) is Data.PATIENTS


def test_questions_of_chains_are_of_their_own_kind(tmp_path: Path) -> None:
    file = tmp_path / "chains.jsonl"
    hop = {"id": "1", "question": "What helps?", "answers": ["rest"], "hops": 1}
    file.write_text(json.dumps({"id": "chain", "questions": [hop, hop]}) + "\n")
    assert kind_of(read_stream(file, None)) is Data.CHAINS


def test_vault_is_one_of_mails_if_its_texts_have_addresses(tmp_path: Path) -> None:
    for name, documents, kind in (("post", mails(8), Data.MAILS), ("ward", hospital((8,)), Data.TEXTS)):
        vault = Vault.create(tmp_path / name, epsilon=20, delta=1e-5, embedder="hashing")
        vault.add_documents(documents)
        assert kind_of_texts(vault) is kind


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


def test_many_figures_of_a_measure_are_a_range_on_a_screen() -> None:
    table = find_table("vote-parameters")
    rows = [{"algorithm": "dp-vote-rag", "voters": 50, "epsilon_token": 1.0, "epsilon": 5.0, "accuracy": 0.5}]
    rows += [{**rows[0], "voters": 10}]
    found = BenchResult(
        table, with_figures(table, rows, Data.KNOWLEDGE), "notes", Data.KNOWLEDGE, "m", "e", 1, 0, 1, False, (), 0.0
    ).condensed()
    assert found.cells[0][-2:] == ["0.5", "0.23 to 0.79"]
    assert found.cells[1][-1] == "-"
    (place,) = found.sources.values()
    assert "Table I (Trivia, OPT (1.3B)) to Table XII (NQ, GPT2-XL)" in place


def test_figures_of_table_1_are_read_in_its_order() -> None:
    reported, *others = find_table("vote-parameters").reported
    assert len(others) == 14
    assert all(set(one.values) == set(reported.values) for one in others)
    cells = list(product(("dp-vote-rag", "dp-sparse-vote-rag"), (30, 40, 50), (1.0, 2.0, 5.0), (5.0, 10.0, 20.0, 40.0)))
    assert set(reported.values) == set(cells)
    assert reported.values["dp-vote-rag", 30, 1.0, 5.0] == 0.37
    assert reported.values["dp-sparse-vote-rag", 40, 2.0, 10.0] == 0.55
    assert reported.values["dp-sparse-vote-rag", 50, 5.0, 40.0] == 0.61


def test_table_without_algorithms_says_why() -> None:
    refused = {table.name for table in TABLES.values() if table.no_plugin}
    assert refused == {
        *("ksa-lengths", "vote-accounting", "murag-overlap"),
        *("projection-knn-lm", "projection-prompting", "projection-k", "projection-claim"),
    }
    for name in refused:
        with pytest.raises(UsageError, match=find_table(name).no_plugin):
            run_table(find_table(name), BenchOptions(plugins=("rag",)))


def test_references_are_measured_by_likeness() -> None:
    assert columns_on(("accuracy", "margin", "passed"), Data.PATIENTS) == ("accuracy", "margin", "passed")
    assert columns_on(("accuracy", "margin", "passed"), Data.DIALOGUES) == ("ROUGE-1", "BERTScore", "passed")


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
    assert found.shown().version
    assert (found.seed, found.seeds, found.model) == (4, 1, "none")
    assert "runs" not in found.source()["data"]


def test_what_votes_on_tokens_found_follows_from_printed_tables() -> None:
    """Sparse votes win on questions of general knowledge; on dialogues both are alike."""
    for (number, *_), (figures, kind) in REPORTED.items():
        best = choose_best(figures)
        gains = [round(best["dp-sparse-vote-rag", total] - best["dp-vote-rag", total], 2) for total in TOTALS]
        if kind is Data.KNOWLEDGE:
            assert min(gains) > 0, number
        else:
            assert max(map(abs, gains)) <= 0.02, number
    assert "differ by 0.02 at most" in find_table("vote-epsilon").found


def test_votes_on_tokens_gain_nothing_beyond_the_ten_tokens_that_delta_allows() -> None:
    """Koga et al. pay delta 1e-5 a token out of 1e-4: an epsilon that buys more than ten tokens changes no figure."""
    for figures, _ in REPORTED.values():
        for voters, token, (less, more) in product(VOTERS, TOKENS, pairwise(TOTALS)):
            if min(less // token, 10) == min(more // token, 10):
                assert figures["dp-vote-rag", voters, token, less] == figures["dp-vote-rag", voters, token, more]
    assert "allows ten tokens at most" in find_table("vote-accounting").found


def main_table(name: str, data: str) -> list[dict[str, float]]:
    """The figures of the rows of one data set, for each model."""
    stated = [one for one in find_table(name).reported if data in one.source]
    return [{row: float(figure) for (row,), figure in one.values.items()} for one in stated]


def test_what_synthetic_corpora_found_follows_from_the_main_table() -> None:
    assert all(one["dp-synth"] == one["aug-pe"] == 0 for one in main_table("synrag-main", "Medical Synth"))
    for data, least, most in (("Medical Synth", 18, 25), ("SearchQA", 3, 9)):
        below = [round(100 * (one["rag"] - one["dp-synrag"])) for one in main_table("synrag-main", data)]
        assert (min(below), max(below)) == (least, most)
    films, others = main_table("synrag-main", "MovieLens"), ("dp-synth", "aug-pe")
    above = [round(100 * (one["dp-synrag"] - one[other])) for one in films for other in others]
    assert (min(above), max(above)) == (5, 24)


def test_what_pays_for_each_question_found_follows_from_the_main_table() -> None:
    gains = [one["dp-synrag"] - one["dp-rag"] for one in main_table("synrag-query-time", "")]
    assert (sum(gain > 0 for gain in gains), gains.count(0), sum(gain < 0 for gain in gains)) == (7, 1, 1)
