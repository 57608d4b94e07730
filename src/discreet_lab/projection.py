"""Random projection of embeddings: the transform of a paper, a baseline, and the identity.

`claims.py` has the claims. No claim is a guarantee for texts that are found by such vectors, or for answers from these
texts. The sound release of vectors is `discreet.export`.
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
from discreet.export import GRAIN, check_size, draw_matrix
from discreet.privacy.noise import Noise, Whole
from discreet_lab.claims import DELTA, GAMMA, SIGMA, check_bounds

Vectors = NDArray[np.float32]


class Transform(Protocol):
    """A transform of vectors before the search."""

    @property
    def size(self) -> int:
        """The length of a transformed vector."""

    @property
    def fingerprint(self) -> str:
        """A text that identifies the transform."""

    def documents(self, vectors: Vectors) -> Vectors:
        """Transform vectors of documents; return shape (rows, size)."""

    def questions(self, vectors: Vectors) -> Vectors:
        """Transform vectors of questions; return shape (rows, size)."""


@dataclass(frozen=True)
class Untouched:
    """The identity transform."""

    size: int

    @property
    def fingerprint(self) -> str:
        """A text with the size."""
        return f"untouched {self.size}"

    def documents(self, vectors: Vectors) -> Vectors:
        """Return the vectors unchanged."""
        return np.asarray(vectors, dtype=np.float32)

    def questions(self, vectors: Vectors) -> Vectors:
        """Return the vectors unchanged."""
        return self.documents(vectors)


@dataclass(frozen=True, eq=False)
class Projection:
    """Lines 3 to 5 of Algorithm 1 of Yao and Li: lengths are clipped to [gamma, Delta], then a Gaussian matrix applies.

    Attributes:
        matrix: whole numbers, shape (d, k): standard normal numbers times `GRAIN`.
        gamma, longest: the bounds of the lengths of vectors (the paper's gamma and Delta).
        sigma: the standard deviation of the matrix's entries.
    """

    matrix: Whole = field(repr=False)
    gamma: float = GAMMA
    longest: float = DELTA
    sigma: float = SIGMA

    def __post_init__(self) -> None:
        check_bounds(self.gamma, self.longest)
        if not (self.sigma > 0 and math.isfinite(self.sigma)):
            raise UsageError(f"The sigma of a projection is {self.sigma:g}. Expected: a number above 0, such as 0.1.")
        check_size(*self.matrix.shape)

    @property
    def size(self) -> int:
        """The paper's k."""
        return int(self.matrix.shape[1])

    @property
    def fingerprint(self) -> str:
        """A hash of the matrix and the parameters."""
        parameters = f"projection {self.matrix.shape} {self.gamma!r} {self.longest!r} {self.sigma!r} ".encode()
        return hashlib.sha256(parameters + np.ascontiguousarray(self.matrix).tobytes()).hexdigest()

    def documents(self, vectors: Vectors) -> Vectors:
        """Project the vectors.

        Raises:
            BadData: if a vector has no direction, or another length than the matrix.
        """
        wide = np.asarray(vectors, dtype=np.float64)
        if wide.ndim != 2 or wide.shape[1] != len(self.matrix):
            raise BadData(f"The vectors have the shape {wide.shape}. Expected: {len(self.matrix)} numbers each.")
        return np.asarray(
            between(wide, self.gamma, self.longest) @ (self.matrix * (self.sigma / GRAIN)), dtype=np.float32
        )

    def questions(self, vectors: Vectors) -> Vectors:
        """Project the vectors, like those of documents."""
        return self.documents(vectors)


@dataclass(frozen=True, eq=False)
class NoisyProjection:
    """DP-RP-G of Li and Li (2023): a public Gaussian matrix over the root of k, then Gaussian noise on each vector.

    Their guarantee covers one vector whose numbers change by at most `beta` in sum. It covers neither a whole vector
    nor a text that is found by it. The noise is that of the classical Gaussian mechanism. Only documents get noise,
    since the question is the analyst's.

    Attributes:
        base: the matrix and the bounds of lengths; its sigma is not used.
        noise: the source of noise.
        epsilon, delta: the claim for one vector.
        beta: the largest change of a vector's numbers, in sum.
    """

    base: Projection
    noise: Noise = field(repr=False)
    epsilon: float = 5.051
    delta: float = 1e-5
    beta: float = 1.0

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and 0 < self.delta < 1 and self.beta > 0):
            raise UsageError(
                f"DP-RP-G got epsilon {self.epsilon:g}, beta {self.beta:g} and delta {self.delta:g}. Expected: epsilon "
                "and beta above 0, and delta between 0 and 1."
            )

    @property
    def size(self) -> int:
        """The paper's k."""
        return self.base.size

    @property
    def fingerprint(self) -> str:
        """A text with the hash of the matrix, and the parameters."""
        return f"dp-rp-g {self.base.fingerprint} {self.epsilon!r} {self.delta!r} {self.beta!r}"

    @property
    def scale(self) -> float:
        """The standard deviation of the noise: beta sqrt(2 ln(1.25/delta))/epsilon times the longest row's length."""
        rows = np.linalg.norm(self.base.matrix / GRAIN, axis=1) / math.sqrt(self.size)
        return self.beta * float(rows.max()) * math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon

    def documents(self, vectors: Vectors) -> Vectors:
        """Project the vectors, and add noise."""
        drawn = self.noise.gaussians(self.scale * GRAIN, len(vectors) * self.size).reshape(-1, self.size)
        return np.asarray(self.questions(vectors) + drawn / GRAIN, dtype=np.float32)

    def questions(self, vectors: Vectors) -> Vectors:
        """Project the vectors."""
        return np.asarray(self.base.documents(vectors) / (self.base.sigma * math.sqrt(self.size)), dtype=np.float32)


def kept_matrix(file: Path | None, dimension: int, k: int, noise: Noise) -> Whole:
    """Return the matrix in `file`, which is drawn at the first call; without a file, draw a new one.

    Raises:
        BadData: if the file holds no such matrix.
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
        raise BadData(f"{file} is no matrix of {dimension} by {k} whole numbers. Remove it, and a new matrix is drawn.")
    return np.asarray(found, dtype=np.int64)


def between(vectors: NDArray[np.float64], shortest: float, longest: float) -> NDArray[np.float64]:
    """Scale vectors so that their lengths are between these bounds.

    Raises:
        BadData: if a vector is zero or not finite, and so has no direction.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if bad := int(np.sum(~(np.isfinite(lengths) & (lengths > 0)))):
        raise BadData(
            f"{bad} of {len(vectors)} embeddings are zero or not finite, so that they have no direction. Leave out "
            "texts without words, or use another embedder."
        )
    return np.asarray(vectors * (np.clip(lengths, shortest, longest) / lengths), dtype=np.float64)
