"""Random projection of embeddings: a paper's transform, a baseline, and none. What it claims: `privacy/claims.py`.

None of it is a guarantee for what is found with it, or written of what is found. The sound way to hand vectors out is
`privacy/mechanisms/noisy_vectors.py`.
"""

import hashlib
import math
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData, UsageError
from discreet.privacy.claims import DELTA, GAMMA, SIGMA, check_bounds
from discreet.privacy.noise import Noise, Whole

Vectors = NDArray[np.float32]
GRAIN = 2**16
"""Entries of a matrix are whole numbers: so many stand for one."""


class Transform(Protocol):
    """What is done to vectors before the nearest are looked for."""

    @property
    def size(self) -> int:
        """How many numbers a vector has afterwards."""

    @property
    def fingerprint(self) -> str:
        """Tells it from every other one."""

    def documents(self, vectors: Vectors) -> Vectors:
        """Vectors of documents, shape (rows, size)."""

    def questions(self, vectors: Vectors) -> Vectors:
        """Vectors of questions, shape (rows, size)."""


@dataclass(frozen=True)
class Untouched:
    """Vectors as they are."""

    size: int

    @property
    def fingerprint(self) -> str:
        """Nothing but the size counts."""
        return f"untouched {self.size}"

    def documents(self, vectors: Vectors) -> Vectors:
        """As they are."""
        return np.asarray(vectors, dtype=np.float32)

    def questions(self, vectors: Vectors) -> Vectors:
        """As they are."""
        return self.documents(vectors)


@dataclass(frozen=True, eq=False)
class Projection:
    """Lines 3 to 5 of Algorithm 1 of Yao and Li: lengths brought between gamma and Delta, times a Gaussian matrix.

    Attributes:
        matrix: whole numbers, shape (d, k); `GRAIN` times standard normal ones.
        gamma, longest: between which lengths vectors are brought (the paper's gamma and Delta).
        sigma: the standard deviation of the matrix's entries.
    """

    matrix: Whole = field(repr=False)
    gamma: float = GAMMA
    longest: float = DELTA
    sigma: float = SIGMA

    def __post_init__(self) -> None:
        check_bounds(self.gamma, self.longest)
        if not (self.sigma > 0 and math.isfinite(self.sigma)):
            raise UsageError(f"The entries of a projection vary by sigma > 0, not {self.sigma:g}. The paper takes 0.1.")
        check_size(*self.matrix.shape)

    @property
    def size(self) -> int:
        """The paper's k."""
        return int(self.matrix.shape[1])

    @property
    def fingerprint(self) -> str:
        """Of the matrix and the parameters."""
        told = f"projection {self.matrix.shape} {self.gamma!r} {self.longest!r} {self.sigma!r} ".encode()
        return hashlib.sha256(told + np.ascontiguousarray(self.matrix).tobytes()).hexdigest()

    def documents(self, vectors: Vectors) -> Vectors:
        """Projected.

        Raises:
            BadData: a vector has no direction, or not the right number of numbers.
        """
        wide = np.asarray(vectors, dtype=np.float64)
        if wide.ndim != 2 or wide.shape[1] != len(self.matrix):
            raise BadData(f"The matrix projects vectors of {len(self.matrix)} numbers; these have another number.")
        return np.asarray(
            between(wide, self.gamma, self.longest) @ (self.matrix * (self.sigma / GRAIN)), dtype=np.float32
        )

    def questions(self, vectors: Vectors) -> Vectors:
        """Projected alike."""
        return self.documents(vectors)


@dataclass(frozen=True, eq=False)
class NoisyProjection:
    """DP-RP-G of Li and Li (2023): a public Gaussian matrix over the root of k, then Gaussian noise on each vector.

    Their guarantee is for one vector of which the numbers change by at most `beta` in sum, not for a whole vector and
    not for a text that is found by it. Their noise is that of the classical Gaussian mechanism. Noise goes on
    documents alone, since the question is the analyst's.

    Attributes:
        base: the matrix and the bounds of lengths; its sigma does not matter.
        noise: where the noise comes from.
        epsilon, delta: of one vector.
        beta: by how much the numbers of a vector may change in sum.
    """

    base: Projection
    noise: Noise = field(repr=False)
    epsilon: float = 5.051
    delta: float = 1e-5
    beta: float = 1.0

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and 0 < self.delta < 1 and self.beta > 0):
            raise UsageError("DP-RP-G needs an epsilon and a beta above 0 and a delta between 0 and 1.")

    @property
    def size(self) -> int:
        """The paper's k."""
        return self.base.size

    @property
    def fingerprint(self) -> str:
        """Of the matrix and the parameters; the noise is in the vectors."""
        return f"dp-rp-g {self.base.fingerprint} {self.epsilon!r} {self.delta!r} {self.beta!r}"

    @property
    def scale(self) -> float:
        """The noise's standard deviation: sqrt(2 ln(1.25/delta))/epsilon times beta times the matrix's longest row."""
        rows = np.linalg.norm(self.base.matrix / GRAIN, axis=1) / math.sqrt(self.size)
        return self.beta * float(rows.max()) * math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon

    def documents(self, vectors: Vectors) -> Vectors:
        """Projected, with noise."""
        drawn = self.noise.gaussians(self.scale * GRAIN, len(vectors) * self.size).reshape(-1, self.size)
        return np.asarray(self.questions(vectors) + drawn / GRAIN, dtype=np.float32)

    def questions(self, vectors: Vectors) -> Vectors:
        """Projected."""
        return np.asarray(self.base.documents(vectors) / (self.base.sigma * math.sqrt(self.size)), dtype=np.float32)


def draw_matrix(dimension: int, k: int, noise: Noise) -> Whole:
    """A matrix of independent Gaussian whole numbers of standard deviation `GRAIN`, shape (dimension, k).

    Raises:
        UsageError: k is not between 1 and the dimension.
    """
    check_size(dimension, k)
    return noise.gaussians(float(GRAIN), dimension * k).reshape(dimension, k)


def kept_matrix(file: Path | None, dimension: int, k: int, noise: Noise) -> Whole:
    """The matrix in `file`, drawn once and kept there; a new one if there is no file to keep it.

    Raises:
        BadData: what is there is no such matrix.
    """
    if file is None or not file.exists():
        matrix = draw_matrix(dimension, k, noise)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("xb") as opened:
                np.save(opened, matrix)
        return matrix
    try:
        with file.open("rb") as opened:
            found = np.load(opened, allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise BadData(f"{file} is damaged. Remove it, and a new matrix is drawn.") from error
    if not isinstance(found, np.ndarray) or found.shape != (dimension, k) or found.dtype != np.int64:
        raise BadData(f"{file} is no matrix of {dimension} by {k} whole numbers. Remove it, and one is drawn.")
    return np.asarray(found, dtype=np.int64)


def check_size(dimension: int, k: int) -> None:
    """Nothing, if vectors of this dimension can be projected to k numbers.

    Raises:
        UsageError: they cannot.
    """
    if not 1 <= k <= dimension:
        raise UsageError(
            f"Vectors of {dimension} numbers are projected to between 1 and {dimension}, not to k = {k}. Take a "
            "smaller k."
        )


def between(vectors: NDArray[np.float64], shortest: float, longest: float) -> NDArray[np.float64]:
    """Vectors made longer or shorter where they are not between these lengths.

    Raises:
        BadData: one of them is zero, or not a number: it has no direction.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if bad := int(np.sum(~(np.isfinite(lengths) & (lengths > 0)))):
        raise BadData(
            f"{bad} of {len(vectors)} embeddings are zero or not finite, and have no direction to be projected. Leave "
            "out texts without words, or use another embedder."
        )
    return np.asarray(vectors * (np.clip(lengths, shortest, longest) / lengths), dtype=np.float64)
