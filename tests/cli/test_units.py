"""Vaults in which units pay by themselves, from the command line.

Who pays does not depend on answers, so a tiny model writes them; `test_consensus` and `test_commands` ask the packaged
one.
"""

import json
from pathlib import Path

import pytest

from discreet.demo.corpus import documents
from discreet.errors import StoreError
from discreet.vault import Vault
from tests.cli.running import json_of, run
from tests.guarantee.ledger.conftest import running

ASKED = "What is the treatment for Thunder Heart?"
EIGHT = ("--voters", 12, "--max-tokens", 8)
THREE = ("--inner", "dp-sparse-vote-rag", *EIGHT, "--private-tokens", 3)
SHORT = (*THREE, "--uses", 1)


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("notes") / "notes.jsonl"
    with path.open("w") as file:
        for document in documents(240):
            file.write(json.dumps({"id": document.id, "patient": document.unit, "text": document.text}) + "\n")
    return path


def hospital(path: Path, notes: Path, *options: object) -> Path:
    common = ("--epsilon", 20, "--delta", 1e-6, "--unit-field", "patient", "--embedder", "hashing")
    json_of("init", path, *common, *options)
    json_of("add", path, notes)
    return path


def test_units_pay_alone_and_repeated_question_is_free(tmp_path: Path, notes: Path, small_model: Path) -> None:
    # In one of four answers by so few voters the noisy count says that there are enough before any unit is near.
    # Such an answer would be given again, so the next try has a vault of its own.
    for number in range(9):
        vault = hospital(tmp_path / f"v{number}", notes, "--model", small_model)
        answer = json_of("ask", vault, ASKED, *SHORT, "--no-reuse")
        assert answer["algorithm"] == "murag-ada"
        assert answer["remaining"] is None  # what one unit has left is private
        assert answer["receipt"]["payment"] == "each unit that took part"
        report = json_of("budget", vault)
        levels = report["levels"]
        assert isinstance(levels, list)
        assert sum(level["units"] for level in levels) == 240
        if levels[-1]["units"] < 240:
            break
    assert isinstance(levels, list)
    assert 0 < levels[-1]["units"] < 240
    # Counted by the filter of the vault here, and by that of the question there.
    questions = report["questions"]
    assert isinstance(questions, list)
    assert questions[-1]["epsilon"] == pytest.approx(answer["receipt"]["epsilon"], rel=0.01)
    # That nothing was released is kept for who asks in the same way; an answer, for whoever asks.
    how = () if answer["answer"] else SHORT
    again = json_of("ask", vault, "what is the Treatment for thunder heart", *how)
    assert again["answer"] == answer["answer"]
    assert again["receipt"]["epsilon"] == 0.0
    assert again["receipt"]["reused"] == 1
    assert json_of("budget", vault)["levels"] == levels
    removed = next(iter(documents(240))).unit
    assert json_of("remove", vault, "--unit", removed) == {"removed": 1}
    assert "Erased: the individual" in run("add", vault, notes).output  # and kept out
    json_of("readmit", vault, "--unit", removed)
    json_of("add", vault, notes)
    assert json_of("budget", vault)["levels"] == levels  # whoever comes back has what they had
    assert json_of("ask", vault, ASKED, *SHORT, "--no-reuse")["receipt"]["payment"] != "nobody"


def test_analyst_sees_only_what_is_public(tmp_path: Path, notes: Path, small_model: Path) -> None:
    vault = hospital(tmp_path / "v", notes, "--model", small_model, "--log-questions")
    json_of("ask", vault, ASKED, *SHORT)
    assert set(json_of("budget", vault, "--analyst")) == {
        "granted",
        "delta",
        "spent",
        "left",
        "unit",
        "answered",
        "odometer",
        "part",
        "still",
    }
    shown = run("budget", vault, "--analyst").output
    assert "Thunder" not in shown
    assert "Units by remaining epsilon" not in shown
    whole = run("budget", vault).output
    assert "Units by remaining epsilon" in whole
    assert "The rest of all patients together pays for about" in " ".join(whole.split())
    assert "more questions of the default kind" in " ".join(whole.split())


def test_budget_says_what_still_fits(tmp_path: Path, notes: Path) -> None:
    """One count of 0.97 makes the bound 7.55, and 199 of 200 counts are left: the number alone would mislead."""
    vault = hospital(tmp_path / "v", notes)
    assert "can still take part in" not in run("budget", vault).output
    cost = json_of("ask", vault, "How many patients have numb thumbs?")["cost"]
    assert isinstance(cost, dict)
    left = cost["uses"] - 1
    assert Vault.open(vault).budget().still["count"] == left
    sentence = (
        f"can still take part in {Vault.open(vault).budget().still['default']} further questions of the default kind"
    )
    assert f"{sentence}, or in {left} further counts." in Vault.open(vault).budget()._repr_html_()
    for options in ((), ("--analyst",)):
        assert json_of("budget", vault, *options)["still"] == Vault.open(vault).budget().still
        shown = " ".join(run("budget", vault, *options).output.split())
        assert "The first questions weigh most in this number, later ones little." in shown
        assert f"of the default kind, or in {left} further counts." in shown


def test_counting_what_is_left_loads_no_embedder(tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take seconds."""
    vault, empty = hospital(tmp_path / "v", notes), tmp_path / "empty"
    json_of("init", empty, "--epsilon", 5, "--delta", 1e-6)

    def refuse(_: str) -> None:
        raise AssertionError("an embedder was loaded")

    monkeypatch.setattr("discreet.store.embedding.open_embedder", refuse)
    for path, units in ((vault, 240), (empty, 0)):
        assert sum(level.units for level in Vault.open(path).budget().levels) == units
        assert run("budget", path).exit_code == 0
    (vault / "store" / "store.sqlite").unlink()
    with pytest.raises(StoreError, match="no texts"):
        Vault.open(vault).budget()


def test_algorithm_of_single_units_needs_unit_payment(tmp_path: Path, notes: Path, small_model: Path) -> None:
    vault = hospital(tmp_path / "v", notes, "--model", small_model, "--payment", "corpus")
    assert json_of("ask", vault, ASKED, *EIGHT, "--epsilon", 8)["algorithm"] == "consensus"
    refused = run("ask", vault, ASKED, "--algorithm", "murag")
    assert refused.exit_code == 2
    assert "make a vault with unit payment" in " ".join(refused.output.split())


def test_without_its_secret_a_vault_releases_nothing(tmp_path: Path, notes: Path) -> None:
    vault = hospital(tmp_path / "v", notes)
    (vault / "units.key").unlink()
    result = run("ask", vault, ASKED)
    assert result.exit_code == 1
    assert "Restore the file" in " ".join(result.output.split())


def test_threshold_is_suggested_and_paid_for(tmp_path: Path, notes: Path) -> None:
    vault = hospital(tmp_path / "v", notes)
    questions = tmp_path / "q.jsonl"
    questions.write_text(json.dumps({"question": ASKED}) + "\n")  # answers are not needed
    found = json_of("tune", vault, questions, "--epsilon", 5)
    assert -1 < float(str(found["similarity"])) < 1
    assert 0 < found["receipt"]["epsilon"] <= 5
    assert run("tune", vault, questions, "--epsilon", 50).exit_code == 3
    assert run("tune", vault, questions, "--epsilon", 0).exit_code == 2


@pytest.mark.long
def test_ledger_in_a_database_is_the_same_to_its_users(tmp_path: Path, notes: Path, small_model: Path) -> None:
    with running() as address:
        vault = hospital(tmp_path / "v", notes, "--model", small_model, "--ledger", address)
        assert not (vault / "ledger.sqlite").exists()
        answer = json_of("ask", vault, ASKED, *SHORT)
        questions = json_of("budget", vault)["questions"]
        assert isinstance(questions, list)
        assert questions[-1]["charges"] == sum(one["times"] for one in answer["receipt"]["charges"])
        everybody = ("--algorithm", "dp-sparse-vote-rag", "--epsilon", 30)
        assert run("ask", vault, "Which illness do numb thumbs belong to?", *everybody).exit_code == 3
    gone = run("ask", vault, "Is it there?")
    assert gone.exit_code == 1
    assert address not in gone.output


def test_password_is_not_kept_in_the_vault(tmp_path: Path) -> None:
    for address in ("postgresql://me:secret@localhost/x", "postgresql://me@localhost/x?password=secret"):
        result = run("init", tmp_path / "v", "--epsilon", 5, "--delta", 1e-6, "--ledger", address)
        assert result.exit_code == 2
        assert "secret" not in result.output
        assert not (tmp_path / "v").exists()
