"""`discreet bench` as a researcher uses it: tables of papers on a tiny vault.

One table for each way of computing is made with the packaged model; the others take a tiny one.
"""

import csv
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from discreet.vault import Vault
from discreet_lab.bench.open_data import hospital, hospital_questions
from discreet_lab.bench.tables import TABLES
from tests.cli.running import json_of, run
from tests.docs.pages import ROOT

SIZES = (12, 12)


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ward") / "v"
    Vault.create(path, epsilon=20, delta=1e-5, embedder="hashing").add_documents(hospital(SIZES))
    return path


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("asked") / "questions.jsonl"
    path.write_text("".join(json.dumps(asdict(asked)) + "\n" for asked in hospital_questions(SIZES)))
    return path


def test_tables_are_listed_with_paper_and_work() -> None:
    shown = run("bench")
    assert shown.exit_code == 0
    for name in TABLES:
        assert name in shown.stdout
    assert "Figure 2" in shown.stdout
    assert "work: 4 algorithms x 2 values of private_tokens x 5 values of epsilon; 40 questions, 3 runs" in shown.stdout
    listed = json_of("bench", "--list")
    assert isinstance(listed["tables"], list)
    assert [one["table"] for one in listed["tables"]] == list(TABLES)


def test_arithmetic_is_printed_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("table.csv")
    shown = run("bench", "vote-accounting", "--epsilon", 10, "--csv", file)
    assert shown.exit_code == 0, shown.output
    assert "The paper: " in shown.stdout
    assert "Why ours differs: " in shown.stdout
    assert "data none: arithmetic alone; model none;" in shown.stdout
    (row, *_) = csv.DictReader(file.read_text().splitlines())
    assert (row["epsilon_token"], row["paper"], row["corrected"], row["ours"]) == ("0.5", "20", "13", "49")
    assert row["version"]
    assert row["seed"] == "0"
    assert file.stat().st_mode & 0o777 == 0o600
    again = run("bench", "vote-accounting", "--csv", file)
    assert again.exit_code == 2
    assert "--force" in again.output


def test_votes_run_on_a_vault_and_pay_nothing(ward: Path, questions: Path) -> None:
    before = Vault.open(ward).budget().describe()
    found = json_of("bench", "vote-epsilon", ward, questions, "--quick", "--limit", 2, "--epsilon", 20, "--seed", 3)
    assert Vault.open(ward).budget().describe() == before
    assert found["questions"] == 2
    assert (found["seed"], found["model"], found["embedder"]) == (3, "smollm2-135m", "hashing")
    assert "24 documents of 24 units" in str(found["data"])
    rows = found["rows"]
    assert isinstance(rows, list)
    assert [row["algorithm"] for row in rows] == ["non-rag", "vote-rag", "dp-vote-rag", "dp-sparse-vote-rag"]
    assert found["sources"] == {}
    assert isinstance(found["notes"], list)
    assert any("no figure of the paper stands beside ours" in note for note in found["notes"])
    assert rows[0]["accuracy"] == 0


def test_own_algorithm_is_one_more_row(ward: Path, questions: Path, small_model: Path) -> None:
    plugin = f"{ROOT / 'examples' / 'one_file.py'}:MyRAG"
    found = json_of(
        "bench", "vote-ensembles", ward, questions, "--quick", "--limit", 1, "--plugin", plugin, "--model", small_model
    )
    assert isinstance(found["rows"], list)
    assert "my-rag" in [row["algorithm"] for row in found["rows"]]
    refused = run("bench", "murag-overlap", ward, questions, "--plugin", plugin)
    assert refused.exit_code == 2
    assert "--plugin" in refused.output


def test_interrupted_run_says_that_nothing_was_paid(
    ward: Path, questions: Path, tmp_path: Path, small_model: Path
) -> None:
    plugin = tmp_path / "stopped.py"
    plugin.write_text(
        "from discreet.registry import RAG\n\n\nclass Stopped(RAG):\n    name = 'stopped'\n\n"
        "    def run(self, query, corpus, model, account):\n        raise KeyboardInterrupt\n"
    )
    file = tmp_path / "rows.csv"
    given = ("vote-ensembles", ward, questions, "--quick", "--limit", 1, "--csv", file, "--model", small_model)
    stopped = run("bench", *given, "--plugin", f"{plugin}:Stopped")
    assert stopped.exit_code == 130, stopped.output
    assert "Nothing was paid" in stopped.output
    assert "charge" not in stopped.output
    assert not file.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("vote-epsilom",), "Did you mean vote-epsilon"),
        (("vote-epsilon", "--list"), "Leave one of them out"),
        (("vote-epsilon", "WARD"), "needs questions"),
        (("vote-epsilon", "nowhere", "WARD"), "nowhere"),
        (("vote-epsilon", "WARD", "nowhere.jsonl"), "There is no file"),
        (("ksa-lengths", "--epsilon", "3"), "does not vary epsilon"),
        (("vote-epsilon", "--limit", "0"), "limit"),
        (("vote-accounting", "--csv", "no folder/table.csv"), "folder"),
        (("vote-epsilon", "--model", "no/such/model"), "model"),
        (("vote-epsilon", "--preset", "papers"), "paper"),
        (("vote-epsilon", "--inner", "consensus"), "Leave --inner out"),
        (("murag-uses", "--inner", "rag"), "cannot answer inside"),
        (("vote-accounting", "--voters", "40"), "Leave --param out"),
        (("murag-overlap", "--preset", "paper"), "Leave --preset out"),
        (("vote-epsilon", "WARD", "WARD", "--embedder", "no/such/embedder"), "embedder"),
    ],
)
def test_wrong_use_is_explained(ward: Path, words: tuple[str, ...], said: str) -> None:
    result = run("bench", *(ward if word == "WARD" else word for word in words))
    assert result.exit_code == 2, result.output
    assert said in result.output


@pytest.mark.parametrize(
    ("table", "algorithm", "said"),
    [
        ("vote-parameters", "dp-sparse-vote-rag", "LimitedDomain"),
        ("ksa-keywords", "dp-ksa", "Gumbel"),
        ("murag-epsilon", "naive-multi-rag", "Algorithm 5"),
    ],
)
def test_preset_of_the_paper_runs_and_says_where_the_specification_is_taken(
    ward: Path, questions: Path, small_model: Path, table: str, algorithm: str, said: str
) -> None:
    given = (table, ward, questions, "--quick", "--limit", 2, "--preset", "paper", "--voters", 4)
    found = json_of("bench", *given, "--model", small_model)
    assert isinstance(found["rows"], list)
    assert algorithm in str(found["differs"])
    assert said in str(found["differs"])
    assert "Renyi" not in str(found["differs"])  # which the paper's accounting has not
    (row,) = [row for row in found["rows"] if row["algorithm"] == algorithm][:1]
    assert row.get("voters", 4) == 4
    if algorithm == "naive-multi-rag":
        assert (row["epsilon"], row["inner"]) == (1000, "dp-sparse-vote-rag")
