"""Vectors of whole numbers with exact scores, their file, and the units of a store by their scores for one question.

The rounding of a floating-point product depends on a row's position and on the number of rows, so that another row
could turn a tie. Vectors are therefore stored as whole numbers: a vector of length one times about 4080. Each product
is a whole number. By the Cauchy-Schwarz inequality, every partial sum stays below 2^24, where float32 adds whole
numbers without rounding. A score therefore depends on its document and the question alone, for every order, block or
thread of the linear-algebra library. The error of coordinates is at most 1.3e-4, that of scores about 1e-4.
"""

import math
import mmap
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.store.protocol import Hit
from discreet.store.protocol import Vector as Vector

Numbers = NDArray[np.int64]
LARGEST = 4096
"""The longest vector of whole numbers: its square is 2^24."""
HALF = 2048
"""The largest whole number up to which float16 holds all whole numbers."""
SLOT = 48
"""The bytes of a unit's name that are kept beside its number; a longer name is looked up."""
_LONG = b"\xff"
"""Stands for a longer name. No name in UTF-8 has this byte."""
_AT_ONCE = 2**17
"""The numbers that are turned into float32 at a time: half a megabyte, which stays in the second cache of a core."""
_AT_ONCE_MAPPED = getattr(mmap, "MAP_POPULATE", 0)
_RUN = 1024
HEADS = ".rows"
"""The suffix of the file of heads."""
FREE = 0
"""The unit of a row that no chunk has."""


def scale_of(dimension: int) -> int:
    """Return the length that vectors of length one get in whole numbers."""
    # Rounding lengthens a vector by at most half the root of the dimension.
    return math.floor(LARGEST - math.sqrt(dimension) / 2) - 1


def whole_numbers(vector: Vector, dimension: int) -> Vector:
    """Return a vector of length one, or a matrix of such rows, in whole numbers, as float32.

    Raises:
        StoreError: if a vector has another length or another number of numbers.
    """
    whole = np.rint(np.asarray(vector, dtype=np.float64) * scale_of(dimension))
    # Products of longer vectors would be rounded. The negated comparison also refuses NaN.
    if whole.shape[-1:] != (dimension,) or not np.square(whole).sum(axis=-1).max(initial=0) <= LARGEST**2:
        raise StoreError(
            f"The embedder made an invalid vector: of shape {whole.shape[-1:]}, or not of length one. Expected: "
            f"{dimension} numbers, and length one. Nothing was stored. Divide each vector by its length, and test your "
            "embedder with discreet.testing.EmbedderSuite (docs/extend.md), or use another one."
        )
    return whole.astype(np.float32)


def half_numbers(vector: Vector, dimension: int) -> Vector:
    """Return a vector of length one in whole numbers that float16 holds without rounding.

    float16 holds all whole numbers up to 2048, and the even ones up to 4096. A larger odd coordinate moves one towards
    zero. The vector does not become longer, so that all sums of products stay exact. No embedder but one of very few
    words makes a coordinate above 2048, which is half of the vector's length.

    Raises:
        StoreError: if the vector has another length or another number of numbers.
    """
    whole = whole_numbers(vector, dimension)
    return np.where(np.abs(whole) > HALF, np.trunc(whole / 2) * 2, whole).astype(np.float32)


def check_dimension(stored: int | None, made: int) -> None:
    """Check that the vectors of an embedder have the length of those in a store, if it has any.

    Raises:
        StoreError: if they do not.
    """
    if stored not in (None, made):
        raise StoreError(
            f"The store holds vectors of {stored} numbers; the embedder makes {made}. "
            "Open the vault with the embedder that it was made with."
        )


class _Records:
    """Records of a fixed size in a file.

    Args:
        path: the file.
        kind: the type of a number or of a structure.
        width: how many of them a record has, if it is an array.
    """

    def __init__(self, path: Path, kind: "np.dtype[Any]", *width: int) -> None:
        self._path, self._kind, self._width = path, kind, width
        self.size = kind.itemsize * math.prod(width)

    def write(self, places: Sequence[int], records: NDArray[Any]) -> None:
        """Write records to their places, durably; the file grows as needed, and by many records at once."""
        self._path.touch()
        with self._path.open("r+b") as file:
            wanted = max(places, default=-1) + 1
            if wanted * self.size > file.seek(0, os.SEEK_END):
                # So that a mapping serves long: a new one costs as much as reading all records.
                file.truncate((wanted + wanted // 16) * self.size)
            for begin, end in _runs(places):
                file.seek(places[begin] * self.size)
                file.write(records[begin:end].tobytes())
            file.flush()
            os.fsync(file.fileno())

    def erase(self, places: Sequence[int], size: int) -> None:
        """Overwrite the records at `places` with zeros, durably, and cut the file off after `size` records."""
        if not self._path.exists():
            return
        with self._path.open("r+b") as file:
            if file.seek(0, os.SEEK_END) > size * self.size:
                file.truncate(size * self.size)
            for begin, end in _runs(places):
                file.seek(places[begin] * self.size)
                file.write(bytes((end - begin) * self.size))
            file.flush()
            os.fsync(file.fileno())

    def check(self, size: int) -> int:
        """Return the number of bytes of the file.

        Raises:
            StoreError: if it is missing, or has fewer than `size` records.
        """
        there = self._path.stat().st_size if self._path.exists() else 0
        if there < size * self.size:
            raise StoreError("The store's vectors are missing or cut short. Restore the vault from a copy.")
        return there

    def open(self, size: int) -> NDArray[Any]:
        """Return at least the first `size` records, mapped into memory, also those at the end that are not used yet.

        Raises:
            StoreError: if the file is missing or cut short.
        """
        if not size:
            return np.empty((0, *self._width), self._kind)
        rows = self.check(size) // self.size
        with self._path.open("rb") as file:  # all of it is read soon, and to map it page by page takes longer
            mapped = mmap.mmap(
                file.fileno(), rows * self.size, flags=mmap.MAP_SHARED | _AT_ONCE_MAPPED, prot=mmap.PROT_READ
            )
        return np.frombuffer(mapped, self._kind).reshape(rows, *self._width)


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a list that count on by one, some at a time."""
    begin = 0
    for end in range(1, len(places) + 1):
        if end == len(places) or places[end] != places[end - 1] + 1 or end - begin == _RUN:
            yield begin, end
            begin = end


HEAD = np.dtype([("chunk", "<i8"), ("unit", "<i8"), ("tie", ">u8", (2,)), ("name", f"S{SLOT}")])
"""What is beside a vector: the number of its chunk, and the number, the tie and the name of its unit (`UnitNames`)."""


class VectorFile:
    """Vectors of 16-bit whole numbers in rows of one file, and their `HEAD`s in another. The caller manages the rows.

    A row of zeros is free. Threads take turns.

    Args:
        path: the file of vectors. That of the heads lies beside it, and has another suffix.
        dimension: the length of the vectors.

    Attributes:
        scale: the length that vectors of length one are stored with.
        sizes: the number of bytes of a row in each file, by the file.
    """

    def __init__(self, path: Path, dimension: int) -> None:
        self._dimension = dimension
        self.scale = scale_of(dimension)
        self._some = np.empty((0, dimension), dtype=np.float32)  # kept, as new memory costs time
        beside = path.with_suffix(HEADS)
        self._vectors, self._heads = _Records(path, np.dtype("<i2"), dimension), _Records(beside, HEAD)
        self.sizes = {path: self._vectors.size, beside: self._heads.size}

    def packed(self, vectors: Sequence[Vector]) -> NDArray[np.int16]:
        """Return vectors of length one in the form of the file.

        Raises:
            StoreError: if a vector has another length or another number of numbers.
        """
        if len({len(vector) for vector in vectors}) == 1:
            return whole_numbers(np.array(vectors), self._dimension).astype("<i2")
        whole = [whole_numbers(vector, self._dimension) for vector in vectors]  # refuses one of another length
        return np.array(whole, "<i2").reshape(-1, self._dimension)

    def write(self, rows: Sequence[int], heads: NDArray[np.void], vectors: NDArray[np.int16]) -> None:
        """Write rows, durably."""
        self._vectors.write(rows, vectors)
        self._heads.write(rows, heads)

    def erase(self, rows: Sequence[int], size: int) -> None:
        """Overwrite rows with zeros, durably, and cut the files off after `size` rows."""
        self._vectors.erase(rows, size)
        self._heads.erase(rows, size)

    def check(self, size: int) -> None:
        """Refuse files with fewer than `size` rows.

        Raises:
            StoreError: if one is missing or cut short.
        """
        for part in (self._heads, self._vectors):
            part.check(size)

    def open(self, size: int) -> tuple[NDArray[np.void], NDArray[np.int16]]:
        """Return the heads and vectors of at least the first `size` rows, mapped into memory.

        Raises:
            StoreError: if a file is missing or cut short.
        """
        return self._heads.open(size), self._vectors.open(size)

    def scores(self, vectors: NDArray[np.int16], vector: Vector) -> Vector:
        """Return the exact products of all rows with `vector`: similarity times `scale` squared."""
        whole = whole_numbers(vector, self._dimension)
        scores = np.empty(len(vectors), dtype=np.float32)
        height = max(1, _AT_ONCE // self._dimension)
        if len(self._some) < min(height, len(vectors)):
            self._some = np.empty((min(height, len(vectors)), self._dimension), dtype=np.float32)
        for start in range(0, len(vectors), height):
            part = vectors[start : start + height]
            wide = self._some[: len(part)]
            np.copyto(wide, part)
            np.matmul(wide, whole, out=scores[start : start + height])
        return scores


@dataclass(frozen=True, eq=False)
class UnitNames:
    """Keyed hashes and names of units in memory, by their numbers: kept for the next search.

    A number never names another unit.

    Attributes:
        numbers: the numbers, ascending, shape (units,).
        ties: 128 bits of a keyed hash of each unit, shape (units, 2).
        names: the names in UTF-8, shape (units,).
        long: the names that do not fit into `SLOT` bytes, by number.
    """

    numbers: Numbers
    ties: NDArray[np.uint64]
    names: NDArray[np.bytes_] = field(repr=False)
    long: Mapping[int, str] = field(repr=False)

    @staticmethod
    def none() -> "UnitNames":
        """Return no units."""
        return UnitNames(np.empty(0, np.int64), np.empty((0, 2), np.uint64), np.empty(0, f"S{SLOT}"), {})

    @staticmethod
    def of_rows(rows: Sequence[Any]) -> "UnitNames":
        """Return the units of (number, tie, name) in the order of their numbers."""
        ties = np.frombuffer(b"".join(tie for _, tie, _ in rows), ">u8").astype(np.uint64).reshape(-1, 2)
        names = np.array([slot_of(name) for _, _, name in rows], f"S{SLOT}")
        long = {number: name for number, _, name in rows if slot_of(name) == _LONG}
        return UnitNames(np.array([number for number, _, _ in rows], np.int64), ties, names, long)

    @staticmethod
    def of_slots(
        numbers: Numbers,
        ties: NDArray[np.uint64],
        names: NDArray[np.bytes_],
        look_up: Callable[[Sequence[int]], Mapping[int, str]],
    ) -> "UnitNames":
        """Return units with ties and names of a file of vectors; `look_up` returns the long names of units."""
        long = numbers[names == _LONG].tolist()
        return UnitNames(numbers, ties.astype(np.uint64), names, look_up(long) if long else {})

    def following(self, numbers: Numbers, read: Callable[[Numbers], "UnitNames"]) -> "UnitNames":
        """Return the units of `numbers`, which ascend. Forget all others. `read` returns those that are not known."""
        before = len(self.numbers)
        if np.array_equal(numbers[:before], self.numbers):  # new ones follow, as a number is larger than all before
            if len(numbers) == before:
                return self
            return self._with(read(numbers[before:])) if before else read(numbers)
        kept = np.isin(self.numbers, numbers, assume_unique=True)
        fresh = read(np.setdiff1d(numbers, self.numbers, assume_unique=True))
        order = np.argsort(np.concatenate([self.numbers[kept], fresh.numbers]), kind="stable")
        alive = set(self.numbers[kept].tolist()) if self.long else set()
        return UnitNames(
            numbers,
            np.concatenate([self.ties[kept], fresh.ties])[order],
            np.concatenate([self.names[kept], fresh.names])[order],
            {number: name for number, name in self.long.items() if number in alive} | dict(fresh.long),
        )

    def _with(self, fresh: "UnitNames") -> "UnitNames":
        return UnitNames(
            np.concatenate([self.numbers, fresh.numbers]),
            np.concatenate([self.ties, fresh.ties]),
            np.concatenate([self.names, fresh.names]),
            {**self.long, **fresh.long},
        )

    def names_at(self, places: NDArray[np.intp]) -> list[str]:
        """Return the names of the units at `places`."""
        slots, numbers = self.names[places].tolist(), self.numbers[places].tolist()
        return [
            self.long[number] if slot == _LONG else slot.decode() for slot, number in zip(slots, numbers, strict=True)
        ]


def slot_of(name: str) -> bytes:
    """Return what is kept of a name in a row: all of it, or a sign that it must be looked up."""
    whole = name.encode()
    return whole if len(whole) <= SLOT and b"\0" not in whole else _LONG


@dataclass(frozen=True, eq=False)
class ChunkScores:
    """The chunks of a store with their scores for one question, each of shape (chunks,).

    Attributes:
        chunks: their numbers.
        units: the numbers of their units; `FREE` where there is no chunk.
        scores: the exact scores.
    """

    chunks: Numbers
    units: Numbers
    scores: Vector

    def best(self) -> tuple[Numbers, Vector]:
        """Return the numbers of all units, ascending, and their best scores."""
        best = np.full(int(self.units.max(initial=FREE)) + 1, -np.inf, dtype=np.float32)
        np.maximum.at(best, self.units, self.scores)
        best[FREE] = -np.inf
        numbers = np.flatnonzero(best > -np.inf)
        return numbers, best[numbers]


class Ranks:
    """The `Scored` of a store: exact scores of units in memory. Later additions and removals do not change it."""

    def __init__(self, found: ChunkScores, best: Vector, units: UnitNames, unit: float) -> None:
        """Keep exact scores.

        Args:
            found: the scores of all chunks.
            best: the best score of each unit, shape (units,).
            units: the units.
            unit: the score of similarity 1.
        """
        self._found, self._best, self._units, self._unit = found, best, units, unit

    def above(self, threshold: float) -> list[Hit]:
        """Return every unit whose similarity is at least `threshold`, nearest first."""
        return self._hits(self._ranked(self._best >= threshold * self._unit))

    def between(self, low: float, high: float) -> list[Hit]:
        """Return every unit that is above `low` and not above `high`, nearest first."""
        # The comparisons are those of `above`, so that each unit is on one side of an edge.
        return self._hits(self._ranked((self._best >= low * self._unit) & ~(self._best >= high * self._unit)))

    def nearest(self, count: int) -> list[Hit]:
        """Return the `count` nearest units (fewer if there are fewer), nearest first."""
        count = min(max(count, 0), len(self._best))
        if not count:
            return []
        least = np.partition(self._best, len(self._best) - count)[len(self._best) - count]
        return self._hits(self._ranked(self._best >= least)[:count])

    def _ranked(self, chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the places of the chosen units, nearest first; a keyed hash of the unit breaks ties."""
        places = np.flatnonzero(chosen)
        ties = self._units.ties[places]
        order: NDArray[np.intp] = np.lexsort((ties[:, 1], ties[:, 0], -self._best[places]))
        return places[order]

    def _hits(self, places: NDArray[np.intp]) -> list[Hit]:
        """Return the units at `places`, in this order, with their numbers and those of their best chunks."""
        if not len(places):
            return []
        scores, best, numbers = self._found, self._best[places], self._units.numbers[places]
        # The rows between the least and the largest best score: few of all rows, and all best rows are among them.
        rows = np.flatnonzero((scores.scores >= best.min()) & (scores.scores <= best.max()) & (scores.units != FREE))
        rank = np.full(int(self._units.numbers[-1]) + 1, -1, dtype=np.intp)
        rank[numbers] = np.arange(len(places))
        ranks = rank[scores.units[rows]]
        is_best = (ranks >= 0) & (scores.scores[rows] == best[ranks])
        rows, ranks = rows[is_best], ranks[is_best]
        chunks = scores.chunks[rows[np.argsort(ranks, kind="stable")]].tolist()
        ends = np.cumsum(np.bincount(ranks, minlength=len(places))).tolist()
        begins = [0, *ends[:-1]]
        owned = [tuple(chunks[begin:end]) for begin, end in zip(begins, ends, strict=True)]
        return list(map(Hit, self._units.names_at(places), zip(numbers.tolist(), owned, strict=True)))
