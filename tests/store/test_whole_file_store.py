"""The base of stores in one file: each change is saved as a whole, or not at all."""

from pathlib import Path
from typing import Any

import pytest

from discreet.errors import StoreError
from discreet.store import whole_file_store
from discreet.store.documents import Document
from discreet.store.protocol import Piece
from discreet.store.whole_file_store import WholeFileStore, read_file
from discreet.system.files import replace_file
from discreet.testing.plain_store import PlainStore
from discreet.testing.store import direction


class Small(WholeFileStore, PlainStore):
    """A store of documents with one piece in one direction."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.open_file(file, ["new"])

    def dump(self) -> list[Any]:
        return [list(self._buried), *([one.id, one.unit, one.text] for one, _ in self.held.values())]

    def load(self, lines: list[Any]) -> None:
        self.held, self._buried = {}, dict.fromkeys(lines[0] if lines[0] != "new" else [], ("2026", 0))
        for name, unit, text in lines[1:]:
            self.put(Document(name, unit, text), [Piece(text, direction(1))])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store" / "documents.jsonl"


@pytest.fixture
def saved(file: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The contents in the order in which they are saved, after a first batch."""
    contents: list[str] = []
    with Small(file).batch():
        pass

    def record(path: Path, content: str) -> None:
        contents.append(content)
        replace_file(path, content)

    monkeypatch.setattr(whole_file_store, "replace_file", record)
    return contents


def fill(store: Small) -> None:
    with store.batch():
        for name, unit in (("1", "a"), ("2", "a"), ("3", "b")):
            store.put(Document(name, unit, f"text {name}"), [Piece(f"text {name}", direction(1))])


def test_failed_save_leaves_the_saved_content(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, content: str) -> None:
        raise OSError(28, "No space left on device")

    store = Small(file)
    fill(store)
    monkeypatch.setattr(whole_file_store, "replace_file", fail)
    with pytest.raises(StoreError, match="cannot be written: No space left"):
        store.remove_unit("a")
    assert store.count_documents() == 3


def test_damaged_file_is_refused_without_its_content(file: Path) -> None:
    assert read_file(file) == []
    file.parent.mkdir()
    file.write_text('["Ada", "is ill"\n')
    with pytest.raises(StoreError, match=r"documents.jsonl is damaged .*Restore it") as caught:
        read_file(file)
    assert "Ada" not in str(caught.value)
    assert caught.value.__context__ is None
