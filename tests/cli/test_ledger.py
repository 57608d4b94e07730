"""`discreet ledger`: what was released about what; nothing that was not released."""

import json
from pathlib import Path

import pytest

from discreet.query.answer_cache import Released
from discreet.store.documents import Document
from discreet.vault import Vault
from tests.cli.running import run


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fields = {"floor": "category"}
    path = tmp_path_factory.mktemp("ward") / "v"
    vault = Vault.create(path, epsilon=20, delta=1e-6, embedder="hashing", unit_field="patient", fields=fields)
    texts = ["Winter Hand. Numb thumbs."] * 60 + ["Glass Knee."] * 40
    vault.add_documents(Document(f"d{n}", f"p{n}", text, fields={"floor": "a"}) for n, text in enumerate(texts))
    assert "Nothing was released" in run("ledger", str(path)).stdout
    where = ["--where", "floor=a"]
    assert run("ask", str(path), "What share of patients with Winter Hand have no numb thumbs?", *where).exit_code == 0
    assert run("ask", str(path), "How many patients with Winter Hand have numb thumbs?", *where).exit_code == 0  # free
    assert run("ask", str(path), "How many more patients have Winter Hand than Glass Knee?").exit_code == 0
    return path


def test_question_is_in_the_history_and_not_in_the_ledger(ward: Path) -> None:
    question = "How many more patients have Winter Hand than Glass Knee?"
    assert question in run("ledger", str(ward)).stdout
    assert question in (ward / "history.jsonl").read_text()
    charged = run("budget", str(ward)).stdout
    assert question not in charged
    assert "(not kept)" in charged


def test_release_has_its_set_its_numbers_its_price_and_time(ward: Path) -> None:
    found = json.loads(run("ledger", str(ward), "--json").stdout)
    share, difference = found["releases"]
    assert (share["kind"], share["population"], share["condition"]) == (
        "share",
        '"Winter Hand", floor=a',
        'not "numb thumbs"',
    )
    assert share["question"] == "What share of patients with Winter Hand have no numb thumbs?"
    assert {"name", "kind", "value", "low", "high"} == set(share["table"][0])
    assert 0 < share["epsilon"] < 2
    assert share["time"].startswith("20")
    assert (difference["kind"], difference["groups"], difference["population"]) == (
        "difference",
        ['"Winter Hand"', '"Glass Knee"'],
        "",
    )
    assert found["more"] is False


def test_releases_are_printed_and_chosen_by_kind(ward: Path) -> None:
    shown = run("ledger", str(ward), "--kind", "difference").stdout
    assert '"Winter Hand" or "Glass Knee"' in shown
    assert "floor=a" not in shown
    assert "1 earlier release" in run("ledger", str(ward), "--limit", "1").stdout
    assert "No count" in run("ledger", str(ward), "--kind", "count").stdout
    wrong = run("ledger", str(ward), "--kind", "cuont")
    assert wrong.exit_code == 2
    assert "count" in wrong.output


def test_line_is_shown_with_what_is_known_and_no_escapes(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing", unit_field="patient")
    vault.history.add(Released("How many?", "About 3.", "end", "count", 0))
    vault.history.add(Released("What is it?", "", "public", "murag", 0))
    vault.history.add(Released("What [b]is\x07 it?", "a\x1b[1mname", "end", "murag", 2))
    count, nothing, fact = json.loads(run("ledger", str(vault.path), "--json").stdout)["releases"]
    assert (count["condition"], count["time"], count["epsilon"]) == ("", "", None)
    assert (nothing["kind"], nothing["answer"], fact["answer"]) == ("fact", None, "a\x1b[1mname")
    shown = run("ledger", str(vault.path))
    assert shown.exit_code == 0
    assert "\x1b" not in shown.stdout
    assert "[b]is" in shown.stdout


def test_vault_without_a_history_says_so(tmp_path: Path) -> None:
    Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing", history=False)
    assert "keeps no released answers" in run("ledger", str(tmp_path / "v")).stdout
