"""Vaults of before: units whose names are spelled alike now become one, and nobody gets a new budget by it."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from discreet.config import read_config
from discreet.errors import LedgerError
from discreet.ledger.sql import SqlLedger
from discreet.privacy.accounting import FilterState, Spending
from discreet.privacy.costs import Pure
from discreet.retrieval.documents import Document
from discreet.retrieval.sealed_corpus import unit_key
from discreet.retrieval.store_registry import count_units
from discreet.vault import Vault
from tests.guarantee.ledger.test_sqlite import fork
from tests.retrieval.older import make_older

OLD = {"7": "7", "a": "7.0", "b": "ada\u200b lind", "ada lind": "ada lind", "cora": "cora", "9": "9.00"}
"""By the names that documents are put under first: how an older vault spelled its units."""


def cost(vault: Vault, *epsilons: float) -> FilterState:
    return sum((vault.ledger.budget.filter_state(Spending.of(Pure(epsilon))) for epsilon in epsilons), FilterState())


def pay(vault: Vault, question: str, epsilon: float, *units: str) -> list[str]:
    """Those of `units`, spelled so, that could pay."""
    keys = {unit_key(unit, vault.components.secret): unit for unit in units}
    return sorted(keys[key] for key in vault.ledger.reserve(question, 0, Spending.of(Pure(epsilon)), list(keys)))


def balance(vault: Vault, unit: str) -> FilterState:
    return vault.ledger.balance(unit_key(unit, vault.components.secret))


@pytest.fixture
def older(vault: Vault) -> Path:
    """A vault of format 2, in which two individuals have two names each, and every name spent something."""
    vault.add_documents(Document(f"d{n}", name, f"A note on fever, {n}.") for n, name in enumerate(OLD))
    vault.store.close()
    make_older(vault.path / "store", 2, {now: then for now, then in OLD.items() if now != then})
    for number, then in enumerate(OLD.values()):
        pay(vault, f"q{number}", number + 1, then)
    return vault.path


def check(path: Path) -> None:
    vault = Vault.open(path)
    assert vault.store.count_units() == 4
    assert {entry.unit: entry.documents for entry in vault.inventory.units()} == {
        "7": 2, "9": 1, "ada lind": 2, "cora": 1
    }  # fmt: skip
    assert balance(vault, "7") == cost(vault, 1, 2)
    assert balance(vault, "ada lind") == cost(vault, 3, 4)
    assert (balance(vault, "cora"), balance(vault, "9")) == (cost(vault, 5), cost(vault, 6))
    assert balance(vault, "7.0") == FilterState()


def test_what_was_spent_under_several_names_adds_up(older: Path) -> None:
    check(older)
    check(older)  # and once only
    vault = Vault.open(older)
    names = ("7", "9", "ada lind", "cora")
    assert pay(vault, "dear", 17.5, *names) == []  # under either of its names alone "7" could
    assert pay(vault, "last", 13.5, *names) == ["7", "9", "cora"]
    assert [passage.unit for passage in vault.components.baseline_corpus.unsealed_passages("fever", 9)] != []
    assert {passage.unit for passage in vault.components.baseline_corpus.unsealed_passages("fever", 9)} == set(names)


def test_the_custodian_is_told_who_fell_together_and_only_that(older: Path) -> None:
    vault = Vault.open(older)
    found = {entry.unit: entry.names for entry in vault.inventory.respelled(unreported=True)}
    assert found == {"7": ("7", "7.0"), "ada lind": ("ada lind", "ada\u200b lind")}  # 9.00 is another spelling alone
    vault.inventory.mark_respelled_reported()
    again = Vault.open(older).inventory
    assert again.respelled(unreported=True) == []
    assert len(again.respelled()) == 2
    again.bury("Ada Lind")
    assert [entry.unit for entry in again.respelled()] == ["7"]  # erased, with all its spellings
    files = b"".join(file.read_bytes() for file in (older / "store").iterdir())
    assert "ada\u200b lind".encode() not in files
    assert b"ada lind" not in files


def test_counting_units_first_leaves_the_ledger_to_be_told(older: Path) -> None:
    assert count_units(read_config(older), older / "store") == 4
    check(older)


def test_a_ledger_that_cannot_be_told_keeps_the_store_closed(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise LedgerError("out of reach")

    with monkeypatch.context() as patched:
        patched.setattr(SqlLedger, "merge", refuse)
        for _ in range(2):
            with pytest.raises(LedgerError):
                _ = Vault.open(older).corpus
    check(older)


@pytest.mark.parametrize("after", [False, True])
def test_crash_between_store_and_ledger_gives_no_new_budget(
    older: Path, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    merge = SqlLedger.merge

    def killed(ledger: Any, pairs: Any) -> int:
        if after:
            merge(ledger, pairs)
        os._exit(9)

    with monkeypatch.context() as patched:
        patched.setattr(SqlLedger, "merge", killed)
        child = fork(lambda: Vault.open(older).store and None)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    check(older)


def forgets(_: object, __: object) -> int:
    """A broken twin: the ledger is told, and does nothing."""
    return 0


def test_a_ledger_that_forgets_what_old_names_paid_is_caught(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqlLedger, "merge", forgets)
    with pytest.raises(AssertionError):
        check(older)


def test_unit_in_the_ledger_alone_is_found_by_its_former_name(older: Path) -> None:
    """Erased before names were spelled alike: the ledger has a hash of the old spelling, and nothing else is known."""
    vault = Vault.open(older)
    pay(vault, "erased", 8.0, "11.0")
    pay(vault, "a table with gaps", 8.0, "12.0")
    pay(vault, "other", 8.0, "13.00")
    added = vault.add_documents([Document(f"x{unit}", unit, "A note on fever.") for unit in ("11.0", "12", "13")])
    assert added.added == 3
    assert balance(vault, "11") == balance(vault, "12") == cost(vault, 8)
    assert pay(vault, "r", 15, "11", "12", "13") == ["13"]  # another spelling: docs/privacy-details.md


def test_the_ledger_is_told_before_documents_can_be_found(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = Vault.open(older)
    before = vault.store.count_documents()

    def killed(*_: object) -> int:
        with closing(sqlite3.connect(older / "store" / "store.sqlite")) as database:
            assert database.execute("select count(*) from document").fetchone() == (before,)
        raise LedgerError("out of reach")

    _ = vault.corpus
    with monkeypatch.context() as patched:
        patched.setattr(vault.ledger, "merge", killed)
        with pytest.raises(LedgerError):
            vault.add_documents([Document("x", "11.0", "A note on fever.")])
    assert vault.store.count_documents() == before


Back = Callable[[Vault], object]


@pytest.mark.parametrize(
    "away",
    [
        lambda vault: vault.inventory.remove_batch(1),
        lambda vault: vault.inventory.remove_source("notes.csv"),
        lambda vault: vault.remove("d1"),
        lambda vault: (vault.remove_unit("ada"), vault.inventory.readmit("ada")),
    ],
    ids=["undo", "file", "id", "unit"],
)
def test_readmitted_unit_has_its_earlier_balance(vault: Vault, away: Back) -> None:
    documents = [Document(f"d{n}", unit, f"A note, {n}.", source="notes.csv") for n, unit in enumerate(["bela", "ada"])]
    vault.add_documents(documents)
    assert pay(vault, "q", 12.0, "ada") == ["ada"]
    before = balance(vault, "ada")
    away(vault)
    assert "ada" not in [entry.unit for entry in vault.inventory.units()]
    assert vault.add_documents(documents).added >= 1
    assert balance(vault, "ada") == before
    assert pay(vault, "r", 12.0, "ada", "bela") == ["bela"]
