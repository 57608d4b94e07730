"""From the command line: what is in a vault, taking it back, and erasure that stays."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Pure
from discreet.store.documents import Document
from discreet.store.sealed_corpus import unit_key
from discreet.vault import Vault
from tests.cli.running import json_of, run
from tests.conftest import Record

Write = Callable[..., Path]
NOTES: list[Record] = [{"id": n, "patient": f"P{n % 3}", "text": f"A note on fever, {n}."} for n in range(6)]


@pytest.fixture
def filled(vault: Vault, write_jsonl: Write) -> Vault:
    added = json_of("add", vault.path, write_jsonl(NOTES))
    assert added["added"] == 6
    return vault


def test_lists_come_in_pages(filled: Vault) -> None:
    units = json_of("list", filled.path, "units", "--limit", 2)
    assert [entry["unit"] for entry in units["units"]] == ["p0", "p1"]
    assert units["more"]
    rest = json_of("list", filled.path, "units", "--limit", 2, "--skip", 2)
    assert [entry["unit"] for entry in rest["units"]] == ["p2"]
    assert not rest["more"]
    assert len(json_of("list", filled.path, "documents", "--limit", 0)["documents"]) == 6
    documents = json_of("list", filled.path, "documents", "--unit", "P1")["documents"]
    assert [entry["id"] for entry in documents] == ["1", "4"]
    (batch,) = json_of("list", filled.path, "batches")["batches"]
    assert (batch["number"], batch["documents"], batch["replaced"]) == (1, 6, 0)
    shown = run("list", filled.path, "documents", "--limit", 1).output
    assert "fever" not in shown
    assert "--skip 1" in shown
    assert run("list", filled.path, "patients").exit_code == 2
    assert run("list", filled.path, "units", "--unit", "P1").exit_code == 2


def test_what_one_add_brought_is_taken_back(filled: Vault, write_jsonl: Write) -> None:
    json_of("add", filled.path, write_jsonl([{"id": 7, "patient": "P7", "text": "Wrong."}], "more.jsonl"))
    assert json_of("undo", filled.path, 2) == {"removed": 1, "batch": 2}
    assert "P7" not in run("list", filled.path, "units").output
    again = run("undo", filled.path, 2)
    assert again.exit_code == 2
    assert "no documents left" in again.output
    assert run("undo", filled.path, 3).exit_code == 2
    assert json_of("remove", filled.path, "--batch", 1) == {"removed": 6}


def test_batch_with_replaced_texts_is_erased_only_with_yes(filled: Vault, write_jsonl: Write) -> None:
    changed = [{**NOTES[0], "text": "Changed."}, {"id": 7, "patient": "P7", "text": "New."}]
    json_of("add", filled.path, write_jsonl(changed, "more.jsonl"))
    for command in (("undo", filled.path, 2), ("remove", filled.path, "--batch", 2)):
        refused = run(*command)
        assert refused.exit_code == 2
        assert "1 of the 2 documents" in refused.output
    assert filled.store.count_documents() == 7
    assert json_of("undo", filled.path, 2, "--yes") == {"removed": 2, "batch": 2}
    assert filled.store.count_documents() == 5


def test_person_at_a_terminal_is_asked(filled: Vault, write_jsonl: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    json_of("add", filled.path, write_jsonl([{**NOTES[0], "text": "Changed."}], "more.jsonl"))
    monkeypatch.setattr("discreet.cli.remove._at_a_terminal", lambda: True)
    assert run("undo", filled.path, 2, typed="n\n").exit_code == 2
    assert filled.store.count_documents() == 6
    assert run("undo", filled.path, 2, typed="y\n").exit_code == 0
    assert filled.store.count_documents() == 5


def test_file_is_taken_back(vault: Vault) -> None:
    vault.add_documents(Document(f"d{n}", f"p{n}", "A note.", source=f"{n}.pdf") for n in range(3))
    assert json_of("remove", vault.path, "--file", "1.pdf") == {"removed": 1}
    gone = run("remove", vault.path, "--file", "1.pdf")
    assert gone.exit_code == 2
    assert "'1.pdf'" in gone.output


def test_empty_vault_is_listed_without_an_embedder(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> None:
        raise AssertionError("an embedder was loaded")

    monkeypatch.setattr("discreet.store.embedding.open_embedder", refuse)
    for what in ("units", "documents", "batches"):
        unfinished: dict[str, list[str]] = {"unfinished": []} if what == "batches" else {}
        assert json_of("list", vault.path, what) == {what: [], "more": False, **unfinished}
    for refused in (("undo", vault.path, 1), ("remove", vault.path, "--unit", "Ada")):
        assert "never had a document" in run(*refused).output


def test_one_thing_at_a_time_is_erased(filled: Vault) -> None:
    for options in (
        (),
        ("--id", 1, "--unit", "P1"),
        ("--anyway",),
        ("--id", 1, "--anyway"),
        ("--unit", " ", "--anyway"),
    ):
        assert run("remove", filled.path, *options).exit_code == 2
    assert filled.store.count_documents() == 6


def test_erased_individual_is_refused_until_readmitted(filled: Vault, write_jsonl: Write) -> None:
    notes = write_jsonl(NOTES)
    assert json_of("remove", filled.path, "--unit", " p1 ") == {"removed": 2}
    result = run("add", filled.path, notes, "--json")
    assert result.exit_code == 0  # as the custodian wished
    assert json.loads(result.stdout)["bad"] == []
    ((_, reason),) = [(bad["where"], bad["reason"]) for bad in json.loads(result.stdout)["erased"]]
    assert "erased on 20" in reason
    assert "readmit" in reason
    shown = " ".join(run("add", filled.path, notes).output.split())
    assert "the individual 'p1'" in shown
    assert "2 of its documents came again" in shown
    assert "already" in run("remove", filled.path, "--unit", "P1").output
    assert json_of("readmit", filled.path, "--unit", "P1") == {"readmitted": "P1"}
    assert run("readmit", filled.path, "--unit", "P1").exit_code == 2
    assert json_of("add", filled.path, notes)["added"] == 2


def test_unknown_individual_is_kept_out_only_if_that_is_said(filled: Vault, write_jsonl: Write) -> None:
    refused = run("remove", filled.path, "--unit", "P9")
    assert refused.exit_code == 2
    assert "--anyway" in refused.output
    assert json_of("remove", filled.path, "--unit", "P9", "--anyway") == {"removed": 0}
    assert run("add", filled.path, write_jsonl([{"id": 9, "patient": "p9", "text": "x"}])).exit_code == 0
    assert filled.store.count_units() == 3


@pytest.mark.parametrize("said", ["Jürgen Groß", "jurgen gross", "Jürgen Gros"])
def test_misspelt_individual_gets_a_suggestion(vault: Vault, write_jsonl: Write, said: str) -> None:
    """A file called Jürgen-Groß_2026.txt names another individual than a custodian types."""
    json_of("add", vault.path, write_jsonl([{"id": 1, "patient": "Jürgen-Groß", "text": "A note."}]))
    for command in (("remove", vault.path), ("list", vault.path, "documents"), ("erasure-report", vault.path)):
        shown = " ".join(run(*command, "--unit", said).output.split())
        assert f"no individual '{said}'. Did you mean 'jürgen-gross'?" in shown
        assert "Did you mean" not in run(*command, "--unit", "Ada Lind").output
    assert json_of("list", vault.path, "documents", "--unit", said)["documents"] == []


def test_command_with_a_name_can_be_pasted(vault: Vault, write_jsonl: Write) -> None:
    path = write_jsonl([{"id": 1, "patient": "Mae O'Brien", "text": "A note."}])
    json_of("add", vault.path, path)
    shown = " ".join(run("remove", vault.path, "--unit", "Mae O'Brien").output.split())
    (command,) = [part for part in shown.split(": ") if part.startswith("discreet readmit")]
    assert shlex.split(command.removesuffix("."))[-1] == "Mae O'Brien"
    reason = json.loads(run("add", vault.path, path, "--json").stdout)["erased"][0]["reason"]
    assert shlex.split(reason[reason.index("discreet readmit") :])[-1] == "mae o'brien"


def test_report_says_what_was_erased_and_what_remains(filled: Vault) -> None:
    key = unit_key("p1", filled.components.secret)
    filled.ledger.begin("q", "murag-ada", None)
    filled.ledger.reserve("q", 0, Spending.of(Pure(2.5)), [key])
    (filled.path / "history.jsonl").write_text('\n{"question": "q"}\n')
    before = json_of("erasure-report", filled.path, "--unit", "P1")
    assert (before["erased"], before["documents"], before["questions"]) == (None, 2, 1)
    assert before["spent"] == pytest.approx(2.5)
    json_of("remove", filled.path, "--unit", "P1")
    after = json_of("erasure-report", filled.path, "--unit", " P1")
    assert (after["erased_documents"], after["documents"], after["granted"]) == (2, 0, 20)
    assert after["erased"].startswith("20")
    remains = " ".join(one["what"] for one in after["remains"])
    for said in ("released answers in VAULT/history.jsonl (1)", "in the ledger", "time of the erasure", "copies"):
        assert said in remains
    assert "fever" not in json.dumps(after)
    shown = run("erasure-report", filled.path, "--unit", "P1").output
    assert "Erased on" in shown
    assert "with 2 documents. The vault has 0 documents" in shown


def test_report_on_an_unknown_name_is_refused_or_says_so(filled: Vault) -> None:
    asked = ("erasure-report", filled.path, "--unit", "patient1x")
    shown = run(*asked)
    assert shown.exit_code == 2
    said = " ".join(shown.output.split())
    assert "The vault has no individual 'patient1x'." in said
    assert "No individual of this name is erased, either. For a report nevertheless, add --anyway." in said
    report = run(*asked, "--anyway")
    assert report.exit_code == 0
    assert "No individual of this name is in the vault, and none is erased." in report.output
    assert json_of(*asked, "--anyway")["documents"] == 0
    filled.inventory.bury("p2")
    assert run("erasure-report", filled.path, "--unit", "P2").exit_code == 0


def test_where_everybody_pays_a_report_has_no_balance(tmp_path: Path) -> None:
    made = Vault.create(tmp_path / "v", epsilon=5, delta=1e-6, embedder="hashing", payment="corpus")
    made.add_documents([Document("1", "Ada", "A note.")])
    report = json_of("erasure-report", made.path, "--unit", "Ada")
    assert (report["spent"], report["questions"]) == (None, 0)
    assert not any("ledger" in one["what"] for one in report["remains"])


def test_name_commands_no_terminal(vault: Vault, write_jsonl: Write) -> None:
    evil = "x\x1b[31my\x07\x9b5m\rz"
    path = write_jsonl([{"patient": evil, "text": "A note."}, {"patient": "P2", "text": "Another."}])
    outputs = [
        run("add", vault.path, path, "--preview"),
        run("add", vault.path, path),
        run("list", vault.path, "units"),
        run("erasure-report", vault.path, "--unit", evil),
        run("remove", vault.path, "--unit", f"not {evil}"),
        run("list", vault.path, "units", "--json"),
    ]
    for result in outputs:
        assert not set(result.output) & set("\x1b\x07\x9b\r"), result.output
    assert "x?[31my??5m" in outputs[0].output
    assert json.loads(outputs[-1].stdout)["units"][1]["unit"] == "x\x1b[31my\x07\x9b5m z"


def test_two_names_of_one_individual_are_joined(filled: Vault) -> None:
    found = json_of("units", "join", filled.path, "P2", "p1")
    assert (found["joined"], found["documents"], found["spent"]) == ("p1", 2, 0.0)
    assert [entry["unit"] for entry in json_of("list", filled.path, "units")["units"]] == ["p0", "p1"]
    for name in ("p9", "P 1"):
        refused = run("units", "join", filled.path, name, "p1")
        assert (refused.exit_code, "has no individual" in refused.output) == (2, True)
    stays = run("units", "join", filled.path, "p0", "p 1")
    assert stays.exit_code == 2
    assert "Did you mean 'p1'?" in stays.output
    again = run("units", "join", filled.path, "p2", "p1")
    assert again.exit_code == 0
    assert "0 documents moved. Together they have spent epsilon 0 of" in " ".join(again.output.split())
