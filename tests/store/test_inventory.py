"""What each `add` brought is known and can be taken back; who was erased stays erased; no search depends on it."""

import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.embedding import HashingEmbedder
from discreet.store.indexer import Counts, Fate, Indexer
from discreet.store.inventory import Inventory
from tests.store.test_erasure import everything


class Kept:
    """A store with its inventory, and how often something was forgotten for it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.embedder, self.forgotten = folder, HashingEmbedder(), 0
        self.store = EmbeddedStore(folder, self.embedder.dimension)
        self.inventory = Inventory(self.store, self._erasing)

    @contextmanager
    def _erasing(self) -> Iterator[None]:
        self.forgotten += 1
        yield

    def add(self, *documents: Document, at_once: int = 256) -> Counts:
        return Indexer(self.store, self.embedder).index(documents, at_once=at_once)

    def found(self) -> list[str]:
        return sorted(p.text for p in self.store.nearest_units(self.embedder.embed(["fever"])[0], 99))


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def note(number: int, unit: str = "", text: str = "", source: str = "a.csv", **fields: str | float) -> Document:
    return Document(f"d{number}", unit or f"u{number}", text or f"fever number {number}", source=source, fields=fields)


def test_what_goes_with_a_document_goes_from_the_disk(kept: Kept) -> None:
    """Its fields, and the name of its file, which may be that of a person."""
    mine = [secrets.token_hex(8) for _ in range(3)]
    kept.inventory.begin_batch([mine[0]])
    kept.add(note(1, "Ada", source=mine[0], **{mine[1]: mine[2]}), note(2))
    assert all(one.encode() in everything(kept.folder) for one in mine)
    kept.inventory.bury("Ada")
    assert not any(one.encode() in everything(kept.folder) for one in (*mine, "ada"))
    assert b"u2" in everything(kept.folder)


def test_individual_erased_during_an_addition_stays_out(kept: Kept) -> None:
    """Between the look at who is kept out and the writing, when texts are embedded."""
    other = EmbeddedStore(kept.folder, kept.embedder.dimension)

    class Meanwhile(HashingEmbedder):
        def embed(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> NDArray[np.float32]:
            other.bury("Ada", anyway=True)
            return super().embed(texts, progress)

    with pytest.raises(StoreError, match="Run the command again"):
        Indexer(kept.store, Meanwhile()).index([note(1, "Ada"), note(2)])
    assert kept.store.count_documents() == 0
    assert kept.add(note(1, "Ada"), note(2)).fates[Fate.BURIED] == 1
    assert kept.found() == ["fever number 2"]


def test_a_tombstone_holds_nothing_that_can_be_read(kept: Kept) -> None:
    name = secrets.token_hex(8)
    kept.add(note(1, name))
    kept.inventory.bury(name)
    with closing(sqlite3.connect(kept.folder / "store.sqlite")) as database:
        ((unit, _, documents),) = database.execute("select * from tombstone").fetchall()
    assert (len(unit), documents) == (16, 1)
    assert name.encode() not in everything(kept.folder)
    with EmbeddedStoreElsewhere(kept) as other:  # another store's key: another hash
        assert other._database.rows("select unit from tombstone") != [(unit,)]


class EmbeddedStoreElsewhere:
    """A second store in which the same name was erased."""

    def __init__(self, kept: Kept) -> None:
        self._store = EmbeddedStore(kept.folder / "other", kept.embedder.dimension)

    def __enter__(self) -> EmbeddedStore:
        self._store.bury("anyone", anyway=True)
        return self._store

    def __exit__(self, *_: object) -> None:
        self._store.close()


@pytest.mark.parametrize(
    "damage",
    [
        "update document set fields = '{'",
        "update document set fields = '[1]'",
        "update document set source = x'ff'",
        "update batch set files = 'x'",
        "update unit set name = x'ff'",
        "update tombstone set documents = 'x'",
    ],
)
def test_damage_to_what_is_listed_is_explained(kept: Kept, damage: str) -> None:
    kept.add(note(1), note(2))
    kept.inventory.bury("u2")
    kept.store._database.rows(damage)

    def look() -> None:
        for entries in (kept.inventory.units, kept.inventory.documents, kept.inventory.batches):
            entries()
        kept.inventory.erased("u2")

    with pytest.raises(StoreError, match="damaged"):
        look()
