"""Removal erases the bytes; crashes, full disks and damage leave a store that opens, or says what to do."""

import errno
import os
import random
import secrets
import shutil
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import StoreError
from discreet.store.documents import Document
from discreet.store.embedded_store import VECTORS, EmbeddedStore, SqliteDatabase
from discreet.store.protocol import Piece, Vector
from discreet.store.vectors import VectorFile
from tests.store.children import kill_now, killed

SIZE = 8


def vector() -> Vector:
    made = np.random.default_rng(secrets.randbits(64)).normal(size=SIZE)
    return np.asarray(made / np.linalg.norm(made), dtype=np.float32)


def put(store: EmbeddedStore, name: str, unit: str, text: str, made: Vector) -> None:
    with store.batch():
        store.put(Document(name, unit, text), [Piece(text, made)])


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def stored(made: Vector) -> bytes:
    return VectorFile(Path(VECTORS), SIZE).packed([made]).tobytes()


def test_after_any_history_no_file_holds_what_is_gone(tmp_path: Path) -> None:
    """Many documents of many sizes come, change and go, so that SQLite splits and joins its pages."""
    choose = random.SystemRandom()
    store = EmbeddedStore(tmp_path, SIZE)
    alive: dict[str, tuple[bytes, bytes]] = {}
    gone: list[tuple[bytes, bytes]] = []
    for _ in range(12):
        with store.batch():
            for _ in range(60):
                again = alive and choose.random() < 0.3
                name = choose.choice(sorted(alive)) if again else f"id-{secrets.token_hex(8)}"
                mark, made = secrets.token_hex(8), vector()
                text = mark + " x" * choose.choice([10, 100, 300, 3000])
                if name in alive:
                    gone.append(alive[name])
                store.put(Document(name, f"unit-{name}", text), [Piece(text, made)])
                alive[name] = (mark.encode(), stored(made))
        for name in choose.sample(sorted(alive), 5):
            assert store.remove(name) == 1
            gone.append((name.encode(), alive.pop(name)[1]))
    store.settle()
    held = everything(tmp_path)
    assert len(gone) > 100
    assert [mark for mark, _ in gone if mark in held] == []
    assert [made for _, made in gone if made in held] == []
    assert all(mark in held and made in held for mark, made in alive.values())


def stop_at(point: str) -> None:
    """Kill this process before the statement of a point, such as commit#2: the second commit."""
    statement, number = point.split("#")
    run, seen = SqliteDatabase.run, list[str]()

    def counted(self: SqliteDatabase, command: str) -> None:
        seen.extend([command] * (command == statement))
        if command == statement and len(seen) == int(number):
            kill_now()
        run(self, command)

    SqliteDatabase.run = counted  # type: ignore[assignment,method-assign]


@pytest.mark.parametrize(
    ("point", "after"),
    [
        ("begin immediate#1", False),
        ("commit#1", False),  # vectors are written, texts are not committed
        ("begin immediate#2", True),  # committed; what is gone is not yet overwritten
        ("commit#2", True),
        ("vacuum#1", True),
        ("never#1", True),
    ],
)
def test_batch_is_atomic_and_erasure_complete_if_killed(tmp_path: Path, point: str, after: bool) -> None:
    store, axes = EmbeddedStore(tmp_path, SIZE), np.eye(SIZE, dtype=np.float32)
    put(store, "a", "ada", "old text of a", axes[0])
    put(store, "b", "bela", "text of b", axes[3])
    store.close()

    def change() -> None:
        own = EmbeddedStore(tmp_path, SIZE)
        stop_at(point)
        with own.batch():
            own.put(Document("a", "ada", "new text of a"), [Piece("new text of a", axes[1])])
            own.put(Document("n", "nora", "new text of n"), [Piece("new text of n", axes[2])])
        own.settle()

    assert killed(change)
    store = EmbeddedStore(tmp_path, SIZE)
    texts = {p.unit: p.text for p in store.nearest_units(axes[0], 9)}
    old, new = {"ada": "old text of a"}, {"ada": "new text of a", "nora": "new text of n"}
    assert texts == {"bela": "text of b"} | (new if after else old)
    # Every vector is that of its text.
    for row, unit in ((0, None if after else "ada"), (1, "ada" if after else None), (3, "bela")):
        above = store.units_above(axes[row], 0.9)
        assert [p.unit for p in above] == ([unit] if unit else [])
    text, row = (b"old text", 0) if after else (b"new text", 1)
    assert text not in everything(tmp_path)
    rows = {vector.tobytes() for vector in np.fromfile(tmp_path / VECTORS, "<i2").reshape(-1, SIZE)}
    assert stored(axes[row]) not in rows
    put(store, "n", "nora", "again", vector())
    assert store.count_documents() == 3


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = EmbeddedStore(tmp_path, SIZE)
    put(store, "a", "ada", "text", vector())

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match=r"disk is full.*free some space"):
            put(store, "b", "bela", "text", vector())
    pages = store._database.rows("pragma page_count")[0][0]
    store._database.rows(f"pragma max_page_count = {pages + 1}")
    with pytest.raises(StoreError, match=r"disk is full.*free some space"):
        put(store, "c", "Caro", "long " * 10_000, vector())
    store._database.rows("pragma max_page_count = 1000000")
    assert [p.unit for p in store.nearest_units(vector(), 9)] == ["ada"]
    put(store, "b", "bela", "text", vector())
    assert EmbeddedStore(tmp_path, SIZE).count_documents() == 2


@pytest.mark.parametrize("made", [np.full(SIZE, np.nan), np.ones(SIZE), np.ones(SIZE - 1) / SIZE])
def test_a_vector_that_would_break_exactness_is_refused(tmp_path: Path, made: Vector) -> None:
    store = EmbeddedStore(tmp_path, SIZE)
    with pytest.raises(StoreError, match=r"of shape \(\d+,\).*length one.*EmbedderSuite"):
        put(store, "a", "ada", "secret", made)
    with pytest.raises(StoreError, match="length one"):
        store.nearest_units(made, 1)
    assert store.count_documents() == 0


def test_damage_is_explained(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    store = EmbeddedStore(whole, SIZE)
    put(store, "a", "ada", "text", vector())
    store.close()

    def damaged(name: str) -> Path:
        return Path(shutil.copytree(whole, tmp_path / name))

    (damaged("cut") / VECTORS).write_bytes(b"")
    (damaged("no-vectors") / VECTORS).unlink()
    (damaged("no-texts") / "store.sqlite").unlink()
    content = (whole / "store.sqlite").read_bytes()
    (damaged("noise") / "store.sqlite").write_bytes(secrets.token_bytes(9000))
    (damaged("bent") / "store.sqlite").write_bytes(content[:4096] + secrets.token_bytes(len(content) - 4096))
    for name in ("cut", "no-vectors", "no-texts", "noise", "bent"):
        with pytest.raises(StoreError, match=r"(?i)restore"):
            EmbeddedStore(tmp_path / name, SIZE).nearest_units(vector(), 1)


def test_chunk_without_unit_is_reported_without_its_number(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path, SIZE)
    put(store, "a", "ada", "text", vector())
    put(store, "b", "bob", "text", vector())
    store._database.rows("delete from unit where name = 'bob'")
    with pytest.raises(StoreError, match="damaged") as said:
        store.nearest_units(vector(), 1)
    assert not any(character.isdigit() for character in str(said.value))


def test_a_store_that_another_process_holds_says_so(tmp_path: Path) -> None:
    first, second = EmbeddedStore(tmp_path, SIZE), EmbeddedStore(tmp_path, SIZE)
    second._database.patience = 0.05
    with first._writing(), pytest.raises(StoreError, match="Another process"):
        put(second, "a", "ada", "text", vector())
