"""Every table runs on a small vault with a toy model: rows with the measured columns, and nothing is paid."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from discreet.models.toy import ToyModel
from discreet.vault import Vault
from discreet_lab.bench.open_data import hospital, hospital_questions
from discreet_lab.bench.runner import WITHOUT_VAULT, BenchOptions, run_table
from discreet_lab.bench.table import BenchTable
from discreet_lab.bench.tables import TABLES

SIZES = (12, 12)
OTHERS = WITHOUT_VAULT | {"membership", "knn-lm", "prompting"}
"""Experiments without a vault, and those that need a real model: tests/cli/test_bench.py has these."""
RUN = [one for one in TABLES.values() if one.experiment not in OTHERS and one.name != "synrag-query-time"]


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("ward")
    Vault.create(folder / "v", epsilon=20, delta=1e-5, embedder="hashing").add_documents(hospital(SIZES))
    questions = folder / "questions.jsonl"
    asked = hospital_questions(SIZES)
    questions.write_text("".join(json.dumps(asdict(one)) + "\n" for one in asked))
    return folder / "v", questions


@pytest.mark.parametrize("table", RUN, ids=lambda table: table.name)
def test_table_runs_and_pays_nothing(
    table: BenchTable, ward: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "salt steam amber wraps copper lung glass knee the treatment is".split()
    model = ToyModel(words, default="nothing known", size=64)
    monkeypatch.setattr("discreet.models.loading.load_model", lambda *_given, **_named: model)
    vault, questions = ward
    before = Vault.open(vault).budget().describe()
    steps = []
    found = run_table(
        table,
        BenchOptions(vault, questions, limit=2, quick=True, seed=1),
        lambda step, done, total: steps.append((step, done, total)),
    )
    assert Vault.open(vault).budget().describe() == before
    assert found.rows, found.notes
    assert set(table.columns) <= {name for row in found.rows for name in row}
    assert steps
    assert all(done <= total for _, done, total in steps)
    again = run_table(table, BenchOptions(vault, questions, limit=2, quick=True, seed=1))
    assert json.dumps(again.rows) == json.dumps(found.rows)
