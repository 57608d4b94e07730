"""The seam to Qdrant: what a store asks of it, and the checks of what it returns.

A store needs little. A point that was added stays unchanged, under a random number that no other point ever gets.
A search returns the product of each point with the question. All else is checked here or computed beside (`store`).
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.store.vectors import LARGEST, Vector

Ids = NDArray[np.int64]

_INEXACT = "The collection of the store {why}, and no guarantee covers its scores. Restore a snapshot of it in Qdrant."
MISSING = (
    "Qdrant lacks the store's collection or vectors of it. Restore a snapshot of the collection in Qdrant, or make a "
    "new vault and add the documents again."
)
WRONG_SCORES = (
    "Qdrant returned scores that are no sums of products of the stored vectors. Check that the server is Qdrant, and "
    "restore a snapshot of the store's collection."
)


@dataclass(frozen=True)
class Shape:
    """The settings of a collection that decide about its scores.

    Attributes:
        dimension: the length of its vectors; 0 if it has several kinds of vectors.
        distance: "Dot" for products; another distance changes vectors or scores.
        plain: whether vectors are kept in single precision, unchanged.
        at_once: whether a search finds each point from the moment at which it was added.
        copies: the number of copies of each point on different servers.
    """

    dimension: int
    distance: str
    plain: bool
    at_once: bool
    copies: int


@dataclass(frozen=True, eq=False)
class Found:
    """The points that a search found, the best first: their numbers and scores, each of shape (points,)."""

    ids: Ids
    scores: Vector

    def __len__(self) -> int:
        return len(self.ids)


class Engine(Protocol):
    """A server of Qdrant, or its engine in this process. It raises a `StoreError` where it fails."""

    def names(self, prefix: str) -> list[str]:
        """Return the names of the collections that begin with `prefix`."""

    def make(self, name: str, dimension: int) -> None:
        """Make a collection of vectors without an index, quantization and copies, for exact products."""

    def drop(self, name: str) -> None:
        """Remove a collection with its files."""

    def shape(self, name: str) -> Shape | None:
        """Return the settings of a collection; None if there is none of this name."""

    def add(self, name: str, ids: Sequence[int], vectors: Vector) -> None:
        """Add points. Return once they are durable, and found by searches."""

    def search(self, name: str, question: Vector, limit: int, over: float | None = None) -> Found:
        """Return the points with the `limit` largest products by an exact search; with `over`, only larger ones."""

    def pages(self, name: str) -> Iterator[tuple[Ids, Vector]]:
        """Yield all points with their vectors, in any order."""

    def count(self, name: str) -> int:
        """Return the number of points."""

    def close(self) -> None:
        """Close the connection."""


def draw_ids(count: int) -> list[int]:
    """Return random numbers of 63 bits for points: no other point of any copy of the store has or will have them."""
    return [int.from_bytes(secrets.token_bytes(8)) >> 1 for _ in range(count)]


def check_shape(engine: Engine, name: str, dimension: int) -> None:
    """Check that the scores of a collection are exact products.

    Raises:
        StoreError: if the collection is missing, or if its settings permit other scores.
    """
    shape = engine.shape(name)
    if shape is None:
        raise StoreError(MISSING)
    if why := _find_fault(shape, dimension):
        raise StoreError(_INEXACT.format(why=why))


def _find_fault(shape: Shape, dimension: int) -> str:
    if shape.dimension != dimension:
        return f"has no vectors of {dimension} numbers"
    if shape.distance != "Dot":
        return f"has the distance {shape.distance} in place of Dot"
    if not shape.plain:
        return "is quantized, or keeps vectors in another form than single precision"
    if not shape.at_once:
        return "defers new points until they are indexed (prevent_unoptimized)"
    if shape.copies != 1:
        return f"has {shape.copies} copies, which may differ"
    return ""


def searched(engine: Engine, name: str, question: Vector, limit: int, over: float | None = None) -> Found:
    """Search, and check what was found.

    Raises:
        StoreError: if a score is no whole number, is too large for a product, or if points are repeated or too many.
    """
    found = engine.search(name, question, limit, over)
    scores = found.scores
    sound = (
        len(found) <= limit
        and len(np.unique(found.ids)) == len(found)
        and bool((np.rint(scores) == scores).all())
        and bool((np.abs(scores) <= LARGEST**2).all())
        and bool((np.diff(scores) <= 0).all())
        and (over is None or bool((scores > over).all()))
    )
    if not sound:
        raise StoreError(WRONG_SCORES)
    return found


def every(engine: Engine, name: str, question: Vector, expected: int, over: float | None = None) -> Found:
    """Return all points; with `over`, all with a larger product. `expected` is their number, or one near it."""
    limit = expected + _SPARE
    while len(found := searched(engine, name, question, limit, over)) == limit:
        limit *= 2
    return found


_SPARE = 1024
"""The room for points of a batch that is being written, or was interrupted."""
