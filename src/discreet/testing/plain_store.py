"""A store of a few lines, in memory: the reference of the conformance suite of stores."""

# ruff: noqa: D102 - the protocol `Store` describes the methods

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from discreet.errors import StoreError
from discreet.store.documents import Document, Passage, StoredText
from discreet.store.protocol import Hit, Piece, Store, Vector, digest

SCALE = 4093
KEY = b"k" * 32


class PlainScores:
    """A sorted list of (minus the score, its tie, the unit)."""

    def __init__(self, ranked: list[tuple[int, bytes, str]], where: dict[str, tuple[str, str]]) -> None:
        self._ranked, self._where = ranked, where

    def above(self, threshold: float) -> list[Hit]:
        return [self._hit(unit) for score, _, unit in self._ranked if -score >= threshold * SCALE**2]

    def between(self, low: float, high: float) -> list[Hit]:
        over = self.above(high)
        return [hit for hit in self.above(low) if hit not in over]

    def nearest(self, count: int) -> list[Hit]:
        return [self._hit(unit) for _, _, unit in self._ranked[: max(count, 0)]]

    def _hit(self, unit: str) -> Hit:
        return Hit(unit, self._where[unit])


class PlainStore(Store):
    """A dictionary, whole numbers, and a sort."""

    scale = SCALE
    catalog = None

    def __init__(self, key: bytes = KEY) -> None:
        self.held: dict[str, tuple[Document, Sequence[Piece]]] = {}
        self._batches: dict[str, int] = {}
        self._buried: dict[str, tuple[str, int]] = {}
        self._begun, self._key = 0, key

    @contextmanager
    def batch(self) -> Iterator[None]:
        yield

    def begin_batch(self, files: int = 0) -> int:
        self._begun += 1
        return self._begun

    def buried(self, units: Iterable[str]) -> dict[str, tuple[str, int]]:
        return {unit: self._buried[unit] for unit in units if unit in self._buried}

    def put(self, document: Document, pieces: Sequence[Piece], batch: int = 0) -> None:
        if document.unit in self._buried:
            raise StoreError("The unit is buried.")
        self.held[document.id] = (document, pieces)
        self._batches[document.id] = batch

    def digests(self, ids: Sequence[str]) -> dict[str, bytes]:
        return {name: digest(self.held[name][0]) for name in ids if name in self.held}

    def units(self, ids: Sequence[str]) -> dict[str, str]:
        return {name: self.held[name][0].unit for name in ids if name in self.held}

    def settle(self) -> None:
        pass

    def remove(self, document_id: str) -> int:
        return int(self.held.pop(document_id, None) is not None)

    def remove_unit(self, unit: str) -> int:
        return sum([self.remove(name) for name, (document, _) in list(self.held.items()) if document.unit == unit])

    def remove_batch(self, number: int) -> int:
        return sum([self.remove(name) for name in list(self.held) if self._batches[name] == number])

    def remove_source(self, source: str) -> int:
        names = [name for name, (document, _) in self.held.items() if source and document.source == source]
        return sum([self.remove(name) for name in names])

    def bury(self, unit: str, *, anyway: bool = False) -> int:
        erased = self.remove_unit(unit)
        if erased or anyway:
            self._buried[unit] = ("2026-01-01T00:00:00+00:00", erased)
        return erased

    def join(self, unit: str, into: str, pay: Callable[[], None]) -> int:
        pay()
        moved = [name for name, (document, _) in self.held.items() if document.unit == unit]
        for name in moved:
            document, pieces = self.held[name]
            self.held[name] = (replace(document, unit=into), pieces)
        self._buried[unit] = ("2026-01-01T00:00:00+00:00", 0)
        return len(moved)

    def readmit(self, unit: str) -> bool:
        return self._buried.pop(unit, None) is not None

    def unsettled(self) -> bool:
        return False

    def tag(self, content: bytes, size: int = 8) -> str:
        return hashlib.blake2b(content, key=self._key, digest_size=size).hexdigest()

    def close(self) -> None:
        pass

    def count_documents(self) -> int:
        return len(self.held)

    def count_units(self) -> int:
        return len({document.unit for document, _ in self.held.values()})

    def texts(self) -> list[StoredText]:
        return [
            StoredText(document.unit, name, np.rint(np.asarray(piece.vector) * SCALE).astype(np.int64), piece.text)
            for name, (document, pieces) in sorted(self.held.items())
            for piece in pieces
        ]

    def state(self) -> object:
        return tuple(self.held.items())

    def scored(self, vector: Vector) -> PlainScores:
        best = self._best(vector)
        return PlainScores(
            sorted((score, self.tie(unit), unit) for unit, (score, _, _) in best.items()),
            {unit: (name, text) for unit, (_, text, name) in best.items()},
        )

    def passages(self, hits: Sequence[Hit]) -> list[Passage | None]:
        def there(unit: str, name: str, text: str) -> bool:
            document, pieces = self.held.get(name, (None, ()))
            return document is not None and document.unit == unit and any(piece.text == text for piece in pieces)

        return [Passage(hit.unit, hit.where[1]) if there(hit.unit, *hit.where) else None for hit in hits]

    def tie(self, unit: str) -> bytes:
        return hashlib.blake2b(unit.encode(), key=self._key, digest_size=16).digest()

    def _best(self, vector: Vector) -> dict[str, tuple[int, str, str]]:
        """For each unit minus its best score, the text of that chunk, and the document that it is from."""
        query = whole(vector)
        best: dict[str, tuple[int, str, str]] = {}
        for document, pieces in self.held.values():
            for piece in pieces:
                exact = -sum(a * b for a, b in zip(whole(piece.vector), query, strict=True))
                score = (exact, piece.text, document.id)
                best[document.unit] = min(score, best.get(document.unit, score))
        return best


def whole(vector: Vector) -> list[int]:
    """Return a vector in whole numbers, as the store keeps it."""
    return [round(float(number) * SCALE) for number in vector]
