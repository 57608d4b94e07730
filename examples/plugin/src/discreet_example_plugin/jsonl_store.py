"""A store: the reference store of the conformance suites, kept in one JSONL file. For one process at a time."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from discreet import Document, StoreError
from discreet.retrieval.respelling import Merge
from discreet.retrieval.store import Piece
from discreet.testing.plain_store import PlainStore

FIELDS = ("id", "unit", "text", "own_unit", "source", "fields")


class JsonlStore(PlainStore):
    """Keeps documents in FOLDER/documents.jsonl: a header, then one line for each document."""

    def __init__(self, folder: Path, dimension: int, merge: Merge | None = None) -> None:
        new = {"key": secrets.token_hex(32), "dimension": dimension, "begun": 0, "buried": {}}
        self._header, *lines = read(folder) or [new]
        if self._header["dimension"] != dimension:
            raise StoreError(f"{folder} has vectors of length {self._header['dimension']}, not {dimension}.")
        super().__init__(bytes.fromhex(self._header["key"]))
        self._folder, self._merge, self._begun = folder, merge, self._header["begun"]
        self._buried = {unit: (time, erased) for unit, (time, erased) in self._header["buried"].items()}
        for line in lines:
            pieces = [Piece(text, np.array(vector, np.float32)) for text, vector in line["pieces"]]
            super().put(Document(**line["document"]), pieces, line["batch"])
        if not lines:
            self._write()

    @staticmethod
    def stored_dimension(folder: Path) -> int | None:
        """Return the length of the stored vectors; None if no document is stored."""
        header, *lines = read(folder) or [{}]
        return header["dimension"] if lines else None

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Write what is put within; after an error, forget it."""
        before = dict(self.held), dict(self._batches)
        try:
            yield
            if self._merge is not None:  # pairs that were merged before change nothing
                self._merge([(old, one.unit) for one, _ in self.held.values() for old in one.former])
            self._write()
        except BaseException:
            self.held, self._batches = before
            raise

    def remove(self, document_id: str) -> int:
        """Erase a document, also from the file."""
        removed = super().remove(document_id)
        self._write()
        return removed

    def bury(self, unit: str, *, anyway: bool = False) -> int:
        """Erase a unit, and write that it is buried."""
        erased = super().bury(unit, anyway=anyway)
        self._write()
        return erased

    def readmit(self, unit: str) -> bool:
        """Write that a unit is no longer buried."""
        readmitted = super().readmit(unit)
        self._write()
        return readmitted

    def _write(self) -> None:
        lines: list[dict[str, Any]] = [self._header | {"begun": self._begun, "buried": self._buried}]
        for document, pieces in self.held.values():
            fields = {name: getattr(document, name) for name in FIELDS}
            vectors = [(piece.text, piece.vector.tolist()) for piece in pieces]
            lines.append({"document": fields, "pieces": vectors, "batch": self._batches[document.id]})
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "documents.new").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(self._folder / "documents.jsonl")  # the new file as a whole, or the old one


def read(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of the file in a folder; none if there is no file."""
    file = folder / "documents.jsonl"
    try:
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    except ValueError as error:
        raise StoreError(f"{file} is damaged. Restore it from a backup.") from error
