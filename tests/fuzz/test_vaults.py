"""A vault in which something is damaged opens or is refused, and what is brought to it in vain changes nothing."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from discreet.config import FORMAT, read_config
from discreet.errors import BadData, LedgerError, StoreError, UsageError
from discreet.ledger.ledger import SqliteLedger
from discreet.query.answer_cache import AnswerCache
from discreet.synthesis.extraction import ExtractionCache
from discreet.synthesis.runner import VERSION, RunCheckpoint
from discreet.vault import Vault
from tests.fuzz.files import EMBEDDER, NOTES
from tests.fuzz.mutations import HALF, of_lines, records
from tests.fuzz.targets import Target, outcome
from tests.fuzz.test_files import bent
from tests.fuzz.vaults import HISTORY, MADE, RUN, SETTINGS, VAULTS, vault_in
from tests.guarantee.ledger.conftest import drop_triggers

FEW = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vaults")


@pytest.mark.parametrize("target", VAULTS, ids=lambda target: target.name)
def test_whatever_lies_in_a_vault_is_used_or_refused(target: Target, folder: Path) -> None:
    @FEW
    @given(bent(target))
    def anything(data: bytes) -> None:
        outcome(target, folder, data)

    anything()


@pytest.mark.parametrize(
    "change",
    [
        {"delta": "1e-5"},
        {"delta": 2},
        {"epsilon": float("nan")},
        {"epsilon": 0},
        {"unit_field": ["patient"]},
        {"unit_field": HALF},
        {"model": None},
        {"history": 1},
        {"ledger": 5},
        {"version": float(FORMAT)},
        {"embedder": {}},
    ],
)
def test_setting_of_another_kind_is_named(change: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "vault.json").write_text(json.dumps(SETTINGS | change))
    with pytest.raises(StoreError, match=f"the value of {next(iter(change))} is invalid"):
        read_config(tmp_path)


def test_settings_that_are_too_deep_are_damaged(tmp_path: Path) -> None:
    (tmp_path / "vault.json").write_text("[" * 100_000)
    with pytest.raises(StoreError, match="Restore"):
        read_config(tmp_path)


@pytest.mark.parametrize("ledger", ["postgresql://[", "postgresql://[::1", "no address", HALF])
def test_vault_is_not_made_with_an_address_that_is_none(ledger: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        Vault.create(tmp_path / "v", **MADE, ledger=ledger)
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("a.csv", b"no,such,column\n1,2,3\n", BadData),
        ("a.png", NOTES, UsageError),
        ("x" * 300 + ".jsonl", b"", UsageError),
    ],
)
def test_file_that_is_refused_leaves_the_vault_as_it_was(
    name: str, content: bytes, error: type[Exception], tmp_path: Path
) -> None:
    path, file = vault_in(tmp_path), tmp_path / name
    if len(name) < 255:
        file.write_bytes(content)
    before = _documents(path)
    with pytest.raises(error):
        Vault.open(path).add(file)
    assert _documents(path) == before


@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl.gz", b"\x1f\x8b\x08 no more"), ("a.parquet", b"PAR1 and no more")]
)
def test_damaged_file_is_named_and_leaves_the_vault_as_it_was(name: str, content: bytes, tmp_path: Path) -> None:
    path, file = vault_in(tmp_path), tmp_path / name
    file.write_bytes(content)
    before = _documents(path)
    assert [bad.where for bad in Vault.open(path).add(file).bad] == [name]
    assert _documents(path) == before


OTHERS = records({"id": "other 1", "patient": "Ada", "text": "Ada coughs."}, {"id": "other 2", "text": "Bela sneezes."})


@FEW
@given(data=bent(Target("add", 0, (OTHERS,), lambda *_: "", of_lines)))
def test_bad_records_change_nothing_of_others(data: bytes, folder: Path) -> None:
    """Whatever a file holds, documents that it does not name stay word for word."""
    path, file = vault_in(folder), folder / "more.jsonl"
    before = _documents(path)
    file.write_bytes(data)
    vault = Vault.open(path)
    with suppress(BadData):  # nobody in it has a name
        vault.add(file)
    vault.store.close()
    assert before <= _documents(path)


def test_ledger_whose_questions_cannot_be_told_is_corrupt(tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    path = vault_in(tmp_path) / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        drop_triggers(database)
        database.execute("update log set time = x'ff' where kind = 'begin'")
    with pytest.raises(LedgerError, match="corrupt"):
        SqliteLedger(path).questions()


def test_remembered_answer_that_is_damaged_is_passed_over(tmp_path: Path) -> None:
    sound = json.loads(HISTORY.splitlines()[0])
    changes: tuple[dict[str, Any], ...] = (
        *({"question": 5}, {"answer": HALF}, {"choices": "a"}, {"shares": []}, {"vector": 7}, {"stopped": None}),
        *({"vector": "A" * 2732}, {"vector": "?" * 2732}, {"vector": "/" * 2731 + "="}),
    )
    (tmp_path / "h.jsonl").write_bytes(
        records(*(sound | change for change in changes)) + b"[" * 100_000 + b"\n" + HISTORY
    )
    history = AnswerCache(tmp_path / "h.jsonl", EMBEDDER)
    assert [one.answer for one in history.related("What is it?", 9, -1.0)] == ["Winter Hand"]
    assert history.same("Why is it?") is not None


def test_run_that_cannot_be_told_is_explained(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(b"[" * 100_000 + b"\n" + records({"name": "begun", "value": 5}))
    with pytest.raises(StoreError, match="removing"):
        RunCheckpoint(tmp_path / "run.jsonl").begun({"version": VERSION})
    (tmp_path / "run.jsonl").write_bytes(RUN)
    with pytest.raises(UsageError, match="other parameters"):
        RunCheckpoint(tmp_path / "run.jsonl").begun({"version": VERSION, "epsilon": 1})


def test_readings_that_are_damaged_are_made_anew(tmp_path: Path) -> None:
    with (tmp_path / "k.jsonl").open("w+") as file:
        file.write("[" * 100_000 + '\n["m", ["no digest"], 1]\n5\n')
        readings = ExtractionCache(file, ["m"], lambda texts: [(place, text) for place, text in enumerate(texts)])
        assert readings.of(["a"], lambda _: None) == ["a"]


def _documents(vault: Path) -> set[tuple[str, str]]:
    opened = Vault.open(vault)
    found = {(text.unit, text.text) for text in opened.store.texts()}
    opened.store.close()
    return found
