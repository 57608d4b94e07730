"""What is kept of all units after many changes is what a fresh reading finds, and only changed units are read."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.postgres_store import PostgresStore
from discreet.store.protocol import Piece, Store
from discreet.store.unit_records import (
    Moment,
    TextReader,
    UnitRecord,
    UnitRecords,
    gather,
    read_unit_texts,
)
from discreet.testing.plain_store import PlainStore
from discreet.testing.store import SIZE, direction


def put(store: Store, name: str, unit: str, texts: list[str], **fields: str | float) -> None:
    with store.batch():
        pieces = [Piece(text, direction(seed)) for seed, text in enumerate(texts)]
        store.put(Document(name, unit, " ".join(texts) or "-", fields=fields), pieces)


def listed(store: Store) -> Moment:
    """What the lists of a store tell, without its own reading of texts."""
    assert store.catalog is not None
    fields = [(entry.unit, entry.fields, entry.id) for entry in store.catalog.list_documents() if entry.fields]
    return gather([(stored.unit, stored.text, None) for stored in store.texts()], fields)


def many(store: Store, count: int) -> None:
    for number in range(count):
        put(store, f"d{number}", f"unit {number}", [f"text {number}"], age=number)


ChangingStore = EmbeddedStore | PostgresStore


def change(store: ChangingStore, draw: np.random.Generator) -> None:
    """Add, replace or erase something; some documents have no chunk, some no field."""
    name, unit = f"d{draw.integers(12)}", f"unit {draw.integers(6)}"
    kind = draw.integers(8)
    if kind == 0:
        store.remove_unit(unit)
    elif kind == 1:
        store.remove(name)
    elif kind == 2:
        store.settle()
    elif kind == 3:
        put(store, name, unit, [], ward=str(draw.integers(3)))
    else:
        fields = {"age": float(draw.integers(90))} if draw.integers(2) else {}
        put(store, name, unit, [f"text {draw.integers(5)}" for _ in range(draw.integers(1, 3))], **fields)


def compare_kept_with_fresh(open_store: Callable[[], ChangingStore], draw: np.random.Generator, steps: int) -> None:
    """Change a store as two processes, and compare what each keeps of the units with a fresh reading."""
    stores = [open_store() for _ in range(2)]
    many(stores[0], 5)
    kept = [UnitRecords(store) for store in stores]
    for _ in range(steps):
        change(stores[draw.integers(2)], draw)
        looking = draw.integers(2)
        if draw.integers(3) == 0:
            stores[looking].scored(direction(1))  # brings the index of the search up to date before the records
        found = kept[looking].now().records
        fresh = UnitRecords(open_store()).now().records
        assert (list(found), found) == (list(fresh), fresh)
        expected = listed(stores[looking]).units
        without = {unit: UnitRecord(own.texts, own.fields) for unit, own in found.items()}
        assert without == {unit: UnitRecord(own.texts, own.fields) for unit, own in sorted(expected.items())}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def test_kept_records_are_those_of_a_fresh_reading(seed: int, tmp_path: Path) -> None:
    compare_kept_with_fresh(lambda: EmbeddedStore(tmp_path / "s", SIZE), np.random.default_rng(seed), 60)


def test_only_changed_units_are_read(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "s", SIZE)
    many(store, 100)
    first = store.unit_texts()
    assert first.whole
    assert len(first.units) == 100
    put(store, "new", "unit 7", ["more"])
    put(store, "d9", "unit 10", ["moved"])
    store.remove("d11")
    later = store.unit_texts(first.mark)
    assert not later.whole
    assert {unit: own.texts for unit, own in later.units.items()} == {
        "unit 7": ("more", "text 7"),
        "unit 9": (),
        "unit 10": ("moved", "text 10"),
        "unit 11": (),
    }
    assert store.unit_texts(later.mark).units == {}


def test_store_without_a_reading_of_its_own_is_read_from_its_lists() -> None:
    store = PlainStore()
    many(store, 3)
    assert not isinstance(store, TextReader)
    assert read_unit_texts(store).units["unit 2"].texts == ("text 2",)
