"""Two names of one individual become one unit: documents, payments and refusals follow, whatever breaks."""

import base64
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.algorithms.murag import MuRAG
from discreet.errors import LedgerError, StoreError, UsageError
from discreet.ledger.ledger import SqliteLedger
from discreet.models.toy import ToyModel
from discreet.operations.erasure import erasure_report
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Pure
from discreet.store.documents import Document
from discreet.store.embedded_store import SqliteDatabase
from discreet.store.sealed_corpus import unit_key
from discreet.vault import Vault

NOTES = [Document("1", "A. Lind", "mumps in may"), Document("2", "Ada Lind", "gout in june"), Document("3", "Bo", "ok")]
ONE, TWO = Spending.of(Pure(1.0)), Spending.of(Pure(2.5))


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    made = Vault.create(tmp_path / "v", epsilon=4, delta=1e-6, embedder="hashing")
    made.add_documents(NOTES)
    return made


def pay(vault: Vault, question: str, cost: Spending, *units: str) -> frozenset[bytes]:
    return vault.ledger.reserve(question, 0, cost, [unit_key(unit, vault.components.secret) for unit in units])


def balance(vault: Vault, unit: str) -> object:
    return vault.ledger.balance(unit_key(unit, vault.components.secret))


def test_join_moves_documents_and_adds_up_payments(vault: Vault) -> None:
    pay(vault, "a", ONE, "a. lind", "bo")
    pay(vault, "b", TWO, "ada lind")
    states = [vault.ledger.budget.filter_state(cost) for cost in (ONE, TWO)]
    assert vault.join_units("A. LIND", "Ada Lind") == 1
    again = Vault.open(vault.path)
    assert balance(again, "ada lind") == states[0] + states[1]
    assert Counter(dict(again.ledger.unit_balances())) == {states[0] + states[1]: 1, states[0]: 1}
    assert again.store.units(["1", "2", "3"]) == {"1": "ada lind", "2": "ada lind", "3": "bo"}
    assert len(pay(again, "c", ONE, "ada lind", "a. lind", "bo")) == 1
    assert erasure_report(again, "ada lind").questions == 2
    assert again.remove_unit("ada lind") == 2


def test_key_that_hashes_names_is_in_no_row_of_the_ledger(vault: Vault) -> None:
    """So the log alone does not say who took part, also to a reader who knows all names."""
    pay(vault, "a", ONE, "a. lind", "bo")
    vault.join_units("A. LIND", "Ada Lind")
    vault.ledger.close_log()
    pay(vault, "b", ONE, "bo")
    secret = vault.components.secret
    vault.ledger.place.engine.dispose()
    content = b"".join(path.read_bytes() for path in vault.path.glob("ledger.sqlite*"))
    assert unit_key("bo", secret) in content
    for form in (secret, secret.hex().encode(), base64.b64encode(secret)):
        assert form not in content
    assert b"lind" not in content.lower()


def test_documents_of_the_name_that_went_are_refused(vault: Vault) -> None:
    vault.join_units("a. lind", "ada lind")
    found = vault.add_documents([Document("4", "A. Lind", "more"), Document("5", "Ada Lind", "more")])
    assert (found.added, found.buried) == (1, 1)
    assert found.bad == ()
    assert "joined to another name" in found.erased[0].reason


def test_statistics_see_one_unit(vault: Vault) -> None:
    corpus = vault.corpus
    before = corpus._records.now().records  # also when records are brought up to date
    assert set(before) == {"a. lind", "ada lind", "bo"}
    vault.join_units("a. lind", "ada lind")
    assert {unit: record.texts for unit, record in corpus._records.now().records.items()} == {
        "ada lind": ("gout in june", "mumps in may"),
        "bo": ("ok",),
    }


def test_erased_name_brings_its_balance(vault: Vault) -> None:
    pay(vault, "a", ONE, "a. lind")
    vault.remove_unit("a. lind")
    assert vault.join_units("a. lind", "ada lind") == 0
    assert balance(vault, "ada lind") == vault.ledger.budget.filter_state(ONE)


@pytest.mark.parametrize(("name", "into"), [("Ada Lind", "ADA  lind"), ("", "bo"), ("bo", "cora"), ("bo", "")])
def test_join_needs_two_names(vault: Vault, name: str, into: str) -> None:
    with pytest.raises(UsageError):
        vault.join_units(name, into)
    assert vault.store.count_units() == 3
    assert not vault.store.buried(["bo", "ada lind", "cora"])


def broken_ledger(monkeypatch: pytest.MonkeyPatch) -> type[Exception]:
    def fail(*_: object) -> int:
        raise LedgerError("out of reach")

    monkeypatch.setattr(SqliteLedger, "merge", fail)
    return LedgerError


def broken_store(monkeypatch: pytest.MonkeyPatch) -> type[Exception]:
    """The payments moved, and the commit of the store fails."""
    run = SqliteDatabase.run

    def fail(self: SqliteDatabase, command: str) -> None:
        if command == "commit":
            raise StoreError("disk full")
        run(self, command)

    monkeypatch.setattr(SqliteDatabase, "run", fail)
    return StoreError


@pytest.mark.parametrize("broken", [broken_ledger, broken_store])
def test_join_that_broke_off_gives_no_budget_and_goes_on(
    vault: Vault, broken: Callable[[pytest.MonkeyPatch], type[Exception]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pay(vault, "a", TWO, "a. lind", "ada lind")
    state = vault.ledger.budget.filter_state(TWO)
    with monkeypatch.context() as patch:
        error = broken(patch)
        with pytest.raises(error):
            vault.join_units("a. lind", "ada lind")
    again = Vault.open(vault.path)
    assert again.store.units(["1"]) == {"1": "a. lind"}
    assert len(pay(again, "b", TWO, "a. lind", "ada lind")) == 0
    assert again.join_units("a. lind", "ada lind") == 1
    assert again.ledger.unit_balances() == [(state + state, 1)]


def test_joined_unit_is_found_once_and_pays_once(tmp_path: Path) -> None:
    made = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing")
    made.add_documents(Document(f"d{n}", f"p{n}", f"winter hand {n}") for n in range(30))
    made.join_units("p1", "p2")
    vault = Vault.open(tmp_path / "v", model=ToyModel(["gloves"]))
    vault.ask("winter hand?", MuRAG(similarity=-1.0, epsilon=2.0), reuse=False)
    assert sum(count for _, count in vault.ledger.unit_balances()) == 29


def test_all_units_pay_alike_after_a_join(tmp_path: Path) -> None:
    made = Vault.create(tmp_path / "v", epsilon=4, delta=1e-6, embedder="hashing", payment="corpus")
    made.add_documents(NOTES)
    assert made.join_units("a. lind", "ada lind") == 1
    assert made.store.count_units() == 2
