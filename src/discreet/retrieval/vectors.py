"""A matrix of vectors in a file, and their exact scores.

The rounding of a floating-point product depends on a row's position and on the number of rows, so that another row
could turn a tie. Vectors are therefore stored as whole numbers: a vector of length one times about 4080, in float32.
Each product is a whole number. By the Cauchy-Schwarz inequality, every partial sum stays below 2^24, where float32 adds
whole numbers without rounding. A score therefore depends on its document and the question alone, for every order, block
or thread of the linear-algebra library. The error of coordinates is at most 1.3e-4, that of scores about 1e-4.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.errors import StoreError

Vector = NDArray[np.float32]
LARGEST = 4096
"""The longest vector of whole numbers: its square is 2^24."""
HALF = 2048
"""The largest whole number up to which float16 holds all whole numbers."""


_BLOCK = 2**25


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rows of vectors, mapped into memory in blocks. When the file grows, only its last block is mapped again.

    Attributes:
        parts: the blocks, each of shape (rows, dimension). All but the last have `height` rows.
        height: the number of rows of a whole block.
        rows: the number of all rows. The last block may have more.
    """

    parts: tuple[Vector, ...]
    height: int
    rows: int

    @staticmethod
    def none(file: "VectorFile") -> "Blocks":
        """Return no rows of a file."""
        return Blocks((), file.height, 0)

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, row: int) -> Vector:
        found: Vector = self.parts[row // self.height][row % self.height]
        return found


class VectorFile:
    """Rows of `dimension` float32 numbers in a file. The caller manages the use of rows.

    Attributes:
        scale: the length that vectors of length one are stored with.
        height: the number of rows that are mapped into memory at a time.
    """

    def __init__(self, path: Path, dimension: int) -> None:
        self._path, self._dimension = path, dimension
        self.scale = scale_of(dimension)
        self._row_bytes = dimension * 4
        self.height = max(1, _BLOCK // self._row_bytes)

    def write(self, rows: Sequence[int], vectors: Sequence[Vector]) -> None:
        """Write vectors of length one into rows, durably; the file grows as needed."""
        self._path.touch()
        with self._path.open("r+b") as file:
            for row, vector in zip(rows, vectors, strict=True):
                file.seek(row * self._row_bytes)
                file.write(self._whole(vector).tobytes())
            file.flush()
            os.fsync(file.fileno())

    def erase(self, rows: Sequence[int], size: int) -> None:
        """Overwrite `rows` with zeros, durably, and cut the file off after `size` rows."""
        if not self._path.exists():
            return
        with self._path.open("r+b") as file:
            if file.seek(0, os.SEEK_END) > size * self._row_bytes:
                file.truncate(size * self._row_bytes)
            for row in rows:
                file.seek(row * self._row_bytes)
                file.write(bytes(self._row_bytes))
            file.flush()
            os.fsync(file.fileno())

    def open(self, size: int) -> Vector:
        """Return the first `size` rows, mapped into memory."""
        if not size:
            return np.empty((0, self._dimension), dtype=np.float32)
        self._check_size(size)
        return np.memmap(self._path, dtype=np.float32, mode="r", shape=(size, self._dimension))

    def blocks(self, size: int, known: Blocks) -> Blocks:
        """Return the first `size` rows, mapped into memory. Blocks of `known` are used again where they reach.

        Raises:
            StoreError: if the file is missing or cut short.
        """
        self._check_size(size)
        parts = []
        for number, start in enumerate(range(0, size, self.height)):
            rows = min(self.height, size - start)
            old = known.parts[number] if number < len(known.parts) else None
            if old is None or len(old) < rows:
                old = np.memmap(
                    self._path, np.float32, "r", offset=start * self._row_bytes, shape=(rows, self._dimension)
                )
            parts.append(old)
        return Blocks(tuple(parts), self.height, size)

    def _check_size(self, size: int) -> None:
        if size and (not self._path.exists() or self._path.stat().st_size < size * self._row_bytes):
            raise StoreError("The store's vectors are missing or cut short. Restore the vault from a copy.")

    def scores(self, matrix: Vector | Blocks, vector: Vector) -> Vector:
        """Return the exact products of all rows with `vector`: similarity times `scale` squared."""
        whole = self._whole(vector)
        if not isinstance(matrix, Blocks):
            scores: Vector = np.asarray(matrix) @ whole
            return scores
        scores = np.empty(len(matrix), dtype=np.float32)
        for part, start in zip(matrix.parts, range(0, len(matrix), matrix.height), strict=True):
            # The file may have been cut off within an old block: rows from `len(matrix)` on must not be read.
            own = scores[start : start + matrix.height]
            np.matmul(np.asarray(part[: len(own)]), whole, out=own)
        return scores

    def _whole(self, vector: Vector) -> Vector:
        return whole_numbers(vector, self._dimension)


def scale_of(dimension: int) -> int:
    """Return the length that vectors of length one get in whole numbers."""
    # Rounding lengthens a vector by at most half the root of the dimension.
    return math.floor(LARGEST - math.sqrt(dimension) / 2) - 1


def whole_numbers(vector: Vector, dimension: int) -> Vector:
    """Return a vector of length one in whole numbers, as float32.

    Raises:
        StoreError: if the vector has another length or another number of numbers.
    """
    whole = np.rint(np.asarray(vector, dtype=np.float64) * scale_of(dimension))
    # Products of longer vectors would be rounded. The negated comparison also refuses NaN.
    if whole.shape != (dimension,) or not whole @ whole <= LARGEST**2:
        raise StoreError(
            f"The embedder made an invalid vector: of shape {whole.shape}, or not of length one. Expected: {dimension} "
            "numbers, and length one. Nothing was stored. Divide each vector by its length, and test your embedder "
            "with discreet.testing.EmbedderSuite (docs/plugins.md), or use another one."
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
