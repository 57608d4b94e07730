"""Bad input: a clear message, the right exit code, nothing lost, nothing paid."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from discreet.vault import Vault
from tests.cli.running import json_of, run, said
from tests.guarantee.ledger.conftest import drop_triggers

NOTES = [{"id": f"n{i}", "patient": f"p{i}", "text": f"The disease of number {i} is Winter Hand."} for i in range(6)]
PRICE = ("--epsilon", 5, "--delta", 1e-6, "--embedder", "hashing")


def lines(path: Path, *content: str) -> Path:
    path.write_text("".join(line + "\n" for line in content))
    return path


def notes(path: Path, records: Sequence[dict[str, Any]] = NOTES) -> Path:
    return lines(path, *(json.dumps(record) for record in records))


@pytest.fixture
def filled(vault: Vault, tmp_path: Path) -> Vault:
    assert run("add", vault.path, notes(tmp_path / "n.jsonl")).exit_code == 0
    return vault


# -- a vault ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        *((("--epsilon", wrong), "") for wrong in ("0", "-1", "nan", "inf", "much")),
        *((("--delta", wrong), "") for wrong in ("0", "-1e-6", "1", "nan", "little")),
        (("--model", "smolm2"), "Did you mean smollm2-135m"),
        (("--model", "SmolLM2-135M"), "Did you mean smollm2-135m"),
        (("--model", "opnai:http://127.0.0.1:1/v1"), "openai:URL#NAME"),
        (("--embedder", "minlm+words"), "Did you mean minilm+words"),
        (("--embedder", "/no/such/minilm"), "Did you mean minilm"),
        *((("--model", name), "") for name in ("somebody/model", "/" + "x" * 300, "./none", "~/none")),
        (("--unit-field", " "), ""),
        (("--payment", "units"), "unit"),
        (("--ledger", "postgresql://me:secret@localhost/x"), "PGPASSWORD"),
        (("--ledger", "postgresql://me@localhost/x?password=secret"), "PGPASSWORD"),
    ],
)
def test_no_vault_is_made_of_what_is_wrong(tmp_path: Path, words: tuple[str, str], expected: str) -> None:
    price = {"--epsilon": "10", "--delta": "1e-6"} | dict([words])
    result = run("init", tmp_path / "v", *(word for pair in price.items() for word in pair))
    assert result.exit_code == 2
    assert expected in said(result)
    assert "secret" not in said(result)
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
    assert value in "".join((result.stdout + result.stderr).replace("│", "").split())
    told = json.loads(run(*words, "--json").stdout)
    assert value in told["message"]
    assert told["message"].startswith("Invalid value for ")
    assert told["message"].endswith(". See discreet COMMAND --help.")
    assert (told["exit_code"], len(told["message"]) < 250) == (2, True)


def test_init_does_not_touch_what_is_there(vault: Vault) -> None:
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


def test_delta_above_one_over_units_is_a_danger(tmp_path: Path) -> None:
    run("init", tmp_path / "v", *PRICE, "--delta", 0.5, "--unit-field", "patient", "--force")
    result = run("add", tmp_path / "v", notes(tmp_path / "n.jsonl"))
    assert result.exit_code == 0
    assert "publication of one individual's documents" in said(result)


# -- a damaged vault -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "statement"),
    [
        ("vault.json", ""),
        ("ledger.sqlite", "pragma user_version = 99"),
        ("store/store.sqlite", "update store set version = 99"),
    ],
)
def test_part_of_another_format_is_refused_unchanged(filled: Vault, part: str, statement: str) -> None:
    if statement:
        with closing(sqlite3.connect(filled.path / part)) as database, database:
            database.execute(statement)
    else:
        settings = filled.path / part
        settings.write_text(json.dumps(json.loads(settings.read_text()) | {"version": 99}))
    before = contents(filled.path)
    more = notes(filled.path.parent / "more.jsonl", [{"id": "m", "patient": "p9", "text": "A rash."}])
    for words in (
        ("add", filled.path, more, "--unit-field", "patient", "--yes"),
        ("list", filled.path, "units"),
        ("remove", filled.path, "--unit", "p1"),
        ("units", "join", filled.path, "p1", "p2"),
    ):
        result = run(*words)
        assert result.exit_code == 4
        assert "has format 99; this version of discreet reads format 10 alone" in said(result)
        assert "Use the version of discreet that made it" in said(result)
        assert "discreet init" in said(result)
    assert contents(filled.path) == before


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but SQLite's shared memory, in which readers note themselves."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".sqlite-shm")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def of_ledger(vault: Path, statement: str) -> None:
    with closing(sqlite3.connect(vault / "ledger.sqlite")) as database, database:
        drop_triggers(database)
        database.execute(statement)


def overwrite_ledger(vault: Path) -> None:
    remove_ledger(vault)
    (vault / "ledger.sqlite").write_bytes(os.urandom(8192))


def remove_ledger(vault: Path) -> None:
    for file in vault.glob("ledger.sqlite*"):
        file.unlink()


def forge_total(vault: Path) -> None:
    everybody = ("--algorithm", "dp-sparse-vote-rag", "--epsilon", 5, "--voters", 3, "--max-tokens", 2)
    assert run("ask", vault, "What is it?", *everybody).exit_code == 0
    of_ledger(vault, "update log set failure = failure + 1 where kind = 'reserve'")


def close_ledger(vault: Path) -> None:
    """Root ignores file permissions, so the database itself is told to refuse writes."""
    of_ledger(vault, "create trigger no_more before insert on log begin select raise(fail, 'read-only'); end")


def remove_secret(vault: Path) -> None:
    (vault / "units.key").unlink()


def change_secret(vault: Path) -> None:
    """With another one, everybody would look as if they had never paid."""
    (vault / "units.key").write_bytes(b"x" * 32)


def change_embedder(vault: Path) -> None:
    settings = vault / "vault.json"
    settings.write_text(settings.read_text().replace('"hashing"', '"minilm"'))


def change_payment(vault: Path) -> None:
    settings = vault / "vault.json"
    settings.write_text(settings.read_text().replace('"unit"', '"somebody"'))


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (overwrite_ledger, "ledger"),
        (remove_ledger, "ledger"),
        (forge_total, "ledger"),
        (close_ledger, "ledger"),
        (remove_secret, "Restore the file"),
        (change_secret, "units.key"),
        (change_embedder, "Open the vault with the embedder that it was made with"),
        (change_payment, "damaged"),
        (lambda vault: shutil.rmtree(vault / "store"), "Restore the vault"),
    ],
)
def test_damaged_vault_releases_nothing(filled: Vault, damage: Callable[[Path], None], expected: str) -> None:
    damage(filled.path)
    missing = [name for name in ("ledger.sqlite", "store", "units.key") if not (filled.path / name).exists()]
    asked = ("--inner", "dp-sparse-vote-rag", "--voters", 3, "--max-tokens", 2)
    result = run("ask", filled.path, "What is the disease?", *asked)
    assert result.exit_code == 1, said(result)
    assert expected.lower() in said(result).lower()
    assert not any((filled.path / name).exists() for name in missing)  # nothing is begun afresh


def test_erasing_needs_no_embedder(filled: Vault) -> None:
    file = filled.path / "vault.json"
    file.write_text(file.read_text().replace('"hashing"', '"not/there"'))
    assert run("remove", filled.path, "--id", "n0").exit_code == 0


# -- a question ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "options", "expected"),
    [
        ("", (), "empty"),
        ("   \n ", (), "empty"),
        ("why " * 20_000, (), ""),
        *(
            ("Why?", options, "")
            for options in (
                *(("--voters", wrong) for wrong in (0, -3, 1000000)),
                *(("--epsilon", wrong) for wrong in (0, "nan", -2)),
                *(("--delta", wrong) for wrong in (0, 2, 1e-3)),  # the last is above the vault's
                *(("--max-tokens", 0), ("--selection", "observd"), ("--threshold", 41)),
                ("--epsilon", 1, "--epsilon-token", 50),
                ("--algorithm", "dp-rag", "--wanted", 0),
                ("--algorithm", "dp-rag", "--share", 1),
                ("--corpus", "none.jsonl"),
            )
        ),
        ("Why?", ("--algorithm", "dp-vote-rga"), "dp-vote-rag"),
        ("Why?", ("--epsilon", 3, "--param", "epsilon=2"), "epsilon is given twice"),
        ("Why?", ("--selection", "observed"), "Algorithms with selection: dp-vote-rag, dp-sparse-vote-rag"),
        ("Why?", ("--algorithm", "consensus", "--wanted", 9), "'consensus' has no parameter 'target_units'"),
        ("Why?", ("--algorithm", "consensus", "--target-units", 9), "'consensus' has no parameter 'target_units'"),
        ("Why?", ("--algorithm", "consensus", "--share", 0.5), "dp-rag"),
        ("Why?", ("--corpus", "c.jsonl", "--epsilon", 3, "--choice", "a"), "--epsilon, --choice"),
        ("Why?", ("--algorithm", "rag"), "--not-private"),
        ("Why?", ("--algorithm", "vote-rag"), "--not-private"),
    ],
)
def test_question_out_of_range_is_refused_unpaid(
    filled: Vault, question: str, options: tuple[object, ...], expected: str
) -> None:
    result = run("ask", filled.path, question, *options)
    assert result.exit_code == 2
    assert expected in said(result)
    assert filled.budget().spent == 0


def test_vault_without_a_record_answers_like_others(vault: Vault, tmp_path: Path) -> None:
    run("add", vault.path, notes(tmp_path / "n.jsonl", []))
    answer = json_of("ask", vault.path, "What is the disease?", "--voters", 5, "--epsilon", 15, "--max-tokens", 3)
    assert answer["receipt"]["epsilon"] > 0


def test_when_the_budget_is_gone_the_message_says_what_would_fit(filled: Vault) -> None:
    result = run("ask", filled.path, "Why?", "--epsilon", 50, "--voters", 3, "--json")
    assert result.exit_code == 3
    refusal = json.loads(result.stdout)
    assert (refusal["asked"], refusal["left"]) == (50, 20)
    assert 0 < refusal["would_fit"] <= 20
    assert filled.budget().spent == 0
    fitting = refusal["would_fit"]
    assert run("ask", filled.path, "Why?", "--epsilon", fitting, "--voters", 3, "--max-tokens", 2).exit_code == 0


# -- documents -------------------------------------------------------------------------------------------------------


def test_removing_erases(filled: Vault) -> None:
    assert json_of("remove", filled.path, "--unit", "p3") == {"removed": 1}
    gone = run("remove", filled.path, "--id", "n3")
    assert (gone.exit_code, "n3" in said(gone)) == (2, True)
    files = b"".join(path.read_bytes() for path in filled.path.rglob("*") if path.is_file())
    assert b"number 3" not in files
    assert b"number 4" in files


def test_document_without_a_unit_replaces_no_other(tmp_path: Path) -> None:
    vault = tmp_path / "v"
    run("init", vault, *PRICE)
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


def test_corpus_and_report_are_not_made_of_what_is_wrong(vault: Vault, tmp_path: Path) -> None:
    assert run("public", vault.path, tmp_path / "none").exit_code == 2
    report = lines(tmp_path / "r.html", "mine")
    for options in (("--out", report), ("--epsilon", "-1")):
        assert run("attack", vault.path, *options).exit_code == 2
    assert report.read_text() == "mine\n"


def test_budget_says_what_the_vault_is_made_with(vault: Vault) -> None:
    assert "embedder hashing; each unit pays for itself" in said(run("budget", vault.path))
    assert json_of("budget", vault.path)["embedder"] == "hashing"


def test_version_is_told() -> None:
    assert run("--version").stdout.startswith("discreet ")
