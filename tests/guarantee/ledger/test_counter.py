"""A ledger that was put back from an older copy is noticed, by what is beside it."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.log.replay import COUNTER, Counter, Reached
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Pure
from discreet.store.documents import Document
from discreet.vault import Vault


def made(path: Path) -> Vault:
    return Vault.create(path, epsilon=20, delta=1e-6, embedder="hashing")


def asked(vault: Vault, name: str) -> None:
    vault.ledger.begin(name, "murag-ada", None)
    vault.ledger.reserve(name, 0, Spending.of(Pure(1.0)), [b"u" * 16])
    vault.ledger.finish(name, "end")


def put_back(vault: Vault, copy: Path) -> None:
    for end in ("-wal", "-shm"):
        vault.path.joinpath(f"ledger.sqlite{end}").unlink(missing_ok=True)
    shutil.copy(copy, vault.path / "new")
    (vault.path / "new").replace(vault.path / "ledger.sqlite")


def copied(vault: Vault, folder: Path) -> Path:
    vault.ledger.place.engine.dispose()  # which moves the log into the file
    return Path(shutil.copy(vault.path / "ledger.sqlite", folder / "older.sqlite"))


def test_counter_follows_the_ledger(tmp_path: Path) -> None:
    vault = made(tmp_path / "v")
    assert Counter(vault.path / COUNTER).read() is None
    asked(vault, "one")
    assert Counter(vault.path / COUNTER).read() == vault.ledger.reached() == Reached(1, 1)
    with vault.ledger.reading() as found:
        head = found.state.head
    written = json.loads((vault.path / COUNTER).read_text())
    assert written == {"questions": 1, "payments": 1, "row": head.id, "hash": head.hash.hex()}


def test_older_ledger_is_refused_when_the_vault_is_opened(tmp_path: Path) -> None:
    vault = made(tmp_path / "v")
    asked(vault, "one")
    copy = copied(vault, tmp_path)
    asked(vault, "two")
    put_back(vault, copy)
    with pytest.raises(LedgerError, match=r"older than the newest question. It has 1 of 2 questions"):
        Vault.open(vault.path)


@pytest.mark.parametrize("counter", ["kept", "lost", "put back", "never written"])
def test_open_process_refuses_an_outdated_ledger(tmp_path: Path, counter: str) -> None:
    vault = made(tmp_path / "v")
    asked(vault, "one")
    copy, beside = copied(vault, tmp_path), vault.path / COUNTER
    before = beside.read_bytes()
    if counter == "never written":  # as with a full disk
        beside.unlink()
        beside.mkdir()
    asked(vault, "two")
    asked(vault, "three")
    put_back(vault, copy)
    if counter == "put back":
        beside.write_bytes(before)
    elif counter == "lost":
        beside.unlink()
    with pytest.raises(LedgerError, match="older"):
        vault.ledger.begin("four", "murag-ada", None)
    assert vault.ledger.reached() == Reached(1, 1), "nothing was written into the older one"


def test_lost_payments_of_a_running_question_are_detected(tmp_path: Path) -> None:
    vault = made(tmp_path / "v")
    vault.ledger.begin("one", "murag-ada", None)
    copy = copied(vault, tmp_path)
    vault.ledger.reserve("one", 0, Spending.of(Pure(1.0)), [b"u" * 16])
    vault.ledger.finish("one", "end")
    put_back(vault, copy)
    with pytest.raises(LedgerError, match="older"):
        Vault.open(vault.path)


def test_newer_ledger_and_a_vault_without_a_counter_are_taken(tmp_path: Path) -> None:
    vault = made(tmp_path / "v")
    asked(vault, "one")
    before = (vault.path / COUNTER).read_bytes()
    asked(vault, "two")
    (vault.path / COUNTER).write_bytes(before)
    Vault.open(vault.path)
    (vault.path / COUNTER).unlink()
    asked(Vault.open(vault.path), "three")
    assert Counter(vault.path / COUNTER).read() == vault.ledger.reached()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"questions": -1, "payments": 1}', '{"questions": "9"}', "x" * 500]
)
def test_damaged_counter_refuses_nothing_and_is_written_anew(tmp_path: Path, content: str) -> None:
    vault = made(tmp_path / "v")
    (vault.path / COUNTER).write_text(content)
    asked(Vault.open(vault.path), "one")
    assert Counter(vault.path / COUNTER).read() == Reached(1, 1)


def test_counter_that_cannot_be_written_stops_no_answer(tmp_path: Path) -> None:
    vault = made(tmp_path / "v")
    (vault.path / COUNTER).mkdir()
    asked(vault, "one")
    assert vault.ledger.reached() == Reached(1, 1)


def test_many_at_once_never_put_it_ahead_or_refuse_each_other(tmp_path: Path) -> None:
    vault = made(tmp_path / "v")
    vault.add_documents([Document("d", "p", "numb thumbs")])

    def ask(number: int) -> None:
        asked(Vault.open(vault.path), f"q{number}")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(40)))
    assert Counter(vault.path / COUNTER).read() == vault.ledger.reached() == Reached(40, 40)


def test_ledger_from_before_two_units_became_one_is_noticed(tmp_path: Path) -> None:
    vault = made(tmp_path / "v")
    asked(vault, "one")
    copy = copied(vault, tmp_path)
    assert vault.ledger.merge([(b"u" * 16, b"w" * 16)]) == 1
    assert Counter(vault.path / COUNTER).read() == vault.ledger.reached() == Reached(1, 2)
    put_back(vault, copy)
    with pytest.raises(LedgerError, match="older"):
        Vault.open(vault.path)
