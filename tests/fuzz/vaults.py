"""What lies in a vault, damaged or made up: settings, secret, ledger, what it remembers; and adding to it."""

import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from discreet.config import FORMAT, VaultConfig
from discreet.query.answer_cache import LINE, AnswerCache
from discreet.synthesis.runner import VERSION, RunCheckpoint
from discreet.vault import Vault
from tests.fuzz.files import EMBEDDER, NOTES
from tests.fuzz.mutations import of_bytes, of_json, of_lines, records
from tests.fuzz.targets import Crash, Target

MADE: dict[str, Any] = {"epsilon": 20, "delta": 1e-5, "unit_field": "patient", "embedder": "hashing"}
PATIENTS = records(
    *({"id": f"n{n}", "patient": f"p{n}", "text": f"Number {n} has Winter Hand, cold."} for n in range(6))
)
SECRET = b"k" * 32
SETTINGS: dict[str, Any] = asdict(
    VaultConfig(
        *(FORMAT, MADE["epsilon"], MADE["delta"], MADE["unit_field"], "smollm2-135m", MADE["embedder"], False),
        secret_digest=hashlib.sha256(b"discreet units " + SECRET).hexdigest(),
    )
)
_REMEMBERED: dict[str, Any] = {"version": LINE, "question": "What is it?", "answer": "Winter Hand"}
_REMEMBERED |= {"stopped": "end", "algorithm": "x", "tokens": 3}
HISTORY = records(
    _REMEMBERED | {"vector": "A" * 2731 + "=", "choices": ["a"]}, _REMEMBERED | {"question": "Why is it?"}
)
RUN = records(
    {"name": "begun", "value": {"asked": {"version": VERSION}, "question": "q"}}, {"name": "part 1", "value": [1, 2]}
)


def vault_in(folder: Path, name: str = "vault") -> Path:
    """A fresh copy of one small vault with six documents."""
    template, path = folder / "template", folder / name
    if not template.exists():
        _made(folder / "made")
        # Once its ledger closes, files of the one that was made go: copies are of a folder that stays.
        shutil.copytree(folder / "made", template, ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(template, path)
    return path


def _made(path: Path) -> None:
    made = Vault.create(path, **MADE)
    notes = path.with_name("notes.jsonl")
    notes.write_bytes(PATIENTS)
    made.add(notes)
    made.store.close()
    made.ledger.begin("0" * 32, "consensus", "Why?", private=True)
    _settled(path)


def _settled(vault: Path) -> None:
    """All of the ledger in its one file."""
    with closing(sqlite3.connect(vault / "ledger.sqlite")) as database:
        database.execute("pragma wal_checkpoint(truncate)")


def _ledger() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return (vault_in(Path(folder)) / "ledger.sqlite").read_bytes()


def _settings(folder: Path, data: bytes) -> str:
    path = folder / "vault"
    if not path.exists():
        vault_in(folder)
    (path / "vault.json").write_bytes(data)
    (path / "units.key").write_bytes(SECRET)
    vault = Vault.open(path)
    vault.budget().describe()
    assert vault.default_algorithm().name
    assert vault.corpus if vault.settings.embedder == "hashing" else True
    assert vault.settings.delta < 1
    vault.settings.unit_field.encode()
    return ""


def _secret(folder: Path, data: bytes) -> str:
    path = folder / "vault"
    if not path.exists():
        vault_in(folder)
    (path / "vault.json").write_text(json.dumps(SETTINGS))
    (path / "units.key").write_bytes(data)
    assert Vault.open(path).corpus
    return ""


def _opened_ledger(folder: Path, data: bytes) -> str:
    path = folder / "vault"
    if not path.exists():
        vault_in(folder)
    for rest in ("-wal", "-shm"):
        (path / f"ledger.sqlite{rest}").unlink(missing_ok=True)
    (path / "ledger.sqlite").write_bytes(data)
    json.dumps(Vault.open(path).budget().describe())
    return ""


def _history(folder: Path, data: bytes) -> str:
    path = folder / "history.jsonl"
    path.write_bytes(data)
    history = AnswerCache(path, EMBEDDER)
    history.same("Why is it?")
    for one in history.related("What is it?", 2, -1.0):
        f"{one.question} {one.answer}".encode()
    return ""


def _journal(folder: Path, data: bytes) -> str:
    path = folder / "run.jsonl"
    path.write_bytes(data)
    journal = RunCheckpoint(path)
    if not journal.fresh:
        journal.begun({"version": VERSION})
    journal.once("part 1", lambda: 1)
    return ""


def _added(folder: Path, data: bytes) -> str:
    """Whatever the file holds, what was in the vault is there afterwards, unless the file names it."""
    path = vault_in(folder)
    file = folder / "more.jsonl"
    file.write_bytes(data)
    vault = Vault.open(path)
    try:
        added = vault.add(file)
    finally:
        vault.store.close()
        if Vault.open(path).store.count_documents() < 6:
            raise Crash("documents are gone after adding others")
    return "BadRecord" if added.bad or added.conflicts else ""


def _target(name: str, share: int, seeds: Sequence[bytes], run: Any, mutate: Any) -> Target:
    return Target(name, share, tuple(seeds), run, mutate)


VAULTS = (
    _target("vault.json", 60, [json.dumps(SETTINGS).encode()], _settings, of_json),
    _target("units.key", 5, [SECRET], _secret, of_bytes),
    _target("ledger.sqlite", 10, [_ledger()], _opened_ledger, of_bytes),
    _target("history.jsonl", 25, [HISTORY], _history, of_lines),
    _target("synthesis/run.jsonl", 15, [RUN], _journal, of_lines),
    _target("add, whole", 5, [NOTES, PATIENTS], _added, of_lines),
)
