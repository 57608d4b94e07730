"""A store: the reference store of the conformance suites, kept in one JSONL file. For small collections."""

import secrets
from pathlib import Path
from typing import Any

import numpy as np

from discreet import Document, StoreError
from discreet.store.protocol import Piece
from discreet.store.whole_file_store import WholeFileStore, read_file
from discreet.testing.plain_store import PlainStore

FIELDS = ("id", "unit", "text", "own_unit", "source", "fields")
FILE = "documents.jsonl"


class JsonlStore(WholeFileStore, PlainStore):
    """Keeps documents in FOLDER/documents.jsonl: a header, then one line for each document."""

    def __init__(self, folder: Path, dimension: int) -> None:
        super().__init__()
        self.open_file(folder / FILE, [{"key": secrets.token_hex(32), "dimension": dimension}])
        if self._header["dimension"] != dimension:
            raise StoreError(f"{folder} has vectors of length {self._header['dimension']}, not {dimension}.")

    @staticmethod
    def stored_dimension(folder: Path) -> int | None:
        """Return the length of the stored vectors; None if no document is stored."""
        header, *lines = read_file(folder / FILE) or [{}]
        return header["dimension"] if lines else None

    def dump(self) -> list[Any]:
        """Return the header, and one object for each document."""
        lines = [self._header | {"begun": self._begun, "buried": self._buried}]
        for document, pieces in self.held.values():
            fields = {name: getattr(document, name) for name in FIELDS}
            vectors = [(piece.text, piece.vector.tolist()) for piece in pieces]
            lines.append({"document": fields, "pieces": vectors, "batch": self._batches[document.id]})
        return lines

    def load(self, lines: list[Any]) -> None:
        """Replace the content by that of a header and of one object for each document."""
        self._header, *documents = lines
        self.held, self._batches = {}, {}
        self._key, self._begun = bytes.fromhex(self._header["key"]), self._header.get("begun", 0)
        self._buried = {unit: (time, erased) for unit, (time, erased) in self._header.get("buried", {}).items()}
        for line in documents:
            pieces = [Piece(text, np.array(vector, np.float32)) for text, vector in line["pieces"]]
            self.put(Document(**line["document"]), pieces, line["batch"])
