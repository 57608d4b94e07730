"""Bad input: a clear message, the right exit code, nothing lost."""

import json
import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from discreet.cli.app import app
from discreet.vault import Vault
from tests.copies import copy_of
from tests.guarantee.ledger.conftest import drop_triggers

NOTES = [{"id": f"n{i}", "patient": f"p{i}", "text": f"The disease of number {i} is Winter Hand."} for i in range(6)]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def said(result: Result) -> str:
    return " ".join((result.stdout + result.stderr).split())


def lines(path: Path, *content: str | bytes) -> Path:
    path.write_bytes(b"".join((c if isinstance(c, bytes) else c.encode()) + b"\n" for c in content))
    return path


def notes(path: Path, records: Sequence[dict[str, Any]] = NOTES) -> Path:
    return lines(path, *(json.dumps(record) for record in records))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--epsilon", wrong) for wrong in ("0", "-1", "nan", "inf", "much")),
        *(("--delta", wrong) for wrong in ("0", "-1e-6", "1", "nan", "little")),
    ],
)
def test_budget_must_be_a_number_in_range(tmp_path: Path, option: str, value: str) -> None:
    numbers = {"--epsilon": "10", "--delta": "1e-6"} | {option: value}
    result = run("init", tmp_path / "v", *(word for pair in numbers.items() for word in pair))
    assert result.exit_code == 2
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("init", "v", "--people", "abc"), "abc"),
        (("init", "v", "--epsilon", "much"), "much"),
        (("list", "v", "units", "--limit", "-1"), "-1"),
        (("undo", "v", "third"), "third"),
        (("key", "issue", "v", "bob", "--epsilon", "lots"), "lots"),
        (("undo", "v", "9" * 99 + "x"), "9" * 50),
        (("undo", "v", "a\x1b[31m"), "a\\x1b[31m"),
    ],
)
def test_wrong_number_is_told_with_its_value(words: tuple[str, ...], value: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    plain = "".join((result.stdout + result.stderr).replace("│", "").split())
    assert value in plain
    told = json.loads(run(*words, "--json").stdout)
    assert value in told["message"]
    assert told["message"].endswith(". See discreet COMMAND --help.")
    assert len(told["message"]) < 250


def test_init_does_not_touch_what_is_there(tmp_path: Path, vault: Vault) -> None:
    result = run("init", vault.path, "--epsilon", 9, "--delta", 1e-6)
    assert result.exit_code == 2
    assert "already something" in said(result)
    assert Vault.open(vault.path).budget().granted == 20


@pytest.mark.parametrize(
    "command", [["add", "V", "x"], ["ask", "V", "Why?"], ["budget", "V"], ["remove", "V", "--id", "1"]]
)
def test_no_such_vault(tmp_path: Path, command: list[str]) -> None:
    result = run(*(str(tmp_path / "nowhere") if word == "V" else word for word in command))
    assert result.exit_code == 2
    assert "discreet init" in said(result)


@pytest.mark.parametrize("other", [7, 99])
@pytest.mark.parametrize(
    ("part", "statement"),
    [
        ("vault.json", ""),
        ("ledger.sqlite", "pragma user_version = {}"),
        ("store/store.sqlite", "update store set version = {}"),
    ],
)
def test_part_of_another_format_is_refused_unchanged(vault: Vault, part: str, statement: str, other: int) -> None:
    assert run("add", vault.path, notes(vault.path.parent / "notes.jsonl"), "--yes").exit_code == 0
    if statement:
        with closing(sqlite3.connect(vault.path / part)) as database, database:
            database.execute(statement.format(other))
    else:
        settings = vault.path / part
        settings.write_text(json.dumps(json.loads(settings.read_text()) | {"version": other}))
    before = contents(vault.path)
    more = notes(vault.path.parent / "more.jsonl", [{"id": "m", "patient": "p9", "text": "A rash."}])
    for words in (
        ("add", vault.path, more, "--unit-field", "patient", "--yes"),
        ("list", vault.path, "units"),
        ("remove", vault.path, "--unit", "p1"),
        ("units", "join", vault.path, "p1", "p2"),
    ):
        result = run(*words)
        assert result.exit_code == 4
        assert f"has format {other}; this version of discreet reads format 10 alone" in said(result)
        assert "Use the version of discreet that made it" in said(result)
        assert "discreet init" in said(result)
    assert contents(vault.path) == before


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but SQLite's shared memory, in which readers note themselves."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".sqlite-shm")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_corrupt_ledger_stops_everything(vault: Vault) -> None:
    (vault.path / "ledger.sqlite").write_bytes(os.urandom(8192))
    for suffix in ("-wal", "-shm"):
        (vault.path / f"ledger.sqlite{suffix}").unlink(missing_ok=True)
    result = run("ask", vault.path, "What is the disease?")
    assert result.exit_code == 1
    assert "ledger" in said(result).lower()


def test_missing_ledger_is_not_started_afresh(vault: Vault) -> None:
    for file in vault.path.glob("ledger.sqlite*"):
        file.unlink()
    assert run("ask", vault.path, "What is the disease?").exit_code == 1
    assert not (vault.path / "ledger.sqlite").exists()


def test_forged_total_is_noticed(vault: Vault, tmp_path: Path) -> None:
    run("add", vault.path, notes(tmp_path / "n.jsonl"))
    everybody = ("--algorithm", "dp-sparse-vote-rag", "--epsilon", 5, "--voters", 3, "--max-tokens", 2)
    assert run("ask", vault.path, "What is it?", *everybody).exit_code == 0
    with closing(sqlite3.connect(vault.path / "ledger.sqlite")) as database, database:
        drop_triggers(database)
        assert database.execute("update log set failure = failure + 1 where kind = 'reserve'").rowcount > 0
    assert run("ask", vault.path, "What is it?").exit_code == 1


def test_malformed_line_is_named_and_the_rest_is_added(vault: Vault, tmp_path: Path) -> None:
    path = lines(tmp_path / "n.jsonl", json.dumps(NOTES[0]), "{not json", '{"id": "x"}', '["a"]', json.dumps(NOTES[1]))
    result = run("add", vault.path, path, "--json")
    assert result.exit_code == 4
    report = json.loads(result.stdout)
    assert report["added"] == 2
    assert [bad["where"].split()[-1] for bad in report["bad"]] == ["2", "3", "4"]


def test_empty_and_whitespace_documents_are_named(vault: Vault, tmp_path: Path) -> None:
    path = notes(tmp_path / "n.jsonl", [{"id": "a", "text": ""}, {"id": "b", "text": " \n "}, NOTES[0]])
    result = run("add", vault.path, path, "--json")
    assert result.exit_code == 0  # exports have such records every month
    assert json.loads(result.stdout)["added"] == 1
    assert len(json.loads(result.stdout)["empty"]) == 2


def test_same_id_with_another_text_is_named(vault: Vault, tmp_path: Path) -> None:
    path = notes(tmp_path / "n.jsonl", [NOTES[0], NOTES[0] | {"text": "Something else."}])
    result = run("add", vault.path, path, "--json")
    assert result.exit_code == 4
    assert json.loads(result.stdout)["conflicts"] == ["n0"]


def test_what_is_not_utf8_is_named(vault: Vault, tmp_path: Path) -> None:
    path = lines(tmp_path / "n.jsonl", json.dumps(NOTES[0]), b'{"id": "l", "text": "caf\xe9"}')
    result = run("add", vault.path, path, "--json")
    assert result.exit_code == 4
    assert json.loads(result.stdout)["added"] == 1


def test_file_that_is_not_there_or_of_an_unknown_kind(vault: Vault, tmp_path: Path) -> None:
    assert run("add", vault.path, tmp_path / "nothing.jsonl").exit_code in (2, 4)
    assert run("add", vault.path, lines(tmp_path / "image.png", "x")).exit_code in (2, 4)


def test_documents_without_a_unit_become_units_with_a_note(vault: Vault, tmp_path: Path) -> None:
    path = notes(tmp_path / "n.jsonl", [{"id": "a", "text": "One."}, NOTES[0]])
    result = run("add", vault.path, path, "--json")
    assert result.exit_code == 4  # not in silence
    assert json.loads(result.stdout)["bad"][0]["where"] == "n.jsonl line 1"
    result = run("add", vault.path, path, "--json", "--each-record-a-unit")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["own_unit"] == 1
    assert any("1 document without 'patient'" in warning for warning in report["warnings"])


def test_delta_above_one_over_units_is_a_danger(tmp_path: Path) -> None:
    run(
        "init",
        tmp_path / "v",
        "--epsilon",
        5,
        "--delta",
        0.5,
        "--embedder",
        "hashing",
        "--unit-field",
        "patient",
        "--force",
    )
    result = run("add", tmp_path / "v", notes(tmp_path / "n.jsonl"))
    assert result.exit_code == 0
    assert "publication of one individual's documents" in said(result)


@pytest.mark.parametrize("question", ["", "   \n "])
def test_empty_question(vault: Vault, question: str) -> None:
    result = run("ask", vault.path, question)
    assert result.exit_code == 2
    assert "empty" in said(result)


def test_question_longer_than_the_context(vault: Vault) -> None:
    result = run("ask", vault.path, "why " * 20_000)
    assert result.exit_code == 2
    assert vault.budget().spent == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--voters", "0"],
        ["--voters", "-3"],
        ["--voters", "1000000"],
        ["--epsilon", "0"],
        ["--epsilon", "nan"],
        ["--epsilon", "-2"],
        ["--delta", "0"],
        ["--delta", "2"],
        ["--delta", "1e-3"],  # above the vault's
        ["--max-tokens", "0"],
        ["--selection", "observd"],
        ["--threshold", "41"],
        ["--epsilon", "1", "--epsilon-token", "50"],
    ],
)
def test_parameters_out_of_range(vault: Vault, options: list[str]) -> None:
    result = run("ask", vault.path, "Why?", *options)
    assert result.exit_code == 2
    assert vault.budget().spent == 0


def test_unknown_algorithm_offers_the_nearest(vault: Vault) -> None:
    result = run("ask", vault.path, "Why?", "--algorithm", "dp-vote-rga")
    assert result.exit_code == 2
    assert "dp-vote-rag" in said(result)


def test_unknown_model_is_explained(tmp_path: Path) -> None:
    run(
        "init",
        tmp_path / "v",
        "--epsilon",
        5,
        "--delta",
        1e-6,
        "--model",
        "not/there",
        "--embedder",
        "hashing",
        "--unit-field",
        "patient",
        "--force",
    )
    run("add", tmp_path / "v", notes(tmp_path / "n.jsonl"))
    result = run("ask", tmp_path / "v", "Why?")
    assert result.exit_code == 2
    assert "smollm2-135m" in said(result)


@pytest.mark.parametrize("algorithm", ["rag", "vote-rag"])
def test_baselines_need_to_be_allowed(vault: Vault, tmp_path: Path, algorithm: str) -> None:
    run("add", vault.path, notes(tmp_path / "n.jsonl"))
    few = ("--max-tokens", 2, *(("--voters", 5) if algorithm == "vote-rag" else ()))
    result = run("ask", vault.path, "Why?", "--algorithm", algorithm)
    assert result.exit_code == 2
    assert "--not-private" in said(result)
    allowed = run("ask", vault.path, "Why?", "--algorithm", algorithm, "--not-private", "--json", *few)
    assert allowed.exit_code == 0
    assert json.loads(allowed.stdout)["private"] is False


@pytest.mark.parametrize("documents", [0, 1])
def test_vault_with_few_documents_answers_like_others(vault: Vault, tmp_path: Path, documents: int) -> None:
    run("add", vault.path, notes(tmp_path / "n.jsonl", NOTES[:documents]))  # whatever is in the file
    result = run("ask", vault.path, "What is the disease?", "--voters", 5, "--epsilon", 15, "--max-tokens", 3, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["receipt"]["epsilon"] > 0


def test_when_the_budget_is_gone_the_message_says_what_would_fit(vault: Vault, tmp_path: Path) -> None:
    run("add", vault.path, notes(tmp_path / "n.jsonl"))
    result = run("ask", vault.path, "Why?", "--epsilon", 50, "--voters", 3, "--json")
    assert result.exit_code == 3
    refusal = json.loads(result.stdout)
    assert refusal["asked"] == 50
    assert refusal["left"] == 20
    assert 0 < refusal["would_fit"] <= 20
    assert vault.budget().spent == 0
    fitting = refusal["would_fit"]
    assert run("ask", vault.path, "Why?", "--epsilon", fitting, "--voters", 3, "--max-tokens", 2).exit_code == 0


def test_read_only_ledger_releases_nothing(vault: Vault, tmp_path: Path) -> None:
    # Root ignores file permissions, so the database itself is told to refuse writes.
    run("add", vault.path, notes(tmp_path / "n.jsonl"))
    path = vault.path / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create trigger no_more before insert on log begin select raise(fail, 'read-only'); end")
    result = run("ask", vault.path, "Why?", "--inner", "dp-sparse-vote-rag", "--voters", 3, "--max-tokens", 2)
    assert result.exit_code == 1
    assert "ledger" in said(result).lower()


def test_adding_twice_changes_nothing_and_changes_replace(vault: Vault, tmp_path: Path) -> None:
    path = notes(tmp_path / "n.jsonl")
    assert json.loads(run("add", vault.path, path, "--json").stdout)["added"] == len(NOTES)
    assert json.loads(run("add", vault.path, path, "--json").stdout)["unchanged"] == len(NOTES)
    changed = [NOTES[0] | {"text": "It was Glass Knee after all."}, *NOTES[1:]]
    report = json.loads(run("add", vault.path, notes(path, changed), "--json").stdout)
    assert (report["replaced"], report["unchanged"]) == (1, len(NOTES) - 1)


def test_removing_erases(vault: Vault, tmp_path: Path) -> None:
    run("add", vault.path, notes(tmp_path / "n.jsonl"))
    assert json.loads(run("remove", vault.path, "--unit", "p3", "--json").stdout) == {"removed": 1}
    assert run("remove", vault.path, "--id", "n3", "--json").exit_code == 2  # it is gone already
    files = b"".join(path.read_bytes() for path in vault.path.rglob("*") if path.is_file())
    assert b"number 3" not in files
    assert b"number 4" in files


def test_copy_of_a_vault_is_a_vault(vault: Vault, tmp_path: Path) -> None:
    run("add", vault.path, notes(tmp_path / "n.jsonl"))
    assert run("budget", copy_of(vault.path, tmp_path / "copy")).exit_code == 0


@pytest.mark.parametrize(
    ("option", "wrong", "right"),
    [
        ("--model", "smolm2", "smollm2-135m"),
        ("--model", "SmolLM2-135M", "smollm2-135m"),
        ("--embedder", "minlm+words", "minilm+words"),
        ("--embedder", "/no/such/minilm", "minilm"),
    ],
)
def test_misspelt_model_is_told_at_once(tmp_path: Path, option: str, wrong: str, right: str) -> None:
    result = run("init", tmp_path / "v", "--epsilon", 5, "--delta", 1e-6, option, wrong)
    assert result.exit_code == 2
    assert f"Did you mean {right}" in said(result)
    assert not (tmp_path / "v").exists()
    assert run("init", tmp_path / "v", "--epsilon", 5, "--delta", 1e-6, option, "somebody/model").exit_code == 2
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize("name", ["/" + "x" * 300, "./none", "~/none"])
def test_path_to_no_model_is_told_at_once(tmp_path: Path, name: str) -> None:
    assert run("init", tmp_path / "v", "--epsilon", 5, "--delta", 1e-6, "--model", name).exit_code == 2
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize("arguments", [["ask", "V"], ["ask", "V", "Why?", "--epsilon", "much"], ["ask", "V", "--no"]])
def test_what_the_parser_finds_wrong_is_json_too(arguments: list[str]) -> None:
    result = run(*arguments, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["exit_code"] == 2
    assert run(*arguments).exit_code == 2


def test_free_answer_takes_no_price(tmp_path: Path, vault: Vault) -> None:
    result = run("ask", vault.path, "Why?", "--corpus", tmp_path / "c.jsonl", "--epsilon", 3, "--choice", "a")
    assert result.exit_code == 2
    assert "--epsilon, --choice" in said(result)


def test_settings_with_an_unknown_payment_are_damaged(tmp_path: Path, vault: Vault) -> None:
    file = vault.path / "vault.json"
    file.write_text(file.read_text().replace('"unit"', '"somebody"'))
    result = run("budget", vault.path)
    assert result.exit_code == 1
    assert "damaged" in said(result)


def test_erasing_needs_no_embedder(tmp_path: Path, vault: Vault) -> None:
    assert run("add", vault.path, notes(tmp_path / "n.jsonl")).exit_code == 0
    file = vault.path / "vault.json"
    file.write_text(file.read_text().replace('"hashing"', '"not/there"'))
    assert run("remove", vault.path, "--id", "n0").exit_code == 0
    file.write_text(file.read_text().replace('"not/there"', '"minilm"'))
    result = run("ask", vault.path, "Why?")
    assert result.exit_code == 1
    assert "Open the vault with the embedder that it was made with" in said(result)


@pytest.mark.parametrize("kind", ["n.jsonl", "n.csv"])
@pytest.mark.parametrize("option", ["--unit-field", "--id-field"])
def test_misspelt_field_adds_no_unit(kind: str, option: str, tmp_path: Path, vault: Vault) -> None:
    made = tmp_path / kind
    if kind == "n.csv":
        lines(made, "id,patient,text", *(f"{note['id']},{note['patient']},{note['text']}" for note in NOTES))
    else:
        notes(made)
    assert run("add", vault.path, made).exit_code == 0
    result = run("add", vault.path, made, option, "patien")
    assert result.exit_code == 4
    assert "'patien'" in said(result)
    assert option in said(result)
    assert json.loads(run("add", vault.path, made, "--json").stdout)["units"] == len(NOTES)
    assert run("add", vault.path, made, "--unit-field", "id").exit_code == 4  # everybody would be somebody new
    other = tmp_path / "other"
    assert run("init", other, "--epsilon", 5, "--delta", 1e-6, "--embedder", "hashing").exit_code == 0
    assert run("add", other, made, "--unit-field", "id").exit_code == 0  # each a person: the ids name them


def test_unit_needs_a_name(tmp_path: Path) -> None:
    result = run("init", tmp_path / "v", "--epsilon", 5, "--delta", 1e-6, "--unit-field", " ")
    assert result.exit_code == 2


@pytest.mark.parametrize("option", ["--id", "--unit"])
def test_erasing_nobody_is_told(option: str, tmp_path: Path, vault: Vault) -> None:
    run("add", vault.path, notes(tmp_path / "n.jsonl"))
    result = run("remove", vault.path, option, "p99")
    assert result.exit_code == 2
    assert "p99" in said(result)


def test_store_that_is_gone_is_not_made_anew(tmp_path: Path, vault: Vault) -> None:
    shutil.rmtree(vault.path / "store")
    for command in (["add", vault.path, notes(tmp_path / "n.jsonl")], ["remove", vault.path, "--unit", "p1"]):
        result = run(*command)
        assert result.exit_code == 1
        assert "Restore the vault" in said(result)


def test_of_many_bad_records_some_are_shown(tmp_path: Path, vault: Vault) -> None:
    wrong = notes(tmp_path / "n.jsonl", [NOTES[0], *({"id": n, "patient": f"p{n}"} for n in range(30))])
    result = run("add", vault.path, wrong)
    assert result.exit_code == 4
    assert "30 records: no field 'text' (first: n.jsonl line 2)" in said(result)
    assert len(json.loads(run("add", vault.path, wrong, "--json").stdout)["bad"]) == 30


@pytest.mark.parametrize("command", [["public", "V", "none"], ["ask", "V", "Why?", "--corpus", "none"]])
def test_corpus_that_is_not_there_is_wrong_use(command: list[str], tmp_path: Path, vault: Vault) -> None:
    paths = {"V": vault.path, "none": tmp_path / "none"}
    assert run(*(paths.get(word, word) for word in command)).exit_code == 2


def test_report_is_not_written_over(tmp_path: Path, vault: Vault) -> None:
    report = lines(tmp_path / "r.html", "mine")
    assert run("attack", vault.path, "--out", report).exit_code == 2
    assert run("attack", vault.path, "--epsilon", "-1").exit_code == 2
    assert report.read_text() == "mine\n"


def test_version_is_told() -> None:
    assert run("--version").stdout.startswith("discreet ")


def test_option_that_another_algorithm_has_is_told(vault: Vault) -> None:
    result = run("ask", vault.path, "Why?", "--selection", "observed")
    assert result.exit_code == 2
    assert "Algorithms with selection: dp-vote-rag, dp-sparse-vote-rag" in said(result)


def test_budget_says_what_the_vault_is_made_with(vault: Vault) -> None:
    assert "embedder hashing; each unit pays for itself" in said(run("budget", vault.path))
    assert json.loads(run("budget", vault.path, "--json").stdout)["embedder"] == "hashing"


def test_document_without_a_unit_replaces_no_other(tmp_path: Path) -> None:
    vault = tmp_path / "v"
    run("init", vault, "--epsilon", 5, "--delta", 1e-6, "--embedder", "hashing")
    first = lines(tmp_path / "a.jsonl", *(json.dumps({"id": n, "unit": f"p{n}", "text": "A note."}) for n in range(3)))
    assert run("add", vault, first).exit_code == 0
    later = lines(tmp_path / "b.jsonl", *(json.dumps({"id": n, "text": f"Note {n}."}) for n in range(4)))
    assert "--each-record-a-unit" in said(run("add", vault, later))
    result = run("add", vault, later, "--each-record-a-unit")
    assert result.exit_code == 4
    assert "3 records: has no unit" in said(result)
    report = json.loads(run("add", vault, later, "--each-record-a-unit", "--json").stdout)
    assert report["bad"][2]["where"] == "b.jsonl line 3"
    assert (report["units"], report["added"], report["replaced"], report["unchanged"]) == (4, 0, 0, 1)
    assert run("remove", vault, "--id", 2).exit_code == 0  # whoever means it says so
    assert json.loads(run("add", vault, later, "--each-record-a-unit", "--json").stdout)["added"] == 1


def test_document_replaces_none_of_another_unit(tmp_path: Path) -> None:
    """One person's notes, numbered from nought again, would erase everybody's."""
    vault = tmp_path / "v"
    run("init", vault, "--epsilon", 5, "--delta", 1e-6, "--embedder", "hashing")
    first = lines(tmp_path / "a.jsonl", *(json.dumps({"id": n, "unit": f"p{n}", "text": "A note."}) for n in range(3)))
    assert run("add", vault, first).exit_code == 0
    ben = lines(tmp_path / "b.jsonl", *(json.dumps({"id": n, "unit": "Ben", "text": "A note."}) for n in range(4)))
    result = run("add", vault, ben)
    assert result.exit_code == 4
    assert "3 records: the stored document with its id is about another individual" in said(result)
    report = json.loads(run("add", vault, ben, "--json").stdout)
    assert (report["units"], report["added"], report["replaced"], report["unchanged"]) == (4, 0, 0, 1)
    changed = lines(tmp_path / "c.jsonl", json.dumps({"id": 2, "unit": "p2", "text": "Another note."}))
    assert json.loads(run("add", vault, changed, "--json").stdout)["replaced"] == 1  # of the same individual
    assert run("remove", vault, "--id", 2).exit_code == 0  # whoever means it says so
    assert json.loads(run("add", vault, ben, "--json").stdout)["added"] == 1


@pytest.mark.parametrize(("option", "wrong"), [("--wanted", 0), ("--share", 1)])
def test_how_many_units_write_is_checked_before_anything_is_paid(option: str, wrong: int, vault: Vault) -> None:
    assert run("ask", vault.path, "Why?", "--algorithm", "dp-rag", option, wrong).exit_code == 2
    result = run("ask", vault.path, "Why?", "--algorithm", "consensus", option, 0.5 if option == "--share" else 9)
    assert "Algorithms with" in said(result)
    assert "dp-rag" in said(result)
