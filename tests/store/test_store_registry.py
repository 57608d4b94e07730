import sqlite3
from pathlib import Path

import pytest

from discreet.errors import StoreError, UnknownName, UsageError
from discreet.operations.copying import copy_files
from discreet.operations.doctor import examine
from discreet.plugins import STORE_ADDRESSES
from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore, replace_key
from discreet.store.registry import count_units, load_store_type, open_store
from discreet.vault import Vault
from tests.test_plugins import install

PLUGIN = """
from discreet.errors import StoreError
from discreet.store.embedded_store import EmbeddedStore

class Elsewhere(EmbeddedStore):
    def __init__(self, folder, dimension):
        super().__init__(folder / "inner", dimension)

    @staticmethod
    def stored_dimension(folder):
        return EmbeddedStore.stored_dimension(folder / "inner")

class At:
    def __init__(self, address, name):
        self.address, self.name = address, name

    def __call__(self, folder, dimension):
        (folder / "asked").write_text(f"{self.address} {self.name}")
        return EmbeddedStore(folder, dimension)

    def stored_dimension(self, folder):
        return EmbeddedStore.stored_dimension(folder)

    def make(self):
        if "down" in self.address:
            raise StoreError("It is down.")

    def drop(self):
        pass

class NoStore:
    def stored_dimension(self):
        return None
"""


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    (site / "elsewhere_store.py").write_text(PLUGIN)
    install(site, "elsewhere", elsewhere="elsewhere_store:Elsewhere", none="elsewhere_store:NoStore")
    install(site, "addressed", STORE_ADDRESSES, place="elsewhere_store:At")
    return "elsewhere"


def create(folder: Path, **choices: str) -> Vault:
    return Vault.create(folder / "vault", epsilon=5, delta=1e-6, embedder="hashing", **choices)  # type: ignore[arg-type]


def test_vault_uses_the_store_of_a_plugin(tmp_path: Path, elsewhere: str) -> None:
    vault = create(tmp_path, store=elsewhere)
    vault.add_documents([Document("d1", "anna", "Anna has a fever.")])
    again = Vault.open(vault.path)
    assert type(again.store).__name__ == "Elsewhere"
    assert again.store.count_units() == count_units(again.settings, again.path / "store") == 1
    assert EmbeddedStore.stored_dimension(vault.path / "store") is None
    assert [entry.unit for entry in again.inventory.units()] == ["anna"]


def test_address_opens_the_store_of_a_plugin(tmp_path: Path, elsewhere: str) -> None:
    vault = create(tmp_path, store="PLACE://host:1")
    vault.add_documents([Document("d1", "anna", "Anna has a fever.")])
    assert (vault.path / "store/asked").read_text() == f"PLACE://host:1 {vault.settings.store_name}"
    assert Vault.open(vault.path).components.count_units() == 1
    with pytest.raises(UsageError, match="'PLACE'"):
        copy_files(vault.path, tmp_path / "copy", vault.settings)


@pytest.mark.parametrize("store", ["place://down", "other://u:hunter2@host", "place:host", "postgres://hunter2@host"])
def test_unusable_address_makes_no_vault(tmp_path: Path, elsewhere: str, store: str) -> None:
    with pytest.raises((StoreError, UsageError)) as refused:
        create(tmp_path, store=store)
    assert "hunter2" not in str(refused.value)
    assert not (tmp_path / "vault").exists()


def test_backup_and_doctor_know_their_store_only(tmp_path: Path, elsewhere: str) -> None:
    vault = create(tmp_path, store=elsewhere)
    with pytest.raises(UsageError, match="'elsewhere'"):
        copy_files(vault.path, tmp_path / "copy", vault.settings)
    (found,) = (finding for finding in examine(vault.path) if finding.check == "store")
    assert "'elsewhere'" in found.what


@pytest.mark.parametrize("name", ["embeded", "none"])
def test_store_without_a_usable_type_is_refused(tmp_path: Path, elsewhere: str, name: str) -> None:
    with pytest.raises(UsageError, match="embedded" if name == "embeded" else "lacks.*count_units"):
        create(tmp_path, store=name)
    assert not (tmp_path / "vault").exists()
    with pytest.raises(UnknownName):
        load_store_type("absent")


def test_key_is_replaced_only_while_a_store_is_empty(tmp_path: Path) -> None:
    vault = create(tmp_path)
    folder = vault.path / "store"
    vault.store.close()
    replace_key(folder, bytes(32))
    store = open_store(vault.settings, folder, lambda: vault.embedder.dimension)
    with sqlite3.connect(folder / "store.sqlite") as database:
        assert database.execute("select key from store").fetchone() == (bytes(32),)
    database.close()
    with store.batch():
        store.put(Document("d1", "anna", "fever"), [])
    with pytest.raises(StoreError, match="holds documents"):
        replace_key(folder, bytes(32))
